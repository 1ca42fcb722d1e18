package dedupetest

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// RunVault runs the contract of dedupe.Vault, and of what a store must keep apart so that it can be sealed. It is for bare
// stores: a decorator that seals has these marks for itself.
func RunVault(t *testing.T, open func(t *testing.T) Harness) {
	for _, part := range []struct {
		name string
		test func(*shelf)
	}{
		{"a body and its mark are kept apart", vaultMarks},
		{"what is sealed with which key is seen without opening it", vaultUnopened},
		{"a walk sees everything, page by page", vaultWalk},
		{"a page ends with its bytes", vaultBytes},
		{"rewriting changes nothing else", vaultRewrite},
		{"what has changed meanwhile stays", vaultChanged},
		{"rewriting at one instant is done once", vaultRace},
		{"who rewrote what is kept", vaultActs},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(newShelf(t, open(t))) })
	}
}

// sealedValue is what a store takes for one: it knows of the head only.
func sealedValue(key byte, rest string) []byte {
	return append([]byte{dedupe.SealVersion, key, 2, 3, 4, 5, 6, 7, 8}, rest...)
}

func vaultMarks(s *shelf) {
	job := dedupe.SealedJob(sealedValue(1, foreign))
	row := queuedRow("evt_1")
	row.Job = job
	s.insert(row)
	s.kept("evt_1", job)
	for i, want := range []*delivery.Response{
		{Status: 200, Header: map[string][]string{}, Body: sealedValue(1, foreign), Omitted: true},
		{Status: 200, Header: map[string][]string{"Etag": {"1"}}, Body: []byte(foreign)},
		{Status: 204, Header: map[string][]string{}, Omitted: true},
	} {
		id := name("applied_", i)
		s.insert(newRow(id))
		m := from(newRow(id), dedupe.Applied)
		m.Response, m.Status = want, want.Status
		s.move(m)
		if got := s.row(id).Response; got.Omitted != want.Omitted || !bytes.Equal(got.Body, want.Body) || !reflect.DeepEqual(got.Header, want.Header) {
			s.Errorf("%s is kept as %+v", id, got)
		}
	}
}

func vaultUnopened(s *shelf) {
	s.fillRequests("plain", "sealed")
	m := from(queuedRow("sealed"), dedupe.Dead)
	m.Job = dedupe.SealedJob(sealedValue(9, "x"))
	short := from(queuedRow("short"), dedupe.Dead)
	s.insert(queuedRow("short"))
	short.Job = dedupe.SealedJob([]byte{dedupe.SealVersion, 1})
	s.move(m, short)
	keys := []dedupe.Key{newRow("short").Key, newRow("nobody").Key, newRow("plain").Key, newRow("sealed").Key}
	got, err := s.also.Unopened(s.ctx, keys)
	if err != nil || len(got) != 4 || got[1] != nil || got[2] != nil {
		s.Fatalf("unopened %+v, %v", got, err)
	}
	if got[0] == nil || !got[0].Damaged || got[0].Key != keys[0] {
		s.Errorf("a short value is %+v", got[0])
	}
	if got[3] == nil || got[3].Damaged || got[3].KeyID != (dedupe.KeyID{9, 2, 3, 4, 5, 6, 7, 8}) || got[3].Key != keys[3] {
		s.Errorf("a sealed value is %+v", got[3])
	}
	if none, err := s.store.Unopened(s.ctx, nil); err != nil || len(none) != 0 {
		s.Errorf("nothing is %+v, %v", none, err)
	}
}

func (s *shelf) fillRequests(ids ...string) {
	s.Helper()
	for _, id := range ids {
		row := queuedRow(id)
		row.Job = job(id + foreign)
		s.insert(row)
	}
}

func (s *shelf) fillResults(ids ...string) {
	s.Helper()
	for _, id := range ids {
		s.insert(newRow(id))
		m := from(newRow(id), dedupe.Applied)
		m.Response, m.Status, m.Expires = applyResponse(), 200, time.Hour
		s.move(m)
	}
}

// walk reads everything of a kind, by pages of so many rows.
func (s *shelf) walk(kind dedupe.VaultKind, limit, size int) (items []dedupe.VaultItem, pages int) {
	s.Helper()
	for cursor := ""; ; pages++ {
		page, err := s.also.Kept(s.ctx, kind, cursor, limit, size)
		if err != nil {
			s.Fatal(err)
		}
		items = append(items, page.Items...)
		if page.Next == "" {
			return items, pages
		}
		if len(page.Items) > limit || page.Next == cursor {
			s.Fatalf("a page of %d items, from %q to %q", len(page.Items), cursor, page.Next)
		}
		cursor = page.Next
	}
}

func vaultWalk(s *shelf) {
	requests, results := []string{"q1", "q2", "q3", "q4", "q5"}, []string{"r1", "r2", "r3"}
	s.fillRequests(requests...)
	s.fillResults(results...)
	s.insert(newRow("claimed"))
	other := queuedRow("q1")
	other.Scope = "acme/elsewhere"
	s.insert(other)
	for _, limit := range []int{1, 2, 100} {
		seen := map[dedupe.Key]*dedupe.Job{}
		items, _ := s.walk(dedupe.KeptRequests, limit, 1<<20)
		for _, item := range items {
			seen[item.Key] = item.Job
		}
		if len(items) != 6 || len(seen) != 6 || !reflect.DeepEqual(seen[newRow("q3").Key], job("q3"+foreign)) || seen[other.Key] == nil {
			s.Errorf("by %d: %v", limit, slices.Collect(maps.Keys(seen)))
		}
		items, _ = s.walk(dedupe.KeptResults, limit, 1<<20)
		if len(items) != 3 {
			s.Errorf("by %d: %d results", limit, len(items))
		}
		for _, item := range items {
			if !reflect.DeepEqual(item.Response, applyResponse()) {
				s.Errorf("%s has %+v", item.EventID, item.Response)
			}
		}
	}
	if _, err := s.store.Kept(s.ctx, dedupe.KeptRequests, "no cursor", 1, 1); err == nil {
		s.Error("anything is a cursor")
	}
}

func vaultBytes(s *shelf) {
	for i := range 6 {
		row := queuedRow(name("q", i))
		row.Job = job(string(make([]byte, 1000)))
		s.insert(row)
	}
	if items, pages := s.walk(dedupe.KeptRequests, 100, 1500); len(items) != 6 || pages != 3 {
		s.Errorf("%d items in %d pages", len(items), pages)
	}
	if items, pages := s.walk(dedupe.KeptRequests, 100, 1); len(items) != 6 || pages != 6 {
		s.Errorf("%d items in %d pages", len(items), pages)
	}
}

func vaultRewrite(s *shelf) {
	s.fillRequests("q1", "q2")
	s.fillResults("r1", "r2")
	ids := []string{"q1", "q2", "r1", "r2"}
	before := map[string]dedupe.Row{}
	for _, id := range ids {
		before[id] = s.row(id)
	}
	requests, _ := s.walk(dedupe.KeptRequests, 10, 1<<20)
	for i := range requests {
		requests[i].Job = dedupe.SealedJob(sealedValue(byte(i), foreign))
	}
	s.rewrite(dedupe.KeptRequests, requests, true, true)
	results, _ := s.walk(dedupe.KeptResults, 10, 1<<20)
	for i := range results {
		sealed := *results[i].Response
		sealed.Body, sealed.Omitted = sealedValue(byte(i), foreign), true
		results[i].Response = &sealed
	}
	s.rewrite(dedupe.KeptResults, results, true, true)
	for i, item := range requests {
		s.kept(string(item.EventID), dedupe.SealedJob(sealedValue(byte(i), foreign)))
	}
	for i, item := range results {
		want := applyResponse()
		want.Body, want.Omitted = sealedValue(byte(i), foreign), true
		was := before[string(item.EventID)]
		was.Response = want
		before[string(item.EventID)] = was
	}
	for _, id := range ids {
		if got := s.row(id); !reflect.DeepEqual(got, before[id]) {
			s.Errorf("%s is now\n%+v, was\n%+v", id, got, before[id])
		}
	}
}

func (s *shelf) rewrite(kind dedupe.VaultKind, items []dedupe.VaultItem, want ...bool) {
	s.Helper()
	if made, err := s.store.Rewrite(s.ctx, kind, items); err != nil || !slices.Equal(made, want) {
		s.Fatalf("rewrote %v, %v; want %v", made, err, want)
	}
}

func vaultChanged(s *shelf) {
	s.fillRequests("q1", "q2", "q3")
	requests, _ := s.walk(dedupe.KeptRequests, 10, 1<<20)
	changed, gone := from(queuedRow("q1"), dedupe.Dead), from(queuedRow("q2"), dedupe.Closed)
	changed.Job, gone.DropJob = job("other"), true
	s.move(changed, gone)
	for i := range requests {
		requests[i].Job = dedupe.SealedJob(sealedValue(1, ""))
	}
	want := map[delivery.EventID]bool{"q3": true}
	made, err := s.store.Rewrite(s.ctx, dedupe.KeptRequests, requests)
	if err != nil {
		s.Fatal(err)
	}
	for i, item := range requests {
		if made[i] != want[item.EventID] {
			s.Errorf("%s: rewritten %t", item.EventID, made[i])
		}
	}
	s.kept("q1", job("other"))
	s.fillResults("r1")
	results, _ := s.walk(dedupe.KeptResults, 10, 1<<20)
	reopened := from(newRow("r1"), dedupe.Retryable)
	reopened.FromState = dedupe.Applied
	s.move(reopened)
	s.rewrite(dedupe.KeptResults, results, false)
	if got := s.row("r1"); got.Response != nil || got.State != dedupe.Retryable {
		s.Errorf("the row is %+v", got)
	}
	s.rewrite(dedupe.KeptResults, nil)
}

func vaultRace(s *shelf) {
	s.fillRequests("q1")
	items, _ := s.walk(dedupe.KeptRequests, 10, 1<<20)
	made := make(chan bool, 2)
	for i, store := range []dedupe.Backend{s.store, s.also} {
		item := items[0]
		item.Job = dedupe.SealedJob(sealedValue(byte(i), ""))
		go func() {
			done, err := store.Rewrite(s.ctx, dedupe.KeptRequests, []dedupe.VaultItem{item})
			if err != nil {
				s.Error(err)
			}
			made <- err == nil && done[0]
		}()
	}
	if one, two := <-made, <-made; one == two {
		s.Errorf("rewritten %t and %t", one, two)
	}
}

func vaultActs(s *shelf) {
	if acts, err := s.store.Rotations(s.ctx); err != nil || len(acts) != 0 {
		s.Errorf("acts are %+v, %v", acts, err)
	}
	for _, sealing := range []string{"0102030405060708", "off"} {
		if err := s.store.RecordRotation(s.ctx, sealing, dedupe.Act{Actor: "ada " + foreign, Reason: "why " + foreign}); err != nil {
			s.Fatal(err)
		}
	}
	acts, err := s.also.Rotations(s.ctx)
	if err != nil || len(acts) != 2 || acts[0].At.IsZero() || acts[1].At.Before(acts[0].At) {
		s.Fatalf("acts are %+v, %v", acts, err)
	}
	if acts[0].Sealing != "0102030405060708" || acts[1].Sealing != "off" || acts[1].Actor != "ada "+foreign || acts[1].Reason != "why "+foreign {
		s.Errorf("acts are %+v", acts)
	}
}
