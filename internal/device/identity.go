package device

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"openclaw/internal/disk"
)

// Identity is a device's own key pair. It prints as its id.
type Identity struct {
	key     Key
	private ed25519.PrivateKey
	created time.Time
}

// New makes a fresh identity that is stored nowhere.
func New(now time.Time) (*Identity, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate device key: %w", err)
	}
	return fromPrivate(private, now), nil
}

func fromPrivate(private ed25519.PrivateKey, created time.Time) *Identity {
	public, _ := private.Public().(ed25519.PublicKey)
	return &Identity{key: Key(public), private: private, created: created}
}

// Open loads the identity of path, and makes and stores one where there is no
// file. A damaged file is an error: the key in it may still be wanted.
func Open(path string, now func() time.Time) (id *Identity, err error) {
	id, err = load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	if err := disk.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	lock, err := disk.Lock(ctx, path+".lock", disk.LockOptions{Timeout: lockTimeout})
	if err != nil {
		return nil, fmt.Errorf("create device identity: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	// Another process may have made one meanwhile.
	if id, err := load(path); !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	if id, err = New(now()); err != nil {
		return nil, err
	}
	return id, id.store(path)
}

// lockTimeout bounds the wait for another process that makes an identity.
const lockTimeout = 5 * time.Second

// identityFile is the file format, shared with other clients.
type identityFile struct {
	Version     int    `json:"version"`
	DeviceID    string `json:"deviceId"`
	PublicKey   string `json:"publicKeyPem"`
	PrivateKey  string `json:"privateKeyPem"`
	CreatedAtMs int64  `json:"createdAtMs"`
}

// maxFile bounds the files that this package reads.
const maxFile = 1 << 20

// load reads path. The private key is the truth: an id or a public key that
// does not belong to it is corrected in the file.
func load(path string) (*Identity, error) {
	data, err := disk.ReadFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	var f identityFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("read device identity %s: %w (move the file away to get a new identity)", path, err)
	}
	private, err := parsePrivate(f.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("read device identity %s: %w (move the file away to get a new identity)", path, err)
	}
	id := fromPrivate(private, time.UnixMilli(f.CreatedAtMs))
	stored, err := ParseKey(f.PublicKey)
	if f.DeviceID == id.DeviceID() && err == nil && stored == id.key {
		return id, nil
	}
	return id, id.store(path)
}

func parsePrivate(text string) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("privateKeyPem holds no PEM block")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("privateKeyPem holds no PKCS#8 key") // never the key in an error
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("privateKeyPem is not an Ed25519 key")
	}
	return private, nil
}

func (id *Identity) store(path string) error {
	der, err := x509.MarshalPKCS8PrivateKey(id.private)
	if err != nil {
		return fmt.Errorf("encode device key: %w", err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: append(append([]byte{}, spkiPrefix...), id.key[:]...)})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	data, err := json.MarshalIndent(identityFile{Version: 1, DeviceID: id.DeviceID(), PublicKey: string(public),
		PrivateKey: string(private), CreatedAtMs: id.created.UnixMilli()}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode device identity: %w", err)
	}
	return disk.WriteFile(path, append(data, '\n'), 0o600)
}

// DeviceID returns the id of the device, see [Key.ID].
func (id *Identity) DeviceID() string { return id.key.ID() }

// PublicKey returns the public key as it is sent, see [Key.String].
func (id *Identity) PublicKey() string { return id.key.String() }

// Sign returns the signature of text as it is sent: base64url without padding.
func (id *Identity) Sign(text string) string {
	return base64.RawURLEncoding.EncodeToString(ed25519.Sign(id.private, []byte(text)))
}

// Format hides the private key from every verb.
func (id *Identity) Format(f fmt.State, _ rune) { fmt.Fprint(f, "device "+id.DeviceID()) }

// LogValue implements slog.LogValuer.
func (id *Identity) LogValue() slog.Value { return slog.StringValue(id.DeviceID()) }
