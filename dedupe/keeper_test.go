package dedupe

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// slow is a store that lets a test hold its answers back. It keeps no rows: these tests are about time.
type slow struct {
	Backend
	insert func(context.Context, []NewRow) ([]Found, error)
	moves  chan Move
}

func (s *slow) Insert(ctx context.Context, rows []NewRow) ([]Found, error) {
	return s.insert(ctx, rows)
}

func (s *slow) Move(_ context.Context, moves []Move) ([]bool, error) {
	made := make([]bool, len(moves))
	for i, move := range moves {
		s.moves <- move
		made[i] = true
	}
	return made, nil
}

func TestNewKeeperWantsAStoreAndAName(t *testing.T) {
	for _, config := range []KeeperConfig{{}, {Store: &slow{}}, {Replica: "a"}} {
		if k, err := NewKeeper(config); err == nil || k != nil {
			t.Errorf("%+v makes a keeper", config)
		}
	}
}

// away is a ledger that is out of reach for everything but looking at one dead event.
type away struct{ Backend }

func (away) Read(context.Context, []Key) ([]Row, error)   { return []Row{stored(Dead)}, nil }
func (away) Move(context.Context, []Move) ([]bool, error) { return nil, errNoRoute }
func (away) SetPaused(context.Context, delivery.Scope, bool, Act) (bool, error) {
	return false, errNoRoute
}

var errNoRoute = errors.New("no route to the database")

func TestAPersonIsToldThatTheLedgerIsAway(t *testing.T) {
	by := Act{Actor: "ada", Reason: "why"}
	for name, act := range map[string]func(context.Context, *Keeper) error{
		"pause":  func(ctx context.Context, k *Keeper) error { return k.Pause(ctx, "acme/payments", by) },
		"resume": func(ctx context.Context, k *Keeper) error { return k.Resume(ctx, "acme/payments", by) },
		"close":  func(ctx context.Context, k *Keeper) error { return k.Close(ctx, "acme/payments", "evt_1", 200, by) },
		"replay": func(ctx context.Context, k *Keeper) error {
			_, err := k.Replay(ctx, "acme/payments", "evt_1", by)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, err := NewKeeper(KeeperConfig{Store: away{}, Replica: "a"})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				err = act(t.Context(), k)
				if took := time.Since(began); !errors.Is(err, errNoRoute) || took < actPatience/2 || took > 2*actPatience {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

// attic is a store that nothing has run out in, and that counts how often it is told to forget.
type attic struct {
	Backend
	forgets int
}

func (a *attic) Expired(context.Context, time.Duration, int) ([]Row, error) { return nil, nil }

func (a *attic) Forget(context.Context, int) (receipts, jobs int, err error) {
	a.forgets++
	return 0, 0, nil
}

func TestNothingIsForgottenBeforeItMay(t *testing.T) {
	store, ready := &attic{}, false
	k, err := NewKeeper(KeeperConfig{Store: store, Replica: "a", ForgetEvery: time.Hour, Forgets: func() bool { return ready }})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		ready   bool
		forgets int
	}{{false, 0}, {false, 0}, {true, 1}, {true, 1}} {
		ready = step.ready
		if _, err := k.Sweep(t.Context()); err != nil || store.forgets != step.forgets {
			t.Errorf("ready %t: told to forget %d times, %v", ready, store.forgets, err)
		}
	}
}

// Nobody is told that an event is closed because somebody wrote a state that is none.
func TestAStateThatIsNoneDecidesNothing(t *testing.T) {
	for _, number := range []int64{0, 7, 257, -255, 1 << 40} {
		row := stored(StateOf(number))
		store := &slow{insert: func(context.Context, []NewRow) ([]Found, error) { return []Found{{Row: row, Now: noon}}, nil }}
		k, err := NewKeeper(KeeperConfig{Store: store, Replica: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if decision, err := k.Claim(t.Context(), request()); !errors.Is(err, errNoState) {
			t.Errorf("state %d is decided as %+v, %v", number, decision, err)
		}
	}
}

// A claim waits as long as its caller wants to, whichever way that was said.
func TestAClaimWaitsNoLongerThanItIsTo(t *testing.T) {
	for name, c := range map[string]struct{ wait, deadline, want time.Duration }{
		"a wait":                   {2 * time.Second, 0, 2 * time.Second},
		"a wait within a deadline": {2 * time.Second, 3 * time.Second, 2 * time.Second},
		"a deadline within a wait": {3 * time.Second, time.Second, time.Second},
		"a deadline":               {0, time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				silent := make(chan struct{})
				store := &slow{moves: make(chan Move, 1), insert: func(context.Context, []NewRow) ([]Found, error) {
					<-silent
					return nil, errNoRoute
				}}
				k, err := NewKeeper(KeeperConfig{Store: store, Replica: "a"})
				if err != nil {
					t.Fatal(err)
				}
				ctx, r := t.Context(), request()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				r.Wait = c.wait
				began := time.Now()
				_, err = k.Claim(ctx, r)
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != c.want {
					t.Errorf("after %v: %v", took, err)
				}
				close(silent)
				synctest.Wait()
			})
		})
	}
}

func TestAClaimThatComesTooLateIsGivenBack(t *testing.T) {
	aloft, landed := make(chan struct{}), make(chan struct{})
	store := &slow{moves: make(chan Move, 1)}
	store.insert = func(_ context.Context, rows []NewRow) ([]Found, error) {
		close(aloft)
		<-landed
		return []Found{{Inserted: true}}, nil
	}
	k, err := NewKeeper(KeeperConfig{Store: store, Replica: "a"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		_, err := k.Claim(ctx, request())
		result <- err
	}()
	<-aloft
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(landed)
	move := <-store.moves
	if move.To != Retryable || move.Attempt != 0 || move.Reason != Abandoned || move.Evidence == nil || move.Expires <= 0 {
		t.Errorf("given back by %+v", move)
	}
}

// A claim that took long looks for itself, and is renewed; given back in between, it still knows what it found at first.
func TestAClaimThatLooksForItselfIsGivenBackAsItWas(t *testing.T) {
	for name, look := range map[string]time.Duration{"while it looks": 2 * maxUnderway, "while it is renewed": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testGivenBackLate(t, look) })
		})
	}
}

func testGivenBackLate(t *testing.T, look time.Duration) {
	store, asked := &slow{moves: make(chan Move, 3)}, 0
	found := stored(Retryable)
	found.Reason = Replayed
	store.insert = func(_ context.Context, rows []NewRow) ([]Found, error) {
		if asked++; asked > 1 {
			<-time.After(look)
			found.State, found.Reason, found.Attempt, found.Token = Claimed, NoReason, 4, rows[0].Token
		}
		return []Found{{Row: found, Now: noon}}, nil
	}
	k, err := NewKeeper(KeeperConfig{Store: &lingering{slow: store}, Replica: "a"})
	if err != nil {
		t.Fatal(err)
	}
	r := request()
	r.Wait = 3 * maxUnderway
	if decision, err := k.Claim(t.Context(), r); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%+v, %v", decision, err)
	}
	move := <-store.moves
	for move.To == Claimed {
		move = <-store.moves
	}
	if move.To != Retryable || move.Attempt != 3 || move.Reason != Replayed || move.Evidence.Reason != Abandoned {
		t.Errorf("given back by %+v", move)
	}
	synctest.Wait()
}

// lingering takes its time to make a move.
type lingering struct{ *slow }

func (l *lingering) Move(ctx context.Context, moves []Move) ([]bool, error) {
	<-time.After(2 * maxUnderway)
	return l.slow.Move(ctx, moves)
}

func TestAClaimThatTookLongIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slow{moves: make(chan Move, 1)}
		asked := 0
		store.insert = func(_ context.Context, rows []NewRow) ([]Found, error) {
			asked++
			if asked == 1 {
				<-time.After(2 * maxUnderway) // a commit that waits for its standby
				return []Found{{Inserted: true}}, nil
			}
			row := Row{Key: rows[0].Key, Fingerprint: rows[0].Fingerprint, State: Claimed, Token: rows[0].Token, Attempt: 1,
				LeaseUntil: noon.Add(time.Minute - 2*maxUnderway)}
			return []Found{{Row: row, Now: noon}}, nil
		}
		k, err := NewKeeper(KeeperConfig{Store: store, Replica: "a"})
		if err != nil {
			t.Fatal(err)
		}
		decision, err := k.Claim(t.Context(), request())
		if err != nil || decision.Kind != Fresh || decision.Attempt != 1 {
			t.Fatalf("%+v, %v", decision, err)
		}
		if move := <-store.moves; move.To != Claimed || move.Lease != time.Minute || move.FromToken != move.Token {
			t.Errorf("renewed by %+v", move)
		}
	})
}

func TestARowThatKeepsChangingEndsInAnError(t *testing.T) {
	store := &slow{}
	rounds := 0
	store.insert = func(_ context.Context, rows []NewRow) ([]Found, error) {
		rounds++
		row := stored(Retryable)
		row.Token = Token{byte(rounds)}
		return []Found{{Row: row, Now: noon}}, nil
	}
	k, err := NewKeeper(KeeperConfig{Store: &unmoved{slow: store}, Replica: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if decision, err := k.Claim(t.Context(), request()); !errors.Is(err, errContended) || rounds != maxRounds {
		t.Errorf("%+v, %v after %d rounds", decision, err, rounds)
	}
}

// unmoved makes no move.
type unmoved struct{ *slow }

func (*unmoved) Move(_ context.Context, moves []Move) ([]bool, error) {
	return make([]bool, len(moves)), nil
}

func TestTheSweeperNamesTheCauseOfDeath(t *testing.T) {
	for name, c := range map[string]struct {
		policy Policy
		known  bool
		want   Reason
	}{
		"quarantine":       {Policy{InDoubt: Quarantine, Limit: Limit{MaxAttempts: 3}}, true, Quarantined},
		"last attempt":     {Policy{Limit: Limit{MaxAttempts: 3}}, true, MaxAttempts},
		"changed meantime": {Policy{}, true, Quarantined},
		"unknown scope":    {Policy{Limit: Limit{MaxAttempts: 3}}, false, Quarantined},
	} {
		k, err := NewKeeper(KeeperConfig{Store: &slow{}, Replica: "a", Policy: func(delivery.Scope) (Policy, bool) { return c.policy, c.known }})
		if err != nil {
			t.Fatal(err)
		}
		row := stored(Claimed)
		row.OnExpiry = Dead
		if move := k.expiry(&row); move.Reason != c.want || move.To != Dead || move.Token == row.Token {
			t.Errorf("%s: %+v", name, move)
		}
	}
}
