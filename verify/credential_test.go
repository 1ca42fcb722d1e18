package verify

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestCredentialsInTime(t *testing.T) {
	d := order(orderBody)
	hour := time.Hour
	for name, c := range map[string]struct {
		credential Credential
		live       bool
	}{
		"active":         {Credential{Status: Active}, true},
		"no status":      {Credential{}, true},
		"retiring":       {Credential{Status: Retiring}, true},
		"revoked":        {Credential{Status: Revoked}, false},
		"expired":        {Credential{NotAfter: noon.Add(-time.Second)}, false},
		"last moment":    {Credential{NotAfter: noon}, true},
		"coming":         {Credential{NotBefore: noon.Add(time.Second)}, false},
		"first moment":   {Credential{NotBefore: noon}, true},
		"within":         {Credential{NotBefore: noon.Add(-hour), NotAfter: noon.Add(hour)}, true},
		"revoked within": {Credential{Status: Revoked, NotBefore: noon.Add(-hour), NotAfter: noon.Add(hour)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := ordersConfig()
			c.credential.ID, c.credential.Secret = "key", []byte(ordersSecret)
			cfg.Credentials = []Credential{c.credential}
			v := mustNew(t, cfg)
			if v.Live(noon) != c.live {
				t.Errorf("live is not %v", c.live)
			}
			proof, err := v.Authenticate(d, noon)
			if (err == nil) != c.live {
				t.Fatalf("verified: %v", err)
			}
			if c.live && (proof.CredentialID != "key" || proof.Retiring != (c.credential.Status == Retiring)) {
				t.Errorf("proof %+v", proof)
			}
		})
	}
}

// A certificate or key that has a validity of its own ends with it: nothing is live then, which is not the sender's fault.
func TestCredentialsEndWithTheirKeys(t *testing.T) {
	judged := map[string]bool{}
	for _, vector := range loadVectors(t) {
		limited := vector.Provider == "paypal" || vector.Provider == "sns" || vector.Provider == "plaid"
		if !limited || vector.Expect != "valid" || judged[vector.Provider] {
			continue
		}
		judged[vector.Provider] = true
		d, origin := vector.delivery(t)
		cfg, now := vector.config(origin), time.Unix(vector.NowUnix, 0)
		if vector.Provider == "plaid" {
			cfg.Credentials[0].Secret = withPart(t, *vector.Secret, "expired_at", vector.NowUnix+3600)
		}
		v := mustNew(t, cfg)
		info := v.Credentials()[0]
		if info.NotAfter.IsZero() || !v.Live(now) || !v.Live(info.NotAfter) || v.Live(info.NotAfter.Add(time.Second)) {
			t.Errorf("%s: live outside of its key's validity: %+v", vector.Provider, info)
		}
		if !info.NotBefore.IsZero() && v.Live(info.NotBefore.Add(-time.Second)) {
			t.Errorf("%s: live before its key is: %+v", vector.Provider, info)
		}
		late := v.Explain(d, info.NotAfter.Add(time.Second))
		if vector.Provider != "plaid" && !strings.Contains(late.Hint, "credential key made it") {
			t.Errorf("%s, expired: %+v", vector.Provider, late)
		}
		cfg.Credentials[0].NotBefore, cfg.Credentials[0].NotAfter = now, now.Add(time.Minute)
		if info := mustNew(t, cfg).Credentials()[0]; !info.NotBefore.Equal(now) || !info.NotAfter.Equal(now.Add(time.Minute)) {
			t.Errorf("%s: a narrower validity became %+v", vector.Provider, info)
		}
	}
	if len(judged) != 3 {
		t.Errorf("judged only %v", judged)
	}
}

func TestTheCredentialThatMatchedIsNamed(t *testing.T) {
	cfg := ordersConfig()
	cfg.Credentials = []Credential{
		{ID: "old", Secret: []byte("old-secret"), Status: Retiring},
		{ID: "new", Secret: []byte("new-secret")},
		{ID: "gone", Secret: []byte("gone-secret"), Status: Revoked},
	}
	v := mustNew(t, cfg)
	stamp := strconv.FormatInt(noon.Unix(), 10)
	for secret, want := range map[string]string{"old-secret": "old", "new-secret": "new", "gone-secret": ""} {
		proof, err := v.Authenticate(signedAt(secret, stamp, orderBody), noon)
		if proof.CredentialID != want || (err == nil) != (want != "") {
			t.Errorf("%s: credential %q, error %v", secret, proof.CredentialID, err)
		}
	}
}

func TestKeyIDLooksUp(t *testing.T) {
	cfg := ordersConfig()
	cfg.HMAC.KeyID = "x-key-id"
	cfg.Credentials = []Credential{
		{ID: "one", Secret: []byte("secret-one")}, {ID: "two", Secret: []byte("secret-two")},
		{ID: "gone", Secret: []byte("secret-gone"), Status: Revoked},
	}
	v := mustNew(t, cfg)
	stamp := strconv.FormatInt(noon.Unix(), 10)
	for _, c := range []struct {
		secret string
		names  []string
		want   Reason
	}{
		{"secret-two", []string{"two"}, ""},
		{"secret-two", []string{"one"}, SignatureMismatch},
		{"secret-two", []string{"three"}, CredentialUnknown},
		{"secret-gone", []string{"gone"}, CredentialUnknown},
		{"secret-two", nil, CredentialUnknown},
		{"secret-two", []string{"two", "one"}, CredentialUnknown},
	} {
		d := signedAt(c.secret, stamp, orderBody)
		d.Header["X-Key-Id"] = c.names
		_, err := v.Authenticate(d, noon)
		if reason, _ := reasonOf(t, err); reason != c.want {
			t.Errorf("%s as %v: %q, want %q", c.secret, c.names, reason, c.want)
		}
	}
}

func TestCredentialsNeverShowSecrets(t *testing.T) {
	cfg := ordersConfig()
	cfg.Credentials = append(cfg.Credentials, Credential{ID: "gone", Status: Revoked})
	infos := mustNew(t, cfg).Credentials()
	if len(infos) != 2 || len(infos[0].Fingerprint) != 12 || infos[0].ID != "orders-1" || infos[1].Fingerprint != "" {
		t.Errorf("credentials %+v", infos)
	}
	if fingerprintSecret([]byte("a")) == fingerprintSecret([]byte("b")) {
		t.Error("two secrets have one fingerprint")
	}
}

func TestConfigurationFaults(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"provider:":                                  func(c *Config) { c.Provider = "nobody" },
		"scope:":                                     func(c *Config) { c.Scope = "acme" },
		"hmac: provider hmac":                        func(c *Config) { c.HMAC = nil },
		"hmac: only with provider hmac":              func(c *Config) { c.Provider = "stripe" },
		"hmac.algorithm:":                            func(c *Config) { c.HMAC.Algorithm = "md5" },
		"hmac.header: missing":                       func(c *Config) { c.HMAC.Header = "" },
		"hmac.header: \"a b\"":                       func(c *Config) { c.HMAC.Header = "a b" },
		"hmac.encoding:":                             func(c *Config) { c.HMAC.Encoding = "base32" },
		"hmac.secret_encoding:":                      func(c *Config) { c.HMAC.SecretEncoding = "rot13" },
		"hmac.timestamp.unit:":                       func(c *Config) { c.HMAC.Timestamp.Unit = "h" },
		"hmac.tolerance: below":                      func(c *Config) { c.HMAC.Tolerance = -1 },
		"hmac.tolerance: means nothing":              func(c *Config) { c.HMAC.Timestamp.Header, c.HMAC.Signed = "", "{body}" },
		"hmac.signed: {body} is missing":             func(c *Config) { c.HMAC.Signed = "{timestamp}" },
		"hmac.signed: {nonsense}":                    func(c *Config) { c.HMAC.Signed = "{nonsense}.{timestamp}.{body}" },
		"hmac.signed: { without }":                   func(c *Config) { c.HMAC.Signed = "{timestamp}.{body" },
		"hmac.signed: {timestamp} and":               func(c *Config) { c.HMAC.Signed = "{body}" },
		"hmac.signed: {id} needs event.id.header":    func(c *Config) { c.HMAC.Signed = "{id}.{timestamp}.{body}" },
		"hmac.signed: {url} needs public_url":        func(c *Config) { c.HMAC.Signed = "{url}.{timestamp}.{body}" },
		"hmac.signed: an ID or a header needs":       func(c *Config) { c.HMAC.Signed = "{timestamp}.{header:X-Kind}{body}" },
		"hmac.key_id.header:":                        func(c *Config) { c.HMAC.KeyID = "a:b" },
		"event.id: missing":                          func(c *Config) { c.Event.ID = Source{} },
		"event.id: names more than one":              func(c *Config) { c.Event.ID.Header = "X-Id" },
		"event.id: JSON pointer":                     func(c *Config) { c.Event.ID.JSON = "id" },
		"event.id: hash":                             func(c *Config) { c.Event.ID = Source{Hash: "head"} },
		"event.id: join.1":                           func(c *Config) { c.Event.ID = Source{Join: []Source{{JSON: "/a"}, {}}} },
		"event.types:":                               func(c *Config) { c.Event.Types = []string{"a b"} },
		"event.type: missing":                        func(c *Config) { c.Event.Types, c.Event.Type = []string{"a"}, Source{} },
		"event.object:":                              func(c *Config) { c.Event.Object.JSON = "/~2" },
		"fingerprint: only one":                      func(c *Config) { c.Fingerprint = Fingerprint{Body: true, Include: []string{"/a"}} },
		"fingerprint.exclude":                        func(c *Config) { c.Fingerprint.Exclude = []string{"a"} },
		"require./a: allows no value":                func(c *Config) { c.Require = map[string][]string{"/a": nil} },
		"require.a: JSON pointer":                    func(c *Config) { c.Require = map[string][]string{"a": {"b"}} },
		"public_url: is an origin only":              func(c *Config) { c.PublicURL = "https://example.com/" },
		"public_url: not an https":                   func(c *Config) { c.PublicURL = "example.com" },
		"unsigned_id:":                               func(c *Config) { c.UnsignedID = "hope" },
		"handshake:":                                 func(c *Config) { c.Handshake = "firm" },
		"credentials: none":                          func(c *Config) { c.Credentials = nil },
		"credentials.orders-1: secret: empty":        func(c *Config) { c.Credentials[0].Secret = []byte(" \r\n\t") },
		"credentials.orders-1: secret: begins":       func(c *Config) { c.Credentials[0].Secret = []byte("\xef\xbb\xbfsecret") },
		"credentials.orders-1: secret: not base64":   func(c *Config) { c.HMAC.SecretEncoding = "base64" },
		"credentials.orders-1: secret: not hex":      func(c *Config) { c.HMAC.SecretEncoding = "hex" },
		"credentials.orders-1: secret: this sender":  func(c *Config) { c.Credentials[0].Fetch = true },
		"credentials.orders-1: status":               func(c *Config) { c.Credentials[0].Status = "asleep" },
		"credentials.orders-1: not_after":            func(c *Config) { c.Credentials[0].NotBefore, c.Credentials[0].NotAfter = noon, noon },
		"credentials.orders-1: used twice":           func(c *Config) { c.Credentials = append(c.Credentials, c.Credentials[0]) },
		"credentials.0: id":                          func(c *Config) { c.Credentials[0].ID = "a b" },
		"credentials.again: same secret as orders-1": func(c *Config) { c.Credentials = twins() },
	} {
		cfg := ordersConfig()
		change(&cfg)
		_, err := New(cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
		if err != nil && strings.Contains(err.Error(), ordersSecret) {
			t.Errorf("%q: the error holds the secret", want)
		}
	}
}

func twins() []Credential {
	return []Credential{
		{ID: "orders-1", Secret: []byte(ordersSecret), Status: Revoked}, {ID: "again", Secret: []byte(ordersSecret)},
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	cfg := ordersConfig()
	cfg.HMAC.Algorithm, cfg.HMAC.Encoding, cfg.PublicURL = "md5", "octal", "nowhere"
	_, err := New(cfg)
	for _, want := range []string{"hmac.algorithm", "hmac.encoding", "public_url"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in %v", want, err)
		}
	}
}
