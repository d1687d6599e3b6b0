package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/store"
	"vnfm/store/storetest"
	"vnfm/vnfpkg"
)

// BenchmarkContent stores a large content, and reads it back in sequence. To compare with: the same bytes written to a file with
// SHA-256. heap-MB is what the Go heap holds beside what it held before.
func BenchmarkContent(b *testing.B) {
	const size = 256 << 20
	db := storetest.New(b)
	b.Run("file with SHA-256", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			file, err := os.Create(filepath.Join(b.TempDir(), "content"))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.CopyN(io.MultiWriter(file, sha256.New()), noisy{}, size); err != nil {
				b.Fatal(err)
			}
			if err := file.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	var ids []uuid.UUID
	b.Run("write", func(b *testing.B) {
		b.SetBytes(size)
		before := heap()
		for b.Loop() {
			pkg := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
			if err := db.CreatePackage(b.Context(), pkg); err != nil {
				b.Fatal(err)
			}
			if err := db.WriteContent(b.Context(), pkg.ID, io.LimitReader(noisy{}, size), size); err != nil {
				b.Fatal(err)
			}
			ids = append(ids, pkg.ID)
		}
		b.ReportMetric(heap()-before, "heap-MB")
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(size)
		before := heap()
		for b.Loop() {
			reader, err := db.OpenContent(b.Context(), ids[0])
			if err != nil {
				b.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, io.NewSectionReader(reader, 0, reader.Size())); err != nil || n != size {
				b.Fatal(n, err)
			}
		}
		b.ReportMetric(heap()-before, "heap-MB")
	})
}

// noisy is a body without end, which PostgreSQL cannot compress.
type noisy struct{}

func (noisy) Read(p []byte) (int, error) {
	n := copy(p, noise)
	return n, nil
}

// noise is the content of noisy.
var noise = func() []byte {
	data, state := make([]byte, 1<<20), uint64(88172645463325252)
	for i := range data {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		data[i] = byte(state)
	}
	return data
}()

func heap() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / (1 << 20)
}

// timing is a runner that tells when an operation has begun to run, and ends it.
type timing struct {
	db *storetest.Database
	mu sync.Mutex
	at map[uuid.UUID]chan time.Time
}

func (r *timing) Run(ctx context.Context, id uuid.UUID) (*time.Duration, error) {
	began := time.Now()
	run, err := r.db.AcquireRun(ctx, id, time.Minute)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[id] <- began
	run.Operation.State = lcm.StateFailedTemp
	return nil, r.db.CommitRun(ctx, run, lcm.Commit{Operation: true, Release: new(time.Duration)})
}

// BenchmarkPickUp tells how long an operation waits, from the client's request to the beginning of its first run.
func BenchmarkPickUp(b *testing.B) {
	for _, mode := range []struct {
		name    string
		clients int
	}{{"1 client", 1}, {"8 clients", 8}} {
		b.Run(mode.name, func(b *testing.B) {
			db := storetest.New(b)
			pkg := onboarded(b, db, "vnfd")
			r := &timing{db: db, at: map[uuid.UUID]chan time.Time{}}
			workers, err := store.NewWorkers(db.Store, r, processor{db: db, got: make(chan uuid.UUID, 10)}, store.WorkersConfig{Logger: silent})
			if err != nil {
				b.Fatal(err)
			}
			if err := workers.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			defer workers.Stop(context.WithoutCancel(b.Context()))
			waits := make([][]time.Duration, mode.clients)
			b.ResetTimer()
			var clients sync.WaitGroup
			for c := range mode.clients {
				clients.Go(func() {
					for range (b.N + mode.clients - 1) / mode.clients {
						waits[c] = append(waits[c], pickUp(b, r, pkg))
					}
				})
			}
			clients.Wait()
			b.StopTimer()
			all := slices.Concat(waits...)
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

func pickUp(b *testing.B, r *timing, pkg *vnfpkg.Package) time.Duration {
	b.Helper()
	instance := createdOf(b, r.db, pkg)
	operation := &lcm.Operation{
		ID: uuid.New(), State: lcm.StateStarting, VnfInstanceID: instance.ID, Type: lcm.OpInstantiate, Params: json.RawMessage(`{}`),
	}
	began := make(chan time.Time, 1)
	r.mu.Lock()
	r.at[operation.ID] = began
	r.mu.Unlock()
	asked := time.Now()
	if err := r.db.StartOperation(b.Context(), operation, json.RawMessage(`{}`), lcm.Precondition{State: lcm.NotInstantiated}); err != nil {
		b.Error(err)
		return 0
	}
	return (<-began).Sub(asked)
}
