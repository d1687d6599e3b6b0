// Command record drives the real OpenStack of e2e/openstack over plain HTTP and keeps what it answers, one file per request, for the
// simulator's contract test:
//
//	e2e/openstack/up
//	go run ./e2e/record -o lcm/heat/heattest/testdata/recordings
//
// A recording names the service by its type in Keystone's catalog and the path relative to that service's endpoint there (for identity,
// relative to the root: /v3/auth/tokens). Identifiers, times, tokens and generated names are replaced by others of the same shape, the
// same original always by the same replacement within one run, so that references between recordings stay true and a repeated run
// changes little. Everything happens in a project of its own that is removed at the end.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	dir := flag.String("o", "lcm/heat/heattest/testdata/recordings", "folder to write the recordings to")
	authURL := flag.String("auth-url", "http://127.0.0.1:5000", "root of Keystone")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // this is main
	err := run(ctx, *authURL, *dir)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// run records every scenario and reports the requests whose status was not the expected one.
func run(ctx context.Context, authURL, dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	admin := &client{authURL: authURL}
	if err := admin.login(ctx, account{"admin", "devstack", "admin"}); err != nil {
		return err
	}
	lab, err := newLab(ctx, admin)
	if err != nil {
		return err
	}
	defer lab.remove(context.WithoutCancel(ctx))

	r := &recorder{client: &client{authURL: authURL}, dir: dir, admin: admin, lab: lab, names: newNormaliser()}
	defer r.removeStacks(context.WithoutCancel(ctx))
	for _, scenario := range []func(context.Context) error{
		r.identity, r.images, r.lifeOfAStack, r.failures, r.refusals, r.floatingIP, r.wrongTokens,
	} {
		if err := scenario(ctx); err != nil {
			return err
		}
	}
	if len(r.surprises) > 0 {
		return fmt.Errorf("%d requests had another status than expected: %q", len(r.surprises), r.surprises)
	}
	return nil
}
