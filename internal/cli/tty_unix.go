//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// A terminal has a window size; a pipe, a file and the null device have none.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

func terminalWidth(f *os.File, fallback int) int {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || ws.Col == 0 {
		return fallback
	}
	return int(ws.Col)
}
