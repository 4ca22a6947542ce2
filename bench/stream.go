package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"openclaw/protocol"
)

// fanOut streams an answer of a thousand words to many subscribers. An event is a
// frame of kind agent or chat that a subscriber has got.
func fanOut(ctx context.Context, o *options, t *table) error {
	const subscribers, rounds = 100, 7
	return with(ctx, o, "long 1000", nil, func(w *world) error {
		subs, err := w.openMany(subscribers, 256<<10)
		if err != nil {
			return err
		}
		defer closeAll(subs)
		sender, err := w.open(64 << 10)
		if err != nil {
			return err
		}
		defer sender.Close()
		finish, err := w.watch(o, "stream")
		if err != nil {
			return err
		}
		var rates []float64
		var total, size int64
		for i := range rounds {
			began := time.Now()
			got, err := streamOnce(sender, subs, fmt.Sprintf("stream-%d", i))
			if err != nil {
				return err
			}
			if got.least < int64(w.model.pieces) {
				return fmt.Errorf("a subscriber got %d events of an answer of %d pieces", got.least, w.model.pieces)
			}
			total, size = total+got.events, size+got.bytes
			rates = append(rates, float64(got.events)/time.Since(began).Seconds())
		}
		used, _, err := finish()
		if err != nil {
			return err
		}
		t.add(row{work: "1,000-word stream to 100 subscribers, events", reference: "8–21 k/s", target: atLeast(100_000, "/s"), value: median(rates),
			note: fmt.Sprintf("%s of %d bytes, %d for each subscriber", each(used, total, "event"), size/total, total/rounds/subscribers)})
		return nil
	})
}

// tally is what subscribers got.
type tally struct{ events, bytes, least int64 }

// streamOnce runs one turn and counts what the subscribers get until its end, all
// together and the one that got least.
func streamOnce(sender *socket, subs []*socket, id string) (sum tally, _ error) {
	got, errs := make([]tally, len(subs)), make([]error, len(subs)+1)
	var wg sync.WaitGroup
	for k, s := range subs {
		wg.Go(func() { got[k], errs[k] = s.follow(id) })
	}
	_, _, errs[len(subs)] = sender.turn(id, "agent:main:main")
	wg.Wait()
	sum.least = got[0].events
	for _, g := range got {
		sum.events, sum.bytes, sum.least = sum.events+g.events, sum.bytes+g.bytes, min(sum.least, g.events)
	}
	return sum, errors.Join(errs...)
}

var (
	isAgent = []byte(`{"type":"event","event":"` + protocol.EventAgent + `"`)
	isChat  = []byte(`{"type":"event","event":"` + protocol.EventChat + `"`)
	isFinal = []byte(`"state":"` + protocol.ChatFinal + `"`)
)

// follow counts events up to the last one of run id.
func (s *socket) follow(id string) (got tally, err error) {
	run := []byte(`"runId":"` + id + `"`)
	for {
		payload, err := s.next()
		if err != nil {
			return got, err
		}
		chat := bytes.HasPrefix(payload, isChat)
		if !chat && !bytes.HasPrefix(payload, isAgent) {
			continue
		}
		got.events++
		got.bytes += int64(len(payload))
		if head := payload[:min(len(payload), 256)]; chat && bytes.Contains(head, run) && bytes.Contains(head, isFinal) {
			return got, nil
		}
	}
}
