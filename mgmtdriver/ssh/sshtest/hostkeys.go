package sshtest

import (
	"context"
	"sync"

	"vnfm/mgmtdriver"
)

// HostKeys keep the host keys of a VNF instance in memory. The zero value knows none.
type HostKeys struct {
	mu   sync.Mutex
	keys map[mgmtdriver.Host]string
}

// HostKey implements [mgmtdriver.HostKeys].
func (k *HostKeys) HostKey(_ context.Context, host mgmtdriver.Host) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys[host], nil
}

// KeepHostKey implements [mgmtdriver.HostKeys].
func (k *HostKeys) KeepHostKey(_ context.Context, host mgmtdriver.Host, key string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys == nil {
		k.keys = map[mgmtdriver.Host]string{}
	}
	if _, known := k.keys[host]; !known {
		k.keys[host] = key
	}
	return k.keys[host], nil
}
