// Package interop runs the official client of the reference against our gateway.
//
// The tests are behind the build tag "interop" because they need the client, a
// Node.js runtime and about 1.4 GB of disk. Both are installed once from the
// package registry into $OPENCLAW_INTEROP_DIR (or openclaw-interop in the user's
// cache folder). When they cannot be had after three tries one loud line says so
// and nothing is tested; an exchange that fails, fails the run.
//
//	make interop
package interop
