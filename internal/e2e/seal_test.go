package e2e_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// sealKey is a line of a key file, another one for each name.
func sealKey(name string) string {
	sum := sha256.Sum256([]byte("canary seal key " + name))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// canaryOf is what must not be read anywhere but by who is to read it.
func canaryOf(event string) string { return "canary-of-the-payload-of-" + event + "-end" }

// vault is a ledger in PostgreSQL and a cache in Redis, an application that answers with canaries and remembers bodies, and
// the settings of sidecars before it.
type vault struct {
	t        *testing.T
	database string
	redis    *redis.Client
	keyFile  string
	env      map[string]string

	mu     sync.Mutex
	bodies map[string][]string // by event
}

func newVault(t *testing.T) *vault {
	t.Helper()
	v := &vault{t: t, database: testenv.Postgres(t), keyFile: filepath.Join(t.TempDir(), "keys"), bodies: map[string][]string{}}
	server := testenv.NewRedis(t)
	v.redis = redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { v.redis.Close() })
	app := httptest.NewServer(http.HandlerFunc(v.serve))
	t.Cleanup(app.Close)
	v.env = map[string]string{
		"DATABASE_URL": v.database, "REDIS_URL": server.URL(), "SIDECAR_UPSTREAM": app.URL, "SIDECAR_SEAL_KEY_FILE": v.keyFile,
	}
	return v
}

func (v *vault) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	event := r.Header.Get("Idempotency-Key")
	v.mu.Lock()
	v.bodies[event] = append(v.bodies[event], string(body))
	v.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprint(w, canaryOf(event))
}

// got is what the application was sent of an event.
func (v *vault) got(event string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bodies[event]
}

// keys replaces the key file at once; "off" is the word.
func (v *vault) keys(names ...string) { writeKeys(v.t, v.keyFile, names...) }

func writeKeys(t *testing.T, path string, names ...string) {
	t.Helper()
	var text strings.Builder
	for _, name := range names {
		if name != "off" {
			name = sealKey(name)
		}
		text.WriteString(name + "\n")
	}
	write(t, path+".new", text.String())
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// keyIDs are what named keys are called.
func keyIDs(t *testing.T, names ...string) (ids []string) {
	t.Helper()
	for _, name := range names {
		keys, err := seal.ParseKeys([]byte(sealKey(name)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, keys.IDs()[0].String())
	}
	return ids
}

// follow waits until a sidecar has these keys and no complaint.
func follow(t *testing.T, s *sidecar, names ...string) {
	t.Helper()
	await(t, "the keys", func() error {
		page, err := fetch("http://" + s.admin + "/api/v1/status")
		if err != nil {
			return err
		}
		var report struct {
			Seal struct {
				Sealing string
				Keys    []string
				Valid   bool
			}
		}
		if err := json.Unmarshal([]byte(page), &report); err != nil {
			return err
		}
		if got := report.Seal; !slices.Equal(got.Keys, keyIDs(t, names...)) || !got.Valid || got.Sealing != got.Keys[0] {
			return fmt.Errorf("they are %+v", got)
		}
		return nil
	})
}

// secretBody carries a canary in what the sender says.
func secretBody(event string) string {
	return fmt.Sprintf(`{"id":%q,"type":"order.paid","note":%q}`, event, canaryOf(event))
}

func (v *vault) deliver(s *sidecar, event, want string) {
	v.t.Helper()
	got, err := try(s, secretBody(event), true)
	if err != nil || got.String() != want {
		v.t.Errorf("%s: %s, %v; want %s", event, got, err, want)
	}
}

// replayed wants the recorded answer, byte for byte.
func (v *vault) replayed(s *sidecar, events ...string) {
	v.t.Helper()
	for _, event := range events {
		v.deliver(s, event, "200 replayed "+canaryOf(event))
	}
}

// unreadable fails where a canary is in any row of any table, or in any value of Redis; something must be there.
func (v *vault) unreadable() {
	v.t.Helper()
	tables, values := v.tables(), v.values()
	if !strings.Contains(tables, "evt-1") && !strings.Contains(tables, hex.EncodeToString([]byte("evt-1"))) || len(values) == 0 {
		v.t.Fatalf("nothing is there:\n%s\n%q", tables, values)
	}
	for where, text := range map[string]string{"PostgreSQL": tables, "Redis": values} {
		for _, part := range []string{"canary", hex.EncodeToString([]byte("canary")), base64.StdEncoding.EncodeToString([]byte("canary"))} {
			if strings.Contains(text, part) {
				v.t.Errorf("%s has %q", where, part)
			}
		}
	}
	for _, part := range []string{"evt-1", "acme", "order", "text/plain"} {
		if strings.Contains(values, part) {
			v.t.Errorf("Redis has %q", part)
		}
	}
}

// tables is every row of every table of the ledger as text, bytes in hex.
func (v *vault) tables() string {
	v.t.Helper()
	conn, err := pgx.Connect(v.t.Context(), v.database)
	if err != nil {
		v.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var names []string
	if err := collect(v.t, conn, &names); err != nil {
		v.t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		rows, err := conn.Query(v.t.Context(), "SELECT t::text FROM sidecar_default."+pgx.Identifier{name}.Sanitize()+" t")
		if err != nil {
			v.t.Fatal(err)
		}
		var line string
		if _, err := pgx.ForEachRow(rows, []any{&line}, func() error { all.WriteString(name + " " + line + "\n"); return nil }); err != nil {
			v.t.Fatal(err)
		}
	}
	return all.String()
}

func (v *vault) values() string {
	v.t.Helper()
	keys, err := v.redis.Keys(v.t.Context(), "*").Result()
	if err != nil {
		v.t.Fatal(err)
	}
	var all strings.Builder
	for _, key := range keys {
		value, err := v.redis.Get(v.t.Context(), key).Result()
		if err != nil {
			v.t.Fatal(err)
		}
		all.WriteString(key + " " + value + "\n")
	}
	return all.String()
}

// inRedis waits until so many results are there.
func (v *vault) inRedis(count int64) {
	v.t.Helper()
	await(v.t, "results in Redis", func() error {
		n, err := v.redis.DBSize(v.t.Context()).Result()
		if err == nil && n < count {
			err = fmt.Errorf("%d keys", n)
		}
		return err
	})
}

// counted is a metric of a sidecar.
func counted(t *testing.T, s *sidecar, line string) {
	t.Helper()
	page, err := fetch("http://" + s.admin + "/metrics")
	if err != nil || !strings.Contains(page, line) {
		t.Errorf("the metrics lack %q (%v)", line, err)
	}
}

// Nothing that a sender or the application said can be read in the ledger or the cache, and every duplicate gets the same
// bytes. An event whose key is gone is refused alone, and answered again when the key is back.
func TestSealedLedger(t *testing.T) {
	v := newVault(t)
	v.keys("one")
	yaml := integration(t)
	first, second := newSidecar(t, yaml, v.env).start(t), newSidecar(t, yaml, v.env).start(t)
	await(t, "Redis", func() error {
		page, err := fetch("http://" + first.admin + "/metrics")
		if err == nil && !strings.Contains(page, "webhook_cache_redis_open 0") {
			err = errors.New("it is not asked yet")
		}
		return err
	})
	for _, event := range []string{"evt-1", "evt-2"} {
		v.deliver(first, event, "200 applied "+canaryOf(event))
	}
	v.inRedis(2)
	v.replayed(second, "evt-1")
	v.unreadable()

	v.keys("two")
	follow(t, first, "two")
	follow(t, second, "two")
	third := newSidecar(t, yaml, v.env).start(t) // its memory is empty
	for range 2 {
		got, err := try(third, secretBody("evt-2"), true)
		if err != nil || got.String() != "503 ledger_unavailable" || got.header.Get("Retry-After") == "" {
			t.Errorf("without its key: %s, %v", got, err)
		}
	}
	v.deliver(third, "evt-3", "200 applied "+canaryOf("evt-3"))
	v.replayed(third, "evt-3")
	v.replayed(first, "evt-3")
	v.replayed(second, "evt-1") // it remembers
	counted(t, third, `webhook_seal_unopened_total{kind="result"} 2`)
	await(t, "the log to say which key is missing", func() error { // what is told of a delivery comes after its answer
		if got := third.log.String(); !strings.Contains(got, "which is not at hand") || !strings.Contains(got, `"reason":"unsealable"`) {
			return errors.New(lastLines(got, 5))
		}
		return nil
	})
	exit, out := third.run(t, "receipts", "show", "acme/orders", "evt-2")
	if exit != 0 || !strings.Contains(out, keyIDs(t, "one")[0]+", which is not at hand") || !strings.Contains(out, "Duplicates get 503") {
		t.Errorf("receipts show: exit %d: %s", exit, out)
	}

	v.keys("two", "one")
	for _, s := range []*sidecar{first, second, third} {
		follow(t, s, "two", "one")
		v.replayed(s, "evt-1", "evt-2", "evt-3")
	}
	v.unreadable()
	if got := len(v.got("evt-1")) + len(v.got("evt-2")) + len(v.got("evt-3")); got != 3 {
		t.Errorf("three events ran %d times", got)
	}
	for _, s := range []*sidecar{first, second, third} {
		for _, name := range []string{"one", "two"} {
			if strings.Contains(s.log.String(), sealKey(name)[:20]) || strings.Contains(s.log.String(), "canary") {
				t.Error("the log tells a key or a body")
			}
		}
	}
}

// A stored request whose key is gone is put back and counts as no attempt; the others go on, and it runs when the key is
// back, with the same bytes.
func TestSealedRequestsWaitForTheirKey(t *testing.T) {
	v := newVault(t)
	v.keys("one")
	held := newSidecar(t, integration(t, accepting("paused: true")...), v.env).start(t)
	v.deliver(held, "evt-1", "202 queued stored")
	if text := v.tables(); strings.Contains(text, hex.EncodeToString([]byte("canary"))) || strings.Contains(text, hex.EncodeToString([]byte("POST"))) {
		t.Errorf("the ledger has the request: %s", text)
	}
	held.kill()

	v.keys("two")
	s := newSidecar(t, integration(t, accepting()...), v.env).start(t)
	becomes(t, s, "evt-1", "queued", "unsealable")
	v.deliver(s, "evt-2", "202 queued stored")
	becomes(t, s, "evt-2", "applied", "")
	await(t, "evt-1 to be put back", func() error { // it is tried again now and then, and claimed for that moment
		got, err := receiptOf(t, s, "evt-1")
		if err == nil && (got.Attempts != 0 || got.Request != "kept") {
			err = fmt.Errorf("it is %+v", got)
		}
		return err
	})
	v.deliver(s, "evt-1", "202 queued stored") // acknowledged is acknowledged
	await(t, "evt-1 in the list", func() error {
		exit, out := s.run(t, "receipts", "list", "acme/orders", "--state", "queued")
		if exit != 0 || !strings.Contains(out, "1 of them: what is kept is sealed with key") {
			return fmt.Errorf("exit %d: %s", exit, out)
		}
		return nil
	})
	page, err := fetch("http://" + s.admin + "/metrics")
	if err != nil || strings.Contains(page, `webhook_seal_unopened_total{kind="request"} 0`) {
		t.Errorf("it is not counted (%v)", err)
	}
	if !strings.Contains(s.log.String(), "a stored request cannot be opened: it is put back") {
		t.Error("the log does not tell")
	}

	v.keys("two", "one")
	becomes(t, s, "evt-1", "applied", "")
	if got := v.got("evt-1"); len(got) != 1 || got[0] != secretBody("evt-1") {
		t.Errorf("the application got %q", got)
	}
}

// A dead event whose request nobody can open is listed with the key that it wants, may be replayed, and waits then.
func TestDeadLettersWithoutTheirKey(t *testing.T) {
	v := newVault(t)
	v.keys("one")
	refused := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	t.Cleanup(refused.Close)
	env := maps.Clone(v.env)
	env["SIDECAR_UPSTREAM"] = refused.URL
	first := newSidecar(t, integration(t, accepting()...), env).start(t)
	v.deliver(first, "evt-1", "202 queued stored")
	becomes(t, first, "evt-1", "dead", "rejected")
	first.kill()

	v.keys("two")
	s := newSidecar(t, integration(t, accepting()...), v.env).start(t)
	v.deliver(s, "evt-1", "202 dead stored")
	wants := keyIDs(t, "one")[0]
	for _, command := range [][]string{
		{"dead-letters", "list"}, {"dead-letters", "list", "--json"}, {"dead-letters", "show", "acme/orders", "evt-1"},
	} {
		if exit, out := s.run(t, command...); exit != 0 || !strings.Contains(out, wants) {
			t.Errorf("%v: exit %d: %s", command, exit, out)
		}
	}
	if page, err := fetch("http://" + s.admin + "/api/v1/dead-letters"); err != nil || !strings.Contains(page, wants) {
		t.Errorf("over the operator API: %s, %v", page, err)
	}
	exit, out := s.run(t, "dead-letters", "replay", "acme/orders", "evt-1", "--actor", "ana", "--reason", "repaired")
	if exit != 0 || !strings.Contains(out, "queued, but what is kept is sealed with key "+wants) {
		t.Errorf("replay: exit %d: %s", exit, out)
	}
	becomes(t, s, "evt-1", "queued", "unsealable")
	v.keys("two", "one")
	becomes(t, s, "evt-1", "applied", "")
	if got := v.got("evt-1"); len(got) != 1 || got[0] != secretBody("evt-1") {
		t.Errorf("the application got %q", got)
	}
}

// The documented order of a rotation, with replicas that follow one after the other: every duplicate is answered at every
// step, by whichever replica.
func TestRotationWithoutDowntime(t *testing.T) {
	v := newVault(t)
	yaml := integration(t)
	var replicas []*sidecar
	files := []string{filepath.Join(t.TempDir(), "keys"), filepath.Join(t.TempDir(), "keys")}
	for _, file := range files {
		writeKeys(t, file, "old")
		env := maps.Clone(v.env)
		env["SIDECAR_SEAL_KEY_FILE"] = file
		replicas = append(replicas, newSidecar(t, yaml, env).start(t))
	}
	var events []string
	step := func() {
		t.Helper()
		for i, s := range replicas {
			event := fmt.Sprintf("evt-%d", len(events)+1)
			v.deliver(s, event, "200 applied "+canaryOf(event))
			v.replayed(replicas[1-i], event)
			events = append(events, event)
		}
		for _, s := range replicas {
			v.replayed(s, events...)
		}
	}
	step()
	for _, names := range [][]string{{"old", "new"}, {"new", "old"}} {
		for i := range replicas {
			writeKeys(t, files[i], names...)
			follow(t, replicas[i], names...)
			step()
		}
	}
	exit, out := replicas[0].run(t, "seal", "rotate", "--actor", "ana", "--reason", "yearly", "--json")
	if exit != 0 {
		t.Fatalf("rotate: exit %d: %s", exit, out)
	}
	step()
	if exit, out := replicas[1].run(t, "seal", "status"); exit != 0 || !strings.Contains(out, "\n0 to be rewritten") {
		t.Errorf("status: exit %d: %s", exit, out)
	}
	for i := range replicas {
		writeKeys(t, files[i], "new")
		follow(t, replicas[i], "new")
		step()
	}
	env := maps.Clone(v.env)
	env["SIDECAR_SEAL_KEY_FILE"], env["REDIS_URL"] = files[0], ""
	alone := newSidecar(t, yaml, env).start(t)
	v.replayed(alone, events...)
	for _, event := range events {
		if runs := v.got(event); len(runs) != 1 {
			t.Errorf("%s ran %d times", event, len(runs))
		}
	}
}

// A rotation that ends in the middle, by its connection or by kill -9, leaves nothing that cannot be opened, and the next
// one finishes it.
func TestRotationEndsAnywhere(t *testing.T) {
	v := newVault(t)
	v.keys("old")
	s := newSidecar(t, integration(t), v.env).start(t)
	var events []string
	for i := range 30 {
		events = append(events, fmt.Sprintf("evt-%d", i))
		v.deliver(s, events[i], "200 applied "+canaryOf(events[i]))
	}
	v.keys("new", "old")
	follow(t, s, "new", "old")
	config, err := pgx.ParseConfig(v.database)
	if err != nil {
		t.Fatal(err)
	}
	tap := testenv.NewTap(t, fmt.Sprintf("%s:%d", config.Host, config.Port))
	env := maps.Clone(v.env)
	env["DATABASE_URL"], env["REDIS_URL"] = tap.Through(t, v.database), ""
	through := newSidecar(t, integration(t), env)
	rotate := []string{"seal", "rotate", "--actor", "ana", "--reason", "yearly"}

	cut := tap.CutBeforeReply([]byte("UPDATE")) // it is done, and nobody hears of it
	if exit, out := through.run(t, rotate...); exit != 1 {
		t.Errorf("cut: exit %d: %s", exit, out)
	}
	<-cut
	fresh := func(names ...string) *sidecar {
		file := filepath.Join(t.TempDir(), "keys")
		writeKeys(t, file, names...)
		env := maps.Clone(v.env)
		env["SIDECAR_SEAL_KEY_FILE"], env["REDIS_URL"] = file, ""
		return newSidecar(t, integration(t), env).start(t)
	}
	v.replayed(fresh("new", "old"), events...)

	v.keys("next", "new", "old")
	follow(t, s, "next", "new", "old")
	tap.SwallowRepliesTo([]byte(events[9])) // the first request that names it rewrites
	killed := through.command(t, rotate...)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the rotation", func() error {
		exit, out := s.run(t, "seal", "status")
		if !strings.Contains(out, "\n0 to be rewritten") {
			return fmt.Errorf("exit %d: %s", exit, out)
		}
		return nil
	})
	killed.Process.Kill()
	killed.Wait()
	tap.Pass()
	v.replayed(fresh("next"), events...)
	if exit, out := through.run(t, rotate...); exit != 0 || !strings.Contains(out, "\n0 to be rewritten") {
		t.Errorf("once more: exit %d: %s", exit, out)
	}
}
