package gateway

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"openclaw/internal/disk"
	"openclaw/protocol"
)

// certLifetime is how long a generated certificate is valid.
const certLifetime = 3650 * 24 * time.Hour

// maxChain bounds the file of CA certificates.
const maxChain = 1 << 20

// tlsFiles says where certificate and key lie and whether they may be made.
type tlsFiles struct {
	cert, key    string
	autoGenerate bool
	// ca holds certificates that complete the chain of cert; "" for none.
	ca string
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
	if f.ca != "" {
		chain, err := readChain(f.ca)
		if err != nil {
			return nil, "", err
		}
		if len(pair.Certificate) == 1 {
			pair.Certificate = append(pair.Certificate, chain...)
		}
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{pair},
		// Upgrades need HTTP/1.1.
		NextProtos: []string{"http/1.1"},
	}, protocol.Fingerprint(pair.Certificate[0]), nil
}

// readChain reads certificates from a PEM file.
func readChain(path string) ([][]byte, error) {
	data, err := disk.ReadFile(path, maxChain)
	if err != nil {
		return nil, fmt.Errorf("load CA certificates: %w", err)
	}
	var chain [][]byte
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			chain = append(chain, block.Bytes)
		}
	}
	if len(chain) == 0 {
		return nil, fmt.Errorf("load CA certificates: %s holds none", path)
	}
	return chain, nil
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
