package main

import "runtime/debug"

// version is what --version prints and what the gateway tells its clients.
const version = "0.1.0"

// commit returns the revision the binary was built from, or "".
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return ""
}
