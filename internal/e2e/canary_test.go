package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// What is hidden in deliveries and answers, to be found wherever it goes.
const (
	inBody   = "canary-of-the-body"
	inQuery  = "canary-of-the-query"
	inHeader = "canary-of-a-header"
	inAnswer = "canary-of-the-answer"
	inCookie = "canary-of-the-answers-header"
)

// canaries are what a place holds, sorted.
func canaries(content []byte) []string {
	var found []string
	for _, canary := range []string{inAnswer, inBody, inCookie, inHeader, inQuery} {
		if bytes.Contains(content, []byte(canary)) {
			found = append(found, canary)
		}
	}
	return found
}

// carry delivers an event with canaries in everything that is no ID.
func carry(t *testing.T, s *sidecar, event string, signed bool) string {
	t.Helper()
	body := fmt.Sprintf(`{"id":%q,"type":"order.paid","order":"order-7","customer":{"email":%q}}`, event, inBody)
	request, err := http.NewRequest(http.MethodPost, "http://"+s.public+route+"?token="+inQuery, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Customer", inHeader)
	if signed {
		sign(request, body)
	}
	response, err := senders.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return fmt.Sprint(response.StatusCode, " ", response.Header.Get("Sidecar-Receipt"))
}

// inPostgres tells the canaries of each table and column, and the events they are of.
func inPostgres(t *testing.T, database string) map[string][]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT table_name::text, column_name::text FROM information_schema.columns
		JOIN information_schema.tables USING (table_schema, table_name)
		WHERE table_schema = 'sidecar_default' AND table_type = 'BASE TABLE'`)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Table, Column string }])
	if err != nil || len(columns) < 30 {
		t.Fatalf("%d columns, %v", len(columns), err)
	}
	found := map[string][]string{}
	for _, c := range columns {
		column := pgx.Identifier{c.Column}.Sanitize()
		rows, err := conn.Query(t.Context(), fmt.Sprintf(`SELECT CASE WHEN pg_typeof(%[1]s) = 'bytea'::regtype
			THEN %[1]s::text::bytea ELSE convert_to(%[1]s::text, 'UTF8') END FROM sidecar_default.%[2]s`, column, pgx.Identifier{c.Table}.Sanitize()))
		if err != nil {
			t.Fatal(err)
		}
		values, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range values {
			found[c.Table+"."+c.Column] = append(found[c.Table+"."+c.Column], canaries(value)...)
		}
	}
	return found
}

// inRedis tells the canaries of all values and keys.
func inRedis(t *testing.T, url string) []string {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	db := redis.NewClient(options)
	defer db.Close()
	keys, err := db.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, key := range keys {
		value, err := db.Get(t.Context(), key).Bytes()
		if err != nil {
			t.Fatalf("%s: %v", key, err) // no other type is used
		}
		found = append(found, canaries(append([]byte(key), value...))...)
	}
	return found
}

// expectCanaries compares what every place holds with what docs/data.md says.
func expectCanaries(t *testing.T, when, database, cache string, want map[string][]string) {
	t.Helper()
	found := inPostgres(t, database)
	found["Redis"] = inRedis(t, cache)
	for place, got := range found {
		slices.Sort(got)
		if !slices.Equal(got, want[place]) {
			t.Errorf("%s, %s holds %v, want %v", when, place, got, want[place])
		}
	}
	for place := range want {
		if _, there := found[place]; !there {
			t.Errorf("%s, there is no %s", when, place)
		}
	}
}

// A payload is stored as a job while its event waits or is dead, an answer as the recorded result; neither is anywhere
// else, in no log and in no metric, and what was refused leaves nothing.
func TestPayloadsAreKeptOnlyWhereTheyAreNeeded(t *testing.T) {
	app, database, cache := newApplication(t), testenv.Postgres(t), testenv.Redis(t)
	app.on("evt-done", func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Set-Cookie", inCookie)
		w.Header().Set("X-Customer", inCookie)
		fmt.Fprint(w, inAnswer)
	})
	app.on("evt-waits", func(w http.ResponseWriter, _ *http.Request, run int) {
		if run == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, inAnswer) // not final: of no use to anybody later
		}
	})
	app.on("evt-dead", func(http.ResponseWriter, *http.Request, int) { panic(http.ErrAbortHandler) })
	yaml := integration(t, "  object: {json: /order}", "on_failure: queue", "in_doubt: quarantine", "retry: {initial: 1h, max: 1h}")
	s := newSidecar(t, yaml, map[string]string{
		"DATABASE_URL": database, "REDIS_URL": cache, "SIDECAR_UPSTREAM": "http://" + app.address, "SIDECAR_LOG_LEVEL": "debug",
	}).start(t)
	await(t, "Redis in use", func() error { return redisOpen(s, "0") })
	for _, event := range []struct{ id, want string }{
		{"evt-done", "200 applied"}, {"evt-waits", "202 queued"}, {"evt-dead", "502 dead"},
	} {
		if got := carry(t, s, event.id, true); got != event.want {
			t.Fatalf("%s: %s, want %s", event.id, got, event.want)
		}
	}
	if got := carry(t, s, "evt-refused", false); got != "401 " {
		t.Fatalf("unsigned: %s", got)
	}
	carry(t, s, "evt-done", true) // asks Redis, and has it filled
	await(t, "the result in Redis", func() error { return notEmpty(inRedis(t, cache)) })
	request := []string{inBody, inHeader, inQuery}
	both := slices.Sorted(slices.Values(slices.Concat(request, request)))
	expectCanaries(t, "while events wait", database, cache, map[string][]string{
		"jobs.request": both, "receipts.body": {inAnswer}, "Redis": {inAnswer},
	})
	work(t, s, database)
	expectCanaries(t, "when nothing waits", database, cache, map[string][]string{"receipts.body": {inAnswer}, "Redis": {inAnswer}})
	if found := canaries([]byte(s.log.String())); len(found) > 0 {
		t.Errorf("the log holds %v", found)
	}
	page, err := fetch("http://" + s.admin + "/metrics")
	if err != nil || len(canaries([]byte(page))) > 0 {
		t.Errorf("the metrics hold %v, %v", canaries([]byte(page)), err)
	}
	documentedFields(t, s.log.String())
}

func notEmpty(found []string) error {
	if len(found) == 0 {
		return fmt.Errorf("nothing yet")
	}
	return nil
}

// work ends everything that waits: the queued event by the worker, the dead one by a person.
func work(t *testing.T, s *sidecar, database string) {
	t.Helper()
	if exit, out := s.run(t, "dead-letters", "close", "acme/orders", "evt-dead", "--actor", "ana", "--reason", "done by hand"); exit != 0 {
		t.Fatal(out)
	}
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "UPDATE sidecar_default.receipts SET due = now() WHERE event_id = 'evt-waits'"); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of all jobs", func() error {
		var n int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM sidecar_default.jobs").Scan(&n); err != nil || n > 0 {
			return fmt.Errorf("%d jobs, %w", n, err)
		}
		return nil
	})
}

// documentedFields expects every field of the log's records of deliveries and attempts in docs/data.md.
func documentedFields(t *testing.T, log string) {
	t.Helper()
	doc := dataPage(t)
	_, section, _ := strings.Cut(doc, "\n## Logs")
	section, _, _ = strings.Cut(section, "\n## ")
	named := map[string]bool{}
	for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(section, -1) {
		named[name[1]] = true
	}
	records := 0
	for line := range strings.Lines(log) {
		var record map[string]any
		if json.Unmarshal([]byte(line), &record) != nil || record["msg"] != "delivery" && record["msg"] != "attempt" {
			continue
		}
		records++
		for field := range record {
			if !named[field] {
				t.Errorf("docs/data.md lacks the log field %s", field)
			}
		}
	}
	if records < 5 {
		t.Errorf("only %d records of deliveries and attempts", records)
	}
}

func dataPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
