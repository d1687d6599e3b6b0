package vnfpkg

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// integer reads a number that is not negative; missing is what an absent one counts as.
func (t *topology) integer(v value, missing int) int {
	if !v.given() {
		return missing
	}
	n, err := strconv.ParseInt(v.text(), 10, 32)
	if err != nil || n < 0 {
		t.p.addf(v, "%q is not a number from 0", v.text())
		return missing
	}
	return int(n)
}

var scalarSize = regexp.MustCompile(`^\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*$`)

// sizeUnits are those of scalar-unit.size, TOSCA 1.2 3.3.6.4.
var sizeUnits = map[string]float64{
	"": 1, "b": 1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// size reads a scalar-unit.size in bytes, 0 if absent.
func (t *topology) size(v value) int64 {
	if !v.given() {
		return 0
	}
	if match := scalarSize.FindStringSubmatch(v.text()); match != nil {
		number, err := strconv.ParseFloat(match[1], 64)
		unit, ok := sizeUnits[strings.ToLower(match[2])]
		if bytes := math.Round(number * unit); err == nil && ok && bytes < math.MaxInt64/2 {
			return int64(bytes)
		}
	}
	t.p.addf(v, "%q is not a size such as 2 GiB", v.text())
	return 0
}
