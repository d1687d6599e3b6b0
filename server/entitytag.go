package server

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
)

// entityTag is the tag of a resource that counts its changes (RFC 7232 2.3).
func entityTag(version int64) string { return strconv.Quote(strconv.FormatInt(version, 10)) }

// tagPattern is one entity tag of a list.
var tagPattern = regexp.MustCompile(`^\s*(W/)?"([^"]*)"\s*$`)

// versionsRequired are the versions of a resource that If-Match allows (RFC 7232 3.1); nil is any. A tag that was never given, or is
// weak, is none.
func versionsRequired(c echo.Context) ([]int64, error) {
	lines := c.Request().Header.Values("If-Match")
	if len(lines) == 0 {
		return nil, nil
	}
	header := strings.Join(lines, ",")
	if strings.TrimSpace(header) == "*" {
		return nil, nil
	}
	versions := []int64{}
	for tag := range strings.SplitSeq(header, ",") {
		parts := tagPattern.FindStringSubmatch(tag)
		if parts == nil {
			return nil, badRequest(`header If-Match: must be * or entity tags in double quotes, such as "1"`)
		}
		if version, err := strconv.ParseInt(parts[2], 10, 64); err == nil && parts[1] == "" {
			versions = append(versions, version)
		}
	}
	return versions, nil
}
