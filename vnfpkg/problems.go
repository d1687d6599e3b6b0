package vnfpkg

import (
	"errors"
	"fmt"
)

// problems collects what is wrong with a package, so that its author learns all of it at once.
type problems struct {
	found []error
}

const maxProblems = 20

func (p *problems) add(err error) {
	if err != nil && !p.full() {
		p.found = append(p.found, err)
	}
}

// full tells whether no more problems will be taken.
func (p *problems) full() bool { return len(p.found) >= maxProblems }

func (p *problems) addf(at value, format string, args ...any) {
	p.add(at.invalid(format, args...))
}

func (p *problems) err() error { return errors.Join(p.found...) }

// invalid says that something is wrong with the value.
func (v value) invalid(format string, args ...any) error {
	return &Invalid{File: v.file, Line: v.line(), Reason: fmt.Sprintf(format, args...)}
}

// accepts notes a problem of the package and returns true; it returns false for any other error.
func (p *problems) accepts(err error) bool {
	var invalid *Invalid
	if err != nil && !errors.As(err, &invalid) {
		return false
	}
	p.add(err)
	return true
}
