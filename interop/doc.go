// Package interop runs programs of others against ours: the official client of the
// reference against our gateway, the published StageWhisper plugins (one in
// JavaScript, one in Python) against our relay and our desktop.
//
// The tests are behind the build tag "interop" because they need those programs, a
// Node.js runtime and about 1.5 GB of disk. All are installed once from the package
// registries into $OPENCLAW_INTEROP_DIR (or openclaw-interop in the user's
// cache folder). When they cannot be had after three tries one loud line says so
// and nothing is tested; an exchange that fails, fails the run.
//
//	make interop
package interop
