package cli

// Style paints text for a terminal; the zero value paints nothing.
type Style struct{ on bool }

// OutStyle is the style of standard output.
func (s *Streams) OutStyle() Style { return Style{s.paints(s.OutTTY)} }

// ErrStyle is the style of standard error.
func (s *Streams) ErrStyle() Style { return Style{s.paints(s.ErrTTY)} }

func (s *Streams) paints(tty bool) bool { return !s.NoColor && (tty || s.ForceColor) }

// Bold, Dim, Red, Green, Yellow and Cyan wrap text in the colour, if any.
func (s Style) Bold(text string) string   { return s.paint("1", text) }
func (s Style) Dim(text string) string    { return s.paint("2", text) }
func (s Style) Red(text string) string    { return s.paint("31", text) }
func (s Style) Green(text string) string  { return s.paint("32", text) }
func (s Style) Yellow(text string) string { return s.paint("33", text) }
func (s Style) Cyan(text string) string   { return s.paint("36", text) }

func (s Style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
