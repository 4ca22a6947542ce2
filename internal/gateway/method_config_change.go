package gateway

import (
	"context"
	"time"

	"openclaw/internal/config"
	"openclaw/protocol"
)

func (g *Gateway) configApply(ctx context.Context, q *request, p *protocol.ConfigApplyParams) (any, error) {
	return g.changeConfig(ctx, q, protocol.ConfigChangeParams(*p), g.cfg.Settings.Set)
}

func (g *Gateway) configPatch(ctx context.Context, q *request, p *protocol.ConfigPatchParams) (any, error) {
	return g.changeConfig(ctx, q, protocol.ConfigChangeParams(*p), g.cfg.Settings.Patch)
}

// changeConfig writes the config file and plans the restart that makes all of it
// count. See docs/protocol.md#config.
func (g *Gateway) changeConfig(ctx context.Context, q *request, p protocol.ConfigChangeParams,
	write func(ctx context.Context, raw, baseHash string) (*config.Snapshot, error)) (any, error) {
	// The owner of the file hears of the change as well and may ask for a restart
	// of its own, before ours is planned.
	g.spare(q)
	release := g.restarts.hold()
	defer release()
	snap, err := write(ctx, p.Raw, p.BaseHash)
	if err != nil {
		return nil, err
	}
	g.log.Info("config written", "by", q.conn.id, "method", q.method)
	resolved, err := marshal(snap.Redacted().Config)
	if err != nil {
		return nil, err
	}
	g.Reload()
	return protocol.ConfigChangeResult{
		OK: true, Path: snap.Path, Config: resolved,
		Sentinel: g.leaveSentinel(changePayload(p, q.method, snap.Path)),
		Restart:  g.planRestart(p.RestartDelayMs, q.method),
	}, nil
}

func (g *Gateway) configSchema(context.Context, *request, *protocol.NoParams) (any, error) {
	doc, err := g.schemaDoc()
	if err != nil {
		return nil, err
	}
	return encodedPayload(doc), nil
}

// encodeSchema describes the config file to editors.
func encodeSchema(version string) ([]byte, error) {
	schema, err := marshal(config.JSONSchema())
	if err != nil {
		return nil, err
	}
	hints := map[string]protocol.UIHint{}
	for path, h := range config.Hints() {
		hint := protocol.UIHint{Label: h.Label, Group: h.Group, Advanced: h.Advanced, Sensitive: h.Sensitive}
		if h.Order > 0 {
			hint.Order = &h.Order
		}
		hints[path] = hint
	}
	return marshal(protocol.ConfigSchemaResult{
		Schema: schema, UIHints: hints, Version: version,
		GeneratedAt: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
	})
}
