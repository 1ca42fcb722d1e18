package verify

import (
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

// TestRevokedCredentialsNeedNoSecret: whoever revokes a credential may already have removed its file.
func TestRevokedCredentialsNeedNoSecret(t *testing.T) {
	cfg := ordersConfig()
	cfg.Credentials = append(cfg.Credentials, Credential{ID: "gone", Status: Revoked})
	mustNew(t, cfg)
}
