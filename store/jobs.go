package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
	"golang.org/x/sync/errgroup"
)

// OperationRunner carries an operation on, for less than a minute unless a single step of it takes longer, and tells after which time it
// needs another run; nil: none.
type OperationRunner interface {
	Run(ctx context.Context, operationID uuid.UUID) (again *time.Duration, err error)
}

// PackageProcessor fetches the content of a package that is to be had elsewhere, and onboards a package whose content is there.
type PackageProcessor interface {
	Fetch(ctx context.Context, packageID uuid.UUID) error
	Process(ctx context.Context, packageID uuid.UUID) error
}

// WorkersConfig are the options of [Workers]; the zero value of each means its default.
type WorkersConfig struct {
	MaxWorkers    int           // operations at once; default 200
	SweepInterval time.Duration // between searches for lost work; default 5 s
	Logger        *slog.Logger  // default: the default logger
	// AuditRetention is for how long it is known who has changed what; default 1 year.
	AuditRetention time.Duration
}

const (
	operationQueue  = "operations"
	onboardingQueue = "onboarding"
	downloadQueue   = "downloads"
	// operationTimeout is longer than the longest step, the upload of an image. It is not what bounds a run: that is the engine, whose lease
	// tells a run at work from a dead one. A job that a dead process has left is only removed from the queue after it.
	operationTimeout  = 12 * time.Hour
	onboardingTimeout = 2 * time.Hour
	maxOnboardings    = 4
	// A download takes as long as the server at the other end pleases; what sends nothing is given up before.
	downloadTimeout = 12 * time.Hour
	maxDownloads    = 4 // each holds one of the connections for uploads
	fetchCooldown   = 5 * time.Millisecond
	// fetchPollInterval is how often workers look for jobs that nobody tells them of: those that were snoozed, and one that was
	// committed just after another in the same process.
	fetchPollInterval = 250 * time.Millisecond
	maxAttempts       = 1000 // errors are those of the database; none may make River give a job up
)

// operationJob says: run this operation now. Everything else is in the rows of the operation.
type operationJob struct {
	OperationID uuid.UUID `json:"operationId"`
}

// Kind implements [river.JobArgs].
func (operationJob) Kind() string { return "vnf_lcm_operation" }

// InsertOpts implements [river.JobArgsWithInsertOpts].
func (operationJob) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: operationQueue, MaxAttempts: maxAttempts}
}

// onboardingJob says: process this package now.
type onboardingJob struct {
	PackageID uuid.UUID `json:"packageId"`
}

// Kind implements [river.JobArgs].
func (onboardingJob) Kind() string { return "vnf_package_onboarding" }

// InsertOpts implements [river.JobArgsWithInsertOpts].
func (onboardingJob) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: onboardingQueue, MaxAttempts: maxAttempts}
}

// downloadJob says: fetch the content of this package now.
type downloadJob struct {
	PackageID uuid.UUID `json:"packageId"`
}

// Kind implements [river.JobArgs].
func (downloadJob) Kind() string { return "vnf_package_download" }

// InsertOpts implements [river.JobArgsWithInsertOpts].
func (downloadJob) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: downloadQueue, MaxAttempts: maxAttempts}
}

func (s *Store) enqueueOperation(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	if _, err := s.jobs.InsertTx(ctx, tx, operationJob{id}, nil); err != nil {
		return fmt.Errorf("ask for a run of operation %s: %w", id, err)
	}
	return nil
}

func (s *Store) enqueueOnboarding(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	if _, err := s.jobs.InsertTx(ctx, tx, onboardingJob{id}, nil); err != nil {
		return fmt.Errorf("ask for the onboarding of VNF package %s: %w", id, err)
	}
	return nil
}

func (s *Store) enqueueDownload(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	if _, err := s.jobs.InsertTx(ctx, tx, downloadJob{id}, nil); err != nil {
		return fmt.Errorf("ask for the download of VNF package %s: %w", id, err)
	}
	return nil
}

// operationWorker runs operations.
type operationWorker struct {
	river.WorkerDefaults[operationJob]
	runner OperationRunner
}

// Timeout implements [river.Worker].
func (*operationWorker) Timeout(*river.Job[operationJob]) time.Duration { return operationTimeout }

// NextRetry implements [river.Worker].
func (*operationWorker) NextRetry(*river.Job[operationJob]) time.Time { return soon() }

// Work implements [river.Worker].
func (w *operationWorker) Work(ctx context.Context, job *river.Job[operationJob]) error {
	again, err := w.runner.Run(ctx, job.Args.OperationID)
	if err == nil && again != nil {
		return river.JobSnooze(*again)
	}
	return err
}

// onboardingWorker onboards packages, each in one process at a time.
type onboardingWorker struct {
	river.WorkerDefaults[onboardingJob]
	store     *Store
	processor PackageProcessor
}

// Timeout implements [river.Worker].
func (*onboardingWorker) Timeout(*river.Job[onboardingJob]) time.Duration { return onboardingTimeout }

// NextRetry implements [river.Worker].
func (*onboardingWorker) NextRetry(*river.Job[onboardingJob]) time.Time { return soon() }

// Work implements [river.Worker].
func (w *onboardingWorker) Work(ctx context.Context, job *river.Job[onboardingJob]) error {
	connection, ok, err := lockPackage(ctx, w.store.pool, job.Args.PackageID)
	if err != nil {
		return err
	}
	if !ok {
		// The upload that has asked for this is just ending, or another process is at the same package.
		return river.JobSnooze(lockedPause)
	}
	defer unlockPackage(ctx, connection, job.Args.PackageID)
	return w.processor.Process(ctx, job.Args.PackageID)
}

// downloadWorker fetches the content of packages.
type downloadWorker struct {
	river.WorkerDefaults[downloadJob]
	processor PackageProcessor
}

// Timeout implements [river.Worker].
func (*downloadWorker) Timeout(*river.Job[downloadJob]) time.Duration { return downloadTimeout }

// NextRetry implements [river.Worker].
func (*downloadWorker) NextRetry(*river.Job[downloadJob]) time.Time { return soon() }

// Work implements [river.Worker].
func (w *downloadWorker) Work(ctx context.Context, job *river.Job[downloadJob]) error {
	err := w.processor.Fetch(ctx, job.Args.PackageID)
	if errors.Is(err, errLocked) {
		return river.JobSnooze(lockedPause)
	}
	return err
}

// lockedPause is how long work at a package waits that is locked.
const lockedPause = 500 * time.Millisecond

// soon is when a job is tried again that the database has failed.
func soon() time.Time { return time.Now().Add(2 * time.Second) }

// Workers carry the jobs out and look for work that a dead process has left.
type Workers struct {
	store  *Store
	client *river.Client[pgx.Tx]
	config WorkersConfig
	stop   context.CancelFunc
	group  *errgroup.Group
}

// NewWorkers returns workers, which [Workers.Start] starts.
func NewWorkers(store *Store, runner OperationRunner, processor PackageProcessor, config WorkersConfig) (*Workers, error) {
	if config.MaxWorkers == 0 {
		config.MaxWorkers = 200
	}
	config.AuditRetention = cmp.Or(config.AuditRetention, 365*24*time.Hour)
	if config.SweepInterval == 0 {
		config.SweepInterval = 5 * time.Second
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &operationWorker{runner: runner})
	river.AddWorker(workers, &onboardingWorker{store: store, processor: processor})
	river.AddWorker(workers, &downloadWorker{processor: processor})
	client, err := river.NewClient(riverpgxv5.New(store.pool), &river.Config{
		Schema:  riverSchema,
		Workers: workers,
		Logger:  config.Logger.With("component", "river"),
		Queues: map[string]river.QueueConfig{
			operationQueue:  {MaxWorkers: config.MaxWorkers, FetchCooldown: fetchCooldown, FetchPollInterval: fetchPollInterval},
			onboardingQueue: {MaxWorkers: maxOnboardings, FetchCooldown: fetchCooldown, FetchPollInterval: fetchPollInterval},
			downloadQueue:   {MaxWorkers: maxDownloads, FetchCooldown: fetchCooldown, FetchPollInterval: fetchPollInterval},
		},
		ErrorHandler: &errorHandler{config.Logger},
		// The rescue of a job waits for the timeout of its kind, too.
		RescueStuckJobsAfter: onboardingTimeout,
		JobTimeout:           onboardingTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("make workers: %w", err)
	}
	return &Workers{store: store, client: client, config: config}, nil
}

// errorHandler logs what made a job fail; River tries it again.
type errorHandler struct{ logger *slog.Logger }

// HandleError implements [river.ErrorHandler].
func (h *errorHandler) HandleError(_ context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	h.logger.Error("job failed, to be tried again", "kind", job.Kind, "attempt", job.Attempt, "error", err)
	return nil
}

// HandlePanic implements [river.ErrorHandler].
func (h *errorHandler) HandlePanic(_ context.Context, job *rivertype.JobRow, cause any, trace string) *river.ErrorHandlerResult {
	h.logger.Error("job panicked, to be tried again", "kind", job.Kind, "attempt", job.Attempt, "cause", cause, "stack", trace)
	return nil
}

// Start begins to work. The work does not end with ctx, but with [Workers.Stop].
func (w *Workers) Start(ctx context.Context) error {
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := w.client.Start(ctx); err != nil {
		w.stop()
		return fmt.Errorf("start workers: %w", err)
	}
	w.group = &errgroup.Group{}
	w.group.Go(func() error {
		w.sweep(ctx)
		return nil
	})
	return nil
}

// Stop takes no new work, interrupts what is being done, which commits what it has and gives itself back, and waits for that
// until ctx ends.
func (w *Workers) Stop(ctx context.Context) error {
	w.stop()
	err := w.client.StopAndCancel(ctx)
	return errors.Join(err, w.group.Wait())
}
