package heattest

import "testing"

// Start makes a cloud on a free loopback port for the length of a test.
func Start(tb testing.TB, opts Options) *Cloud {
	tb.Helper()
	c, err := New(opts)
	if err != nil {
		tb.Fatalf("start the OpenStack simulator: %v", err)
	}
	tb.Cleanup(c.Close)
	if err := c.Listen(tb.Context(), "127.0.0.1:0"); err != nil {
		tb.Fatalf("start the OpenStack simulator: %v", err)
	}
	return c
}
