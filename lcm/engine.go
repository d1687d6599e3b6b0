package lcm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"vnfm/api/access"
	"vnfm/mgmtdriver"
)

// EngineConfig are the times of an [Engine]; the zero value of each means its default.
type EngineConfig struct {
	RunLimit time.Duration // one run of an operation begins nothing after that; default 45 s
	Lease    time.Duration // a run that was not heard of for so long is taken for dead; default 15 s
	Patience time.Duration // how long a VIM or the NFVO may be out of reach before the operation fails; default 5 min
	Grants   GrantSource   // the NFVO that permits operations; default: none, and nobody has to permit them
	Observer Observer      // of the operations that are run; default: nobody
	Logger   *slog.Logger  // default: the default logger
}

func (c *EngineConfig) setDefaults() {
	if c.RunLimit == 0 {
		c.RunLimit = 45 * time.Second
	}
	if c.Lease == 0 {
		c.Lease = 15 * time.Second
	}
	if c.Patience == 0 {
		c.Patience = 5 * time.Minute
	}
	if c.Observer == nil {
		c.Observer = unobserved{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
}

// plan is how an operation type is carried out: its steps in order, and what their success means for the instance.
type plan struct {
	start   []Step // done in STARTING, where nothing is touched: if one fails, the operation is over
	prepare []Step // what is to be done is computed, before anything is touched
	steps   []Step
	last    []Step // done after all hooks: a rollback may need what they remove
	finish  func(run *Run) error
}

// processing are the steps that are done in PROCESSING.
func (p plan) processing() []Step { return slices.Concat(p.prepare, p.steps, p.last) }

// Engine carries operations out. Any number of engines may work on one database.
type Engine struct {
	store  RunStore
	vims   *VimRegistry
	active sync.Map // the leases of the operations that are run here, by id
	hooks  *hooks
	plans  map[OperationType]func(context.Context, *Run) (plan, error)
	config EngineConfig
}

// NewEngine returns an engine for all operation types.
func NewEngine(
	store RunStore, packages PackageSource, vims *VimRegistry, driver InfraDriver, drivers mgmtdriver.Drivers, config EngineConfig,
) *Engine {
	config.setDefaults()
	planner := &planner{packages: packages, vims: vims, driver: driver, images: store, grants: config.Grants}
	return &Engine{
		store:  store,
		vims:   vims,
		hooks:  &hooks{packages: packages, drivers: drivers, infra: driver, keys: store, vims: vims, ownVims: store, log: config.Logger},
		config: config,
		plans: map[OperationType]func(context.Context, *Run) (plan, error){
			OpInstantiate:   always(instantiation(planner)),
			OpScale:         always(scaling(planner)),
			OpScaleToLevel:  always(shaping(planner, OpScaleToLevel)),
			OpChangeFlavour: always(shaping(planner, OpChangeFlavour)),
			OpHeal:          healing(planner),
			OpOperate:       always(operating(planner)),
			OpChangeExtConn: always(shaping(planner, OpChangeExtConn)),
			OpTerminate:     always(termination(planner)),
			OpModifyInfo:    always(modification(planner)),
		},
	}
}

// always is the choice of the one plan that an operation type has.
func always(p plan) func(context.Context, *Run) (plan, error) {
	return func(context.Context, *Run) (plan, error) { return p, nil }
}

// Run carries an operation on for the run limit, or until the call of a step ends that takes longer. It returns after which time another run is needed, nil for none.
// What fails in the operation is recorded in it; an error means that nothing could be recorded.
func (e *Engine) Run(ctx context.Context, id uuid.UUID) (*time.Duration, error) {
	asked := time.Now()
	run, err := e.acquire(ctx, id)
	if errors.Is(err, ErrNothingToDo) {
		e.wake(id)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("acquire operation %s: %w", id, err)
	}
	log := run.Operation.logTo(e.config.Logger).With("run", run.Number)
	observed, end := e.config.Observer.RunBegins(withLogger(ctx, log), run)
	again, err := e.work(observed, asked, run, log)
	end(err)
	if errors.Is(err, ErrSuperseded) {
		log.WarnContext(observed, "another run has taken over")
		return nil, nil
	}
	return again, err
}

// work carries an operation on by a run that was asked for at a moment.
func (e *Engine) work(ctx context.Context, asked time.Time, run *Run, log *slog.Logger) (*time.Duration, error) {
	id := run.Operation.ID
	lease := &lease{store: e.store, length: e.config.Lease, run: run, news: make(chan struct{}, 1), cancelled: make(chan struct{})}
	lease.count(asked)
	working, stop := context.WithCancelCause(context.WithValue(access.Within(ctx, run.Instance.ProjectID), leaseKey{}, lease))
	e.active.Store(id, lease)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lease.keep(working, stop)
	}()
	defer func() {
		stop(nil)
		<-ended
		e.active.CompareAndDelete(id, lease)
	}()

	choose, ok := e.plans[run.Operation.Type]
	if !ok {
		return nil, fmt.Errorf("operation %s is of type %s, which this version does not know", id, run.Operation.Type)
	}
	plan, err := choose(working, run)
	if err == nil {
		plan, err = e.hooks.weave(working, run, plan)
	}
	if err != nil {
		return nil, fmt.Errorf("operation %s: %w", id, err)
	}
	attempt := &attempt{engine: e, run: run, plan: plan, log: log, cancelled: lease.cancelled, ends: time.Now().Add(e.config.RunLimit)}
	again, err := attempt.carryOn(working)
	if errors.Is(context.Cause(working), ErrSuperseded) {
		return nil, ErrSuperseded
	}
	return again, err
}

func (e *Engine) acquire(ctx context.Context, id uuid.UUID) (*Run, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	return e.store.AcquireRun(ctx, id, e.config.Lease)
}

// wake makes the run of an operation that is under way here look for news: a client has changed the operation.
func (e *Engine) wake(id uuid.UUID) {
	if active, ok := e.active.Load(id); ok {
		select {
		case active.(*lease).news <- struct{}{}: //nolint:forcetypeassert // nothing else is in the map
		default:
		}
	}
}

// sleep waits for d, until a channel is closed, or until ctx ends, whose error it then returns.
func sleep(ctx context.Context, d time.Duration, awake <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	case <-awake:
		return nil
	}
}
