package desktop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"

	"openclaw/internal/relayclient"
)

// Tunnel is an ssh connection to the host of an assistant, with a forward in each
// direction. See docs/byo.md#callbacks.
type Tunnel struct {
	Host string `json:"host"` // as for ssh: name, or user@name
	// Local is the port here that leads to Remote, the assistant's, on the host.
	Local  int `json:"local"`
	Remote int `json:"remote"`
	// Callback is the desktop's port, made known on the host under the same number;
	// 0 for none.
	Callback int `json:"callback,omitempty"`
}

var sshHost = regexp.MustCompile(`^[A-Za-z0-9._@][A-Za-z0-9._@-]*$`)

// Args returns the arguments for ssh. No shell sees them.
func (t Tunnel) Args() ([]string, error) {
	if !sshHost.MatchString(t.Host) {
		return nil, errors.New("ssh host: want a name or user@name, of A-Z a-z 0-9 . _ @ - and no dash at its begin")
	}
	for _, port := range []int{t.Local, t.Remote} {
		if port < 1 || port > 65535 {
			return nil, fmt.Errorf("ssh port %d: want 1 to 65535", port)
		}
	}
	args := []string{"-N", "-o", "ExitOnForwardFailure=yes", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3",
		"-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes", "-L", forward(t.Local, t.Remote)}
	if t.Callback != 0 {
		args = append(args, "-R", forward(t.Callback, t.Callback))
	}
	return append(args, "--", t.Host), nil
}

func forward(from, to int) string {
	return "127.0.0.1:" + strconv.Itoa(from) + ":127.0.0.1:" + strconv.Itoa(to)
}

// keep runs ssh until ctx ends; when it ends it is started again, after 1 s to a
// minute.
func (t Tunnel) keep(ctx context.Context, program string, log *slog.Logger) error {
	args, err := t.Args()
	if err != nil {
		return err
	}
	wait := time.Second
	for {
		began := time.Now()
		err := run(ctx, program, args, log)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(began) > time.Minute {
			wait = time.Second
		}
		log.Warn("the ssh tunnel ended", "host", t.Host, "err", err, "again", wait)
		if !relayclient.Sleep(ctx, wait) {
			return ctx.Err()
		}
		wait = min(2*wait, time.Minute)
	}
}

func run(ctx context.Context, program string, args []string, log *slog.Logger) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = 2 * time.Second
	talk, w := io.Pipe()
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		return err
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		for lines := bufio.NewScanner(talk); lines.Scan(); {
			log.Info("ssh", "says", lines.Text())
		}
		_, _ = io.Copy(io.Discard, talk) // a line that was too long
	})
	err := cmd.Wait()
	w.Close()
	reader.Wait()
	return err
}
