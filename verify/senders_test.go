package verify

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func TestEveryVectorsProviderHasAPreset(t *testing.T) {
	names := map[string]bool{"generic-hmac": true} // is provider hmac
	for _, p := range Presets() {
		if names[p.Name] {
			t.Errorf("%s is there twice", p.Name)
		}
		names[p.Name] = true
	}
	for _, v := range loadVectors(t) {
		if !names[v.Provider] {
			t.Errorf("no preset %s", v.Provider)
		}
	}
	for _, h := range loadHandshakes(t) {
		if !names[h.Provider] {
			t.Errorf("no preset %s", h.Provider)
		}
	}
}

func TestPresetsAreComplete(t *testing.T) {
	for _, p := range Presets() {
		if p.Title == "" || p.Signed == "" || p.Secret == "" || len(p.Sources) == 0 || len(p.Methods) == 0 || p.MaxBody < 1<<20 {
			t.Errorf("%s: %+v", p.Name, p)
		}
		if _, err := time.Parse(time.DateOnly, p.Reviewed); err != nil {
			t.Errorf("%s: reviewed %q", p.Name, p.Reviewed)
		}
		if delivery.CheckToken(p.Name) != nil {
			t.Errorf("%s is no name", p.Name)
		}
		if p.Name != "hmac" && p.Choose == "" && p.EventID.empty() && p.identify == nil {
			t.Errorf("%s has no event ID and does not say what to choose", p.Name)
		}
		if !p.IDSigned && len(p.Weak) == 0 && p.Name != "hmac" {
			t.Errorf("%s: the ID is not signed, and nothing says so", p.Name)
		}
		if p.Choose == "" && p.IDSigned != signedByDefault(t, p) {
			t.Errorf("%s: IDSigned is %v, the scheme says otherwise", p.Name, p.IDSigned)
		}
	}
}

// signedByDefault asks the scheme itself.
func signedByDefault(t *testing.T, p Preset) bool {
	t.Helper()
	if p.identify != nil {
		return true
	}
	if p.Name == "hmac" {
		return false
	}
	made, err := p.build(Config{PublicURL: "https://example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range p.ids() {
		if !id.empty() && !id.signed(made) {
			return false
		}
	}
	return true
}

// TestPresetsRefuseToGuess: where no ID can be told, a route needs one to be chosen, and then works.
func TestPresetsRefuseToGuess(t *testing.T) {
	refused := 0
	for _, v := range loadVectors(t) {
		p, _ := LookupPreset(v.Provider)
		if p.Choose == "" || v.Expect != "valid" {
			continue
		}
		refused++
		d, origin := v.delivery(t)
		cfg := v.config(origin)
		cfg.SignatureOnly = false
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "event.id: missing: ") {
			t.Errorf("%s: error %v", v.Provider, err)
		}
		cfg.Event.ID = Source{Hash: "body"}
		proof, err := mustNew(t, cfg).Authenticate(d, time.Unix(v.NowUnix, 0))
		if err != nil || !strings.HasPrefix(string(proof.EventID), "sha256:") {
			t.Errorf("%s: %+v, %v", v.Provider, proof, err)
		}
	}
	if refused < 3 {
		t.Errorf("only %d vectors of such senders", refused)
	}
}

func TestWriteSenders(t *testing.T) {
	var first, second bytes.Buffer
	if err := WriteSenders(&first); err != nil {
		t.Fatal(err)
	}
	if err := WriteSenders(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("two pages differ: %v", err)
	}
	page := first.String()
	for _, p := range Presets() {
		if !strings.Contains(page, "\n## "+p.Name+"\n") {
			t.Errorf("no section on %s", p.Name)
		}
		for _, text := range slices.Concat(p.Weak, p.Advice, p.Sources) {
			if !strings.Contains(page, text) {
				t.Errorf("%s: %q is not on the page", p.Name, text)
			}
		}
	}
}

func TestDurationsOnThePage(t *testing.T) {
	for d, want := range map[time.Duration]string{
		10 * time.Second: "10s", 100 * time.Second: "1m40s", 5 * time.Minute: "5m", 20 * time.Minute: "20m", 2 * time.Hour: "2h",
		90 * time.Minute: "1h30m", 72 * time.Hour: "3 days", 76 * time.Hour: "76h", 24 * time.Hour: "24h",
	} {
		if got := length(d, ""); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}
