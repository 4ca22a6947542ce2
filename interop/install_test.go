//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// What is installed. The override names a build of a dependency that the
// registry still has; scripts of the client's packages are not needed.
const (
	clientVersion  = "2026.2.3"
	clientManifest = `{"name":"interop","private":true,"version":"0.0.0","dependencies":{"openclaw":"` + clientVersion + `"},"overrides":{"libsignal":"6.0.0"}}`
	nodeManifest   = `{"name":"n","private":true,"version":"0.0.0","dependencies":{"node":"22"}}`
	tries          = 3
	installTimeout = 10 * time.Minute
)

// official is the installed client.
type official struct{ node, entry string }

// cacheDir is where the packages live from one run to the next.
func cacheDir() (string, error) {
	if dir := os.Getenv("OPENCLAW_INTEROP_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	base, err := os.UserCacheDir() // XDG_CACHE_HOME, else ~/.cache
	if err != nil {
		return "", fmt.Errorf("find a cache folder (set OPENCLAW_INTEROP_DIR): %w", err)
	}
	return filepath.Join(base, "openclaw-interop"), nil
}

// install returns the client, fetching what is missing. Its error means that the
// packages cannot be had here.
func install(ctx context.Context) (official, error) {
	dir, err := cacheDir()
	if err != nil {
		return official{}, err
	}
	node, err := installNode(ctx, filepath.Join(dir, "node22"))
	if err != nil {
		return official{}, err
	}
	root := filepath.Join(dir, "node_modules", "openclaw")
	if installedVersion(root) != clientVersion || !complete(dir) {
		if err := npmInstall(ctx, dir, clientManifest, "--ignore-scripts"); err != nil {
			return official{}, fmt.Errorf("install the client: %w", err)
		}
		if got := installedVersion(root); got != clientVersion {
			return official{}, fmt.Errorf("install the client: got version %q, want %s", got, clientVersion)
		}
	}
	return official{node: node, entry: filepath.Join(root, "openclaw.mjs")}, nil
}

// installNode returns a Node.js of version 22 or later.
func installNode(ctx context.Context, dir string) (string, error) {
	if path, err := exec.LookPath("node"); err == nil && nodeMajor(ctx, path) >= 22 {
		return path, nil
	}
	pkg := filepath.Join(dir, "node_modules", "node")
	node := filepath.Join(pkg, "bin", "node")
	if nodeMajor(ctx, node) >= 22 {
		return node, nil
	}
	if err := npmInstall(ctx, dir, nodeManifest); err != nil {
		return "", fmt.Errorf("install Node.js 22: %w", err)
	}
	if nodeMajor(ctx, node) < 22 {
		// Newer package managers hold install scripts back; this one fetches the binary.
		cmd := exec.CommandContext(ctx, "node", "installArchSpecificPackage")
		cmd.Dir = pkg
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("install Node.js 22: %w: %s", err, tail(out))
		}
	}
	if got := nodeMajor(ctx, node); got < 22 {
		return "", fmt.Errorf("install Node.js 22: got version %d", got)
	}
	return node, nil
}

func npmInstall(ctx context.Context, dir, manifest string, flags ...string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("npm is not installed: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(manifest+"\n"), 0o644); err != nil {
		return err
	}
	var last error
	for try := 1; try <= tries && ctx.Err() == nil; try++ {
		fmt.Fprintf(os.Stderr, "interop: npm install in %s (try %d of %d)\n", dir, try, tries)
		one, cancel := context.WithTimeout(ctx, installTimeout)
		cmd := exec.CommandContext(one, npm, append([]string{"install", "--no-audit", "--no-fund", "--loglevel=error"}, flags...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "NODE_LLAMA_CPP_SKIP_DOWNLOAD=1")
		out, err := cmd.CombinedOutput()
		cancel()
		if err == nil {
			return nil
		}
		last = fmt.Errorf("npm install: %w: %s", err, tail(out))
	}
	return last
}

// complete reports whether an installation in dir ran to its end; the hidden
// lock file is the last thing that the package manager writes.
func complete(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	return err == nil
}

func installedVersion(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return ""
	}
	var pkg struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(data, &pkg) != nil {
		return ""
	}
	return pkg.Version
}

// nodeMajor asks a node binary for its version; 0 means that it does not run.
func nodeMajor(ctx context.Context, path string) int {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return 0
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	n, _ := strconv.Atoi(major)
	return n
}

// tail returns the end of a program's output, which is where it says why.
func tail(out []byte) string {
	text := strings.TrimSpace(string(out))
	if len(text) > 600 {
		text = "…" + text[len(text)-600:]
	}
	return text
}
