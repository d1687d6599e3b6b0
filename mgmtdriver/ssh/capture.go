package ssh

import (
	"bytes"
	"fmt"
)

// capture keeps the beginning and the end of what is written to it, in bounded memory.
type capture struct {
	half  int // most bytes of the beginning, and of the end
	head  []byte
	tail  []byte // a ring once it is full
	at    int    // where the ring begins
	total int64
}

func newCapture(limit int) *capture { return &capture{half: max(limit/2, 1)} }

func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	if free := c.half - len(c.head); free > 0 {
		taken := min(free, len(p))
		c.head = append(c.head, p[:taken]...)
		p = p[taken:]
	}
	if len(p) > c.half {
		p = p[len(p)-c.half:]
	}
	if free := c.half - len(c.tail); free > 0 {
		taken := min(free, len(p))
		c.tail = append(c.tail, p[:taken]...)
		p = p[taken:]
	}
	for len(p) > 0 {
		taken := copy(c.tail[c.at:], p)
		c.at = (c.at + taken) % c.half
		p = p[taken:]
	}
	return n, nil
}

// omitted is how many bytes were not kept.
func (c *capture) omitted() int64 { return c.total - int64(len(c.head)+len(c.tail)) }

// text returns what was kept, with a note where something is left out.
func (c *capture) text() string {
	var whole bytes.Buffer
	whole.Write(c.head)
	if omitted := c.omitted(); omitted > 0 {
		_, _ = fmt.Fprintf(&whole, "\n[%d bytes are left out here]\n", omitted)
	}
	whole.Write(c.tail[c.at:])
	whole.Write(c.tail[:c.at])
	return whole.String()
}

// end returns the last bytes, for an excerpt. It begins so far behind the place where bytes are left out that no secret is cut in half.
func (c *capture) end() string {
	tail := append(append([]byte{}, c.tail[c.at:]...), c.tail[:c.at]...)
	if c.omitted() == 0 {
		return string(c.head) + string(tail)
	}
	return string(tail[min(len(tail), c.half/2):])
}
