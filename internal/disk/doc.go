// Package disk owns every way this program puts bytes on a file system: atomic
// replacement, append-only JSON lines, small tables, journals whose writers share one sync,
// exclusive lock files shared with other processes, rotating backups and the
// dated log file.
//
// Everything it creates is private: files 0600 unless the caller says
// otherwise, folders 0700. A reader of a replaced file sees either the old
// content or the new one, also after a crash or on a full disk.
//
// config, session, pairing, device and the rooms that keep their own files call
// it; it keeps no state besides the handles it returns and starts no goroutines.
//
//	if err := disk.MkdirAll(dir); err != nil { … }
//	if err := disk.WriteFile(filepath.Join(dir, "paired.json"), data, 0o600); err != nil { … }
package disk
