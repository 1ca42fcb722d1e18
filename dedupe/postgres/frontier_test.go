package postgres

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// look returns what says when after the beginning something is, and what says since when a frontier should look.
func look(t *testing.T, f *frontier) (at func(time.Duration) time.Time, want func(string, time.Time)) {
	t.Helper()
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at = func(d time.Duration) time.Time { return start.Add(d) }
	want = func(what string, since time.Time) {
		t.Helper()
		if got := f.since(); !got.Equal(since) {
			t.Fatalf("%s it looks since %v, want %v", what, got, since)
		}
	}
	return at, want
}

func TestFrontierLooksBackFarEnough(t *testing.T) {
	var f frontier
	at, want := look(t, &f)
	want("first", time.Time{})
	f.looked(at(0), f.since(), false)
	want("after a look that left something", time.Time{})
	f.looked(at(0), f.since(), true)
	want("after a look at everything", at(-commitMargin))
	f.looked(at(time.Minute), f.since(), true)
	want("a minute later", at(time.Minute-commitMargin))
	f.looked(at(2*time.Minute), f.since(), false)
	want("while something is left", at(time.Minute-commitMargin))
	f.looked(at(fullLook), f.since(), true)
	want("just before the hour is over", at(fullLook-commitMargin))
	f.looked(at(fullLook+time.Second), f.since(), true)
	want("after an hour", time.Time{})
	f.looked(at(fullLook+time.Second), f.since(), true)
	want("after the second look at everything", at(fullLook+time.Second-commitMargin))
}

func TestFrontierOfManyLooks(t *testing.T) {
	f := frontier{often: true}
	at, want := look(t, &f)
	want("first", time.Time{})
	f.looked(at(0), f.since(), false)
	want("after a look that left something", time.Time{})
	f.looked(at(0), f.since(), true)
	want("after a look at everything", at(-swiftMargin))
	f.looked(at(time.Minute), f.since(), true)
	want("a minute later", at(time.Minute-swiftMargin))
	f.looked(at(90*time.Second), f.since(), false)
	want("while something is left", at(time.Minute-swiftMargin))
	f.looked(at(deepSweep+time.Second), f.since(), true)
	want("when it has not looked back far for a while", at(deepSweep+time.Second-commitMargin))
	f.looked(at(deepSweep+2*time.Second), f.since(), false)
	want("while something is left there", at(deepSweep+time.Second-commitMargin))
	f.looked(at(deepSweep+3*time.Second), f.since(), true)
	want("after it has", at(deepSweep+3*time.Second-swiftMargin))
	f.looked(at(fullLook), f.since(), true)
	want("just before the hour is over", at(fullLook-commitMargin))
	f.looked(at(fullLook+time.Second), f.since(), true)
	want("after an hour", time.Time{})
	f.looked(at(fullLook+time.Second), f.since(), true)
	want("after the second look at everything", at(fullLook+time.Second-swiftMargin))
}

// What became due while the database's clock jumped ahead lies between the last look and now; after a jump back, what is
// known of the times before is worth nothing.
func TestFrontierFollowsTheDatabasesClock(t *testing.T) {
	for _, jump := range []time.Duration{24 * time.Hour, -24 * time.Hour, -time.Millisecond} {
		var f frontier
		start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		f.looked(start, time.Time{}, true)
		f.reached(start)
		f.looked(start.Add(jump), f.since(), false)
		if got := f.next(); jump > 0 && got.After(start) || jump < 0 && !got.IsZero() {
			t.Errorf("after a jump of %v it looks since %v", jump, got)
		}
	}
}

func TestFrontierGoesOnWhereItWas(t *testing.T) {
	var f frontier
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	f.reached(start.Add(-time.Hour))
	if got := f.next(); !got.Equal(start.Add(-time.Hour)) || !f.since().IsZero() {
		t.Fatalf("within a sweep it goes on at %v, and looks at its end since %v", got, f.since())
	}
	f.reached(time.Time{})
	if got := f.next(); !got.IsZero() {
		t.Fatalf("behind a sweep that found more it begins at %v", got)
	}
}

// One long transaction keeps vacuum from removing what is gone. Sweeping goes on at the same cost.
func TestSweepingBehindALongTransaction(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.MaxConns = 1 }), connect(t, dsn)
	sweep := func() {
		t.Helper()
		if _, err := s.Expired(t.Context(), 0, 100); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Forget(t.Context(), 10_000); err != nil {
			t.Fatal(err)
		}
	}
	sweep() // the first looks are at everything
	exec(t, conn, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	exec(t, conn, "SELECT FROM sidecar_test.receipts LIMIT 1")
	other := connect(t, dsn)
	past := func(state dedupe.State, id string) {
		exec(t, other, `INSERT INTO sidecar_test.receipts SELECT now(), now(), now() - interval '1 day', 1, 1, 0, 1, $1, 0, 2,
			0, 'token', 'print', ($2 || i)::bytea, '', '', '', '', '' FROM generate_series(1, 5000) i`, int16(state), id)
	}
	past(dedupe.Claimed, "claimed_")
	past(dedupe.Applied, "applied_")
	exec(t, other, "DELETE FROM sidecar_test.receipts")
	exec(t, other, "VACUUM sidecar_test.receipts")
	before := readStats(t, s, other)
	for range 5 {
		sweep()
	}
	after := readStats(t, s, other)
	if read := after.indexRead - before.indexRead; read > 500 {
		t.Fatalf("%d index entries were read", read)
	}
}

// Whatever is due, and however late its transaction is to commit, up to some minutes, is found soon after.
func TestFrontierOverlooksNothing(t *testing.T) {
	const step = 40 * time.Second // between two looks, at most
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(name string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(1, int64(most/time.Second)).Draw(t, name)) * time.Second
		}
		f := frontier{often: rapid.Bool().Draw(t, "often")}
		now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		f.looked(now, time.Time{}, true)
		due := now.Add(seconds("due", 20*time.Minute))
		committed := due.Add(seconds("late", commitMargin-deepSweep-2*step))
		for {
			now = now.Add(seconds("until the next look", step))
			since := f.since()
			found := !committed.After(now) && !due.Before(since)
			if found {
				return
			}
			if now.Sub(committed) > deepSweep+2*step {
				t.Fatalf("what was due at %v and committed at %v is not found at %v", due, committed, now)
			}
			f.looked(now, since, rapid.IntRange(0, 3).Draw(t, "something else was found") > 0 || now.Before(due.Add(-time.Minute)))
		}
	})
}

// A claim whose transaction was slow to commit is found although a younger one was before.
func TestSlowCommitIsNotOverlooked(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	if _, err := s.Expired(t.Context(), 0, 10); err != nil {
		t.Fatal(err)
	}
	insert(t, s, claimed("evt_1"))
	if err := age(t, conn, keyOf("evt_1"), commitMargin/2); err != nil {
		t.Fatal(err)
	}
	s.expired.deep = s.expired.deep.Add(-deepSweep - time.Second)
	rows, err := s.Expired(t.Context(), 0, 10)
	if err != nil || len(rows) != 1 || rows[0].EventID != "evt_1" {
		t.Fatalf("got %+v, %v", rows, err)
	}
}

// passed tells that time has passed which no clock has shown: a test's.
func (f *frontier) passed(by time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, each := range []*time.Time{&f.now, &f.clear, &f.deep, &f.full, &f.at} {
		if !each.IsZero() {
			*each = each.Add(-by)
		}
	}
}
