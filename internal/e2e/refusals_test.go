package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

func fetch(url string) (string, error) {
	response, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func contains(text, part string) bool { return strings.Contains(text, part) }

// rows counts what the whole ledger holds, in every table.
func rows(t *testing.T, database string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var tables []string
	if err := collect(t, conn, &tables); err != nil {
		t.Fatal(err)
	}
	if len(tables) == 0 {
		t.Fatal("the ledger has no tables: counting proves nothing")
	}
	total := 0
	for _, table := range tables {
		var n int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM sidecar_default."+pgx.Identifier{table}.Sanitize()).Scan(&n); err != nil {
			t.Fatal(err)
		}
		total += n
	}
	return total
}

func collect(t *testing.T, conn *pgx.Conn, tables *[]string) error {
	found, err := conn.Query(t.Context(), `SELECT table_name::text FROM information_schema.tables
		WHERE table_schema = 'sidecar_default' AND table_type = 'BASE TABLE'`)
	if err != nil {
		return err
	}
	*tables, err = pgx.CollectRows(found, pgx.RowTo[string])
	return err
}

// settled has no complaint once a sidecar has told the ledger of its credentials, which it does beside its deliveries.
func settled(s *sidecar) error {
	page, err := fetch("http://" + s.admin + "/api/v1/credentials")
	if err == nil && !contains(page, `"created"`) {
		err = errors.New("none is recorded")
	}
	return err
}

// No request that is refused before the claim writes a row.
func TestRefusedRequestsWriteNothing(t *testing.T) {
	app := newApplication(t)
	database := testenv.Postgres(t)
	first, second := replicas(t, database, app, "max_body: 1KiB")
	expect(t, first, "evt-warm", "200 applied evt-warm run 1")
	for _, s := range []*sidecar{first, second} {
		await(t, "the credential in the ledger", func() error { return settled(s) })
	}
	before := rows(t, database)

	body := payload("evt-forged")
	deliver := func(method, target, body string, change func(*http.Request)) int {
		request, err := http.NewRequest(method, "http://"+first.public+target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		sign(request, body)
		if change != nil {
			change(request)
		}
		response, err := senders.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	for name, c := range map[string]struct {
		got, want int
	}{
		"no signature":   {deliver("POST", route, body, func(r *http.Request) { r.Header.Del("X-Signature") }), 401},
		"bad signature":  {deliver("POST", route, body, func(r *http.Request) { r.Header.Set("X-Signature", "sha256="+strings.Repeat("0", 64)) }), 401},
		"stale":          {deliver("POST", route, body, func(r *http.Request) { r.Header.Set("X-Timestamp", fmt.Sprint(time.Now().Unix()-3600)) }), 401},
		"no event":       {deliver("POST", route, `{"type":"order.paid"}`, nil), 400},
		"malformed":      {deliver("POST", route, `{"id":"a","id":"b"}`, nil), 400},
		"too large":      {deliver("POST", route, strings.Repeat("x", 2000), nil), 413},
		"other method":   {deliver("PUT", route, body, nil), 405},
		"other spelling": {deliver("POST", "/hooks//orders", body, nil), 400},
	} {
		if c.got != c.want {
			t.Errorf("%s: status %d, want %d", name, c.got, c.want)
		}
	}
	if after := rows(t, database); after != before {
		t.Errorf("the ledger went from %d to %d rows", before, after)
	}
	wantAttempts(t, app, "evt-forged")
}

// What is secret stays out of everything that a process writes.
func TestSecretsStayInside(t *testing.T) {
	app := newApplication(t)
	first := newSidecar(t, integration(t), map[string]string{
		"DATABASE_URL": testenv.Postgres(t), "SIDECAR_UPSTREAM": "http://" + app.address, "SIDECAR_LOG_LEVEL": "debug",
	}).start(t)
	request, err := http.NewRequest(http.MethodPost, "http://"+first.public+route+"?token=canary-query", strings.NewReader(`{"id":"evt-1","note":"canary-body"}`))
	if err != nil {
		t.Fatal(err)
	}
	sign(request, `{"id":"evt-1","note":"canary-body"}`)
	signature := request.Header.Get("X-Signature")
	for range 2 {
		response, err := senders.Do(request.Clone(t.Context()))
		if err == nil {
			response.Body.Close()
		}
		request.Body = io.NopCloser(strings.NewReader(`{"id":"evt-1","note":"canary-body"}`))
	}
	send(t, first, "evt-2")
	var shown strings.Builder
	for _, page := range []string{"/metrics", "/api/v1/status", "/api/v1/dead-letters", "/readyz"} {
		text, err := fetch("http://" + first.admin + page)
		if err != nil {
			t.Fatal(err)
		}
		shown.WriteString(text)
	}
	_, checked := first.run(t, "check")
	shown.WriteString(checked)
	shown.WriteString(first.log.String())
	for _, canary := range []string{secret, "canary-query", "canary-body", signature, strings.TrimPrefix(signature, "sha256=")} {
		if strings.Contains(shown.String(), canary) {
			t.Errorf("%.12s… is shown", canary)
		}
	}
}
