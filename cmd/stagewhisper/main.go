package main

import (
	"os"

	"openclaw/internal/cli"
)

func main() {
	os.Exit(execute(os.Args, cli.Standard()))
}
