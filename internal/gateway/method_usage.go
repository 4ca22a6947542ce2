package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"openclaw/internal/session"
	"openclaw/protocol"
)

const (
	costDays    = 30
	costDaysMax = 3650
	// costTTL is how long an answer to usage.cost is good for.
	costTTL = 30 * time.Second
)

// usageStatus tells how much of each provider's allowance is used. No provider
// that is built in tells, so the list is empty.
func (g *Gateway) usageStatus(context.Context, *request, *protocol.AnyParams) (any, error) {
	return protocol.UsageStatusResult{UpdatedAt: time.Now().UnixMilli(), Providers: []protocol.ProviderUsage{}}, nil
}

// costs remembers the last answer to usage.cost.
type costs struct {
	mu   sync.Mutex // held while usage is added up, so that only one does it
	last protocol.UsageCostResult
	at   time.Time
}

func (g *Gateway) usageCost(ctx context.Context, _ *request, p *protocol.UsageCostParams) (any, error) {
	days := wantedDays(p.Days)
	c := &g.costs
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.last.Days == days && now.Sub(c.at) < costTTL {
		return c.last, nil
	}
	out, err := g.addCosts(ctx, days)
	if err != nil {
		return nil, err
	}
	c.last, c.at = out, time.Now()
	return out, nil
}

// wantedDays reads a number or the text of one; anything else means 30.
func wantedDays(raw json.RawMessage) int {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 1) { // also what is no number
		return costDays
	}
	return int(min(n, costDaysMax))
}

// addCosts adds up the last days of all agents, today included.
func (g *Gateway) addCosts(ctx context.Context, days int) (protocol.UsageCostResult, error) {
	now := time.Now()
	since := now.AddDate(0, 0, 1-days)
	sum := map[string]session.Usage{}
	seen := map[*session.Store]bool{} // agents may share one
	for _, id := range g.settings().agentIDs() {
		store, err := g.cfg.Sessions(id)
		if err != nil {
			return protocol.UsageCostResult{}, err
		}
		if seen[store] {
			continue
		}
		seen[store] = true
		used, err := store.Usage(ctx, since)
		if err != nil {
			return protocol.UsageCostResult{}, err
		}
		for day, u := range used {
			total := sum[day]
			total.Add(u)
			sum[day] = total
		}
	}
	out := protocol.UsageCostResult{UpdatedAt: now.UnixMilli(), Days: days, Daily: []protocol.DayCost{}}
	var all session.Usage
	for _, day := range slices.Sorted(maps.Keys(sum)) {
		all.Add(sum[day])
		out.Daily = append(out.Daily, protocol.DayCost{Date: day, UsageTotal: usageTotal(sum[day])})
	}
	out.Totals = usageTotal(all)
	return out, nil
}

func usageTotal(u session.Usage) protocol.UsageTotal {
	return protocol.UsageTotal{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		TotalTokens: u.Total, TotalCost: u.Cost, MissingCostEntries: u.Missing,
	}
}
