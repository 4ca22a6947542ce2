// Package cli is what every command shares on top of the command dispatcher:
// the ends it talks to, tables, colours, prompts, exit codes and the error
// voice.
//
// Results go to standard output, talk goes to standard error, prompts go to the
// terminal. A command that fails prints one line that starts with the program's
// name, then its hints, and exits with the code the error carries (1 unless it
// says otherwise). The package owns no state; cmd/openclaw is its only caller.
//
//	if err := root.ExecuteContext(ctx); err != nil {
//		cli.Report(io.Err, "openclaw", err)
//		return cli.ExitCode(err)
//	}
package cli
