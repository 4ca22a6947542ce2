// Package logs builds the program's logger and keeps secrets out of it.
//
// [New] returns a slog logger that writes JSON lines to the log file, which is
// what logs.tail and "openclaw logs" read, and text for people to the console.
// Every message, attribute and error passes [Redact] first. [Secret] is the type
// for tokens and passwords: it never prints itself.
//
// cmd builds the logger once and hands it down; everybody else gets a
// *slog.Logger in Config.Log and names its room with the attribute "subsystem":
//
//	log := logs.New(logs.Config{File: file, Console: os.Stderr})
//	log.With(logs.Subsystem, "gateway").Info("listening", "addr", addr)
package logs
