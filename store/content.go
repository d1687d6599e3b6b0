package store

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vnfm/vnfpkg"
)

// chunkBytes is how much of a content is sent to or fetched from the database at once.
const chunkBytes = 512 << 10

// contentLocks is the class of the advisory locks that tell living uploads and onboardings from dead ones.
const contentLocks = 716011846

// lockPackage takes the advisory lock of a package on a connection of its own. It goes with the connection, and so with the
// process. ok is false if somebody else has it.
func (s *Store) lockPackage(ctx context.Context, id uuid.UUID) (connection *pgxpool.Conn, ok bool, err error) {
	connection, err = s.pool.Acquire(ctx)
	if err != nil {
		return nil, false, err
	}
	err = connection.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, hashtext($2::text))`, contentLocks, id.String()).Scan(&ok)
	if err != nil || !ok {
		connection.Release()
		return nil, false, err
	}
	return connection, true, nil
}

func unlockPackage(ctx context.Context, connection *pgxpool.Conn, id uuid.UUID) {
	_, err := connection.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1, hashtext($2::text))`, contentLocks, id.String())
	if err != nil {
		// A connection that may still hold the lock must not go back to the pool.
		_ = connection.Conn().Close(context.WithoutCancel(ctx))
	}
	connection.Release()
}

// WriteContent implements [vnfpkg.ContentStore].
func (s *Store) WriteContent(ctx context.Context, id uuid.UUID, body io.Reader, limit int64) error {
	connection, ok, err := s.lockPackage(ctx, id)
	if err != nil {
		return fmt.Errorf("upload VNF package %s: %w", id, err)
	}
	if !ok {
		return &vnfpkg.Conflict{Detail: fmt.Sprintf("VNF package %s is being uploaded", id)}
	}
	defer unlockPackage(ctx, connection, id)
	if err := s.beginUpload(ctx, id); err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
		content, oid, err := storeContent(ctx, tx, body, limit)
		if err != nil {
			return err
		}
		const update = `
			UPDATE vnf_packages SET updated_at = now(), onboarding_state = 'PROCESSING', content = @oid, content_bytes = @bytes,
				content_sha512 = @sha512, failure = NULL
			WHERE id = @id`
		_, err = tx.Exec(ctx, update, pgx.NamedArgs{"id": id, "oid": oid, "bytes": content.SizeBytes, "sha512": content.SHA512})
		if err != nil {
			return err
		}
		return s.enqueueOnboarding(ctx, tx, id)
	})
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("upload VNF package %s: %w", id, err), s.abandonUpload(context.WithoutCancel(ctx), id, uploadFailure(err)))
}

// beginUpload moves a package from CREATED to UPLOADING.
func (s *Store) beginUpload(ctx context.Context, id uuid.UUID) error {
	_, err := s.UpdatePackage(ctx, id, func(pkg *vnfpkg.Package) error {
		if pkg.OnboardingState != vnfpkg.Created {
			return &vnfpkg.Conflict{Detail: fmt.Sprintf("VNF package %s is %s, not %s", id, pkg.OnboardingState, vnfpkg.Created)}
		}
		pkg.OnboardingState, pkg.Failure = vnfpkg.Uploading, nil
		return nil
	})
	return err
}

// abandonUpload moves a package from UPLOADING back to CREATED.
func (s *Store) abandonUpload(ctx context.Context, id uuid.UUID, failure *vnfpkg.Failure) error {
	_, err := s.UpdatePackage(ctx, id, func(pkg *vnfpkg.Package) error {
		if pkg.OnboardingState == vnfpkg.Uploading {
			pkg.OnboardingState, pkg.Failure = vnfpkg.Created, failure
		}
		return nil
	})
	return err
}

func uploadFailure(err error) *vnfpkg.Failure {
	if errors.Is(err, vnfpkg.ErrTooLarge) {
		return &vnfpkg.Failure{Title: "Upload failed", Status: http.StatusRequestEntityTooLarge, Detail: vnfpkg.ErrTooLarge.Error()}
	}
	return &vnfpkg.Failure{Title: "Upload failed", Status: http.StatusBadRequest, Detail: "the upload ended before all of it had arrived"}
}

// storeContent copies body into a new large object.
func storeContent(ctx context.Context, tx pgx.Tx, body io.Reader, limit int64) (vnfpkg.Content, uint32, error) {
	objects := tx.LargeObjects()
	oid, err := objects.Create(ctx, 0)
	if err != nil {
		return vnfpkg.Content{}, 0, err
	}
	object, err := objects.Open(ctx, oid, pgx.LargeObjectModeWrite)
	if err != nil {
		return vnfpkg.Content{}, 0, err
	}
	digest := sha512.New()
	buffer := make([]byte, chunkBytes)
	size, err := io.CopyBuffer(onlyWriter{io.MultiWriter(object, digest)}, io.LimitReader(body, limit+1), buffer)
	if err == nil && size > limit {
		err = fmt.Errorf("%w: more than %d bytes", vnfpkg.ErrTooLarge, limit)
	}
	if err != nil {
		return vnfpkg.Content{}, 0, err
	}
	return vnfpkg.Content{SizeBytes: size, SHA512: hex.EncodeToString(digest.Sum(nil))}, oid, object.Close()
}

// onlyWriter keeps io.CopyBuffer from bypassing its buffer.
type onlyWriter struct{ io.Writer }

// OpenContent implements [vnfpkg.ContentStore]. The reader holds a connection until it is closed, so it must not be kept.
func (s *Store) OpenContent(ctx context.Context, id uuid.UUID) (vnfpkg.ContentReader, error) {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("open content of VNF package %s: %w", id, err)
	}
	reader, err := openContent(ctx, tx, id)
	if err != nil {
		return nil, errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
	}
	return reader, nil
}

func openContent(ctx context.Context, tx pgx.Tx, id uuid.UUID) (*contentReader, error) {
	var oid uint32
	reader := &contentReader{ctx: ctx, tx: tx}
	err := tx.QueryRow(ctx, `SELECT content, content_bytes FROM vnf_packages WHERE id = $1 AND content IS NOT NULL`, id).
		Scan(&oid, &reader.size)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, vnfpkg.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open content of VNF package %s: %w", id, err)
	}
	objects := tx.LargeObjects()
	if reader.object, err = objects.Open(ctx, oid, pgx.LargeObjectModeRead); err != nil {
		return nil, fmt.Errorf("open content of VNF package %s: %w", id, err)
	}
	return reader, nil
}

// contentReader reads a large object at any offset, through a few chunks kept in memory: a zip file is read at its end, at the
// beginning of entries, and then in sequence.
type contentReader struct {
	ctx    context.Context //nolint:containedctx // io.ReaderAt has no other way to it
	tx     pgx.Tx
	object *pgx.LargeObject
	size   int64

	mu     sync.Mutex
	chunks [cachedChunks]chunk
	next   int // the chunk to be replaced next
}

const cachedChunks = 4

type chunk struct {
	index int64
	data  []byte // nil: not read
}

// Size implements [vnfpkg.ContentReader].
func (r *contentReader) Size() int64 { return r.size }

// ReadAt implements [io.ReaderAt].
func (r *contentReader) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, errors.New("read content: negative offset")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	read := 0
	for read < len(p) {
		position := offset + int64(read)
		if position >= r.size {
			return read, io.EOF
		}
		data, err := r.chunk(position / chunkBytes)
		if err != nil {
			return read, err
		}
		read += copy(p[read:], data[position%chunkBytes:])
	}
	return read, nil
}

// chunk returns the chunk of that index, from memory if it is there.
func (r *contentReader) chunk(index int64) ([]byte, error) {
	for _, c := range r.chunks {
		if c.data != nil && c.index == index {
			return c.data, nil
		}
	}
	place := &r.chunks[r.next]
	r.next = (r.next + 1) % cachedChunks
	data := place.data[:0]
	if cap(data) == 0 {
		data = make([]byte, 0, chunkBytes)
	}
	place.data = nil
	data = data[:min(chunkBytes, r.size-index*chunkBytes)]
	if _, err := r.object.Seek(index*chunkBytes, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	if _, err := io.ReadFull(r.object, data); err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	*place = chunk{index, data}
	return data, nil
}

// Close implements [io.Closer].
func (r *contentReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tx.Rollback(context.WithoutCancel(r.ctx))
}
