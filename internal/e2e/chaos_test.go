package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

var (
	chaosEvents = flag.Int("chaos.events", 1000, "events of TestChaos")
	chaosSeed   = flag.Uint64("chaos.seed", 1, "what is sent, how the application behaves, and which faults come in which order")
)

// TestChaos sends events to two replicas, in accept mode and in forward mode with on_failure: queue, with quarantine and
// without, while replicas are killed, stopped and restarted and PostgreSQL goes away in several ways. Then it compares what was acknowledged with what
// the application saw and what the ledger says: nothing that was acknowledged is lost.
func TestChaos(t *testing.T) {
	cluster := testenv.NewCluster(t, testenv.ClusterConfig{})
	c := newChaos(t, *chaosSeed, *chaosEvents, cluster, cluster.Database(t))
	c.send(16)
	c.disturb(t)
	c.sending.Wait()
	c.drain(t)
	c.check(t)
}

// The primary dies under load and its synchronous standby takes over: nothing that was acknowledged is lost with it.
func TestFailoverUnderLoad(t *testing.T) {
	primary := testenv.NewCluster(t, testenv.ClusterConfig{})
	url := primary.Database(t)
	standby := primary.Standby(t)
	url = strings.Replace(url, primary.Addr(), primary.Addr()+","+standby.Addr(), 1)
	c := newChaos(t, *chaosSeed, 600, primary, url)
	c.send(16)
	c.reach(200)
	primary.Stop()
	t.Logf("the primary dies after %d events", c.answered.Load())
	standby.Promote(t)
	c.sending.Wait()
	c.drain(t)
	c.check(t)
}

const chaosAttempts = 15

// chaos is one run: the senders, two replicas, their ledger and the application behind them.
type chaos struct {
	seed    uint64
	events  int
	app     *chaosApplication
	cluster *testenv.Cluster
	url     string
	both    [2]*sidecar
	targets [2]atomic.Pointer[string]

	next     atomic.Int64
	answered atomic.Int64
	sending  sync.WaitGroup
	over     chan struct{} // closed when everything was sent

	mu    sync.Mutex
	heard map[string][]string // by event: the answers that the sender took for an end
}

func newChaos(t *testing.T, seed uint64, events int, cluster *testenv.Cluster, url string) *chaos {
	t.Helper()
	c := &chaos{seed: seed, events: events, cluster: cluster, url: url, over: make(chan struct{}), heard: map[string][]string{}}
	c.app = newChaosApplication(t, seed)
	common := []string{"timeout: 1s", "lease: 4s",
		fmt.Sprintf("retry: {max_attempts: %d, initial: 50ms, max: 500ms}", chaosAttempts)}
	yaml := integration(t, append(common, "mode: accept")...)
	for name, lines := range map[string][]string{"net": nil, "held": {"in_doubt: quarantine"}} {
		_, more, _ := strings.Cut(integration(t, slices.Concat(common, lines, []string{"on_failure: queue"})...), "integrations:\n")
		yaml += strings.NewReplacer("name: orders", "name: "+name, route, route+"/"+name).Replace(more)
	}
	env := map[string]string{"DATABASE_URL": c.url, "SIDECAR_UPSTREAM": "http://" + c.app.address, "SIDECAR_LOG_LEVEL": "warn"}
	for i := range c.both {
		c.both[i] = newSidecar(t, yaml, env).start(t)
		c.targets[i].Store(&c.both[i].public)
	}
	t.Logf("seed %d, %d events", seed, events)
	return c
}

// nameOf is event n; every third is in forward mode, and some of the others, too, with quarantine.
func nameOf(n int) string {
	switch {
	case n%3 == 0:
		return fmt.Sprintf("net-%d", n)
	case n%10 == 0:
		return fmt.Sprintf("held-%d", n)
	}
	return fmt.Sprintf("evt-%d", n)
}

func isHeld(event string) bool { return strings.HasPrefix(event, "held-") }

// send starts senders; each delivers an event until it hears an end, and some events twice at the same time.
func (c *chaos) send(senders int) {
	for range senders {
		c.sending.Go(func() {
			for n := int(c.next.Add(1)); n <= c.events; n = int(c.next.Add(1)) {
				c.deliver(nameOf(n), n%7 == 0)
				if c.answered.Add(1) == int64(c.events) {
					close(c.over)
				}
			}
		})
	}
}

func (c *chaos) deliver(event string, twice bool) {
	var delivering sync.WaitGroup
	for copy := range 2 {
		if copy == 0 || twice {
			delivering.Go(func() { c.persist(event, copy) })
		}
	}
	delivering.Wait()
}

// persist is a sender that does not give up.
func (c *chaos) persist(event string, replica int) {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if answer := c.post(*c.targets[replica%2].Load(), event); answer != "" {
			c.mu.Lock()
			c.heard[event] = append(c.heard[event], answer)
			c.mu.Unlock()
			return
		}
		replica++
		pass(pause) // a sender's own back-off
	}
}

var chaosClient = &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// post is one delivery; empty: the sender must come again.
func (c *chaos) post(address, event string) string {
	target := route
	if name, _, _ := strings.Cut(event, "-"); name != "evt" {
		target += "/" + name
	}
	body := chaosPayload(event)
	request, err := http.NewRequest(http.MethodPost, "http://"+address+target, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	sign(request, body)
	response, err := chaosClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	receipt := response.Header.Get("Sidecar-Receipt")
	waits := isHeld(event) && receipt == "dead" // for a person: to come again is no use
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode >= 500 && !waits {
		return ""
	}
	return fmt.Sprintf("%d %s", response.StatusCode, receipt)
}

// chaosPayload is an event's own bytes, some of them many: as JSON it would be the same in other ones.
func chaosPayload(event string) string {
	hash := fnv.New64a()
	fmt.Fprint(hash, event)
	random := rand.New(rand.NewPCG(hash.Sum64(), 2))
	note := make([]byte, random.IntN(300))
	if random.IntN(50) == 0 {
		note = make([]byte, random.IntN(200_000))
	}
	for i := range note {
		note[i] = byte(random.Uint32())
	}
	return strings.TrimSuffix(payload(event), "}") + fmt.Sprintf(",\r\n\t\"é\": \"\\u00e9%x\", \"n\": 1.0 }\n", note)
}

// disturb lets the faults happen, spread over the events.
func (c *chaos) disturb(t *testing.T) {
	t.Helper()
	faults := c.faults(t)
	random := rand.New(rand.NewPCG(c.seed, 1))
	rounds := max(len(faults), c.events/2000)
	order := random.Perm(len(faults))
	for i := range rounds {
		c.reach(int64(c.events * (i + 1) / (rounds + 2)))
		fault := faults[order[i%len(order)]]
		t.Logf("after %d events: %s", c.answered.Load(), fault.name)
		fault.happen()
	}
}

// reach waits until so many events are answered.
func (c *chaos) reach(count int64) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for c.answered.Load() < count {
		select {
		case <-tick.C:
		case <-c.over:
			return
		}
	}
}

type chaosFault struct {
	name   string
	happen func()
}

func (c *chaos) faults(t *testing.T) []chaosFault {
	restart := func(s *sidecar) { s.launch(t) }
	return []chaosFault{
		{"kill -9 of the first replica", func() { c.both[0].kill(); restart(c.both[0]) }},
		{"kill -9 of the second replica", func() { c.both[1].kill(); restart(c.both[1]) }},
		{"kill -9 of both", func() { c.both[0].kill(); c.both[1].kill(); restart(c.both[0]); restart(c.both[1]) }},
		{"the first replica is asked to stop", func() {
			c.both[0].signal(syscall.SIGTERM)
			<-c.both[0].ended
			restart(c.both[0])
		}},
		{"the second replica stands still beyond its leases", func() {
			c.both[1].signal(syscall.SIGSTOP)
			pass(5 * time.Second)
			c.both[1].signal(syscall.SIGCONT)
		}},
		{"PostgreSQL restarts", func() { c.cluster.Restart(t) }},
		{"PostgreSQL crashes", func() { c.cluster.Stop(); c.cluster.Start(t) }},
		{"PostgreSQL stands still", func() { c.cluster.Freeze(); pass(2 * time.Second); c.cluster.Thaw() }},
		{"the application is away", func() { c.app.away.Store(true); pass(time.Second); c.app.away.Store(false) }},
	}
}

// drain waits until no event is queued or claimed any more.
func (c *chaos) drain(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		var open int
		err := c.query(t, "SELECT count(*) FROM sidecar_default.receipts WHERE state IN (1, 3)", func(row pgx.Row) error { return row.Scan(&open) })
		if err == nil && open == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d events are still open (%v)", open, err)
		}
		pass(50 * time.Millisecond) // another process's work
	}
}

func (c *chaos) query(t *testing.T, sql string, scan func(pgx.Row) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return scan(conn.QueryRow(ctx, sql))
}

// ending is what the ledger says of an event.
type ending struct {
	state, reason string
	attempts      int
	kept          bool // the request is in the ledger
}

func (c *chaos) ledger(t *testing.T) map[string]ending {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT event_id, state, reason, attempt, EXISTS (SELECT FROM sidecar_default.jobs j
		WHERE encode(j.event_id, 'escape') = r.event_id) FROM sidecar_default.receipts_readable r`)
	if err != nil {
		t.Fatal(err)
	}
	endings := map[string]ending{}
	for rows.Next() {
		var event string
		var e ending
		if err := rows.Scan(&event, &e.state, &e.reason, &e.attempts, &e.kept); err != nil {
			t.Fatal(err)
		}
		endings[event] = e
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return endings
}

// check compares what was acknowledged with what the application saw and what the ledger says.
func (c *chaos) check(t *testing.T) {
	t.Helper()
	ledger := c.ledger(t)
	states, again := map[string]int{}, 0
	for n := 1; n <= c.events; n++ {
		event := nameOf(n)
		end, known := ledger[event]
		if !known {
			t.Errorf("%s was acknowledged (%v) and the ledger does not know it", event, c.heard[event])
			continue
		}
		states[end.state+" "+end.reason]++
		seen := c.app.of(event)
		c.checkEvent(t, event, end, seen)
		if seen.final > 1 {
			again++
		}
		delete(ledger, event)
	}
	for event, end := range ledger {
		t.Errorf("%s is %s and nobody sent it", event, end.state)
	}
	t.Logf("endings: %v; %d events had their effect again, as a later attempt", states, again)
}

func (c *chaos) checkEvent(t *testing.T, event string, end ending, seen seen) {
	t.Helper()
	for _, heard := range c.heard[event] {
		switch acknowledged := heard[0] == '2'; {
		case !acknowledged && !isHeld(event):
			t.Errorf("%s: a sender heard %s", event, heard)
		case acknowledged && end.state == "dead" && !end.kept:
			t.Errorf("%s: a sender heard %s, and it is dead (%s) without its request", event, heard, end.reason)
		}
	}
	if seen.other != "" {
		t.Errorf("%s: the application saw other bytes than were sent, %s", event, seen.other)
	}
	numbers := slices.Sorted(slices.Values(seen.attempts))
	if len(slices.Compact(slices.Clone(numbers))) != len(numbers) {
		t.Errorf("%s: the application saw attempts %v: a number twice", event, seen.attempts)
	}
	if len(numbers) > 0 && numbers[len(numbers)-1] > end.attempts {
		t.Errorf("%s: the application saw attempt %d, the ledger says %d", event, numbers[len(numbers)-1], end.attempts)
	}
	if isHeld(event) && end.state == "dead" && end.reason == "quarantined" {
		return // whether it had its effect is what nobody knows
	}
	want := ending{state: "applied"}
	switch c.app.plan(event) {
	case planRejected:
		want = ending{state: "dead", reason: "rejected"}
	case planBroken:
		want = ending{state: "dead", reason: "max_attempts"}
	}
	if end.state != want.state || end.reason != want.reason {
		t.Errorf("%s is %s (%s) after %d attempts, want %s (%s); the application saw %v", event, end.state, end.reason,
			end.attempts, want.state, want.reason, seen.attempts)
	}
	if (end.state == "applied") != (seen.final > 0) {
		t.Errorf("%s is %s and had its effect %d times", event, end.state, seen.final)
	}
}

// seen is what the application saw of an event.
type seen struct {
	attempts []int
	final    int    // times it had its effect
	other    string // a body that is not the one that was sent; empty: none was
}

// chaosApplication behaves as the seed says, by event. While away it resets connections that it has accepted.
type chaosApplication struct {
	seed    uint64
	address string
	away    atomic.Bool
	mu      sync.Mutex
	saw     map[string]*seen
}

func newChaosApplication(t *testing.T, seed uint64) *chaosApplication {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &chaosApplication{seed: seed, address: listener.Addr().String(), saw: map[string]*seen{}}
	server := &http.Server{Handler: a}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return a
}

// The plans of an application for an event.
const (
	planFine     = iota
	planStumbles // fails once or twice
	planHangs    // lets the first attempt time out
	planCutsOff  // closes the first attempt's connection, after its effect
	planRejected // accept mode only
	planBroken   // never succeeds
)

func (a *chaosApplication) plan(event string) int {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d %s", a.seed, event)
	switch dice := hash.Sum64() % 1000; {
	case dice < 60:
		return planStumbles
	case dice < 75, dice >= 900 && isHeld(event): // so that a crash surely comes during such an attempt
		return planHangs
	case dice < 90:
		return planCutsOff
	case dice < 100 && strings.HasPrefix(event, "evt-"):
		return planRejected
	case dice < 105:
		return planBroken
	}
	return planFine
}

func (a *chaosApplication) of(event string) seen {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.saw[event]; s != nil {
		return *s
	}
	return seen{}
}

func (a *chaosApplication) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || a.away.Load() {
		panic(http.ErrAbortHandler)
	}
	event := r.Header.Get("Idempotency-Key")
	var number int
	fmt.Sscan(r.Header.Get("Sidecar-Attempt"), &number)
	a.mu.Lock()
	s := a.saw[event]
	if s == nil {
		s = &seen{}
		a.saw[event] = s
	}
	s.attempts = append(s.attempts, number)
	if string(body) != chaosPayload(event) {
		s.other = fmt.Sprintf("%d bytes: %.100q", len(body), body)
	}
	run, plan := len(s.attempts), a.plan(event)
	status := http.StatusOK
	switch {
	case plan == planBroken, plan == planStumbles && run <= 1+len(event)%2:
		status = http.StatusServiceUnavailable
	case plan == planRejected:
		status = http.StatusUnprocessableEntity
	case plan == planHangs && run == 1:
		status = 0
	default:
		s.final++
	}
	a.mu.Unlock()
	switch {
	case status == 0:
		<-r.Context().Done()
	case plan == planCutsOff && run == 1:
		panic(http.ErrAbortHandler)
	default:
		w.WriteHeader(status)
	}
}

// pass lets a fault last, or another process work.
func pass(d time.Duration) { <-time.After(d) }
