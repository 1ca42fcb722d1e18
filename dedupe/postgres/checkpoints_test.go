package postgres

import (
	"encoding/binary"
	"errors"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
)

// failed leaves a row of evidence.
func failed(t *testing.T, s *Store, id string) {
	t.Helper()
	row := claimed(id)
	insert(t, s, row)
	if !move(t, s, toRetryable(row))[0] {
		t.Fatal("the move was not made")
	}
}

func toRetryable(row dedupe.NewRow) dedupe.Move {
	m := applied(row)
	m.To, m.Response, m.Status, m.DropJob, m.Reason = dedupe.Retryable, nil, 503, false, dedupe.NotFinal
	m.Evidence = &dedupe.Evidence{From: dedupe.Claimed, To: dedupe.Retryable, Attempt: 1, Reason: dedupe.NotFinal, Status: 503}
	return m
}

func notary(t *testing.T, s dedupe.Checkpoints) *audit.Notary {
	t.Helper()
	n, err := audit.NewNotary(audit.NotaryConfig{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func sealed(t *testing.T, s *Store) audit.Sealed {
	t.Helper()
	sealed, err := notary(t, s).Seal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// clean expects that an audit finds nothing.
func clean(t *testing.T, s *Store) audit.Summary {
	t.Helper()
	auditor, err := audit.NewAuditor(audit.AuditorConfig{Source: s, Found: func(f audit.Finding) { t.Errorf("found %+v", f) }})
	if err != nil {
		t.Fatal(err)
	}
	summaries, err := auditor.Verify(t.Context(), testScope)
	if err != nil {
		t.Fatal(err)
	}
	return summaries[0]
}

// A transaction that takes its row's ID first and commits last is sealed by the next checkpoint.
func TestALateCommitIsSealed(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	insert(t, s, claimed("late"))
	late := dedupe.Evidence{
		At: time.Now().UTC().Truncate(time.Microsecond), From: dedupe.Claimed, To: dedupe.Claimed, Attempt: 1, Actor: "slow",
	}
	sum := late.Link(keyOf("late"), dedupe.Sum{})
	err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `WITH r AS (
			UPDATE sidecar_test.receipts SET chain = $2, attempt = 2 WHERE event_id = 'late' RETURNING scope_id, event_id
		) INSERT INTO sidecar_test.evidence (at, scope_id, reason_id, attempt, from_state, to_state, status, event_id, actor, note, sum)
		SELECT $1, scope_id, 0, 1, 1, 1, 0, event_id, 'slow', '', $2 FROM r`, late.At, sum[:]); err != nil {
			return err
		}
		failed(t, s, "swift")
		if made := sealed(t, s).Made; len(made) != 1 || audit.Rows(&made[0]) != 1 {
			t.Errorf("sealed %+v", made)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if made := sealed(t, s).Made; len(made) != 1 || made[0].Number != 2 {
		t.Errorf("sealed %+v", made)
	}
	if summary := clean(t, s); summary.Sealed != 2 || summary.Unsealed != 0 {
		t.Errorf("an audit sees %+v", summary)
	}
}

// Whoever seals holds up no delivery, however long that takes; another notary gives up soon.
func TestSealingHoldsNobodyUp(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	insert(t, s, claimed("evt_1"))
	if !move(t, s, toRetryable(claimed("evt_1")))[0] {
		t.Fatal("the move was not made")
	}
	scope, err := s.scopeID(t.Context(), testScope)
	if err != nil {
		t.Fatal(err)
	}
	marked, err := s.Marked(t.Context(), testScope, 0, 0, 10)
	if err != nil || len(marked.Rows) != 1 {
		t.Fatalf("%+v, %v", marked, err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	none := make([]byte, 32)
	if _, err := tx.Exec(t.Context(), s.sql.seal, scope, int64(1), marked.Now, int64(1), none, none, []byte{}, []int64{marked.Rows[0].ID}); err != nil {
		t.Fatal(err)
	}
	again := toRetryable(claimed("evt_1"))
	again.FromState = dedupe.Retryable
	if !move(t, s, again)[0] {
		t.Error("a transition was held up")
	}
	failed(t, s, "evt_2")
	began := time.Now()
	if _, err := notary(t, s).Seal(t.Context()); !errors.Is(err, dedupe.ErrBatch) || time.Since(began) > 5*time.Second {
		t.Errorf("the other notary ended after %v with %v", time.Since(began), err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	sealed(t, s)
	if summary := clean(t, s); summary.Sealed != 3 {
		t.Errorf("an audit sees %+v", summary)
	}
}

// The notary's process, or its connection, ends after the checkpoint was committed and before it hears of it.
func TestACheckpointWhoseAnswerIsLostIsNotMadeTwice(t *testing.T) {
	s, tap, dsn := tapped(t)
	failed(t, s, "evt_1")
	sealed(t, s) // statements are prepared
	failed(t, s, "evt_2")
	other := open(t, dsn, nil)
	ends, err := s.Ends(t.Context(), testScope)
	if err != nil {
		t.Fatal(err)
	}
	marked, err := s.Marked(t.Context(), testScope, 0, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	c := dedupe.Checkpoint{Scope: testScope, Number: 2, At: marked.Now, Oldest: 1, Previous: ends.Newest.Sum}
	c.Leaves = leafOf("evt_2", marked.Rows[0])
	c.Sum = c.Total()
	cut := tap.CutBeforeReply(committed)
	_, err = s.Seal(t.Context(), c, []int64{marked.Rows[0].ID})
	unknown(t, err)
	<-cut
	if sealed := sealed(t, other); len(sealed.Made) != 0 {
		t.Errorf("sealed again: %+v", sealed)
	}
	failed(t, other, "evt_3")
	sealed(t, other)
	if summary := clean(t, other); summary.Checkpoints != 3 || summary.Sealed != 3 {
		t.Errorf("an audit sees %+v", summary)
	}
}

// A receipt may be forgotten while its evidence is being sealed, if that comes minutes late. What stays of it is no finding,
// and goes with the next checkpoint.
func TestWhatIsForgottenWhileItIsSealedIsLeftOver(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	insert(t, s, claimed("evt_1"))
	soon := toRetryable(claimed("evt_1"))
	soon.Expires = time.Microsecond
	if !move(t, s, soon)[0] {
		t.Fatal("the move was not made")
	}
	exec(t, conn, "UPDATE sidecar_test.receipts SET due = due - interval '6 minutes'")
	marked, err := s.Marked(t.Context(), testScope, 0, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	c := dedupe.Checkpoint{Scope: testScope, Number: 1, At: marked.Now.UTC().Truncate(time.Microsecond), Oldest: 1, Leaves: leafOf("evt_1", marked.Rows[0])}
	c.Sum = c.Total()
	scope, err := s.scopeID(t.Context(), testScope)
	if err != nil {
		t.Fatal(err)
	}
	slow := open(t, dsn, func(c *Config) { c.LockTimeout = 30 * time.Second; c.Timeout = 60 * time.Second })
	forgot := make(chan error, 1)
	err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), s.sql.seal, scope, c.Number, c.At, c.Oldest, c.Previous[:], c.Sum[:], c.Leaves,
			[]int64{marked.Rows[0].ID}); err != nil {
			return err
		}
		go func() {
			receipts, _, err := slow.Forget(t.Context(), 10)
			if receipts != 1 && err == nil {
				err = errors.New("nothing was forgotten")
			}
			forgot <- err
		}()
		looks := connect(t, dsn)
		eventually(t, "forgetting waits for the row", func() bool {
			return ask[int64](t, looks, "SELECT count(*) FROM pg_locks WHERE NOT granted") > 0
		})
		return nil
	})
	if err := errors.Join(err, <-forgot); err != nil {
		t.Fatal(err)
	}
	if left := ask[int64](t, conn, "SELECT count(*) FROM sidecar_test.evidence"); left != 1 {
		t.Fatalf("%d rows are left over", left)
	}
	clean(t, s)
	failed(t, s, "evt_2")
	sealed(t, s)
	if left := ask[int64](t, conn, "SELECT count(*) FROM sidecar_test.evidence WHERE event_id = 'evt_1'"); left != 0 {
		t.Errorf("%d rows are left over for ever", left)
	}
	clean(t, s)
}

// A seal that comes before the receipt is gone overlooks what is left over; it would keep checkpoints for ever.
func TestWhatWasOverlookedGoesLater(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	insert(t, s, claimed("evt_1"))
	soon := toRetryable(claimed("evt_1"))
	soon.Expires = time.Microsecond
	if !move(t, s, soon)[0] {
		t.Fatal("the move was not made")
	}
	for _, id := range []string{"evt_2", "evt_3", "evt_4"} {
		sealed(t, s)
		failed(t, s, id)
	}
	exec(t, conn, "DELETE FROM sidecar_test.receipts WHERE event_id = 'evt_1'")
	sealed(t, s)
	if left := ask[int64](t, conn, "SELECT count(*) FROM sidecar_test.evidence WHERE event_id = 'evt_1'"); left != 0 {
		t.Errorf("%d rows are left over for ever", left)
	}
	if left := ask[int64](t, conn, "SELECT count(*) FROM sidecar_test.evidence"); left != 3 {
		t.Errorf("%d rows are left", left)
	}
	clean(t, s)
}

// leafOf is what a checkpoint keeps of a row.
func leafOf(id string, row dedupe.Sealable) []byte {
	tag := dedupe.Tag(testScope, keyOf(id).EventID)
	until := binary.BigEndian.AppendUint64(nil, uint64(dedupe.UntilMicros(row.Until))) //nolint:gosec // its bits
	return slices.Concat(tag[:], until, row.Sum[:])
}

// What seals and what audits reads no table as a whole.
func TestAuditsReadByIndex(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	failed(t, s, "evt_1")
	sealed(t, s)
	prefilled(t, conn, s, 20_000)
	exec(t, conn, `INSERT INTO sidecar_test.evidence (at, scope_id, reason_id, attempt, from_state, to_state, status, event_id, actor, note, sum, checkpoint)
		SELECT now(), r.scope_id, 0, 1, 1, 2, 0, r.event_id, '', '', sha256(r.event_id), 1 + row_number() OVER () / 100
		FROM sidecar_test.receipts r`)
	exec(t, conn, "ANALYZE sidecar_test.evidence, sidecar_test.receipts, sidecar_test.checkpoints")
	whole := regexp.MustCompile(`Seq Scan on (evidence|receipts|checkpoints)`)
	for name, sql := range map[string]string{
		"unsealed": s.sql.unsealed, "seal": s.sql.seal, "ends": s.sql.ends, "marked": s.sql.marked, "unmarked": s.sql.unmarked,
		"history": s.sql.history, "strays": s.sql.strays, "chain": s.sql.chain, "retire": s.sql.retire,
	} {
		plan := explain(t, conn, lookupGuard, sql)
		if whole.MatchString(plan) {
			t.Errorf("%s reads a table:\n%s", name, plan)
		}
	}
}

// Names are told once for all rows that have them: without its name a scope would be one that nobody audits.
func TestNamesThatSomebodyChangedAreFound(t *testing.T) {
	for sql, want := range map[string]audit.Kind{
		"DELETE FROM sidecar_test.names WHERE kind = 1":                        audit.Stray,
		"UPDATE sidecar_test.names SET id = id + 1 WHERE kind = 1":             audit.Stray,
		"UPDATE sidecar_test.names SET kind = 4 WHERE kind = 1":                audit.Stray,
		"UPDATE sidecar_test.names SET a = 'acme/other' WHERE kind = 1":        audit.Altered,
		"UPDATE sidecar_test.names SET a = 'timeout' WHERE kind = 3":           audit.Altered,
		"DELETE FROM sidecar_test.names WHERE kind = 3":                        audit.Altered,
		"DELETE FROM sidecar_test.names":                                       audit.Stray,
		"DELETE FROM sidecar_test.receipts; DELETE FROM sidecar_test.names":    audit.Stray,
		"DELETE FROM sidecar_test.evidence; DELETE FROM sidecar_test.names":    audit.Stray,
		"DELETE FROM sidecar_test.checkpoints; DELETE FROM sidecar_test.names": audit.Stray,
	} {
		t.Run(sql, func(t *testing.T) {
			dsn := freshDB(t)
			s, conn := open(t, dsn, nil), connect(t, dsn)
			failed(t, s, "evt_1")
			sealed(t, s)
			exec(t, conn, sql)
			var found []audit.Kind
			auditor, err := audit.NewAuditor(audit.AuditorConfig{
				Source: open(t, dsn, nil), Found: func(f audit.Finding) { found = append(found, f.Kind) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := auditor.Verify(t.Context()); err != nil || !slices.Contains(found, want) {
				t.Errorf("found %v, %v, want %s", found, err, want)
			}
		})
	}
}
