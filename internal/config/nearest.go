package config

import "strings"

// nearest returns the name that key most likely misspells, or "" when none is
// close. Ties go to the earlier one.
func nearest(key string, names []string) string {
	if len(key) > 64 {
		return "" // no known one is nearly as long
	}
	best, bestCost := "", len([]rune(key))/2+1
	for _, name := range names {
		if c := distance(strings.ToLower(key), strings.ToLower(name)); c < bestCost {
			best, bestCost = name, c
		}
	}
	return best
}

// distance counts insertions, deletions, replacements and swaps of neighbours
// that turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before, above []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, above, row = above, row, make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(y)]
}
