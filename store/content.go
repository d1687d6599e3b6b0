package store

import (
	"bufio"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"vnfm/vnfpkg"
)

// chunkBytes is how much of a content is sent to or fetched from the database at once.
const chunkBytes = 512 << 10

// contentLocks is the class of the advisory locks that tell living uploads and onboardings from dead ones.
const contentLocks = 716011846

// lockPackage takes the advisory lock of a package on a connection of a pool. It goes with the connection, and so with the
// process. ok is false if somebody else has it.
func lockPackage(ctx context.Context, pool *pgxpool.Pool, id uuid.UUID) (connection *pgxpool.Conn, ok bool, err error) {
	connection, err = pool.Acquire(ctx)
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

// unlockTime bounds a call that has to be made although its caller may be over.
const unlockTime = 10 * time.Second

func unlockPackage(ctx context.Context, connection *pgxpool.Conn, id uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTime)
	defer cancel()
	_, err := connection.Exec(ctx, `SELECT pg_advisory_unlock($1, hashtext($2::text))`, contentLocks, id.String())
	if err != nil {
		// A connection that may still hold the lock must not go back to the pool.
		_ = connection.Conn().Close(ctx)
	}
	connection.Release()
}

// WriteContent implements [vnfpkg.ContentStore]. The connection is held at the client's pace, so it is one of the pool for
// uploads: however slow clients are, everybody else still gets one.
func (s *Store) WriteContent(ctx context.Context, id uuid.UUID, body io.Reader, limit int64) error {
	if _, err := s.Package(ctx, id); err != nil { // who does not see it does not get its lock
		return err
	}
	connection, ok, err := lockPackage(ctx, s.uploads, id)
	if err != nil {
		return fmt.Errorf("upload VNF package %s: %w", id, err)
	}
	if !ok {
		return &vnfpkg.Conflict{Detail: fmt.Sprintf("VNF package %s is being uploaded or processed", id)}
	}
	defer unlockPackage(ctx, connection, id)
	if _, err := s.UpdatePackage(ctx, id, beginUpload); err != nil {
		return err
	}
	source := &source{reader: body}
	err = s.finishUpload(ctx, connection, id, source, limit)
	if err == nil {
		return nil
	}
	// The client may be gone, and with it ctx. If this fails too, the sweep does it.
	abandoning, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	return errors.Join(err, s.abandonUpload(abandoning, id, source.failure(err)))
}

// finishUpload stores the content of a package that is UPLOADING, and makes it PROCESSING.
func (s *Store) finishUpload(ctx context.Context, connection *pgxpool.Conn, id uuid.UUID, body io.Reader, limit int64) error {
	err := pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
		content, oid, err := storeContent(ctx, tx, body, limit)
		if err != nil {
			return err
		}
		const update = `
			UPDATE vnf_packages SET updated_at = now(), onboarding_state = 'PROCESSING', content = @oid, content_bytes = @bytes,
				content_sha512 = @sha512, failure = NULL, source = NULL
			WHERE id = @id`
		_, err = tx.Exec(ctx, update, pgx.NamedArgs{"id": id, "oid": oid, "bytes": content.SizeBytes, "sha512": content.SHA512})
		if err != nil {
			return err
		}
		return s.enqueueOnboarding(ctx, tx, id)
	})
	if err != nil {
		return fmt.Errorf("upload VNF package %s: %w", id, err)
	}
	return nil
}

// abandonTime bounds the attempt to record that an upload has failed.
const abandonTime = 10 * time.Second

// beginUpload moves a package from CREATED to UPLOADING.
func beginUpload(pkg *vnfpkg.Package) error {
	if pkg.OnboardingState != vnfpkg.Created {
		return &vnfpkg.Conflict{Detail: fmt.Sprintf("VNF package %s is %s, not %s", pkg.ID, pkg.OnboardingState, vnfpkg.Created)}
	}
	pkg.OnboardingState, pkg.Failure = vnfpkg.Uploading, nil
	return nil
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

// source reads the body of an upload and remembers whether it was the body that failed.
type source struct {
	reader io.Reader
	failed bool
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.reader.Read(p)
	s.failed = err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// failure tells the client why the upload has failed with err.
func (s *source) failure(err error) *vnfpkg.Failure {
	failure := &vnfpkg.Failure{Title: "Upload failed", Status: http.StatusInternalServerError, Detail: "the content could not be stored"}
	var download *vnfpkg.DownloadError
	switch {
	case errors.As(err, &download):
		failure.Title, failure.Status, failure.Detail = "Download failed", download.Status, download.Detail
	case errors.Is(err, vnfpkg.ErrTooLarge):
		failure.Status, failure.Detail = http.StatusRequestEntityTooLarge, err.Error()
	case s.failed:
		failure.Status, failure.Detail = http.StatusBadRequest, "the upload ended before all of it had arrived"
	}
	return failure
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
	// A body comes in as small parts as the network pleases; every one of them would be a round trip to the database.
	chunks := bufio.NewWriterSize(object, chunkBytes)
	size, err := io.Copy(io.MultiWriter(chunks, digest), io.LimitReader(body, limit+1))
	if err == nil {
		err = chunks.Flush()
	}
	if err == nil && size > limit {
		err = fmt.Errorf("%w: more than %d bytes", vnfpkg.ErrTooLarge, limit)
	}
	if err != nil {
		return vnfpkg.Content{}, 0, err
	}
	return vnfpkg.Content{SizeBytes: size, SHA512: hex.EncodeToString(digest.Sum(nil))}, oid, object.Close()
}

// WriteCSAR implements [vnfpkg.ContentStore].
func (s *Store) WriteCSAR(ctx context.Context, id uuid.UUID, csar io.Reader) error {
	err := pgx.BeginFunc(ctx, s.uploads, func(tx pgx.Tx) error {
		content, oid, err := storeContent(ctx, tx, csar, math.MaxInt64-1)
		if err != nil {
			return err
		}
		const unlink = `SELECT lo_unlink(csar) FROM vnf_packages WHERE id = $1 AND csar IS NOT NULL`
		if _, err := tx.Exec(ctx, unlink, id); err != nil {
			return err
		}
		const update = `UPDATE vnf_packages SET csar = @oid, csar_bytes = @bytes WHERE id = @id AND content IS NOT NULL`
		tag, err := tx.Exec(ctx, update, pgx.NamedArgs{"id": id, "oid": oid, "bytes": content.SizeBytes})
		if err == nil && tag.RowsAffected() == 0 {
			err = vnfpkg.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("unpack VNF package %s: %w", id, err)
	}
	return nil
}

// OpenContent implements [vnfpkg.ContentStore]. The reader holds no connection, so it may be read at any pace. Reading ends with
// [vnfpkg.ErrNotFound] when the content is removed meanwhile.
func (s *Store) OpenContent(ctx context.Context, id uuid.UUID) (vnfpkg.ContentReader, error) {
	return s.openContent(ctx, id, `SELECT content, content_bytes FROM vnf_packages WHERE id = $1 AND content IS NOT NULL`)
}

// OpenCSAR implements [vnfpkg.ContentStore]. It is like OpenContent.
func (s *Store) OpenCSAR(ctx context.Context, id uuid.UUID) (vnfpkg.ContentReader, error) {
	const query = `SELECT coalesce(csar, content), coalesce(csar_bytes, content_bytes) FROM vnf_packages WHERE id = $1 AND content IS NOT NULL`
	return s.openContent(ctx, id, query)
}

func (s *Store) openContent(ctx context.Context, id uuid.UUID, query string) (vnfpkg.ContentReader, error) {
	reader := &contentReader{ctx: ctx, pool: s.pool, id: id}
	err := s.pool.QueryRow(ctx, query, id).Scan(&reader.oid, &reader.size)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, vnfpkg.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open content of VNF package %s: %w", id, err)
	}
	return reader, nil
}

// contentReader reads a large object at any offset, through a few chunks kept in memory: a zip file is read at its end, at the
// beginning of entries, and then in sequence.
type contentReader struct {
	ctx  context.Context //nolint:containedctx // io.ReaderAt has no other way to it
	pool *pgxpool.Pool
	id   uuid.UUID
	oid  uint32
	size int64

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
	if err := r.fetch(index*chunkBytes, data); err != nil {
		return nil, fmt.Errorf("read content of VNF package %s: %w", r.id, err)
	}
	*place = chunk{index, data}
	return data, nil
}

// fetch fills data with the content from offset on.
func (r *contentReader) fetch(offset int64, data []byte) error {
	// An object that was removed is not looked for, so that its absence is no error of the database.
	const query = `SELECT lo_get(@oid::oid, @offset, @length) FROM vnf_packages WHERE id = @id AND (content = @oid OR csar = @oid)`
	rows, err := r.pool.Query(r.ctx, query, pgx.NamedArgs{"offset": offset, "length": len(data), "id": r.id, "oid": r.oid})
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return vnfpkg.ErrNotFound
	}
	var part pgtype.DriverBytes // not copied; valid until the rows are closed
	if err := rows.Scan(&part); err != nil {
		return err
	}
	if copy(data, part) < len(data) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// Close implements [io.Closer].
func (*contentReader) Close() error { return nil }
