package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvFrom(t *testing.T) {
	env := EnvFrom([]string{"A=1", "B=x=y", "broken", "A=2"})
	if env("A") != "2" || env("B") != "x=y" || env("broken") != "" {
		t.Errorf("A = %q, B = %q", env("A"), env("B"))
	}
}

func TestShellEnv(t *testing.T) {
	h := newHome(t).config(`{env: {shellEnv: {enabled: true, timeoutMs: 10000}}}`)
	shell := func(script string) {
		h.write("#!/bin/sh\n"+script+"\n", "shell")
		if err := os.Chmod(h.path("shell"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c := h.valid().Config
	h.env["SHELL"], h.env["GROQ_API_KEY"] = h.path("shell"), "mine"
	shell(`[ "$1 $2 $3" = "-l -c env -0" ] || exit 9
echo "Welcome!"
printf 'X=1\0OPENAI_API_KEY=from shell\nsecond line\0GROQ_API_KEY=theirs\0OTHER=1\0'`)
	got, err := c.ShellEnv(t.Context(), h.getenv)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"OPENAI_API_KEY": "from shell\nsecond line"}, got); diff != "" {
		t.Errorf("ShellEnv (-want +got):\n%s", diff)
	}

	shell("exit 3")
	if _, err := c.ShellEnv(t.Context(), h.getenv); err == nil || !strings.Contains(err.Error(), h.path("shell")) {
		t.Errorf("a failing shell = %v", err)
	}
	shell("exec sleep 60")
	h.env["OPENCLAW_SHELL_ENV_TIMEOUT_MS"] = "50"
	if _, err := c.ShellEnv(t.Context(), h.getenv); err == nil {
		t.Error("a shell that hangs was waited for")
	}
	delete(h.env, "OPENCLAW_SHELL_ENV_TIMEOUT_MS")

	off := newHome(t).valid().Config
	if got, err := off.ShellEnv(t.Context(), h.getenv); got != nil || err != nil {
		t.Errorf("ShellEnv when off = %v, %v", got, err)
	}
	h.env["OPENCLAW_LOAD_SHELL_ENV"] = "1"
	shell(`printf 'A=1\0XAI_API_KEY=k\0'`)
	if got, err := off.ShellEnv(t.Context(), h.getenv); err != nil || got["XAI_API_KEY"] != "k" {
		t.Errorf("ShellEnv by the environment = %v, %v", got, err)
	}
}
