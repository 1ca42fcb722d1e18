package postgres

import (
	"fmt"
	"sync"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Names whose hashes are the same are different names.
func TestNamesWithOneHashAreToldApart(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	taken := scopeOf(testScope)
	for try := range 3 {
		exec(t, conn, "INSERT INTO sidecar_test.names VALUES ($1, $2, $3, '')", scopeName, taken.hash(try),
			fmt.Appendf(nil, "other/%d", try))
	}
	insert(t, s, claimed("evt_1"))
	if got := read(t, s, "evt_1"); got.Scope != testScope {
		t.Fatalf("got %+v", got)
	}
	other := keyOf("evt_1")
	other.Scope = "other/0"
	if rows, err := s.Read(t.Context(), []dedupe.Key{other}); err != nil || len(rows) != 0 {
		t.Fatalf("another scope has the event: %+v, %v", rows, err)
	}
}

// Replicas that meet the same new names at once agree on them.
func TestNamesAreAgreedUpon(t *testing.T) {
	dsn := freshDB(t)
	stores := make([]*Store, 6)
	for i := range stores {
		stores[i] = open(t, dsn, func(c *Config) { c.MaxConns = 1 })
		if err := stores[i].Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wanted := make([]name, 50)
	for i := range wanted {
		wanted[i] = name{kind: originName, a: fmt.Sprintf("key-%d", i%7), b: fmt.Sprintf("type-%d", i)}
	}
	told := make([]map[name]int32, len(stores))
	var group sync.WaitGroup
	for i, s := range stores {
		group.Go(func() {
			var err error
			if told[i], err = s.names.intern(t.Context(), wanted); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, w := range wanted {
		for i := range stores {
			if id := told[i][w]; id == 0 || id != told[0][w] {
				t.Fatalf("%v is %d for one store and %d for another", w, told[0][w], id)
			}
		}
	}
}

// Reading writes nothing: not even the name of a scope that nobody knows.
func TestReadingAddsNoNames(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	rows, err := s.Read(t.Context(), []dedupe.Key{keyOf("evt_1")})
	if err != nil || len(rows) != 0 {
		t.Fatalf("got %+v, %v", rows, err)
	}
	if list, err := s.List(t.Context(), dedupe.Filter{Scope: testScope}); err != nil || len(list) != 0 {
		t.Fatalf("got %+v, %v", list, err)
	}
	if _, err := s.Job(t.Context(), keyOf("evt_1")); err != dedupe.ErrNotFound {
		t.Fatalf("got %v", err)
	}
	if n := ask[int](t, conn, "SELECT count(*) FROM sidecar_test.names"); n != 0 {
		t.Fatalf("%d names were added", n)
	}
}

// A sender may put anything in an event type; memory stays bounded.
func TestNamesInMemoryAreBounded(t *testing.T) {
	s := open(t, "postgres://127.0.0.1:1/none", nil)
	for i := range maxNames + 10 {
		s.names.keep(map[nameID]name{{originName, int32(i + 1)}: {kind: originName, b: fmt.Sprint(i)}})
	}
	if n := len(s.names.ids); n > maxNames || n == 0 {
		t.Fatalf("%d names are kept", n)
	}
}

// People can read the ledger with psql, whatever bytes are in it.
func TestReadableView(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	row := claimed("evt_1")
	row.Object, row.EventType = "\x00\xff", "type\xfe"
	insert(t, s, row)
	move(t, s, applied(row))
	var scope, event, reference, state, credential, kind, object string
	err := conn.QueryRow(t.Context(), `SELECT scope, event_id, reference, state, credential, event_type, object
		FROM sidecar_test.receipts_readable`).Scan(&scope, &event, &reference, &state, &credential, &kind, &object)
	if err != nil {
		t.Fatal(err)
	}
	if scope != "acme/payments" || event != "evt_1" || state != "applied" || credential != "key-2026" ||
		kind != `type\376` || object != `\000\377` {
		t.Fatalf("got %q %q %q %q %q %q", scope, event, state, credential, kind, object)
	}
	found, err := s.Find(t.Context(), reference)
	if err != nil || len(found) != 1 || found[0].EventID != "evt_1" {
		t.Fatalf("found %+v, %v", found, err)
	}
}
