package main

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/internal/capacity"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

func TestCapacityRefusesNonsense(t *testing.T) {
	for name, args := range map[string][]string{
		"negative":           {"--events-per-day", "-1"},
		"minus, without end": {"--events-per-day", "-Inf"},
		"none":               {"--events-per-day", "0"},
		"without end":        {"--events-per-day", "Inf"},
		"absurd":             {"--events-per-day", "1e13"},
		"no number":          {"--days", "NaN"},
		"words":              {"--days", "a week"},
		"a duration":         {"--days", "168h"},
		"overflow":           {"--days", "1e400"},
		"more than a life":   {"--days", "36501"},
		"less than a byte":   {"--bytes-per-receipt", "0.5"},
		"negative zero":      {"--bytes-per-receipt", "-0"},
		"empty":              {"--bytes-per-receipt", ""},
		"a gigabyte":         {"--bytes-per-receipt", "2e9"},
		"no time":            {"--window", "0s"},
		"a negative time":    {"--window", "-24h"},
		"too long a time":    {"--window", "100000h"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, err := inProcess(t, config.Environment{}, "", append([]string{"capacity"}, args...)...)
			if status != 2 || out != "" || !strings.Contains(err, "flag -"+strings.TrimPrefix(args[0], "--")) {
				t.Errorf("exit %d: %s%s", status, out, err)
			}
		})
	}
	if status, _, err := inProcess(t, config.Environment{}, "", "capacity", "acme"); status != 2 || !strings.Contains(err, "capacity [--events-per-day") {
		t.Errorf("an argument: exit %d: %s", status, err)
	}
}

func TestCapacityPlansWithoutAnything(t *testing.T) {
	status, out, err := inProcess(t, config.Environment{}, "", "capacity", "--events-per-day", "2e6", "--days", "10")
	if status != 0 || !strings.Contains(out, "2,000,000 events/day × 10 days × 320 bytes/receipt = 6,400,000,000 bytes") ||
		!strings.Contains(out, "backups") || strings.Contains(out, "Measured") {
		t.Errorf("exit %d: %s%s", status, out, err)
	}
	// Other settings are still what they have to be.
	status, _, err = inProcess(t, config.Environment{"SIDECAR_MIGRATE": "perhaps"}, "", "capacity")
	if status != 2 || !strings.Contains(err, "SIDECAR_MIGRATE") || strings.Contains(err, "DATABASE_URL") {
		t.Errorf("exit %d: %s", status, err)
	}
}

func capacityOf(r *rig, args ...string) capacity.Report {
	r.t.Helper()
	var report capacity.Report
	if err := json.Unmarshal([]byte(r.must(append([]string{"capacity", "--json"}, args...)...)), &report); err != nil {
		r.t.Fatal(err)
	}
	return report
}

func TestCapacityMeasuresAnEmbeddedLedger(t *testing.T) {
	r := newRig(t)
	r.configure(orders("{id: k1, secret: {file: first}}", "retention: {sender_window: 24h, repair_window: 24h, clock_skew: 0s}"))
	if status, out := r.command("", "capacity"); status != 1 || !strings.Contains(out, "there is no ledger at") || strings.Contains(out, "Plan") {
		t.Errorf("no ledger: exit %d: %s", status, out)
	}
	p := r.run()
	for _, id := range []string{"evt-1", "evt-2", "evt-3"} {
		if got := p.deliver(id, firstKey); got != "200 applied" {
			t.Fatalf("got %s", got)
		}
	}
	if status, out := r.command("", "capacity"); status != 1 || !strings.Contains(out, "stop the sidecar first") || strings.Contains(out, "Plan") {
		t.Errorf("a ledger in use: exit %d: %s", status, out)
	}
	p.stop()
	report := capacityOf(r)
	checkMeasured(t, report, 3)
	if plan := report.Plan; plan.Days.Value != 2 || !strings.Contains(plan.Days.From, "acme/orders") ||
		plan.BytesPerReceipt.Value != capacity.Published || !strings.HasPrefix(plan.EventsPerDay.From, "observed in the ledger, over ") || plan.EventsPerDay.Value != math.Ceil(report.Ledger.Observed.ReceiptsPerDay) {
		t.Errorf("planned %+v", plan)
	}
	if plan := capacityOf(r, "--days", "5", "--events-per-day", "7", "--bytes-per-receipt", "11").Plan; plan.Bytes != 5*7*11 {
		t.Errorf("planned %+v", plan)
	}
	if out := r.must("capacity"); !strings.Contains(out, "Measured: embedded SQLite") || !strings.Contains(out, "acme/orders") {
		t.Errorf("got %s", out)
	}
}

// checkMeasured expects what so many deliveries to acme/orders leave.
func checkMeasured(t *testing.T, report capacity.Report, receipts int64) {
	t.Helper()
	if report.Ledger == nil {
		t.Fatal("nothing was measured")
	}
	found := map[string]int64{}
	for _, table := range report.Ledger.Tables {
		found[table.Name] = table.Rows
	}
	for table, want := range map[string]int64{"receipts": receipts, "jobs": 0, "evidence": 0} {
		if rows, there := found[table]; !there || rows != want {
			t.Errorf("%s has %d rows, want %d", table, rows, want)
		}
	}
	if scopes := report.Ledger.Observed.Scopes; len(scopes) != 1 || scopes[0].Scope != "acme/orders" || scopes[0].Receipts != receipts ||
		!scopes[0].Configured || scopes[0].ReceiptsPerDay <= 0 || scopes[0].SteadyBytes <= 0 {
		t.Errorf("observed %+v", report.Ledger.Observed)
	}
	if len(report.Excluded) < 4 {
		t.Errorf("what is not included is not said: %v", report.Excluded)
	}
}

func TestCapacityMeasuresPostgreSQL(t *testing.T) {
	r := newRig(t)
	r.env["DATABASE_URL"] = testenv.Postgres(t)
	if status, out := r.command("", "capacity"); status != 1 || !strings.Contains(out, "cannot be measured") || strings.Contains(out, "Plan") {
		t.Errorf("no schema, which looking does not make: exit %d: %s", status, out)
	}
	p := r.run()
	for _, id := range []string{"evt-1", "evt-2"} {
		if got := p.deliver(id, firstKey); got != "200 applied" {
			t.Fatalf("got %s", got)
		}
	}
	checkMeasured(t, capacityOf(r), 2) // beside the running sidecar
}

func TestCapacityOfALedgerOutOfReach(t *testing.T) {
	r := newRig(t)
	r.env["DATABASE_URL"] = "postgres://somebody:canary-password@" + testenv.Address(t) + "/ledger"
	status, out := r.command("", "capacity", "--events-per-day", "5")
	if status != 1 || !strings.Contains(out, "the ledger cannot be measured") || strings.Contains(out, "Plan") || strings.Contains(out, "canary") {
		t.Errorf("exit %d: %s", status, out)
	}
}

// A file that cannot be read is said, and the plan stands on the default.
func TestCapacityWithoutItsIntegrations(t *testing.T) {
	r := newRig(t)
	delete(r.env, "DATABASE_URL") // embedded, and not there yet
	r.configure("integrations: {")
	report := capacityOf(r)
	if report.Ledger != nil || len(report.Notes) != 1 || report.Plan.Days.Value != capacity.Days(capacity.DefaultRetention) {
		t.Errorf("got %+v", report)
	}
	if _, err := os.Stat(r.path("sidecar.db")); err == nil {
		t.Error("the command made a ledger")
	}
}

// A file in the place where it is looked for by default is no other one.
func TestCapacityWithTheDefaultIntegrations(t *testing.T) {
	r, p := newRig(t), newProgram()
	p.environ = config.Environment{}
	settings := config.Settings{Config: r.path("nowhere.yaml")}
	if kept := p.kept(settings); len(kept.notes) != 0 || len(kept.scopes) != 0 {
		t.Errorf("no file: %+v", kept)
	}
	r.configure("integrations: {")
	settings.Config = r.path("sidecar.yaml")
	if kept := p.kept(settings); len(kept.notes) != 1 || !strings.Contains(kept.notes[0], "sidecar check") {
		t.Errorf("a file that cannot be used: %+v", kept)
	}
}

// Whatever is written, a factor is a number within its bounds or an error.
func FuzzFactor(f *testing.F) {
	for _, text := range []string{"1", "1e6", "0x1p3", "-0", "NaN", "Inf", "1_000", "1e-400", "1e400", "٣", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var value float64
		err := parseFactor(text, 1, mostDays, &value)
		if err == nil && !(value >= 1 && value <= mostDays) || err != nil && value != 0 {
			t.Errorf("%q is %v, %v", text, value, err)
		}
	})
}
