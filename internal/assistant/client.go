package assistant

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"openclaw/byo"
	"openclaw/byo/seal"
	"openclaw/internal/disk"
	"openclaw/internal/relayclient"
	"openclaw/internal/sse"
)

const (
	relayFile = "relay.jsonl"
	talkFile  = "talk.jsonl"
	keysRow   = "keys"

	rekeyCheck = time.Minute
)

// ClientConfig joins a [Client] to the rest.
type ClientConfig struct {
	Dir     string // of the pairing
	Agent   Agent
	Version string // of this program
	// Transport says in the heartbeat how the agent is reached: openresponses,
	// openai-chat, command or gateway.
	Transport string

	HTTP *http.Client // default: one that knows the pairing's pin
	Rand io.Reader
	Log  *slog.Logger // default: discarded
	Now  func() time.Time
}

// Client is the assistant's end of one pairing over a relay: it reads the stream, has
// jobs reasoned about and brings the sealed answers back. See docs/byo.md#jobs.
type Client struct {
	cfg     ClientConfig
	log     *slog.Logger
	now     func() time.Time
	pairing *Pairing
	relay   *relayclient.Client
	duplex  *seal.Duplex
	table   *disk.Table
	lock    *disk.FileLock

	// Talk is the conversation over this relay.
	Talk *Talk

	beat   *beat
	places chan struct{} // one for each job that is being reasoned about

	resumed []func(context.Context) // jobs of an earlier process

	mu   sync.Mutex
	jobs map[string]*job // under way in this process
}

// OpenClient reads the pairing in a folder and takes the folder for itself.
func OpenClient(cfg ClientConfig) (*Client, error) {
	c := &Client{cfg: cfg, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), now: cfg.Now, jobs: map[string]*job{}, places: make(chan struct{}, byo.MaxConcurrentJobs)}
	if c.now == nil {
		c.now = time.Now
	}
	var err error
	if c.pairing, err = LoadPairing(cfg.Dir); err != nil {
		return nil, err
	}
	if c.pairing.Verified == "" || c.pairing.BYOVersion != byo.DuplexV2 {
		return nil, fmt.Errorf("the pairing in %s is not verified: pair again", cfg.Dir)
	}
	if c.lock, err = disk.Lock(context.Background(), filepath.Join(cfg.Dir, "lock"), disk.LockOptions{Timeout: -1}); err != nil {
		return nil, fmt.Errorf("the pairing in %s is in use by another process: %w", cfg.Dir, err)
	}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *Client) open() (err error) {
	if c.table, err = disk.OpenTable(filepath.Join(c.cfg.Dir, relayFile)); err != nil {
		return err
	}
	raw, _ := c.table.Get(keysRow)
	var state seal.State
	if err := json.Unmarshal(raw, &state); err != nil {
		return fmt.Errorf("read the keys of the pairing: %w", err)
	}
	if c.duplex, err = seal.Restore(state, seal.Config{Rand: c.cfg.Rand, Now: c.cfg.Now, Save: c.saveKeys}); err != nil {
		return fmt.Errorf("read the keys of the pairing: %w", err)
	}
	c.relay = &relayclient.Client{Base: c.pairing.APIBaseURL, HTTP: c.pairing.http(c.cfg.HTTP), Token: func() byo.Secret { return c.pairing.RelayToken }}
	c.beat = newBeat(c)
	c.Talk, err = OpenTalk(TalkConfig{Path: filepath.Join(c.cfg.Dir, talkFile), Agent: c.cfg.Agent, Courier: c.carry, Log: c.log, Now: c.cfg.Now})
	return err
}

func (c *Client) close() error {
	var errs []error
	if c.table != nil {
		errs = append(errs, c.table.Close())
	}
	if c.lock != nil {
		errs = append(errs, c.lock.Unlock())
	}
	return errors.Join(errs...)
}

func (c *Client) saveKeys(s seal.State) error { return c.table.Apply(put(keysRow, s)) }

// keepKeys writes the present state, with which what was opened counts as seen, and
// the changes that belong to it.
func (c *Client) keepKeys(also ...disk.Change) error {
	return c.duplex.Checkpoint(func(s seal.State) error { return c.table.Apply(append(also, put(keysRow, s))...) })
}

// Pairing describes the pairing; it must not be changed.
func (c *Client) Pairing() *Pairing { return c.pairing }

// Run serves the desktop until ctx ends (nil) or the pairing is over
// (relayclient.ErrRevoked, or an error for which relayclient.Gone holds).
func (c *Client) Run(ctx context.Context) error {
	defer c.close()
	c.resumeJobs()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.Talk.Run(ctx) })
	group.Go(func() error { return c.beat.run(ctx) })
	group.Go(func() error { return c.rekey(ctx) })
	group.Go(func() error { return c.tidy(ctx) })
	group.Go(func() error {
		var work sync.WaitGroup
		defer work.Wait()
		for _, goOn := range c.resumed {
			work.Go(func() { goOn(ctx) })
		}
		return c.relay.Stream(ctx, relayclient.Stream{
			Path:      "/integrations/" + c.pairing.IntegrationID + "/stream",
			Connected: c.beat.stream,
			Handle: func(ev sse.Event) error {
				err := c.handle(ctx, &work, ev)
				c.beat.at(ev.ID)
				return err
			},
		})
	})
	err := group.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// handle takes one event of the stream.
func (c *Client) handle(ctx context.Context, work *sync.WaitGroup, ev sse.Event) error {
	switch kind := byo.EventType(ev.Data); kind {
	case byo.EventReasoningJob:
		var j byo.Job
		if err := json.Unmarshal(ev.Data, &j); err != nil {
			c.log.Warn("a job cannot be read", "err", err)
			return nil
		}
		work.Go(func() { c.job(ctx, &j) })
	case byo.EventReasoningJobCancelled:
		var e byo.JobCancelledEvent
		if err := json.Unmarshal(ev.Data, &e); err == nil {
			c.cancel(e.JobID)
		}
	case byo.EventChatFrame:
		c.frame(ctx, ev.Data, c.hear)
	case byo.EventBYOControl:
		c.frame(ctx, ev.Data, c.control)
	case byo.EventRevoked:
		c.duplex.Erase()
		return relayclient.ErrRevoked
	case byo.EventSuperseded:
		// Somebody else has our token, or an older connection of ours was still there.
		c.log.Warn("another connection of this pairing took the stream over")
		return errSuperseded
	case byo.EventPairingUpdate:
	case "":
		return c.task(ctx, ev.Data)
	default:
		c.log.Debug("an event of an unknown kind", "event", kind)
	}
	return nil
}

// errSuperseded lets the stream come back after its wait: the folder's lock says that
// no other process of ours is there.
var errSuperseded = errors.New("the stream was taken over")

// task answers the connectivity test; other tasks belong to older schemes, which this
// side does not speak.
func (c *Client) task(ctx context.Context, data []byte) error {
	var t byo.Task
	if json.Unmarshal(data, &t) != nil || t.ActionType != byo.ActionConnectivityTest {
		return nil
	}
	err := c.relay.Call(ctx, http.MethodPost, "/integrations/"+c.pairing.IntegrationID+"/test-reply", byo.TestReply{TestID: t.ID, Content: "ok"}, nil)
	if err != nil {
		c.log.Warn("the connectivity test could not be answered", "err", err)
	}
	return nil
}

// tidy forgets jobs that nobody will ask about again.
func (c *Client) tidy(ctx context.Context) error {
	for relayclient.Sleep(ctx, time.Minute) {
		if err := c.forgetJobs(); err != nil {
			c.log.Warn("old jobs stay on the disk for now", "err", err)
		}
	}
	return ctx.Err()
}
