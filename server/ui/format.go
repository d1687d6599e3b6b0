package ui

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
)

var functions = template.FuncMap{
	"clock":    clock,
	"stamp":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"age":      age,
	"lasts":    lasts,
	"lower":    func(text any) string { return strings.ToLower(fmt.Sprint(text)) },
	"size":     size,
	"short":    short,
	"document": document,
	"rows": func(rows []operationRow, now time.Time) list[operationRow] {
		return list[operationRow]{Now: now, Rows: rows}
	},
	"moment": func(at, now time.Time) moment { return moment{at, now} },
}

// moment is a point in time and when it is looked at.
type moment struct{ At, Now time.Time }

// clock is a time for people, in UTC.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// age tells how long ago something was. It changes rarely, so that what is shown stays.
func age(m moment) string {
	ago := m.Now.Sub(m.At)
	switch {
	case ago < time.Minute:
		return "just now"
	case ago < time.Hour:
		return fmt.Sprintf("%d min ago", int(ago.Minutes()))
	case ago < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(ago.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(ago.Hours()/24))
	}
}

// lasts tells how long something has taken.
func lasts(from, to time.Time) string {
	if from.IsZero() || to.IsZero() || to.Before(from) {
		return ""
	}
	took := to.Sub(from)
	switch {
	case took < 10*time.Second:
		return strconv.FormatFloat(took.Seconds(), 'f', 1, 64) + " s"
	case took < time.Minute:
		return fmt.Sprintf("%d s", int(took.Seconds()))
	case took < time.Hour:
		return fmt.Sprintf("%d min %d s", int(took.Minutes()), int(took.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %d min", int(took.Hours()), int(took.Minutes())%60)
	}
}

// size is a number of bytes for people.
func size(bytes int64) string {
	const step = 1024
	value, unit := float64(bytes), 0
	for ; value >= step && unit < 4; unit++ {
		value /= step
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[unit-1])
}

// short is the beginning of an id, enough for people to tell it from others.
func short(id fmt.Stringer) string {
	text, _, _ := strings.Cut(id.String(), "-")
	return text
}

// document is JSON for people; "" of nothing.
func document(value any) (string, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil || string(text) == "null" || string(text) == "{}" {
		return "", err
	}
	return string(text), nil
}
