// Package doctor looks at an installation and says what is wrong with it, what to
// do about it, and repairs what can be repaired without losing anything.
//
// [Checks] lists the checks in the order in which they make sense: a repaired
// config file is what the later ones look at. A check looks again each time it
// runs, changes nothing by itself, and gives [Finding]s; a finding may carry a
// [Repair], which the caller runs when the user agrees. Every file is copied
// before it changes. The package owns no state and starts no goroutines; the
// command line calls it and does the talking.
//
//	for _, check := range doctor.Checks(cfg) {
//		for _, f := range check(ctx) {
//			…
//		}
//	}
package doctor
