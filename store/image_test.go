package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/store/storetest"
)

// acquired is a run of a new operation of an instance.
func acquired(t *testing.T, db *storetest.Database, instance *lcm.VnfInstance, lease time.Duration) *lcm.Run {
	t.Helper()
	return again(t, db, started(t, db, instance).ID, lease)
}

func again(t *testing.T, db *storetest.Database, operation uuid.UUID, lease time.Duration) *lcm.Run {
	t.Helper()
	run, err := db.AcquireRun(t.Context(), operation, lease)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func use(t *testing.T, db *storetest.Database, run *lcm.Run, key lcm.ImageKey) lcm.ImageUse {
	t.Helper()
	used, err := db.UseImage(t.Context(), run, key)
	if err != nil {
		t.Fatal(err)
	}
	return used
}

func TestImageIsMadeByOneRunAtATime(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	first := created(t, db)
	key := lcm.ImageKey{Vim: "vim", VnfPkgID: first.VnfPkgID, Digest: "digest"}
	const short = 100 * time.Millisecond
	maker := acquired(t, db, first, time.Minute)
	image := use(t, db, maker, key)
	if image.Busy || image.Ready || use(t, db, maker, key) != image {
		t.Fatalf("the first to use an image gets %+v, and then %+v", image, use(t, db, maker, key))
	}
	waiting := acquired(t, db, createdOf(t, db, onboarded(t, db, "vnfd")), short)
	if got := use(t, db, waiting, key); got.ID != image.ID || !got.Busy {
		t.Errorf("while it is made, another one gets %+v", got)
	}
	if err := db.CommitRun(t.Context(), maker, lcm.Commit{Release: new(time.Duration)}); err != nil {
		t.Fatal(err)
	}
	if got := use(t, db, waiting, key); got.ID != image.ID || got.Busy || got.Ready {
		t.Errorf("when nobody makes it, another one gets %+v", got)
	}
	if _, err := db.UseImage(t.Context(), maker, key); !errors.Is(err, lcm.ErrSuperseded) {
		t.Errorf("the former run gets %v", err)
	}
	if err := db.ImageReady(t.Context(), waiting, image.ID); err != nil {
		t.Fatal(err)
	}
	time.Sleep(short)
	next := again(t, db, waiting.Operation.ID, time.Minute)
	if got := use(t, db, next, key); got.ID != image.ID || got.Busy || !got.Ready {
		t.Errorf("when it is ready, another one gets %+v", got)
	}
	for name, act := range map[string]func(context.Context, *lcm.Run, uuid.UUID) error{"ready": db.ImageReady, "condemn": db.CondemnImage} {
		if err := act(t.Context(), waiting, image.ID); !errors.Is(err, lcm.ErrSuperseded) {
			t.Errorf("%s by a run that was replaced: %v", name, err)
		}
	}
}

func TestImageGoesWithItsLastUser(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	first := created(t, db)
	key := lcm.ImageKey{Vim: "vim", VnfPkgID: first.VnfPkgID, Digest: "digest"}
	one := acquired(t, db, first, time.Minute)
	two := acquired(t, db, createdOf(t, db, onboarded(t, db, "vnfd")), time.Minute)
	image := use(t, db, one, key)
	if err := db.ImageReady(t.Context(), one, image.ID); err != nil {
		t.Fatal(err)
	}
	use(t, db, two, key)
	for _, step := range []struct {
		name string
		run  *lcm.Run
		keep []uuid.UUID
		want []lcm.CondemnedImage
	}{
		{"the first keeps it", one, []uuid.UUID{image.ID}, nil},
		{"the first does not need it any more", one, nil, nil},
		{"nor does the second", two, nil, []lcm.CondemnedImage{{ID: image.ID, Own: true}}},
		{"it stays condemned", two, nil, []lcm.CondemnedImage{{ID: image.ID, Own: true}}},
		{"for others it is somebody else's", one, nil, []lcm.CondemnedImage{{ID: image.ID}}},
	} {
		got, err := db.ReleaseImages(t.Context(), step.run, "vim", step.keep)
		if err != nil || !slices.Equal(got, step.want) {
			t.Errorf("%s: %+v, %v, want %+v", step.name, got, err, step.want)
		}
	}
	if fresh := use(t, db, one, key); fresh.ID == image.ID || fresh.Ready {
		t.Errorf("a condemned image is used again: %+v", fresh)
	}
	if err := db.ForgetImage(t.Context(), image.ID); err != nil {
		t.Fatal(err)
	}
	if got, err := db.ReleaseImages(t.Context(), two, "vim", nil); err != nil || len(got) > 0 {
		t.Errorf("after it was removed: %+v, %v", got, err)
	}
}
