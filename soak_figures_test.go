package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// figures are what the processes and the database need at one time.
type figures struct {
	processes   [3]usage
	connections float64 // of the database
	disk        float64 // MB
}

// usage is what one process needs.
type usage struct{ memory, heap, goroutines, files float64 } // MB, MB

// measure adds the figures of now.
func (s *soak) measure() {
	var now figures
	for i, p := range s.processes {
		m := p.metrics().value
		now.processes[i] = usage{m["process_resident_memory_bytes"] / 1e6, m["go_memstats_heap_inuse_bytes"] / 1e6, m["go_goroutines"], m["process_open_fds"]}
	}
	err := s.db.QueryRow(s.t.Context(), `SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),
		pg_database_size(current_database()) / 1e6`).Scan(&now.connections, &now.disk)
	if err != nil {
		s.t.Fatal(err)
	}
	s.measured = append(s.measured, now)
}

// rows counts what is in the tables that must not grow for ever.
func (s *soak) rows() string {
	var told []string
	for _, table := range []string{"vnf_lcm_op_occs", "vnf_lcm_op_steps", "notifications", "deliveries", "audit_events", "river.river_job"} {
		told = append(told, fmt.Sprintf("%s %d", table, s.count(table)))
	}
	return strings.Join(told, ", ")
}

func (s *soak) count(table string) (count int) {
	if err := s.db.QueryRow(s.t.Context(), `SELECT count(*) FROM `+pgx.Identifier(strings.Split(table, ".")).Sanitize()).Scan(&count); err != nil {
		s.t.Fatal(err)
	}
	return count
}

// median is the middle of a figure between two parts of the time, which go from 0 to 1; 0 if it was over before anything was measured.
func (s *soak) median(from, to float64, of func(figures) float64) float64 {
	if len(s.measured) == 0 {
		return 0
	}
	count := float64(len(s.measured))
	var values []float64
	for _, at := range s.measured[int(from*count):max(int(to*count), int(from*count)+1)] {
		values = append(values, of(at))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// table tells what a process that lives throughout, one that is killed, and the database need after the warm-up, which is the first
// quarter, and at the end; both are the medians of a quarter. What grows by more than a part and an absolute amount fails the test.
func (s *soak) table() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%-44s %10s %10s\n", "", "second 1/4", "last 1/4")
	row := func(name string, of func(figures) float64, part, most float64) {
		before, after := s.median(0.25, 0.5, of), s.median(0.75, 1, of)
		fmt.Fprintf(&text, "%-44s %10.0f %10.0f\n", name, before, after)
		if part > 0 && after > before*part+most {
			s.t.Errorf("%s grows from %.0f to %.0f", name, before, after)
		}
	}
	for i, name := range []string{"lives throughout", "killed", "killed"} {
		name = fmt.Sprintf(", process %d, %s", i+1, name)
		row("memory (RSS, MB)"+name, func(f figures) float64 { return f.processes[i].memory }, 1.2, 20)
		row("heap in use (MB)"+name, func(f figures) float64 { return f.processes[i].heap }, 1.5, 20)
		row("goroutines"+name, func(f figures) float64 { return f.processes[i].goroutines }, 1.2, 60)
		row("open files"+name, func(f figures) float64 { return f.processes[i].files }, 1.2, 40)
	}
	row("connections of the database", func(f figures) float64 { return f.connections }, 1.2, 10)
	row("disk of the database (MB)", func(f figures) float64 { return f.disk }, 0, 0)
	return text.String()
}

// soakLength is for how long the soak goes on.
func soakLength(t *testing.T, text string) time.Duration {
	t.Helper()
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("VNFM_SOAK: %v", err)
	}
	return length
}
