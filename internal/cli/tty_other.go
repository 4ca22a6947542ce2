//go:build !unix

package cli

import "os"

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func terminalWidth(_ *os.File, fallback int) int { return fallback }
