package server

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
)

// sizedSource gives the bytes from an offset on.
type sizedSource interface {
	from(offset int64) (io.Reader, error)
}

// atReader is a source that can be read at any offset.
type atReader struct{ io.ReaderAt }

func (r atReader) from(offset int64) (io.Reader, error) {
	const unbounded = 1 << 62
	return io.NewSectionReader(r, offset, unbounded), nil
}

// streamReader is a source that has to be read from its beginning, as compressed files have.
type streamReader struct{ io.Reader }

func (r streamReader) from(offset int64) (io.Reader, error) {
	_, err := io.CopyN(io.Discard, r.Reader, offset)
	return r.Reader, err
}

// serveBytes answers with content of a known size, or with the range of it that the request asks for (RFC 9110 14.2).
func serveBytes(c echo.Context, mediaType string, source sizedSource, size int64) error {
	header := c.Response().Header()
	header.Set("Accept-Ranges", "bytes")
	header.Set(echo.HeaderXContentTypeOptions, "nosniff")
	start, length, partial, err := rangeAsked(rangesOf(c), size)
	if err != nil {
		header.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		return err
	}
	content, err := source.from(start)
	if err != nil {
		return err
	}
	header.Set(echo.HeaderContentType, mediaType)
	header.Set(echo.HeaderContentLength, strconv.FormatInt(length, 10))
	status := http.StatusOK
	if partial {
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, start+length-1, size))
		status = http.StatusPartialContent
	}
	c.Response().WriteHeader(status)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	_, err = io.CopyN(c.Response(), content, length)
	return err
}

// rangesOf is the Range header of a request, if it counts: for GET alone, and with If-Range for that representation alone, by its
// strong entity tag (RFC 9110 13.1.5).
func rangesOf(c echo.Context) []string {
	request := c.Request()
	representation := request.Header.Get("If-Range")
	if request.Method != http.MethodGet || representation != "" && representation != c.Response().Header().Get("ETag") {
		return nil
	}
	return request.Header.Values("Range")
}

// rangeAsked reads a Range header. A unit other than bytes, or what is no range at all, asks for everything.
func rangeAsked(header []string, size int64) (start, length int64, partial bool, err error) {
	unit, spec, _ := strings.Cut(strings.Join(header, ","), "=")
	if !strings.EqualFold(unit, "bytes") {
		return 0, size, false, nil
	}
	if strings.Contains(spec, ",") {
		return 0, 0, false, badRequest("Range: one range can be asked for at a time")
	}
	first, last, ok := strings.Cut(strings.Trim(spec, " \t"), "-")
	if !ok {
		return 0, size, false, nil
	}
	from, isFrom := number(first)
	to, isTo := number(last)
	switch {
	case first == "" && isTo: // the last bytes
		from, to = max(0, size-to), size-1
	case isFrom && last == "":
		to = size - 1
	case !isFrom || !isTo || to < from:
		return 0, size, false, nil
	}
	to = min(to, size-1)
	if from > to {
		return 0, 0, false, &problem{http.StatusRequestedRangeNotSatisfiable, fmt.Sprintf("Range: the content has %d bytes", size)}
	}
	return from, to - from + 1, true, nil
}

// number reads digits; what is too large to be held is the largest number.
func number(text string) (int64, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, _ := strconv.ParseInt(text, 10, 64)
	return n, true
}

// mediaTypeOfFile guesses what a file is by its name. Text of any kind is text/plain: nothing from a package may run in a browser.
func mediaTypeOfFile(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".zip":
		return mediaZip
	case ".json":
		return mediaJSON
	case ".txt", ".md", ".sh", ".py", ".yaml", ".yml", ".mf", ".meta", ".cfg", ".conf", ".html", ".xml":
		return mediaText
	}
	if guessed := mime.TypeByExtension(path.Ext(name)); strings.HasPrefix(guessed, "image/png") || strings.HasPrefix(guessed, "image/jpeg") {
		return guessed
	}
	return echo.MIMEOctetStream
}
