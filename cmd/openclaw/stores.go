package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"openclaw/internal/config"
	"openclaw/internal/doctor"
	"openclaw/internal/session"
)

// stores opens the session store of each agent on first use and keeps it folding
// its journal until close.
type stores struct {
	paths  config.Paths
	config func() *config.Snapshot
	log    *slog.Logger

	ctx  context.Context // ends with close; the lives of all stores hang on it
	stop context.CancelFunc
	wg   sync.WaitGroup

	// appended hears of new messages of all stores, once it is set.
	appended atomic.Pointer[func(session.Appended)]

	mu     sync.Mutex
	byPath map[string]*session.Store
}

func newStores(paths config.Paths, current func() *config.Snapshot, log *slog.Logger) *stores {
	s := &stores{paths: paths, config: current, log: log, byPath: map[string]*session.Store{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// of returns the store of an agent. Agents that share one index share its store.
func (s *stores) of(agentID string) (*session.Store, error) {
	path := s.config().Config.SessionStore(s.paths, agentID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if st, ok := s.byPath[path]; ok {
		return st, nil
	}
	st, err := session.Open(session.Config{
		Dir: s.paths.State("agents", agentID, "sessions"), Path: path, AgentID: agentID, Log: s.log.With("subsystem", "session"),
		OnMessage: s.tell,
	})
	if err != nil {
		return nil, err
	}
	s.rekey(st, agentID)
	s.byPath[path] = st
	s.wg.Go(func() {
		if err := st.Run(s.ctx); err != nil {
			s.log.Error("session index is not folded any more", "path", path, "err", err)
		}
	})
	return st, nil
}

// rekey gives sessions of earlier releases the keys under which they are looked for.
// What cannot be moved now stays for the next start.
func (s *stores) rekey(st *session.Store, agentID string) {
	log := s.log.With("subsystem", "session", "agent", agentID)
	moved, err := st.Rekey(s.ctx, doctor.CanonicalKey(agentID))
	for _, m := range moved {
		log.Info("session of an earlier release moved", "from", m.From, "to", m.To, "dropped", m.Dropped)
	}
	if err != nil {
		log.Warn("sessions of an earlier release keep their keys", "err", err)
	}
}

func (s *stores) tell(m session.Appended) {
	if f := s.appended.Load(); f != nil {
		(*f)(m)
	}
}

// close folds every journal and releases it.
func (s *stores) close() error {
	s.stop()
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, st := range s.byPath {
		errs = append(errs, st.Close())
	}
	return errors.Join(errs...)
}
