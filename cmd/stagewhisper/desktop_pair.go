package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"openclaw/byo"
	"openclaw/internal/cli"
	"openclaw/internal/desktop"
	"openclaw/internal/relayclient"
)

const pairPoll = 250 * time.Millisecond

// pairFlags are the flags of desktop pair.
type pairFlags struct {
	desktop.PairRequest
	invite    string
	short     bool
	same      bool
	json      bool
	ssh       string
	sshLocal  int
	sshRemote int
	callback  int
}

// desktopPairCommand pairs with an assistant.
func desktopPairCommand(p *program) *cobra.Command {
	var f pairFlags
	cmd := &cobra.Command{
		Use:   "pair [CODE]",
		Short: "Pair with an assistant, over a relay or by its direct code",
		Long: `Over a relay (--api-url) it prints a code, which you carry to the assistant, and waits
until both sides have proven each other. The long code needs no more than copy and paste;
with --short it has six digits, and you compare a number of twelve digits on both sides.

With the code of an assistant (it begins with stagewhisper-pair:v1:) it pairs without a
relay. --ssh HOST leads there through an ssh tunnel that the desktop keeps up.`,
		Args: wantArgs("[code]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && f.API == "":
				return cli.Fail("--api-url or a code is missing", "over a relay: stagewhisper desktop pair --api-url URL", "directly: stagewhisper desktop pair CODE")
			case len(args) > 0 && f.API != "":
				return cli.Fail("a code and --api-url exclude each other", "over a relay the desktop makes the code, and the assistant takes it")
			}
			return p.with(cmd, func(ctx context.Context, d *desk) error {
				ctx, cancel := context.WithTimeout(ctx, pairWithin)
				defer cancel()
				if len(args) > 0 {
					return p.pairDirect(ctx, d, &f, args[0])
				}
				return p.pairRelay(ctx, d, &f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.API, "api-url", "", "address of the relay")
	fl.StringVar(&f.invite, "invite", "", "invite of the relay's operator, the first time")
	fl.StringVar(&f.Pin, "pin", "", "SHA-256 of the relay's certificate, which then is all that counts about it")
	fl.StringVar(&f.Label, "label", "Assistant", "name of the assistant here")
	fl.StringVar(&f.DesktopLabel, "desktop-label", "", "name of this desktop at the relay (default: the host name)")
	fl.StringVar(&f.ProviderKind, "provider-kind", byo.ProviderOpenClaw, "kind of assistant: openclaw, hermes or another name")
	fl.BoolVar(&f.short, "short", false, "a code of six digits, and a number to compare")
	fl.BoolVar(&f.same, "yes-same", false, "say that both sides show the same number, for scripts that compared it")
	fl.BoolVar(&f.AllowLegacy, "allow-legacy", false, "let old assistants in, whose key nobody can verify")
	fl.StringVar(&f.ssh, "ssh", "", "host of the assistant, NAME or USER@NAME, for a direct code")
	fl.IntVar(&f.sshLocal, "ssh-local-port", 0, "port here that leads there (default: the port of the code)")
	fl.IntVar(&f.sshRemote, "ssh-remote-port", 0, "port of the assistant there (default: the port of the code)")
	fl.IntVar(&f.callback, "ssh-callback-port", 0, "port of this desktop made known there, 0 for none")
	fl.BoolVar(&f.json, "json", false, "print the assistant as JSON; the code goes to standard error")
	return cmd
}

func (p *program) pairDirect(ctx context.Context, d *desk, f *pairFlags, text string) error {
	code, err := byo.ParseDirectCode(text)
	if err != nil {
		return cli.Hint(err, "over a relay it is the assistant that takes the code: stagewhisper desktop pair --api-url URL")
	}
	req := desktop.DirectRequest{Code: text}
	if f.ssh != "" {
		u, err := url.Parse(code.URL)
		if err != nil {
			return err
		}
		port, err := strconv.Atoi(cmp.Or(u.Port(), "80"))
		if err != nil {
			return err
		}
		req.Tunnel = &desktop.Tunnel{Host: f.ssh, Local: cmp.Or(f.sshLocal, port), Remote: cmp.Or(f.sshRemote, port), Callback: f.callback}
		if _, err := req.Tunnel.Args(); err != nil {
			return err
		}
	}
	var a desktop.Assistant
	if err := d.call(ctx, http.MethodPost, "/v1/assistants/direct", req, &a); err != nil {
		return cli.Hint(err, "is \"stagewhisper assistant run\" running there?", "the pairing is kept; try it again with: stagewhisper desktop probe")
	}
	return p.paired(f, &a)
}

func (p *program) paired(f *pairFlags, a *desktop.Assistant) error {
	if f.json {
		return p.io.JSON(a)
	}
	fmt.Fprintf(p.io.Out, "Paired with %s: %s (verified: %s)\n", cmp.Or(a.Label, "the assistant"), a.ID, cmp.Or(a.Verified, "no"))
	return nil
}

// pairRelay starts a pairing and sees it through.
func (p *program) pairRelay(ctx context.Context, d *desk, f *pairFlags) error {
	f.Invite = byo.Secret(f.invite)
	if f.short {
		f.Style = byo.CodeStyleShort
	}
	if f.DesktopLabel == "" {
		f.DesktopLabel, _ = os.Hostname() // only a name to recognise
		f.DesktopLabel = cmp.Or(f.DesktopLabel, "desktop")
	}
	var step desktop.PairingStep
	if err := d.call(ctx, http.MethodPost, "/v1/pairings", &f.PairRequest, &step); err != nil {
		return err
	}
	if f.json {
		p.io.Say("%s", step.Code)
	} else {
		fmt.Fprintln(p.io.Out, step.Code)
	}
	p.io.Say("%s", p.carry(f, &step))
	asked := false
	for {
		if !relayclient.Sleep(ctx, pairPoll) {
			return cli.Fail("the other side did not finish the pairing in time", "make a new code and try again")
		}
		if err := d.call(ctx, http.MethodGet, "/v1/pairings/"+step.ID, nil, &step); err != nil {
			return err
		}
		switch {
		case step.State == byo.PairActive:
			return p.paired(f, step.Assistant)
		case step.State == "failed":
			return cli.Fail(step.Error)
		case step.Compare && !asked:
			asked = true
			yes, err := p.compare(f, &step)
			if told := d.call(context.WithoutCancel(ctx), http.MethodPost, "/v1/pairings/"+step.ID+"/decide", map[string]bool{"yes": yes && err == nil}, nil); err == nil {
				err = told
			}
			if err != nil {
				return err
			}
		}
	}
}

// carry says what to do with the code.
func (p *program) carry(f *pairFlags, step *desktop.PairingStep) string {
	code := step.Code
	if f.short {
		code += " --api-url " + f.API
	}
	known, _ := byo.Builtin().Provider(f.ProviderKind)
	how := cmp.Or(known.Pairing.RelayCommand, "stagewhisper assistant pair --code {code} --api-url {api}")
	how = strings.NewReplacer("{code}", step.Code, "{api}", f.API).Replace(how)
	return fmt.Sprintf("on the assistant's machine, until %s:\n  %s\nor with the adapter:\n  stagewhisper assistant pair --provider-kind %s --code %s",
		step.ExpiresAt.Local().Format("15:04:05"), how, f.ProviderKind, code)
}

// compare asks the person what has to be decided.
func (p *program) compare(f *pairFlags, step *desktop.PairingStep) (bool, error) {
	if step.SAS != "" {
		return p.io.SameNumber(step.SAS, true, f.same)
	}
	p.io.Say("%s is an old assistant. Its key cannot be verified: a relay that reads along would not be noticed.\nfingerprint: %s", cmp.Or(step.HostLabel, "this"), step.Fingerprint)
	if f.same {
		return true, nil
	}
	return p.io.Confirm("Does \"status\" there show the same fingerprint, and do you take the risk?")
}
