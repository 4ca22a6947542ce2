package doctor

import (
	"context"
	"fmt"
	"os"
	"strings"

	"openclaw/internal/config"
)

// gatewayMode checks that this machine knows whether it is the gateway.
func (d *doctor) gatewayMode(context.Context) []Finding {
	const check = "gateway mode"
	snap := d.snapshot()
	if !snap.Exists || !snap.Valid {
		return nil
	}
	switch mode := snap.Config.Gateway.Mode; mode {
	case "":
		return []Finding{note(check, "gateway.mode is not set; the gateway will not start", d.Program+" config set gateway.mode local")}
	case "remote":
		if strings.TrimSpace(snap.Config.Gateway.Remote.URL) == "" {
			return []Finding{problem(check, "gateway.mode is remote, but gateway.remote.url is not set",
				d.Program+" config set gateway.remote.url wss://…")}
		}
		return ok(check, "this machine uses the gateway at "+snap.Config.Gateway.Remote.URL)
	default:
		return ok(check, "this machine is the gateway")
	}
}

// gatewaySecret checks that clients have something to prove.
func (d *doctor) gatewaySecret(context.Context) []Finding {
	const check = "gateway secret"
	snap := d.snapshot()
	auth := snap.Config.Gateway.Auth
	if !snap.Valid || snap.Config.Gateway.Mode == "remote" {
		return nil
	}
	env := firstSet(d.Env, "OPENCLAW_GATEWAY_TOKEN", "CLAWDBOT_GATEWAY_TOKEN")
	switch {
	case auth.Mode == "password" || auth.Mode == "" && auth.Token == "" && env == "" && auth.Password != "":
		if auth.Password == "" && firstSet(d.Env, "OPENCLAW_GATEWAY_PASSWORD", "CLAWDBOT_GATEWAY_PASSWORD") == "" {
			return []Finding{problem(check, "gateway.auth.mode is password, but no password is set", d.Program+" config set gateway.auth.password …")}
		}
		return ok(check, "clients need a password")
	case auth.Mode != "" && auth.Mode != "token":
		return ok(check, "gateway.auth.mode is "+auth.Mode)
	case auth.Token == "" && env == "":
		f := problem(check, "the gateway has no token; it will not start", d.Program+" doctor --fix --generate-gateway-token")
		if d.GenerateToken {
			f.Hints = nil
			f.Repair = &Repair{Title: "make a token", Safe: true, Do: d.makeToken}
		}
		return []Finding{f}
	case auth.Token != "" && env != "" && auth.Token.Reveal() != env:
		return []Finding{note(check, "the token of the environment differs from gateway.auth.token and wins")}
	}
	if token := max(len(auth.Token.Reveal()), len(env)); token < 16 {
		return []Finding{problem(check, fmt.Sprintf("the gateway's token has only %d characters", token), "use at least 24 random ones")}
	}
	return ok(check, "clients need a token")
}

func (d *doctor) makeToken(ctx context.Context) ([]string, error) {
	err := d.edit(ctx, config.Op{Path: []string{"gateway", "auth", "mode"}, Value: "token"},
		config.Op{Path: []string{"gateway", "auth", "token"}, Value: d.NewToken()})
	return []string{"stored a new token in gateway.auth.token"}, err
}

func firstSet(env config.Env, names ...string) string {
	for _, name := range names {
		if v := strings.TrimSpace(env(name)); v != "" {
			return v
		}
	}
	return ""
}

// gatewayPort checks who is on the gateway's port.
func (d *doctor) gatewayPort(ctx context.Context) []Finding {
	const check = "gateway"
	snap := d.snapshot()
	if !snap.Valid || snap.Config.Gateway.Mode == "remote" {
		return nil
	}
	port, _ := snap.Config.Port(d.Env)
	listeners := d.Listeners(port)
	err := d.Probe(ctx)
	switch {
	case err == nil:
		return ok(check, fmt.Sprintf("it runs and answers on port %d", port))
	case len(listeners) == 0:
		return []Finding{note(check, fmt.Sprintf("it is not running (port %d is free)", port), d.Program+" gateway starts it")}
	}
	return []Finding{problem(check, fmt.Sprintf("port %d is taken by %s, which does not answer as this gateway: %v", port, strings.Join(listeners, ", "), err),
		"if it is another program, choose another port: "+d.Program+" config set gateway.port <port>",
		"if it is the gateway, restart it so that it reads the config file")}
}

// workspace checks the folder of the default agent.
func (d *doctor) workspace(context.Context) []Finding {
	const check = "workspace"
	c := d.snapshot().Config
	var found []Finding
	for _, id := range c.AgentIDs() {
		dir := c.Workspace(d.Paths, id)
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			found = append(found, note(check, fmt.Sprintf("%s of agent %s does not exist yet", d.Paths.Short(dir), id), "it is made by the first turn, or by "+d.Program+" setup"))
		case !info.IsDir():
			found = append(found, problem(check, d.Paths.Short(dir)+" is not a folder"))
		case !d.NoSuggestions:
			found = append(found, d.workspaceTips(check, dir)...)
		}
	}
	return or(found, check, d.Paths.Short(c.Workspace(d.Paths, c.DefaultAgentID()))+" is complete")
}
