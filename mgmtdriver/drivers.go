package mgmtdriver

import (
	"context"
	"maps"
	"slices"
)

// NoopName is the name of the driver that does nothing, which every server has.
const NoopName = "vnflcm_noop"

// Noop is the driver that does nothing.
type Noop struct{}

// Check implements [Driver].
func (Noop) Check(context.Context, *Call) error { return nil }

// Steps implements [Driver].
func (Noop) Steps(Hook) []Step { return nil }

// Drivers are the drivers of a server by the name that VNFDs give. [Noop] is always among them. The files that packages carry for a
// driver are not looked at: code from packages does not run in the server.
type Drivers map[string]Driver

// Find returns the driver of that name, or *[Unknown].
func (d Drivers) Find(name string) (Driver, error) {
	if driver, ok := d[name]; ok {
		return driver, nil
	}
	if name == NoopName {
		return Noop{}, nil
	}
	return nil, &Unknown{Name: name, Known: d.Names()}
}

// Names returns the names of all drivers, in alphabetical order.
func (d Drivers) Names() []string {
	names := slices.Collect(maps.Keys(d))
	if _, ok := d[NoopName]; !ok {
		names = append(names, NoopName)
	}
	slices.Sort(names)
	return names
}
