package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
)

// dashboardCommand prints the address of the Control UI and opens it. CLI-032.
// See docs/commands/dashboard.md.
func dashboardCommand(p *program) *cobra.Command {
	var noOpen bool
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Print the address of the Control UI and open it in the browser",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return p.dashboard(cmd.Context(), noOpen) },
	}
	cmd.Flags().BoolVar(&noOpen, "no-open", false, "do not open a browser")
	return cmd
}

func (p *program) dashboard(ctx context.Context, noOpen bool) error {
	if !p.snapshot().Config.Gateway.ControlUI.Enabled {
		return cli.Fail("the Control UI is switched off", p.name+" config set gateway.controlUi.enabled true")
	}
	address, err := p.dashboardURL()
	if err != nil {
		return err
	}
	fmt.Fprintf(p.io.Out, "Dashboard URL: %s\n", address)
	if copyText(ctx, address) {
		p.io.Say("copied to the clipboard")
	}
	switch {
	case noOpen:
	case openBrowser(ctx, address):
		p.io.Say("opened in the browser")
	default:
		p.io.Say("%s", p.forwardHint(address))
	}
	return nil
}

// dashboardURL is where the Control UI of the gateway is. The token is in the
// fragment, which browsers keep to themselves: no proxy and no log sees it.
func (p *program) dashboardURL() (string, error) {
	t, err := p.target(gatewayFlags{})
	if err != nil {
		return "", err
	}
	u, err := url.Parse(t.URL)
	if err != nil {
		return "", fmt.Errorf("read the gateway's address: %w", err)
	}
	gw := p.snapshot().Config.Gateway
	if t.Kind == kindLocal && gw.Bind == "custom" && gw.CustomBindHost != "" && gw.CustomBindHost != "0.0.0.0" {
		u.Host = net.JoinHostPort(gw.CustomBindHost, u.Port())
	}
	u.Scheme = "http" + strings.TrimPrefix(u.Scheme, "ws") // wss is https
	base := strings.Trim(gw.ControlUI.BasePath, "/")
	if t.Kind == kindRemote {
		base = strings.Trim(u.Path, "/")
	}
	u.Path = "/"
	if base != "" {
		u.Path = "/" + base + "/"
	}
	if token := string(t.Token); token != "" && gw.Auth.Mode != "password" {
		return u.String() + "#token=" + url.QueryEscape(token), nil
	}
	return u.String(), nil
}

// helperTime bounds the programs of the desktop, which may hang without one.
const helperTime = 5 * time.Second

// copyText puts text onto the clipboard, if a program for that is there.
func copyText(ctx context.Context, text string) bool {
	for _, words := range [][]string{
		{"pbcopy"}, {"wl-copy"}, {"xclip", "-selection", "clipboard"}, {"xsel", "--clipboard", "--input"},
	} {
		if words[0] != "pbcopy" && !desktop() {
			continue
		}
		if runHelper(ctx, text, words...) {
			return true
		}
	}
	return false
}

// openBrowser opens address in the user's browser, if there is a desktop.
func openBrowser(ctx context.Context, address string) bool {
	if runtime.GOOS == "darwin" {
		return runHelper(ctx, "", "open", address)
	}
	return desktop() && runHelper(ctx, "", "xdg-open", address)
}

// desktop reports whether programs can show something here.
func desktop() bool {
	return runtime.GOOS == "darwin" || cmp.Or(os.Getenv("DISPLAY"), os.Getenv("WAYLAND_DISPLAY")) != ""
}

func runHelper(ctx context.Context, input string, words ...string) bool {
	path, err := exec.LookPath(words[0])
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, words[1:]...)
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second // clipboards leave a child behind that holds the pipe
	return cmd.Run() == nil
}

// forwardHint says how to see the page of a machine without a desktop.
func (p *program) forwardHint(address string) string {
	u, err := url.Parse(address)
	if err != nil || !isLoopbackHost(u.Hostname()) {
		return "open the address above in a browser"
	}
	port := cmp.Or(u.Port(), strconv.Itoa(18789))
	host, _ := os.Hostname() // the hint names it only when it is known
	return fmt.Sprintf("no browser here; from your own machine: ssh -N -L %s:127.0.0.1:%s %s@%s, then open the address above",
		port, port, cmp.Or(os.Getenv("USER"), "user"), cmp.Or(host, "this-host"))
}

func isLoopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
