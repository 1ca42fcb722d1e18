package postgres

import (
	"reflect"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func TestInsertedRowComesBackAsItWas(t *testing.T) {
	s := open(t, freshDB(t), nil)
	row := claimed("evt_1")
	row.Binding, row.Object = delivery.HashParts([]byte("content")), "order-7"
	found := insert(t, s, row)
	if !found[0].Inserted {
		t.Fatalf("not inserted: %+v", found[0])
	}
	again := insert(t, s, row)[0]
	if again.Inserted {
		t.Fatal("inserted twice")
	}
	want := dedupe.Row{
		Key: row.Key, Fingerprint: row.Fingerprint, Binding: row.Binding, CredentialID: row.CredentialID,
		EventType: row.EventType, Object: row.Object, Trace: row.Trace, State: dedupe.Claimed, Attempt: 1, Token: row.Token,
		OnExpiry: row.OnExpiry, Created: again.Row.Created, Changed: again.Row.Created,
		LeaseUntil: again.Row.Created.Add(row.Lease),
	}
	if !reflect.DeepEqual(again.Row, want) {
		t.Fatalf("got  %+v\nwant %+v", again.Row, want)
	}
	if again.Now.Before(again.Row.Created) || time.Since(again.Now).Abs() > time.Minute {
		t.Fatalf("now is %v, created %v", again.Now, again.Row.Created)
	}
}

func TestMovedRowCarriesItsResult(t *testing.T) {
	s := open(t, freshDB(t), nil)
	row := claimed("evt_1")
	insert(t, s, row)
	m := applied(row)
	if made := move(t, s, m); !made[0] {
		t.Fatal("not made")
	}
	if made := move(t, s, m); made[0] {
		t.Fatal("made twice")
	}
	got := read(t, s, "evt_1")
	if got.State != dedupe.Applied || !reflect.DeepEqual(got.Response, m.Response) || got.HasJob {
		t.Fatalf("got %+v", got)
	}
	if got.Expires.Sub(got.Changed) != m.Expires {
		t.Fatalf("changed %v, expires %v", got.Changed, got.Expires)
	}
}

func TestBindingWithinOneBatchAddsOneRow(t *testing.T) {
	s := open(t, freshDB(t), nil)
	one, two := claimed("evt_1"), claimed("evt_2")
	one.Binding = delivery.HashParts([]byte("same"))
	two.Binding = one.Binding
	found := insert(t, s, one, two)
	if !found[0].Inserted || found[1].Inserted || found[1].Row.EventID != "evt_1" {
		t.Fatalf("got %+v", found)
	}
}

func TestRequestLivesAsLongAsItsEventIsOpen(t *testing.T) {
	s := open(t, freshDB(t), nil)
	row := claimed("evt_1")
	row.State, row.Lease, row.OnExpiry = dedupe.Queued, 0, 0
	row.Job = &dedupe.Job{
		Method: "POST", Target: "/hook?a=%00", Host: "h", Body: []byte("\x00\xff"),
		Header: map[string][]string{"X-Odd": {"\x00\xff", ""}, "Content-Type": {"text/plain"}},
	}
	insert(t, s, row)
	job, err := s.Job(t.Context(), row.Key)
	if err != nil || !reflect.DeepEqual(job, row.Job) {
		t.Fatalf("got %+v, %v", job, err)
	}
	due, err := s.Due(t.Context(), []delivery.Scope{"other/scope", testScope}, 5)
	if err != nil || len(due.Rows) != 1 || !due.Rows[0].HasJob ||
		due.Rows[0].Reason != dedupe.Accepted || due.Rows[0].Attempt != 0 {
		t.Fatalf("due: %+v, %v", due, err)
	}
	claim := dedupe.Move{
		Key: row.Key, FromState: dedupe.Queued, FromToken: row.Token, To: dedupe.Claimed, Token: tokenOf("next"), Attempt: 1,
		Lease: time.Minute, OnExpiry: dedupe.Queued,
	}
	done := applied(row)
	done.FromToken, done.Token = claim.Token, claim.Token
	if made := move(t, s, claim); !made[0] || !read(t, s, "evt_1").HasJob {
		t.Fatal("the claim lost the request")
	}
	if made := move(t, s, done); !made[0] || read(t, s, "evt_1").HasJob {
		t.Fatal("the result kept the request")
	}
	if _, err := s.Job(t.Context(), row.Key); err != dedupe.ErrNotFound {
		t.Fatalf("the request is still there: %v", err)
	}
}
