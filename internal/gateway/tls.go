package gateway

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"openclaw/internal/disk"
)

// certLifetime is how long a generated certificate is valid.
const certLifetime = 3650 * 24 * time.Hour

// tlsFiles says where certificate and key lie and whether they may be made.
type tlsFiles struct {
	cert, key    string
	autoGenerate bool
}

// tlsFilesOf fills in the default places under the state folder.
func tlsFilesOf(stateDir, cert, key string, auto bool) tlsFiles {
	dir := filepath.Join(stateDir, "gateway", "tls")
	if cert == "" {
		cert = filepath.Join(dir, "gateway-cert.pem")
	}
	if key == "" {
		key = filepath.Join(dir, "gateway-key.pem")
	}
	return tlsFiles{cert: cert, key: key, autoGenerate: auto}
}

// load returns the server's TLS settings and the fingerprint of its certificate:
// SHA-256 of the DER form in lower-case hex. See docs/protocol.md#tls.
func (f tlsFiles) load() (*tls.Config, string, error) {
	if f.autoGenerate && missing(f.cert) && missing(f.key) {
		if err := f.generate(); err != nil {
			return nil, "", fmt.Errorf("generate certificate: %w", err)
		}
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, "", fmt.Errorf("load certificate: %w", err)
	}
	sum := sha256.Sum256(pair.Certificate[0])
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{pair},
		// Upgrades need HTTP/1.1.
		NextProtos: []string{"http/1.1"},
	}, hex.EncodeToString(sum[:]), nil
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func (f tlsFiles) generate() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "openclaw-gateway"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(certLifetime),
		SignatureAlgorithm:    x509.SHA256WithRSA,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{"localhost", "openclaw-gateway"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for _, dir := range []string{filepath.Dir(f.cert), filepath.Dir(f.key)} {
		if err := disk.MkdirAll(dir); err != nil {
			return err
		}
	}
	if err := disk.WriteFile(f.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600); err != nil {
		return err
	}
	return disk.WriteFile(f.cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}
