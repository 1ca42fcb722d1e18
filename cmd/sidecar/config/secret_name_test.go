package config

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
)

func TestNamesAreToldFromSecrets(t *testing.T) {
	key := []byte("\x01canary\xff\xfe of 32 bytes, as it is..")
	key = append(key, "0123456789"...)[:32]
	based := base64.StdEncoding.EncodeToString(key)
	for _, secret := range []string{
		based, base64.RawStdEncoding.EncodeToString(key), base64.URLEncoding.EncodeToString(key), "/" + based[1:],
		hex.EncodeToString(key), strings.ToUpper(hex.EncodeToString(key)), "shpss_" + hex.EncodeToString(key[:16]),
		based + "\n" + based, "# keys\nx", base64.StdEncoding.EncodeToString(key[:16]), base64.StdEncoding.EncodeToString(key[:31]),
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "ana:operate:" + based, "ana:read:MfKQ9r8GKYqrTwjUPD8ILPZI",
	} {
		if !MayBeSecret(secret) {
			t.Errorf("%q is told", secret)
		}
	}
	for _, name := range []string{
		"", "seal-keys", "off", "seal-keys-2026.txt", "/run/secrets/seal-keys", "/etc/sidecar/keys", "../keys", "acme-stripe",
		"acme-stripe-signing-secret-2026-11", "/var/lib/kubelet/pods/1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed/volumes", "C:keys",
		"/run/Secrets/Acme2026/StripeSigningSecret", "/tmp/TestKeys4023/001/seal-keys", "./Keys2026ForTheSidecarOfAcme.txt",
	} {
		if MayBeSecret(name) {
			t.Errorf("%q is not told", name)
		}
	}
}
