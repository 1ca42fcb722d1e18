package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// demoKeys says which of Stripe's two keys of the demo are in force.
type demoKeys struct{ revoked bool }

// demoSecrets are made up, and no sender knows them.
func demoSecrets() map[string]string {
	return map[string]string{
		"stripe-old":        "whsec_demo_0123456789abcdef0123456789",
		"stripe-new":        "whsec_demo_fedcba9876543210fedcba9876",
		"github":            "github-demo-0123456789abcdef01234567",
		"shopify":           "shopify-demo-0123456789abcdef0123456",
		"slack":             "slack-demo-0123456789abcdef012345678",
		"standard-webhooks": "whsec_ZGVtby1rZXktMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3",
		"hmac":              "hmac-demo-0123456789abcdef0123456789",
	}
}

// path is a file of the demo.
func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

// How long an attempt may take; its lease is twice that. Most steps wait for nothing and may take what a busy machine needs,
// only the crash is to be over soon.
const (
	demoTimeout  = 10 * time.Second
	crashTimeout = time.Second
)

// configure writes the integrations file and the secrets as an operator would, each beside its place and then renamed.
func (d *demo) configure(keys demoKeys) error {
	for name, secret := range demoSecrets() {
		if err := replaceFile(d.path(name), secret+"\n"); err != nil {
			return err
		}
	}
	if err := replaceFile(d.path(crashConfig), demoConfig(keys, crashTimeout)); err != nil {
		return err
	}
	return replaceFile(d.path("sidecar.yaml"), demoConfig(keys, demoTimeout))
}

func replaceFile(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func demoConfig(keys demoKeys, timeout time.Duration) string {
	old := "retiring"
	if keys.revoked {
		old = "revoked"
	}
	var out strings.Builder
	out.WriteString("integrations:\n")
	for _, provider := range []string{"stripe", "github", "shopify", "slack", "standard-webhooks", "hmac"} {
		fmt.Fprintf(&out, `  - account: acme
    name: %[1]s
    route: /webhooks/acme/%[1]s
    provider: %[1]s
    timeout: %[2]s
    lease: %[3]s
    idempotency: {value: scoped}
    credentials:
`, provider, timeout, 2*timeout)
		if provider == "stripe" {
			fmt.Fprintf(&out, "      - {id: key-old, secret: {file: stripe-old}, status: %s}\n", old)
			fmt.Fprintf(&out, "      - {id: key-new, secret: {file: stripe-new}}\n")
			continue
		}
		fmt.Fprintf(&out, "      - {id: key-1, secret: {file: %s}}\n", provider)
	}
	out.WriteString(`    hmac: {header: X-Signature, prefix: "sha256=", signed: "{timestamp}.{body}", timestamp: {header: X-Timestamp}}
    event: {id: {json: /id}, type: {json: /type}}
`)
	return out.String()
}

// environment are the settings of a sidecar of the demo.
func (d *demo) environment(public, admin, file, ledger string) config.Environment {
	env := config.Environment{
		"SIDECAR_LISTEN": public, "SIDECAR_ADMIN_LISTEN": admin, "SIDECAR_PROBE_LISTEN": "127.0.0.1:0",
		"SIDECAR_UPSTREAM": d.app.url, "SIDECAR_CONFIG": d.path(file), "SIDECAR_GUARD": "/webhooks",
		"SIDECAR_NAMESPACE": "demo",
		"DATABASE_URL":      "sqlite:" + d.path(ledger), "SIDECAR_RELOAD_INTERVAL": "200ms",
		"SIDECAR_DRAIN_DELAY": "0s", "SIDECAR_SHUTDOWN_TIMEOUT": "3s", "SIDECAR_LOG_FORMAT": "text",
	}
	if keys := d.program.environ[sealKeyVariable]; keys != "" {
		env[sealKeyVariable] = keys
	}
	return env
}

// loadSenders makes a sender of every integration. Stripe has two: one with each key.
func (d *demo) loadSenders() ([]demoSender, error) {
	set, err := config.LoadIntegrations(d.path("sidecar.yaml"), config.Source{ReadFile: os.ReadFile, LookupEnv: d.program.lookupEnv})
	if err != nil {
		return nil, err
	}
	senders := make([]demoSender, 0, len(set.Integrations)+1)
	for _, i := range set.Integrations {
		preset, _ := verify.LookupPreset(i.Provider)
		name := preset.Title
		if i.HMAC != nil {
			name = "A sender with a scheme of its own"
		}
		senders = append(senders, demoSender{d: d, name: name, integration: i, verifier: set.Verifier(i.Scope)})
	}
	old, err := d.oldStripe()
	return append(senders, old), err
}

// oldStripe still signs with the key that is about to be revoked.
func (d *demo) oldStripe() (demoSender, error) {
	secret, err := os.ReadFile(d.path("stripe-old"))
	if err != nil {
		return demoSender{}, err
	}
	verifier, err := verify.New(verify.Config{
		Scope: "acme/stripe", Provider: "stripe",
		Credentials: []verify.Credential{{ID: "key-old", Secret: withoutLineEnd(secret)}},
	})
	route := &config.Integration{Scope: delivery.Scope("acme/stripe"), Route: "/webhooks/acme/stripe", Methods: []string{"POST"}, Provider: "stripe"}
	return demoSender{d: d, name: "Stripe with the old key", integration: route, verifier: verifier}, err
}
