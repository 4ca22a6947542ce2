// Package session keeps what a conversation remembers: the index of all sessions
// of one agent (sessions.json) and one transcript per session (JSON lines).
//
// A [Store] owns a folder, normally <state>/agents/<agent>/sessions. Its index is
// shared with other programs that read and write sessions.json; a change is first
// made durable in a journal beside it, which many callers share with one sync,
// and is folded into sessions.json soon after by [Store.Run]. A kill at any moment
// loses nothing that [Store.Update] has returned.
//
// A [Transcript] is the log of one session while a run writes it. It holds the
// lock file that other programs respect, and gives the messages a model sees.
// What is broken in a transcript is repaired in that view, not in the file.
//
// Goroutines: Run is the one that lives, and the caller starts it; an open
// transcript lets the disk sync beside the run, and its Close waits for that.
// The router, the agent and the gateway call this package.
//
//	st, err := session.Open(session.Config{Dir: dir, AgentID: "main"})
//	if err != nil { … }
//	defer st.Close()
//	e, err := st.Update(ctx, "agent:main:main", func(e *session.Entry) error {
//		e.ThinkingLevel = "low"
//		return nil
//	})
//
// Errors callers branch on: [ErrLabelInUse], [ErrLocked], [ErrClosed] and
// fs.ErrNotExist for a transcript that is not there.
package session
