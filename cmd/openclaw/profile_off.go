//go:build !pprof

package main

// serveProfiles does nothing in a binary for users; see profile.go.
func serveProfiles() (stop func()) { return func() {} }
