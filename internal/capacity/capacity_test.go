package capacity_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/capacity"
	"pgregory.net/rapid"
)

func factor(value float64) capacity.Factor { return capacity.Factor{Value: value, From: "a test"} }

func TestThePlanIsTheProductOfItsFactors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.Float64Range(1e-3, 1e12).Draw(t, "events")
		days := rapid.Float64Range(1e-3, 36_500).Draw(t, "days")
		each := rapid.Float64Range(1, 1<<30).Draw(t, "bytes")
		plan := capacity.NewPlan(factor(events), factor(days), factor(each))
		if want := events * days * each; math.Abs(plan.Bytes-want) > 1+want*1e-12 || math.IsInf(plan.Bytes, 0) {
			t.Errorf("%v × %v × %v = %v", events, days, each, plan.Bytes)
		}
		if math.Abs(plan.GB*1e9-plan.Bytes) > 1+plan.Bytes*1e-12 || math.Abs(plan.GiB*(1<<30)-plan.Bytes) > 1+plan.Bytes*1e-12 {
			t.Errorf("%v bytes are %v GB and %v GiB", plan.Bytes, plan.GB, plan.GiB)
		}
	})
}

func page(t *testing.T, r capacity.Report) string {
	t.Helper()
	var text bytes.Buffer
	if err := r.Page(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func wants(t *testing.T, text string, lines ...string) {
	t.Helper()
	packed := strings.Join(strings.Fields(text), " ")
	for _, line := range lines {
		if !strings.Contains(packed, line) {
			t.Errorf("nothing says %q in\n%s", line, text)
		}
	}
}

func TestThePageNamesEveryFactor(t *testing.T) {
	plan := capacity.NewPlan(factor(1_000_000), factor(7.5), factor(320))
	text := page(t, capacity.Report{Plan: plan, Excluded: capacity.Excluded(), Notes: []string{"something"}})
	wants(t, text, "1,000,000 events/day × 7.5 days × 320 bytes/receipt = 2,400,000,000 bytes", "= 2.40 GB (2.24 GiB) for 7,500,000 receipts",
		"events/day 1,000,000 a test", "days 7.5 a test", "bytes/receipt 320 a test",
		"replicas of the database", "write-ahead log", "backups", "headroom for vacuum", "Note: something.")
	if strings.Contains(text, "Measured") {
		t.Errorf("without a ledger something was measured:\n%s", text)
	}
}

// measured is a ledger of two scopes, and one that is not configured any more.
func measured(share float64) dedupe.Measured {
	return dedupe.Measured{
		At: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Window: 24 * time.Hour, Covered: 24 * time.Hour,
		Tables: []dedupe.TableSize{
			{Name: "evidence", Rows: 1000, Share: 1, Heap: 100_000, Indexes: []dedupe.IndexSize{{Name: "evidence_event", Bytes: 100_000, Entries: 1000}}},
			{Name: "jobs", Share: 1, Heap: 8192},
			{
				Name: "receipts", Rows: 100_000, Share: share, Heap: 20_000_000, Apart: 1_000_000, Unused: 0.125, Dead: 77,
				Indexes: []dedupe.IndexSize{{Name: "receipts_key", Bytes: 8_800_000, Entries: 100_000}, {Name: "receipts_claimed", Bytes: 8192}},
			},
		},
		Inflow: []dedupe.Inflow{
			{Scope: "acme/orders", Receipts: 60_000, Recent: 10_000},
			{Scope: "acme/short", Receipts: 30_000, Recent: 30_000},
			{Scope: "gone/away", Receipts: 10_000, Recent: 0},
		},
	}
}

func retention(scope delivery.Scope) (time.Duration, bool) {
	kept, known := map[delivery.Scope]time.Duration{"acme/orders": 240 * time.Hour, "acme/short": 12 * time.Hour}[scope]
	return kept, known
}

// Receipts of a scope that keeps them for less than the window came in within that time: the others are gone.
func TestWhatTheObservedRateCosts(t *testing.T) {
	l := capacity.NewLedger("SQLite", measured(1), retention)
	if l.BytesPerReceipt.Value != 300.1 { // (21,000,000 + 8,808,192 + 200,000) / 100,000, and no jobs
		t.Errorf("a receipt takes %v", l.BytesPerReceipt)
	}
	want := []capacity.ScopeCost{
		{Scope: "acme/orders", Receipts: 60_000, ReceiptsPerDay: 10_000, RetentionDays: 10, Configured: true, SteadyReceipts: 100_000, SteadyBytes: 30_010_000},
		{Scope: "acme/short", Receipts: 30_000, ReceiptsPerDay: 60_000, RetentionDays: 0.5, Configured: true, SteadyReceipts: 30_000, SteadyBytes: 9_003_000},
		{Scope: "gone/away", Receipts: 10_000, RetentionDays: capacity.Days(capacity.DefaultRetention)},
	}
	for i, cost := range l.Observed.Scopes {
		cost.SteadyBytes = math.Round(cost.SteadyBytes)
		if cost != want[i] {
			t.Errorf("got %+v, want %+v", cost, want[i])
		}
	}
	if o := l.Observed; o.ReceiptsPerDay != 70_000 || o.SteadyReceipts != 130_000 || math.Round(o.SteadyBytes) != 39_013_000 {
		t.Errorf("in total %+v", o)
	}
}

func TestThePageOfALedger(t *testing.T) {
	l := capacity.NewLedger("SQLite", measured(0.25), retention)
	text := page(t, capacity.Report{Plan: capacity.NewPlan(factor(1), factor(1), factor(1)), Ledger: &l})
	wants(t, text, "Measured: SQLite, at 2026-11-30 12:00:00Z",
		"table rows bytes heap/row index/row unused dead rows", "evidence 1,000 200,000 100.0 100.0 0.0 % 0", "jobs 0 8,192 - - 0.0 % 0",
		"receipts ~100,000 29,808,192 210.0 88.1 12.5 % 77",
		"index entries bytes bytes/entry", "receipts_key ~100,000 8,800,000 88.0", "receipts_claimed ~0 8,192 -",
		"Observed over the last 24h", "at 300.1 bytes/receipt",
		"acme/orders 60,000 10,000 10 100,000 30.01 MB", "(default: no integration has it)", "total 100,000 70,000 130,000 39.01 MB",
		"Note: receipts is large: 25.0 % of its pages were looked at")
}

func TestWhatSaysLittleIsSaid(t *testing.T) {
	m := measured(1)
	m.Tables[2].Rows, m.Covered = capacity.Enough-1, 10*time.Minute
	l := capacity.NewLedger("SQLite", m, retention)
	if l.BytesPerReceipt.Value != capacity.Published || !strings.Contains(l.BytesPerReceipt.From, "published") {
		t.Errorf("of few receipts one takes %+v", l.BytesPerReceipt)
	}
	text := page(t, capacity.Report{Ledger: &l})
	wants(t, text, "the receipts reach back over 10m only", "fewer than 10,000 receipts")
	if rate, some := l.Observed.Rate(); !some || rate.Value != 40_000*6*24 || !strings.Contains(rate.From, "over 10m only") {
		t.Errorf("the plan's rate is %+v", rate)
	}
	long := capacity.NewLedger("SQLite", measured(1), retention)
	if rate, some := long.Observed.Rate(); !some || rate.Value != 70_000 || rate.From != "observed in the ledger" {
		t.Errorf("the plan's rate is %+v", rate)
	}
	empty := capacity.NewLedger("SQLite", dedupe.Measured{Window: time.Hour}, retention)
	wants(t, page(t, capacity.Report{Ledger: &empty}), "Observed: no receipts")
	if rate, some := empty.Observed.Rate(); some {
		t.Errorf("of nothing the plan's rate is %+v", rate)
	}
}

// The clock of an embedded ledger was set back: its receipts are there all the same.
func TestReceiptsOfTheFutureAreToldToo(t *testing.T) {
	m := measured(1)
	m.Covered = 0
	l := capacity.NewLedger("SQLite", m, retention)
	text := page(t, capacity.Report{Ledger: &l})
	wants(t, text, "acme/orders 60,000 0 10 0 0 B", "the receipts reach back over 0s only")
	if strings.Contains(text, "no receipts") {
		t.Errorf("there are receipts:\n%s", text)
	}
}

func TestJSONHasListsWhereThereIsNothing(t *testing.T) {
	empty := capacity.NewLedger("SQLite", dedupe.Measured{Window: time.Hour}, retention)
	text, err := json.Marshal(capacity.Report{Ledger: &empty, Excluded: capacity.Excluded(), Notes: []string{}})
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("got %s, %v", text, err)
	}
}
