package store_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/store/storetest"
	"vnfm/vnfpkg"
)

func TestContentComesBackAtAnyOffset(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	content := make([]byte, 3<<20+12345)
	_, _ = rand.Read(content)
	pkg := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
	if err := db.CreatePackage(t.Context(), pkg); err != nil {
		t.Fatal(err)
	}
	if err := db.WriteContent(t.Context(), pkg.ID, bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
	reader, err := db.OpenContent(t.Context(), pkg.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, span := range [][2]int{{0, 10}, {len(content) - 7, 7}, {512<<10 - 3, 6}, {100, 2 << 20}, {0, len(content)}} {
		got := make([]byte, span[1])
		if _, err := reader.ReadAt(got, int64(span[0])); err != nil || !bytes.Equal(got, content[span[0]:span[0]+span[1]]) {
			t.Errorf("%d bytes at %d: wrong, %v", span[1], span[0], err)
		}
	}
	if n, err := reader.ReadAt(make([]byte, 10), int64(len(content)-4)); n != 4 || !errors.Is(err, io.EOF) {
		t.Errorf("reading over the end: %d, %v", n, err)
	}
	if err := db.WriteContent(t.Context(), pkg.ID, bytes.NewReader(content), 1<<30); !errors.As(err, new(*vnfpkg.Conflict)) {
		t.Errorf("second upload: %v", err)
	}
}

// breaking fails after some bytes, as an upload does whose client goes away.
type breaking struct{ left int }

func (b *breaking) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.New("connection reset")
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

func TestFailedUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		body   io.Reader
		detail string
	}{
		{"client goes away", &breaking{left: 2 << 20}, "ended before"},
		{"larger than allowed", bytes.NewReader(make([]byte, 4<<20)), "larger than allowed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			db := storetest.New(t)
			pkg := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
			if err := db.CreatePackage(t.Context(), pkg); err != nil {
				t.Fatal(err)
			}
			if err := db.WriteContent(t.Context(), pkg.ID, row.body, 3<<20); err == nil {
				t.Fatal("the upload succeeded")
			}
			read, err := db.Package(t.Context(), pkg.ID)
			if err != nil {
				t.Fatal(err)
			}
			if read.OnboardingState != vnfpkg.Created || read.Failure == nil || !strings.Contains(read.Failure.Detail, row.detail) {
				t.Errorf("package after the failure: %+v, %+v", read, read.Failure)
			}
			expectObjects(t, db, 0)
			if err := db.WriteContent(t.Context(), pkg.ID, strings.NewReader("again"), 100); err != nil {
				t.Errorf("second try: %v", err)
			}
		})
	}
}

// expectObjects checks how many large objects there are.
func expectObjects(t *testing.T, db *storetest.Database, want int) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), db.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(context.WithoutCancel(t.Context()))
	var got int
	if err := connection.QueryRow(t.Context(), `SELECT count(*) FROM pg_largeobject_metadata`).Scan(&got); err != nil || got != want {
		t.Errorf("%d large objects, want %d (%v)", got, want, err)
	}
}

func TestPackageContentGoesWithThePackage(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	pkg := onboarded(t, db, "vnfd")
	expectObjects(t, db, 1)
	refused := errors.New("refused")
	if err := db.DeletePackage(t.Context(), pkg.ID, func(*vnfpkg.Package) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("refused deletion: %v", err)
	}
	if err := db.DeletePackage(t.Context(), pkg.ID, func(*vnfpkg.Package) error { return nil }); err != nil {
		t.Error(err)
	}
	expectObjects(t, db, 0)
}

func TestUnpackedCSARGoesWithThePackage(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	pkg := onboarded(t, db, "vnfd")
	for _, text := range []string{"first", "second"} { // as an onboarding does that is repeated
		if err := db.WriteCSAR(t.Context(), pkg.ID, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		expectObjects(t, db, 2)
		reader, err := db.OpenCSAR(t.Context(), pkg.ID)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, reader.Size())
		if _, err := reader.ReadAt(got, 0); err != nil || string(got) != text {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	if err := db.WriteCSAR(t.Context(), pkg.ID, &breaking{left: 1 << 20}); err == nil {
		t.Error("what could not be read was kept")
	}
	expectObjects(t, db, 2)
	if err := db.DeletePackage(t.Context(), pkg.ID, func(*vnfpkg.Package) error { return nil }); err != nil {
		t.Error(err)
	}
	expectObjects(t, db, 0)
	if err := db.WriteCSAR(t.Context(), pkg.ID, strings.NewReader("a CSAR")); !errors.Is(err, vnfpkg.ErrNotFound) {
		t.Errorf("keeping the CSAR of a package that is gone: %v", err)
	}
	expectObjects(t, db, 0)
}

func TestSecondPackageOfAVnfdIsRefused(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	onboarded(t, db, "vnfd")
	second := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
	if err := db.CreatePackage(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if err := db.WriteContent(t.Context(), second.ID, strings.NewReader("a CSAR"), 100); err != nil {
		t.Fatal(err)
	}
	_, err := db.UpdatePackage(t.Context(), second.ID, func(pkg *vnfpkg.Package) error {
		pkg.OnboardingState = vnfpkg.Onboarded
		pkg.Description = &vnfpkg.Description{VnfdID: "vnfd"}
		return nil
	})
	if !errors.As(err, new(*vnfpkg.DuplicateVnfd)) {
		t.Errorf("second package: %v", err)
	}
}
