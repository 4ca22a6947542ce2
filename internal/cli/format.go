package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// units are tried in this order, so that "ms" wins over "s".
var units = []struct {
	suffix string
	unit   time.Duration
}{
	{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute},
	{"h", time.Hour}, {"d", 24 * time.Hour},
}

// ParseDuration reads "<n>(ms|s|m|h|d)" with decimals; a bare number counts in
// the given unit. Negative values are refused.
func ParseDuration(s string, bare time.Duration) (time.Duration, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	unit := bare
	for _, u := range units {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			text, unit = strings.TrimSpace(rest), u.unit
			break
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || math.IsNaN(n) || n*float64(unit) > math.MaxInt64 {
		return 0, Failf("invalid duration %q (use a number with ms, s, m, h or d, such as 90s)", s)
	}
	return time.Duration(n * float64(unit)), nil
}

// Age prints how long ago something was, in its largest unit.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Tokens prints a token count shortly: 950, 12.3k, 1.2M.
func Tokens(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return trimZero(float64(n)/1000) + "k"
	}
	return trimZero(float64(n)/1_000_000) + "M"
}

// Bytes prints a size in powers of 1024.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB"} {
		if f /= 1024; f < 1024 {
			return trimZero(f) + " " + unit
		}
	}
	return trimZero(f/1024) + " TiB"
}

func trimZero(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}
