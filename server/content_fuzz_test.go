package server

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/labstack/echo/v4"
)

// singleRange is a range as RFC 9110 14.1.2 writes it, or the last bytes.
var singleRange = regexp.MustCompile(`^(?i:bytes)=[ \t]*(?:([0-9]+)-([0-9]*)|-([0-9]+))[ \t]*$`)

// rangeOf says which part of the content a header asks for, up to the byte before end; ok is false if the header is not one valid range.
func rangeOf(header string, size int64) (begin, end int64, ok bool) {
	parts := singleRange.FindStringSubmatch(header)
	if parts == nil {
		return 0, 0, false
	}
	read := func(digits string) int64 {
		n, _ := new(big.Int).SetString(digits, 10)
		if !n.IsInt64() {
			return math.MaxInt64
		}
		return n.Int64()
	}
	switch {
	case parts[3] != "":
		return size - min(size, read(parts[3])), size, true
	case parts[2] == "":
		return min(size, read(parts[1])), size, true
	case read(parts[2]) < read(parts[1]):
		return 0, 0, false
	}
	return min(size, read(parts[1])), min(size-1, read(parts[2])) + 1, true
}

func FuzzRange(f *testing.F) {
	for _, header := range []string{
		"bytes=0-9", "bytes=5-", "bytes=-5", "bytes=-0", "bytes=7-3", "bytes=99999-", "bytes=0-1,3-4", "lines=1-2", "bytes=", "bytes=-", "bytes=a-b",
		"bytes=+1-2", "Bytes=0-1", "bytes=0-99999999999999999999", "bytes=99999999999999999999-", "bytes=-99999999999999999999", "bytes= 1-2 ", "bytes=-9227000000000000000A",
	} {
		f.Add(header, []byte("the content of a file"))
	}
	f.Add("bytes=0-", []byte{})
	f.Add("bytes=-5", []byte{})
	f.Fuzz(func(t *testing.T, header string, content []byte) {
		recorder := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		request.Header["Range"] = []string{header}
		err := serveBytes(echo.New().NewContext(request, recorder), mediaZip, atReader{bytes.NewReader(content)}, int64(len(content)))
		answer := recorder.Result()
		defer answer.Body.Close()
		begin, end, valid := rangeOf(header, int64(len(content)))
		part := content[begin:end]
		var told *problem
		switch {
		case errors.As(err, &told) && told.status == http.StatusRequestedRangeNotSatisfiable:
			if want := fmt.Sprintf("bytes */%d", len(content)); !valid || len(part) > 0 || answer.Header.Get("Content-Range") != want {
				t.Errorf("%q of %d bytes is refused with Content-Range %q", header, len(content), answer.Header.Get("Content-Range"))
			}
		case errors.As(err, &told) && told.status == http.StatusBadRequest:
			if valid {
				t.Errorf("%q is refused as a mistake", header)
			}
		case err != nil:
			t.Errorf("%q: %v", header, err)
		case answer.StatusCode == http.StatusPartialContent:
			want := fmt.Sprintf("bytes %d-%d/%d", begin, end-1, len(content))
			if !valid || len(part) == 0 || !bytes.Equal(recorder.Body.Bytes(), part) || answer.Header.Get("Content-Range") != want {
				t.Errorf("%q is %q of %q with Content-Range %q, want %q", header, recorder.Body, content, answer.Header.Get("Content-Range"), want)
			}
		case answer.StatusCode != http.StatusOK || valid || !bytes.Equal(recorder.Body.Bytes(), content):
			t.Errorf("%q: %s, %d of %d bytes", header, answer.Status, recorder.Body.Len(), len(content))
		}
	})
}
