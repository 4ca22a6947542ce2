package cli

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Column describes one column of a [Table].
type Column struct {
	Title string
	// Max bounds the width in characters; zero means no bound. Longer cells lose
	// their middle.
	Max int
	// Right aligns numbers.
	Right bool
}

// Table prints rows in aligned columns.
type Table struct {
	columns []Column
	rows    [][]string
}

// NewTable returns an empty table.
func NewTable(columns ...Column) *Table { return &Table{columns: columns} }

// Row adds a row; missing cells are empty, surplus cells are dropped.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(t.columns))
	for i := range row {
		if i < len(cells) {
			row[i] = cells[i]
			if limit := t.columns[i].Max; limit > 0 {
				row[i] = ElideMiddle(row[i], limit)
			}
		}
	}
	t.rows = append(t.rows, row)
}

// Write prints the title row and all rows.
func (t *Table) Write(w io.Writer) error {
	widths := make([]int, len(t.columns))
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.Title
		widths[i] = utf8.RuneCountInString(c.Title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var b strings.Builder
	t.line(&b, titles, widths)
	for _, row := range t.rows {
		t.line(&b, row, widths)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) line(b *strings.Builder, cells []string, widths []int) {
	var line strings.Builder
	for i, cell := range cells {
		if i > 0 {
			line.WriteString("  ")
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.columns[i].Right {
			line.WriteString(pad + cell)
		} else {
			line.WriteString(cell + pad)
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " "))
	b.WriteByte('\n')
}

// ElideMiddle cuts s to limit characters by replacing its middle with "…".
func ElideMiddle(s string, limit int) string {
	r := []rune(s)
	if len(r) <= limit || limit < 3 {
		return s
	}
	head := limit / 2
	tail := limit - head - 1
	return string(r[:head]) + "…" + string(r[len(r)-tail:])
}
