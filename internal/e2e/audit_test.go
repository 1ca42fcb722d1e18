package e2e_test

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// audited is what the command tells.
type audited struct {
	OK       bool `json:"ok"`
	Findings []struct {
		Kind, Scope, Reference, Detail string
		EventID                        string `json:"event_id"`
		Checkpoint                     int64
	}
	Scopes []struct {
		Scope                                       string
		Receipts, Events, Rows, Sealed, Checkpoints int64
		Unsealed                                    int64 `json:"not_yet_sealed"`
		Anchored                                    int64
	}
}

// verifies runs an audit and expects its exit status.
func verifies(t *testing.T, s *sidecar, exit int, args ...string) audited {
	t.Helper()
	got, out := s.run(t, append([]string{"audit", "verify", "--json"}, args...)...)
	var report audited
	if err := json.Unmarshal([]byte(out), &report); err != nil || got != exit || report.OK != (exit == 0) {
		t.Fatalf("audit verify: exit %d, want %d (%v)\n%s", got, exit, err, out)
	}
	return report
}

// finds expects a finding of a kind about an event.
func (a *audited) finds(t *testing.T, kind, event string) {
	t.Helper()
	for _, f := range a.Findings {
		if f.Kind == kind && f.EventID == event {
			return
		}
	}
	t.Errorf("found %+v, want %s of %s", a.Findings, kind, event)
}

// eventful lets one event go the happy path, one be dead, replayed and applied, one be dead and closed, and one be retried.
func eventful(t *testing.T, app *application, s *sidecar) {
	t.Helper()
	app.on("evt-retried", failing(1, 503))
	app.on("evt-replayed", failing(2, 500))
	app.on("evt-closed", failing(2, 500))
	expect(t, s, "evt-happy", "200 applied evt-happy run 1")
	expect(t, s, "evt-retried", "503 retryable ")
	expect(t, s, "evt-retried", "200 applied run 2")
	for _, event := range []string{"evt-replayed", "evt-closed"} {
		expect(t, s, event, "500 retryable ")
		expect(t, s, event, "500 dead ")
	}
}

// repaired acts on the dead ones; to is where commands find the ledger.
func repaired(t *testing.T, s *sidecar) {
	t.Helper()
	for _, args := range [][]string{{"replay", "acme/orders", "evt-replayed"}, {"close", "acme/orders", "evt-closed", "--answer", "410"}} {
		args = append([]string{"dead-letters"}, args...)
		if exit, out := s.run(t, append(args, "--actor", "ada", "--reason", "repaired")...); exit != 0 {
			t.Fatalf("%v: exit %d\n%s", args, exit, out)
		}
	}
}

func auditable(lines ...string) []string {
	return append(lines, "forward_limit: {max_attempts: 2}")
}

// checkpointed starts one more process, which seals what is there, and returns its log when all is sealed.
func checkpointed(t *testing.T, yaml string, env map[string]string, sealed func(*sidecar) error) string {
	t.Helper()
	s := newSidecar(t, yaml, env).start(t)
	await(t, "checkpoints", func() error { return sealed(s) })
	s.signal(syscall.SIGTERM)
	<-s.ended
	return s.log.String()
}

// told is how many checkpoints a log tells of.
func told(log string) int { return strings.Count(log, `"msg":"checkpoint"`) }

func TestAuditOfPostgreSQL(t *testing.T) {
	app, database := newApplication(t), testenv.Postgres(t)
	yaml := integration(t, auditable()...)
	env := map[string]string{"DATABASE_URL": database, "SIDECAR_UPSTREAM": "http://" + app.address}
	s := newSidecar(t, yaml, env).start(t)
	eventful(t, app, s)
	wholly := func(*sidecar) error {
		if got := verifies(t, s, 0, "acme/orders").Scopes[0]; got.Unsealed > 0 {
			return fmt.Errorf("%d rows are not sealed yet", got.Unsealed)
		}
		return nil
	}
	log := checkpointed(t, yaml, env, wholly)
	repaired(t, s)
	settles(t, s, "evt-replayed", "200 replayed run 3")
	log += checkpointed(t, yaml, env, wholly)
	made := int(verifies(t, s, 0, "acme/orders").Scopes[0].Checkpoints)
	await(t, "the log", func() error { // after half a minute the first process seals, too
		if got := told(log + s.log.String()); got != made {
			return fmt.Errorf("it tells of %d checkpoints of %d", got, made)
		}
		return nil
	})
	anchors := filepath.Join(s.dir, "log.json")
	write(t, anchors, log+s.log.String())

	report := verifies(t, s, 0, "acme/orders", "--anchor-file", anchors)
	if got := report.Scopes[0]; got.Receipts != 4 || got.Events != 3 || got.Rows != 9 || got.Sealed != 9 || made < 2 || got.Checkpoints != int64(made) ||
		got.Anchored != int64(made) {
		t.Errorf("an audit sees %+v", got)
	}
	if exit, out := s.run(t, "audit", "verify"); exit != 0 || !strings.Contains(out, "acme/orders") {
		t.Errorf("audit verify: exit %d\n%s", exit, out)
	}
	if exit, out := s.run(t, "receipts", "show", "acme/orders", "evt-replayed"); exit != 0 || !strings.Contains(out, "whole; 4 of 4 rows sealed") {
		t.Errorf("receipts show: exit %d\n%s", exit, out)
	}
	exported(t, s, made)

	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, intrusion := range []struct{ sql, undo, kind, event string }{
		{
			"UPDATE sidecar_default.evidence SET note = 'nothing' WHERE event_id = 'evt-closed' AND note <> ''",
			"UPDATE sidecar_default.evidence SET note = 'repaired' WHERE event_id = 'evt-closed' AND note <> ''", "altered", "evt-closed",
		},
		{
			"UPDATE sidecar_default.receipts SET state = 4, status = 200 WHERE event_id = 'evt-closed'",
			"UPDATE sidecar_default.receipts SET state = 6, status = 410 WHERE event_id = 'evt-closed'", "state_disagrees", "evt-closed",
		},
		{
			"DELETE FROM sidecar_default.evidence WHERE event_id = 'evt-replayed'",
			"", "removed", "evt-replayed",
		},
		{"DELETE FROM sidecar_default.checkpoints WHERE number = 2", "", "checkpoint_missing", ""},
	} {
		if _, err := conn.Exec(t.Context(), intrusion.sql); err != nil {
			t.Fatal(err)
		}
		report := verifies(t, s, 1, "--anchor-file", anchors)
		report.finds(t, intrusion.kind, intrusion.event)
		if intrusion.undo == "" {
			continue
		}
		if _, err := conn.Exec(t.Context(), intrusion.undo); err != nil {
			t.Fatal(err)
		}
		verifies(t, s, 0)
	}
	if exit, out := s.run(t, "audit", "verify", "acme/orders"); exit != 1 || !strings.Contains(out, "evt-replayed") || !strings.Contains(out, "removed") {
		t.Errorf("audit verify: exit %d\n%s", exit, out)
	}
	for _, word := range []string{"verify", "export"} {
		if exit, out := s.run(t, "audit", word, "acme/nobody"); exit != 1 || !strings.Contains(out, "nothing of acme/nobody") {
			t.Errorf("audit %s of nobody: exit %d\n%s", word, exit, out)
		}
	}
	write(t, anchors, `{"msg":"delivery"}`)
	if _, out := s.run(t, "audit", "verify", "--anchor-file", anchors); !strings.Contains(out, "there is no checkpoint in "+anchors) {
		t.Errorf("nobody says that there is no anchor:\n%s", out)
	}
}

// Under a wrong name there is no ledger: nobody is told that it is in order, and none is made.
func TestACommandMakesNoLedger(t *testing.T) {
	database := testenv.Postgres(t)
	s := newSidecar(t, integration(t), map[string]string{"DATABASE_URL": database, "SIDECAR_NAMESPACE": "typo"})
	for _, command := range []string{
		"audit verify", "audit export", "receipts list", "receipts show acme/orders evt_1", "dead-letters list", "seal status",
		"capacity",
	} {
		if exit, out := s.run(t, strings.Fields(command)...); exit != 1 || !strings.Contains(out, "there is none in the namespace typo") {
			t.Errorf("%s: exit %d\n%s", command, exit, out)
		}
	}
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var schemas int
	err = conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'sidecar%'").Scan(&schemas)
	if err != nil || schemas != 0 {
		t.Errorf("there are %d schemas, %v", schemas, err)
	}
}

func TestAuditOfSQLite(t *testing.T) {
	app, file := newApplication(t), filepath.Join(t.TempDir(), "ledger.db")
	yaml := integration(t, auditable()...)
	env := map[string]string{"DATABASE_URL": "sqlite:" + file, "SIDECAR_UPSTREAM": "http://" + app.address}
	s := newSidecar(t, yaml, env).start(t)
	eventful(t, app, s)
	s.signal(syscall.SIGTERM)
	<-s.ended
	repaired(t, s)
	log := checkpointed(t, yaml, env, func(s *sidecar) error {
		if told(s.log.String()) == 0 {
			return fmt.Errorf("there is none")
		}
		return nil
	})
	anchors := filepath.Join(s.dir, "log.json")
	write(t, anchors, log)
	report := verifies(t, s, 0, "--anchor-file", anchors)
	if got := report.Scopes[0]; got.Receipts != 4 || got.Events != 3 || got.Sealed+got.Unsealed != got.Rows || got.Anchored != 1 {
		t.Errorf("an audit sees %+v", got)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE evidence SET attempt = attempt + 1 WHERE receipt = (SELECT id FROM receipts WHERE event_id = 'evt-retried')"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	report = verifies(t, s, 1)
	report.finds(t, "altered", "evt-retried")
	if exit, out := s.run(t, "receipts", "show", "acme/orders", "evt-retried"); exit != 0 || !strings.Contains(out, "NOT whole") {
		t.Errorf("receipts show: exit %d\n%s", exit, out)
	}
}

// exported checks the lines that tell who sent what, by which credential, and what came of it.
func exported(t *testing.T, s *sidecar, checkpoints int) {
	t.Helper()
	if exit, out := s.run(t, "pause", "acme/orders", "--actor", "ada", "--reason", "a look"); exit != 0 {
		t.Fatalf("pause: exit %d\n%s", exit, out)
	}
	exit, out := s.run(t, "audit", "export", "acme/orders")
	if exit != 0 {
		t.Fatalf("audit export: exit %d\n%s", exit, out)
	}
	kinds, events := map[string]int{}, map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		var line struct {
			Kind, Scope, State, Credential, Created, Evidence, Chain, Body string
			EventID                                                        string `json:"event_id"`
			Transitions                                                    []struct{ To, Actor, Credential, Sum string }
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Scope != "acme/orders" {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		kinds[line.Kind]++
		if line.Kind != "event" {
			continue
		}
		steps := line.State
		for _, step := range line.Transitions {
			steps += " " + step.To + ":" + step.Credential
			if step.Sum == "" {
				t.Errorf("a transition without a sum: %s", lines.Text())
			}
		}
		events[line.EventID] = steps
		if line.Credential != keyID || line.Created == "" || (line.Chain == "") != (len(line.Transitions) == 0) {
			t.Errorf("exported %s", lines.Text())
		}
	}
	want := map[string]string{
		"evt-happy":    "applied",
		"evt-retried":  "applied retryable:" + keyID + " applied:" + keyID,
		"evt-replayed": "applied retryable:" + keyID + " dead:" + keyID + " queued: applied:" + keyID,
		"evt-closed":   "closed retryable:" + keyID + " dead:" + keyID + " closed:",
	}
	if !maps.Equal(events, want) {
		t.Errorf("exported events are %v, want %v", events, want)
	}
	if kinds["checkpoint"] != checkpoints || kinds["pause"] != 1 || kinds["credential"] < 1 {
		t.Errorf("exported are %v", kinds)
	}
	anchors := filepath.Join(s.dir, "export.jsonl")
	write(t, anchors, out)
	if got := verifies(t, s, 0, "--anchor-file", anchors).Scopes[0].Anchored; got != int64(checkpoints) {
		t.Errorf("%d checkpoints of an export are anchors", got)
	}
	if exit, out := s.run(t, "audit", "export", "--since", "2100-01-01T00:00:00Z"); exit != 0 || strings.TrimSpace(out) != "" {
		t.Errorf("audit export of the future: exit %d\n%s", exit, out)
	}
	if exit, out := s.run(t, "resume", "acme/orders", "--actor", "ada", "--reason", "seen"); exit != 0 {
		t.Fatalf("resume: exit %d\n%s", exit, out)
	}
}
