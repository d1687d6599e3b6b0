package vnfpkg

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"time"
)

// WriteVnfd writes a zip file with the files of the VNFD, verbatim and under their names in the CSAR (SOL003 10.4.4.3.2). The
// names are [Description.VnfdFiles].
func (c *CSAR) WriteVnfd(ctx context.Context, w io.Writer, names []string) error {
	archive := zip.NewWriter(w)
	for _, name := range names {
		content, err := c.Open(name)
		if err != nil {
			return err
		}
		err = writeEntry(ctx, archive, name, zip.Deflate, content)
		if closeErr := content.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return fmt.Errorf("write %s into the VNFD archive: %w", name, err)
		}
	}
	return archive.Close()
}

// archiveTime is the time of all entries of the archives that are made here: the same content gives the same bytes.
var archiveTime = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

func writeEntry(ctx context.Context, archive *zip.Writer, name string, method uint16, content io.Reader) error {
	header := &zip.FileHeader{Name: name, Method: method, Modified: archiveTime}
	header.SetMode(0o644)
	entry, err := archive.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(entry, &contextReader{ctx, content})
	return err
}
