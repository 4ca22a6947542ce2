package conformance

import "slices"

// joinAttempts tells the runs of a recording in our way. The reference announces
// start and end of a run again for each attempt of a retried model call, and its
// chat is final after the first; ours is one run with one end, after the last
// (gateway-protocol 9.5, GW-087). So the first start stays, and the first end and
// the final go where the last end was.
func (r *Recording) joinAttempts() {
	type span struct {
		starts, ends []int
		final        int
	}
	spans := map[string]*span{}
	for i, l := range r.Lines {
		id := str(l.Frame, "payload", "runId")
		s := spans[l.Conn+"/"+id]
		if s == nil {
			s = &span{}
			spans[l.Conn+"/"+id] = s
		}
		switch describe(l.Frame, nil).Key {
		case "event agent " + id + " lifecycle.start":
			s.starts = append(s.starts, i)
		case "event agent " + id + " lifecycle.end":
			s.ends = append(s.ends, i)
		case "event chat " + id + " final":
			s.final = i
		}
	}
	instead := map[int][]Line{}
	for _, s := range spans {
		if len(s.starts) < 2 || len(s.ends) != len(s.starts) {
			continue
		}
		for _, i := range slices.Concat(s.starts[1:], s.ends) {
			instead[i] = nil
		}
		end := []Line{r.Lines[s.ends[0]]}
		if s.final > s.ends[0] {
			instead[s.final] = nil
			end = append(end, r.Lines[s.final])
		}
		last := s.ends[len(s.ends)-1]
		for i := range end {
			end[i].T = r.Lines[last].T
		}
		instead[last] = end
	}
	var lines []Line
	for i, l := range r.Lines {
		if ls, ok := instead[i]; ok {
			lines = append(lines, ls...)
		} else {
			lines = append(lines, l)
		}
	}
	r.Lines = lines
}
