package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"openclaw/byo"
	"openclaw/internal/cli"
	"openclaw/internal/disk"
	"openclaw/internal/guard"
)

const (
	directFolder = "direct"
	directFile   = "listener.json"
	directPort   = 8765
)

// direct is what the listener of the direct topology is set to, 0600.
type direct struct {
	URL   string     `json:"url"`
	Token byo.Secret `json:"token"`
	Label string     `json:"label,omitempty"`
	Kind  string     `json:"provider_kind,omitempty"`
	Port  int        `json:"port"`
}

// readDirect returns fs.ErrNotExist when no code was ever made.
func readDirect(dir string) (*direct, error) {
	data, err := disk.ReadFile(filepath.Join(dir, directFile), 64<<10)
	if err != nil {
		return nil, err
	}
	var d direct
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, directFile), err)
	}
	return &d, nil
}

// assistantPairCodeCommand makes the code of the direct topology.
func assistantPairCodeCommand(p *program) *cobra.Command {
	var d direct
	var fresh bool
	cmd := &cobra.Command{
		Use:   "pair-code",
		Short: "Print the code with which a desktop reaches this assistant without a relay",
		Long: `Prints the code that a desktop pairs with when it reaches this machine itself: the same
machine, an ssh tunnel, a private network. The code holds the token of the listener that
"stagewhisper assistant run" opens; whoever has it can write to the assistant. The token
stays the same until --new-token or unpair.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := p.folder("assistants", directFolder)
			if err != nil {
				return err
			}
			if d.Port < 1024 || d.Port > 65535 {
				return cli.Fail(fmt.Sprintf("--port %d: want 1024 to 65535", d.Port))
			}
			if d.Kind != "" {
				if err := byo.CheckProviderKind(d.Kind); err != nil {
					return cli.Hint(fmt.Errorf("--provider-kind: %w", err), "list those that are known: stagewhisper providers")
				}
			}
			d.URL = cmp.Or(d.URL, "http://127.0.0.1:"+strconv.Itoa(d.Port))
			if d.URL, err = byo.NormalizeURL(d.URL); err != nil {
				return cli.Hint(fmt.Errorf("--url: %w", err), "https, or http to this machine or a private network")
			}
			old, err := readDirect(dir)
			switch {
			case err == nil && len(old.Token) >= byo.MinToken && !fresh:
				d.Token = old.Token
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				return err
			default:
				if d.Token, err = byo.NewToken(nil, ""); err != nil {
					return err
				}
			}
			data, err := json.MarshalIndent(&d, "", "  ")
			if err != nil {
				return err
			}
			if err := disk.WriteFile(filepath.Join(dir, directFile), append(data, '\n'), 0o600); err != nil {
				return err
			}
			code, err := (&byo.DirectCode{URL: d.URL, Token: d.Token, Label: d.Label}).Encode()
			if err != nil {
				return err
			}
			fmt.Fprintln(p.io.Out, code)
			p.io.Say("paste it into the desktop, or: stagewhisper desktop pair CODE")
			if u, err := url.Parse(d.URL); err == nil && guard.LocalName(u.Hostname()) {
				port := cmp.Or(u.Port(), "80")
				p.io.Say("from another machine: ssh -N -L %s:%s HOST, or: stagewhisper desktop pair --ssh HOST CODE", port, net.JoinHostPort("127.0.0.1", port))
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&d.URL, "url", "", "address under which the desktop reaches this assistant (default http://127.0.0.1:PORT)")
	fl.IntVar(&d.Port, "port", directPort, "port of the listener")
	fl.StringVar(&d.Label, "label", "", "name of the assistant as the desktop shows it")
	fl.StringVar(&d.Kind, "provider-kind", "", "kind of assistant: openclaw, hermes or a name of your own")
	fl.BoolVar(&fresh, "new-token", false, "make a new token; desktops paired before are out")
	return cmd
}
