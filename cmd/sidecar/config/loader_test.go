package config

import (
	"slices"
	"strings"
	"testing"
)

func TestMistakesNameFileLineAndKey(t *testing.T) {
	cases := map[string]struct {
		text string
		want string
	}{
		"unknown key":           {integration("rout: /x"), `sidecar.yaml:7: integrations[0].rout: unknown key; did you mean route?`},
		"unknown nested key":    {integration("record: {status: [2xx]}"), `sidecar.yaml:7: integrations[0].record.status: unknown key; did you mean statuses?`},
		"duplicate key":         {integration("route: /other"), `sidecar.yaml:7: integrations[0].route: written twice, first on line 4`},
		"no value":              {integration("methods:"), `sidecar.yaml:7: integrations[0].methods: has no value`},
		"mode":                  {integration("mode: async"), `sidecar.yaml:7: integrations[0].mode: `},
		"no attempt":            {integration("retry: {max_attempts: 0}"), `sidecar.yaml:7: integrations[0].retry.max_attempts: `},
		"no wait":               {integration("retry: {initial: 0s}"), `sidecar.yaml:7: integrations[0].retry.initial: must be longer than 0`},
		"long first wait":       {integration("retry: {initial: 2h}"), `sidecar.yaml:7: integrations[0].retry.initial: the first wait of up to 2h is longer than max of 1h`},
		"no acknowledgement":    {integration("accept: {status: 302}"), `sidecar.yaml:7: integrations[0].accept.status: `},
		"204 with a body":       {integration("accept: {status: 204, body: ok}"), `sidecar.yaml:7: integrations[0].accept.body: status 204 has no body`},
		"content type":          {integration("accept: {content_type: \"a\\nb\"}"), `sidecar.yaml:7: integrations[0].accept.content_type: is no header value`},
		"final and rejected":    {integration("record: {statuses: [2xx, 410], rejected: [410]}"), `sidecar.yaml:7: integrations[0].record.rejected: 410 is in statuses, too`},
		"merge key":             {integration("<<: {timeout: 1s}"), `sidecar.yaml:7: integrations[0].<<: merge keys are not supported`},
		"wrong kind":            {integration("record: [2xx]"), `sidecar.yaml:7: integrations[0].record: want keys and values, found a list`},
		"flag":                  {integration("enabled: maybe"), `sidecar.yaml:7: integrations[0].enabled: want true or false, found str`},
		"number":                {integration("forward_limit: {max_attempts: 0}"), `sidecar.yaml:7: integrations[0].forward_limit.max_attempts: want a number from 1 to 1000000`},
		"duration":              {integration("timeout: 20"), `sidecar.yaml:7: integrations[0].timeout: "20" is no duration such as 20s, 72h or 30d`},
		"no duration":           {integration("timeout: 0s"), `sidecar.yaml:7: integrations[0].timeout: must be longer than 0`},
		"size":                  {integration("max_body: 1MB"), `sidecar.yaml:7: integrations[0].max_body: "1MB" is no size such as 512, 4KiB or 1MiB`},
		"huge body":             {integration("max_body: 2GiB"), `sidecar.yaml:7: integrations[0].max_body: want 1 to 1GiB`},
		"status":                {integration("record: {statuses: [6xx]}"), `sidecar.yaml:7: integrations[0].record.statuses: "6xx" is no status such as 200 or 2xx`},
		"no final status":       {integration("record: {statuses: []}"), `sidecar.yaml:7: integrations[0].record.statuses: is empty: no answer would ever be final`},
		"recorded cookie":       {integration("record: {headers: [set-cookie]}"), `sidecar.yaml:7: integrations[0].record.headers: Set-Cookie belongs to one answer and cannot be recorded`},
		"choice":                {integration("conflict: ignore"), `sidecar.yaml:7: integrations[0].conflict: "ignore" is not one of reject, replay`},
		"in-flight status":      {integration("in_flight_status: 200"), `sidecar.yaml:7: integrations[0].in_flight_status: want 503, 409, 425 or 429`},
		"method":                {integration("methods: [post]"), `sidecar.yaml:7: integrations[0].methods: "post" is no method such as POST`},
		"no methods":            {integration("methods: []"), `sidecar.yaml:7: integrations[0].methods: is empty: no delivery could come in`},
		"public URL":            {integration("public_url: hooks.example.com/x"), `sidecar.yaml:7: integrations[0].public_url: want an origin such as https://hooks.example.com`},
		"key header":            {integration("idempotency: {header: Content-Type}"), `sidecar.yaml:7: integrations[0].idempotency.header: Content-Type has a meaning of its own on the way to the application`},
		"our header":            {integration("idempotency: {header: Sidecar-Key}"), `sidecar.yaml:7: integrations[0].idempotency.header: Sidecar-Key has a meaning of its own on the way to the application`},
		"any method":            {integration(`methods: ["*"]`), `sidecar.yaml:7: integrations[0].methods: "*" is no method such as POST`},
		"pointer":               {integration("fingerprint: {include: [data]}"), `sidecar.yaml:7: integrations[0].fingerprint: "data" is no JSON pointer such as /data/id`},
		"both fingerprints":     {integration("fingerprint: {include: [/a], exclude: [/b]}"), `sidecar.yaml:7: integrations[0].fingerprint: want body, or a list of JSON pointers under either include or exclude`},
		"require nothing":       {integration("require: {/type: []}"), `sidecar.yaml:7: integrations[0].require./type: allows no value`},
		"date":                  {integration("docs_reviewed: yesterday"), `sidecar.yaml:7: integrations[0].docs_reviewed: "yesterday" is no date such as 2026-11-01`},
		"lease":                 {integration("timeout: 9s", "lease: 3s"), `sidecar.yaml:8: integrations[0].lease: the lease of 3s is not longer than the timeout of 9s; it must be at least timeout + 5s`},
		"default lease":         {integration("timeout: 60s"), `sidecar.yaml:7: integrations[0].timeout: the default lease of 30s is not longer than the timeout of 1m; it must be at least timeout + 5s`},
		"long wait":             {integration("duplicate_wait: 40s"), `sidecar.yaml:7: integrations[0].duplicate_wait: 40s is longer than the lease of 30s`},
		"long retention":        {integration("retention: {repair_window: 4000d}"), `sidecar.yaml:7: integrations[0].retention.repair_window: want at most 3650d`},
		"hmac for others":       {integration("hmac: {}"), `sidecar.yaml:7: integrations[0].hmac: is for provider hmac only; provider stripe brings its own scheme`},
		"provider":              {strings.Replace(integration(), "provider: stripe", "provider: strip", 1), `sidecar.yaml:5: integrations[0].provider: "strip" is no provider; did you mean stripe?`},
		"account":               {strings.Replace(integration(), "account: acme", "account: a/b", 1), `sidecar.yaml:2: integrations[0].account: name "a/b" has a character outside A-Z a-z 0-9 . _ -`},
		"missing account":       {strings.Replace(integration(), "  - account: acme\n    name", "  - name", 1), `sidecar.yaml:2: integrations[0].account: is missing`},
		"relative route":        {strings.Replace(integration(), "route: /w", "route: w", 1), `sidecar.yaml:4: integrations[0].route: "webhooks/stripe" does not begin with a slash`},
		"route with a query":    {strings.Replace(integration(), "/webhooks/stripe", "/a?b", 1), `sidecar.yaml:4: integrations[0].route: "/a?b" has a query or fragment: a route is a path`},
		"scheme's own mistake":  {strings.Replace(generic(), "{body}", "{nonsense}", 1), `sidecar.yaml:6: integrations[0].hmac.signed:`},
		"missing scheme":        {strings.Replace(integration(), "provider: stripe", "provider: hmac", 1), `sidecar.yaml:2: integrations[0].hmac: is missing: provider hmac declares its scheme there`},
		"two places for an ID":  {strings.Replace(generic(), "{json: /id}", "{json: /id, header: X-Id}", 1), `sidecar.yaml:7: integrations[0].event.id: want exactly one of header, json, form, hash or join`},
		"no integrations":       {"", `sidecar.yaml: the file is empty`},
		"empty list":            {"integrations: []", `sidecar.yaml:1: integrations: is missing or empty: nothing would be guarded`},
		"unknown top-level key": {"integration: []", `sidecar.yaml:1: integration: unknown key; did you mean integrations?`},
		"two documents":         {"integrations: []\n---\na: 1", `sidecar.yaml:2: a second document: only one is allowed`},
		"no YAML":               {"integrations: [\n", `sidecar.yaml:1: not YAML: did not find expected node content`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text := c.text
			if strings.HasPrefix(text, "  - ") {
				text = "integrations:\n" + text
			}
			_, err := load(text, nil)
			if err == nil {
				t.Fatal("no error")
			}
			lines := problemsOf(t, err)
			if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, c.want) }) {
				t.Errorf("want\n  %s\namong\n  %s", c.want, strings.Join(lines, "\n  "))
			}
		})
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	_, err := load("integrations:\n"+integration("no_such: 1", "timeout: 9s", "lease: 3s")+
		strings.Replace(generic("mode: async"), "{body}", "{nonsense}", 1), files{"/run/good": " \n"})
	lines := strings.Join(problemsOf(t, err), "\n")
	for _, want := range []string{"no_such", "lease", "mode", "only white space", "hmac.signed", "scope acme/payments is used twice", "the route of integrations[0]"} {
		if !strings.Contains(lines, want) {
			t.Errorf("nothing says %q in\n%s", want, lines)
		}
	}
}

// One mistake is one problem, whoever finds it.
func TestAMistakeIsToldOnce(t *testing.T) {
	for _, written := range []string{
		"fingerprint: {include: [a]}", "fingerprint: {exclude: [a]}", "fingerprint: {include: [/a], exclude: [/b]}",
		"require: {a: [b]}", "public_url: nonsense", "methods: [post]", "lease: 3s", "handshake: no", "unsigned_id: no",
	} {
		for name, text := range map[string]string{"preset": integration(written), "generic": generic(written)} {
			_, err := load("integrations:\n"+text, nil)
			if lines := problemsOf(t, err); len(lines) != 1 {
				t.Errorf("%s: %s: %q", name, written, lines)
			}
		}
	}
}

func TestProblemsAreInTheOrderOfTheFile(t *testing.T) {
	_, err := load("integrations:\n"+integration("zeta: 1", "alpha: 1", "conflict: no"), nil)
	lines := problemsOf(t, err)
	for i, want := range []string{"sidecar.yaml:7: ", "sidecar.yaml:8: ", "sidecar.yaml:9: "} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("line %d should begin with %s: %q", i, want, lines)
		}
	}
}

func TestAnchorsAreFollowed(t *testing.T) {
	set := mustLoad(t, `integrations:
  - account: acme
    name: payments
    route: /a
    provider: stripe
    credentials: &keys [{id: k1, secret: {file: /run/good}}]
  - account: acme
    name: refunds
    route: /b
    provider: stripe
    credentials: *keys
`, nil)
	if id := set.Integrations[1].Credentials[0].ID; id != "k1" {
		t.Errorf("credential %q", id)
	}
}

func TestMissingFile(t *testing.T) {
	_, err := LoadIntegrations("/nowhere.yaml", files{}.source())
	if err == nil || !strings.Contains(err.Error(), "/nowhere.yaml: there is no such file") {
		t.Errorf("got %v", err)
	}
}

func FuzzLoadIntegrations(f *testing.F) {
	f.Add("integrations:\n" + integration("record: {statuses: [2xx, 410]}", "require: {/type: [a, b]}"))
	f.Add("integrations:\n" + generic("fingerprint: {include: [/a]}", "retention: {sender_window: 3d}"))
	f.Add("a: &a [*a]")
	f.Add("integrations: [{account: 1, name: .nan, route: [], credentials: [{secret: {join: 1}}], event: {id: {join: [{join: [{join: []}]}]}}}]")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := load(text, nil)
		if (set == nil) == (err == nil) {
			t.Fatalf("set %v and error %v", set, err)
		}
		Revocations([]byte(text))
		if err == nil {
			for _, route := range set.Routes() {
				if route.Policy.Lease <= route.Timeout || route.Verifier == nil {
					t.Fatalf("an unusable route: %+v", route)
				}
			}
		}
	})
}
