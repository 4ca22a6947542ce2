package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// row is one line of the table.
type row struct {
	work      string
	reference string // what the reference was measured at
	target    limit
	value     float64 // in the target's unit
	note      string
}

// limit is what a value must not cross.
type limit struct {
	atLeast bool
	value   float64
	unit    string
}

func atMost(v float64, unit string) limit  { return limit{value: v, unit: unit} }
func atLeast(v float64, unit string) limit { return limit{atLeast: true, value: v, unit: unit} }

func (l limit) met(v float64) bool {
	if l.atLeast {
		return v >= l.value
	}
	return v <= l.value
}

func (l limit) String() string {
	switch {
	case l.value == 0:
		return ""
	case l.atLeast:
		return "≥ " + number(l.value) + " " + l.unit
	}
	return "≤ " + number(l.value) + " " + l.unit
}

// number prints three figures, or whole thousands with commas.
func number(v float64) string {
	switch {
	case v >= 1000:
		s := fmt.Sprintf("%.0f", v)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	case v >= 100 || v == float64(int(v)):
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// table prints rows in Markdown as they come.
type table struct {
	out    io.Writer
	rows   int
	missed []string
}

func newTable(out io.Writer) *table {
	t := &table{out: out}
	t.line("work", "reference", "target", "measured", "", "CPU of the gateway, spread")
	t.line("---", "---", "---", "---:", "---", "---")
	return t
}

func (t *table) line(cells ...string) {
	widths := []int{52, 17, 18, 16, 4, 0}
	for i, c := range cells {
		if c == "---" || c == "---:" {
			c = strings.Repeat("-", max(widths[i], 3)-strings.Count(c, ":")) + c[3:]
		}
		pad := strings.Repeat(" ", max(0, widths[i]-len([]rune(c))))
		fmt.Fprint(t.out, "| ", c, pad, " ")
	}
	fmt.Fprintln(t.out, "|")
}

// add prints r. A row without a target is for information.
func (t *table) add(r row) {
	t.rows++
	verdict := ""
	if r.target.value != 0 {
		verdict = "ok"
		if !r.target.met(r.value) {
			verdict = "MISS"
			t.missed = append(t.missed, r.work)
		}
	}
	t.line(r.work, cmp.Or(r.reference, "–"), r.target.String(), number(r.value)+" "+r.target.unit, verdict, r.note)
}

func (t *table) verdict() string {
	if len(t.missed) == 0 {
		return fmt.Sprintf("%d rows, every target is met", t.rows)
	}
	return fmt.Sprintf("%d rows, %d missed: %s", t.rows, len(t.missed), strings.Join(t.missed, "; "))
}

// median sorts the series.
func median[T cmp.Ordered](series []T) T {
	slices.Sort(series)
	return series[len(series)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// spread describes a sorted series.
func spread(series []time.Duration) string {
	return fmt.Sprintf("%.2f…%.2f ms, p90 %.2f (%d)", ms(series[0]), ms(series[len(series)-1]), ms(series[len(series)*9/10]), len(series))
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }

// load is the machine's load average: what else was going on.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(data))[:2], " ")
}
