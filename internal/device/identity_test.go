package device

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"openclaw/client"
	"openclaw/internal/testkit"
	"openclaw/protocol"
)

// What this package stores is what the public client takes.
var (
	_ client.Signer     = (*Identity)(nil)
	_ client.TokenStore = (*Tokens)(nil)
)

func TestMain(m *testing.M) { testkit.Main(m) }

func fixedNow() time.Time { return time.UnixMilli(1767225600000) }

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity", "device.json")
	id, err := Open(path, fixedNow)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Open(path, fixedNow)
	if err != nil || again.DeviceID() != id.DeviceID() {
		t.Errorf("Open again = %v, %v, want %v", again, err, id)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of %s = %v, %v, want 0600", path, info.Mode(), err)
	}
	var f identityFile
	readJSON(t, path, &f)
	if f.Version != 1 || f.DeviceID != id.DeviceID() || f.CreatedAtMs != fixedNow().UnixMilli() ||
		!strings.HasPrefix(f.PublicKey, "-----BEGIN PUBLIC KEY-----\n") || !strings.HasPrefix(f.PrivateKey, "-----BEGIN PRIVATE KEY-----\n") {
		t.Errorf("file = version %d, id %s, created %d, want the documented shape", f.Version, f.DeviceID, f.CreatedAtMs)
	}
	if k, err := ParseKey(f.PublicKey); err != nil || k.ID() != id.DeviceID() {
		t.Errorf("ParseKey(publicKeyPem) = %v, %v, want the key of %s", k, err, id.DeviceID())
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("identity folder holds %v, %v, want device.json alone", entries, err)
	}
}

func TestOpenTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "device.json")
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			id, err := Open(path, fixedNow)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = id.DeviceID()
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("concurrent Open made %s and %s, want one identity", ids[0], id)
		}
	}
}

func TestOpenCorrectsID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "device.json")
	id, err := Open(path, fixedNow)
	if err != nil {
		t.Fatal(err)
	}
	var f identityFile
	readJSON(t, path, &f)
	f.DeviceID = "stale"
	writeJSON(t, path, f)
	got, err := Open(path, fixedNow)
	if err != nil || got.DeviceID() != id.DeviceID() {
		t.Fatalf("Open = %v, %v, want %v", got, err, id)
	}
	readJSON(t, path, &f)
	if f.DeviceID != id.DeviceID() {
		t.Errorf("deviceId in the file = %s, want it corrected to %s", f.DeviceID, id.DeviceID())
	}
}

func TestOpenDamaged(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "no JSON": "{", "no key": "{}", "wrong PEM": `{"privateKeyPem":"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"}`,
	} {
		path := filepath.Join(t.TempDir(), "device.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if id, err := Open(path, fixedNow); err == nil || !strings.Contains(err.Error(), "move the file away") {
			t.Errorf("%s: Open = %v, %v, want an error that says what to do", name, id, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s: Open changed the damaged file", name)
		}
	}
}

func TestIdentityNeverPrintsItsKey(t *testing.T) {
	id, err := New(fixedNow())
	if err != nil {
		t.Fatal(err)
	}
	want := "device " + id.DeviceID()
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if got := fmt.Sprintf(format, id); got != want {
			t.Errorf("Sprintf(%s) = %s, want %s", format, got, want)
		}
	}
	var b strings.Builder
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "id", id)
	if !strings.Contains(b.String(), "id="+id.DeviceID()) {
		t.Errorf("log line = %s, want the device id alone", b.String())
	}
}

func TestTokens(t *testing.T) {
	dir := t.TempDir()
	store := &Tokens{Path: filepath.Join(dir, "identity", "device-auth.json"), DeviceID: "d1", Now: fixedNow}
	expect := func(role string, want protocol.Secret) {
		t.Helper()
		if got, err := store.Token(role); err != nil || got != want {
			t.Errorf("Token(%s) = %q, %v, want %q", role, string(got), err, string(want))
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect("operator", "")
	must(store.Delete("operator"))
	must(store.Save("operator", "t1", []string{"b", "a", "b"}))
	must(store.Save("node", "t2", nil))
	expect("operator", "t1")
	info, err := os.Stat(store.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v, want 0600", info.Mode(), err)
	}
	text, err := os.ReadFile(store.Path)
	must(err)
	want := `{"version":1,"deviceId":"d1","tokens":{"node":{"token":"t2","role":"node","scopes":[],"updatedAtMs":1767225600000},` +
		`"operator":{"token":"t1","role":"operator","scopes":["a","b"],"updatedAtMs":1767225600000}}}`
	if got := compact(t, text); got != want {
		t.Errorf("file = %s, want %s", got, want)
	}
	must(store.Delete("operator"))
	expect("operator", "")
	expect("node", "t2")

	store.DeviceID = "d2" // a new identity must not use the tokens of the old one
	expect("node", "")
	must(store.Save("operator", "t3", nil))
	store.DeviceID = "d1"
	expect("node", "")

	must(os.WriteFile(store.Path, []byte("{"), 0o600))
	expect("operator", "")
	must(store.Save("operator", "t4", nil))
	expect("operator", "t4")
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func compact(t *testing.T, data []byte) string {
	t.Helper()
	var v struct {
		Version  int                   `json:"version"`
		DeviceID string                `json:"deviceId"`
		Tokens   map[string]tokenEntry `json:"tokens"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
