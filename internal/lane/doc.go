// Package lane orders work: named first-in-first-out queues that each let a
// limited number of holders in at a time.
//
// A run holds two lanes for as long as it lasts: the lane of its session, which
// admits one, and from inside that slot a global lane such as [Main], whose
// limit bounds the machine. The package knows neither agents nor sessions; it
// owns the queues and no goroutine. A lane exists only while somebody holds or
// waits for it, so the cost of a place does not depend on how many sessions
// there are.
//
// The router is the caller. Taking a place with [Lanes.Queue] is immediate, so
// the order of acceptance is the order of execution, whenever the goroutine
// that waits gets to run:
//
//	place := lanes.Queue(lane.Session(key)) // while accepting the request
//	…
//	err := place.Do(ctx, func(ctx context.Context) error {
//		return lanes.Do(ctx, lane.Main, run)
//	})
//
// A function must not wait for a lane that it already holds: work that belongs
// to the run, such as compaction, is called directly.
package lane
