//go:build !amd64 && !arm64

package python

const (
	architecture = uint32(0)
	openHere     = noCall
)

var plainHere []uint32
