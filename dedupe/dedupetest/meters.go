package dedupetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// storeMeasure: of a small ledger the rows and the inflow are exact, and the sizes are those of rows, not of pages.
func storeMeasure(s *shelf) {
	meter, measures := s.store.(dedupe.Meter)
	if !measures {
		s.Skip("the store under test is no meter")
	}
	s.measureEmpty(meter)
	const receipts, requests, old = 600, 40, 25
	var rows []dedupe.NewRow
	for i := range receipts {
		rows = append(rows, newRow(name("evt_", i)))
	}
	s.insertAll(rows)
	for _, row := range rows[:requests] {
		m := from(row, dedupe.Dead)
		m.Job, m.JobFor = job(string(make([]byte, 1000))), time.Hour
		m.Evidence = &dedupe.Evidence{From: dedupe.Claimed, To: dedupe.Dead, Actor: "a"}
		s.move(m)
	}
	elsewhere := newRow("elsewhere")
	elsewhere.Scope = "acme/elsewhere"
	s.insert(elsewhere)
	for i := range old {
		s.age(string(rows[i].EventID), 36*time.Hour)
	}
	s.measured(meter, receipts, requests, old)
}

func (s *shelf) measureEmpty(meter dedupe.Meter) {
	s.Helper()
	m, err := meter.Measure(s.ctx, time.Hour)
	if err != nil || m.At.IsZero() || len(m.Inflow) > 0 || m.Covered != 0 {
		s.Errorf("an empty ledger measures %+v, %v", m, err)
	}
	for _, want := range []string{"receipts", "evidence", "jobs"} {
		if t := m.Table(want); t.Rows != 0 || t.Share != 1 || len(t.Indexes) == 0 {
			s.Errorf("empty, it has %+v", t)
		}
	}
}

// insertAll adds rows in batches, sorted as a batch is.
func (s *shelf) insertAll(rows []dedupe.NewRow) {
	s.Helper()
	sorted := slices.SortedFunc(slices.Values(rows), func(a, b dedupe.NewRow) int { return cmp.Compare(a.EventID, b.EventID) })
	for batch := range slices.Chunk(sorted, 100) {
		s.insert(batch...)
	}
}

func (s *shelf) measured(meter dedupe.Meter, receipts, requests, old int) {
	s.Helper()
	m, err := meter.Measure(s.ctx, 24*time.Hour)
	if err != nil {
		s.Fatal(err)
	}
	for table, want := range map[string]struct{ rows, least, most int64 }{
		"receipts": {int64(receipts) + 1, 100, 2000},
		"evidence": {int64(requests), 30, 3000},
		"jobs":     {int64(requests), 1000, 5000},
	} {
		t := m.Table(table)
		each := t.Bytes() / max(1, t.Rows)
		if t.Rows != want.rows || t.Share != 1 || each < want.least || each > want.most || t.Unused < 0 || t.Unused > 1 {
			s.Errorf("%d bytes a row, want %d to %d: %+v", each, want.least, want.most, t)
		}
		entries := int64(0)
		for _, index := range t.Indexes {
			if index.Bytes <= 0 || index.Entries > t.Rows {
				s.Errorf("%s has the index %+v", table, index)
			}
			entries = max(entries, index.Entries)
		}
		if entries != t.Rows && table != "jobs" { // whose key may be the rows' own
			s.Errorf("no index of %s has all its rows: %+v", table, t)
		}
	}
	want := map[delivery.Scope]dedupe.Inflow{
		shelfScope:       {Scope: shelfScope, Receipts: int64(receipts), Recent: int64(receipts - old)},
		"acme/elsewhere": {Scope: "acme/elsewhere", Receipts: 1, Recent: 1},
	}
	if len(m.Inflow) != len(want) || m.Covered != 24*time.Hour || m.Window != 24*time.Hour {
		s.Errorf("over %v of %v there came in %+v", m.Covered, m.Window, m.Inflow)
	}
	for _, in := range m.Inflow {
		if want[in.Scope] != in {
			s.Errorf("%+v, want %+v", in, want[in.Scope])
		}
	}
}
