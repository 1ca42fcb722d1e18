package rediscache

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

func TestTLS(t *testing.T) {
	certificate, key, roots := selfSigned(t)
	server := testenv.Address(t)
	_, port, _ := strings.Cut(server, ":")
	testenv.NewRedis(t, "--tls-port", port, "--tls-cert-file", certificate, "--tls-key-file", key,
		"--tls-ca-cert-file", certificate, "--tls-auth-clients", "no")
	plain, ledger := testenv.Redis(t), newLedger(t)
	noLeaks(t)
	address := "rediss://" + server
	trusting := func(config *Config) { config.TLS = &tls.Config{RootCAs: roots} }
	writer, reader := connected(t, ledger, address, trusting), connected(t, ledger, address, trusting)
	apply(t, writer, request("evt_1", "a"), answer(200, "done"))
	eventually(t, "the result reaches Redis", func() bool { return writer.Stats().Stored == 1 })
	replays(t, reader, request("evt_1", "a"), Shared, answer(200, "done"))

	connected(t, ledger, plain, trusting) // redis:// is without, whatever the configuration of TLS

	// A server whose certificate nobody vouches for is no Redis of ours.
	wary := start(t, ledger, address)
	eventually(t, "the server is refused", func() bool { return wary.Stats().Errors > 0 })
	replays(t, wary, request("evt_1", "a"), Ledger, answer(200, "done"))
	if !wary.Stats().Open {
		t.Error("it is used")
	}
}

// selfSigned makes a certificate for 127.0.0.1 and its key as files.
func selfSigned(t testing.TB) (certificate, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(parsed)
	return pemFile(t, "CERTIFICATE", der), pemFile(t, "PRIVATE KEY", secret), roots
}

func pemFile(t testing.TB, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "redis.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
