package verify

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestBadSecretsAreRefusedAndNotShown gives every preset secrets of the wrong form.
func TestBadSecretsAreRefusedAndNotShown(t *testing.T) {
	for _, p := range Presets() {
		for what, secret := range map[string]string{
			"empty": "", "blank": " \n\t ", "with a byte order mark": "\xef\xbb\xbfmarker-9173", "UTF-16": "m\x00a\x00r\x00k\x00",
			"odd": "marker-9173 é !", "JSON": `{"marker-9173":1}`, "cut PEM": "-----BEGIN CERTIFICATE-----\nmarker9173\n",
			"a private key": "whsk_marker9173", "a short public key": "whpk_bWFya2VyOTE3Mw==",
		} {
			cfg := sampleConfig(p, []byte("0123456789abcdef0123456789abcdef"))
			cfg.Credentials[0].Secret = []byte(secret)
			_, err := New(cfg)
			if err == nil {
				if strings.TrimSpace(secret) == "" || strings.Contains(secret, "\x00") || strings.HasPrefix(secret, "\xef\xbb") {
					t.Errorf("%s takes a secret that is %s", p.Name, what)
				}
				continue
			}
			if text := err.Error(); !strings.Contains(text, "credentials.key: secret: ") || strings.Contains(text, "9173") {
				t.Errorf("%s, %s: %v", p.Name, what, err)
			}
		}
	}
}

func TestSecretsOfTheWrongKindAreRefused(t *testing.T) {
	for provider, secret := range map[string]string{
		"discord": "0123", "sendgrid": "MFkw", "sns": "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n", "paypal": `{"webhook_id":"x"}`,
		"plaid": `{"kty":"oct","k":"AAAA"}`, "braintree": `{"public_key":"x"}`, "box": `{"primary":""}`, "adyen": "not hex", "adyen-platform": "0g",
		"standard-webhooks": "whsec_", "rfc9421": "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n", "meta": `{"app_secret":"x"}`,
	} {
		p, found := LookupPreset(provider)
		if !found {
			t.Fatal(provider)
		}
		cfg := sampleConfig(p, nil)
		cfg.Credentials[0].Secret = []byte(secret)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s takes %s", provider, secret)
		}
	}
}

// TestBlankPartsOfSecretsAreRefused: each part of a secret in JSON is one, and a blank one would be a key that all know.
func TestBlankPartsOfSecretsAreRefused(t *testing.T) {
	for provider, c := range map[string]struct {
		good  string
		parts []string
	}{
		"braintree": {`{"public_key":"pub-9173","private_key":"priv-9173"}`, []string{"public_key", "private_key"}},
		"box":       {`{"primary":"one-9173","secondary":"two-9173"}`, []string{"primary", "secondary"}},
		"meta":      {`{"app_secret":"app-9173","verify_token":"token-9173"}`, []string{"app_secret", "verify_token"}},
		"paypal":    {vectorSecret(t, "paypal"), []string{"webhook_id", "cert_pem"}},
		"plaid":     {vectorSecret(t, "plaid"), []string{"kid", "x"}},
	} {
		p, _ := LookupPreset(provider)
		cfg := sampleConfig(p, nil)
		cfg.Credentials[0].Secret = []byte(c.good)
		mustNew(t, cfg)
		for _, part := range c.parts {
			for _, blank := range []string{" ", "\t\r\n", "\x00", "\ufeff"} {
				cfg.Credentials[0].Secret = withPart(t, c.good, part, blank)
				if _, err := New(cfg); err == nil || strings.Contains(err.Error(), "9173") {
					t.Errorf("%s, %s of %q: %v", provider, part, blank, err)
				}
			}
		}
	}
}

// vectorSecret is the secret of a provider's first vector.
func vectorSecret(t *testing.T, provider string) string {
	t.Helper()
	for _, v := range loadVectors(t) {
		if v.Provider == provider {
			return *v.Secret
		}
	}
	t.Fatalf("no vector of %s", provider)
	return ""
}

// withPart is a secret in JSON with another value for one part.
func withPart(t *testing.T, secret, part string, value any) []byte {
	t.Helper()
	var parts map[string]any
	if err := json.Unmarshal([]byte(secret), &parts); err != nil {
		t.Fatal(err)
	}
	parts[part] = value
	out, err := json.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRevokedCredentialsNeedNoSecret: whoever revokes a credential may already have removed its file.
func TestRevokedCredentialsNeedNoSecret(t *testing.T) {
	cfg := ordersConfig()
	cfg.Credentials = append(cfg.Credentials, Credential{ID: "gone", Status: Revoked})
	mustNew(t, cfg)
}
