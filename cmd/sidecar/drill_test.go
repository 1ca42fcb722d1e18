package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/internal/drill"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// runDrill runs sidecar drill with these settings and returns its exit status and report.
func runDrill(t *testing.T, settings map[string]string, args ...string) (int, drill.Report) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"drill", "--json"}, args...)...)
	dir := t.TempDir()
	cmd.Env = []string{asSidecar + "=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "GORACE=atexit_sleep_ms=0"}
	for name, value := range settings {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out, told bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &told, dir
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Error(err)
		return -1, drill.Report{}
	}
	var report drill.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Errorf("no report: %v\n%s%s", err, out.Bytes(), told.Bytes())
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("the drill leaves %d files behind", len(left))
	}
	return cmd.ProcessState.ExitCode(), report
}

// verdicts are the steps with a verdict.
func verdicts(report drill.Report, verdict drill.Verdict) []string {
	var found []string
	for _, step := range report.Steps {
		if step.Verdict == verdict {
			found = append(found, step.ID)
		}
	}
	return found
}

// wantPassed wants every step passed but for those that do not apply.
func wantPassed(t *testing.T, status int, report drill.Report, missing ...string) {
	t.Helper()
	if status != 0 || !report.Passed || len(verdicts(report, drill.Failed)) > 0 {
		var text strings.Builder
		_ = report.Text(&text, false)
		t.Errorf("exit %d\n%s", status, text.String())
	}
	if got := verdicts(report, drill.NotApplicable); !slices.Equal(got, missing) {
		t.Errorf("n/a: %v, want %v", got, missing)
	}
	if passed := len(verdicts(report, drill.Passed)); passed < 15 {
		t.Errorf("only %d steps", passed)
	}
}

func TestTheDrillPassesOnAnEmbeddedLedger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.txt")
	status, report := runDrill(t, nil, "--report", file)
	wantPassed(t, status, report, "replicas")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PASSED", "must hold: ", "declared " + patientBound.String(), "needs several replicas"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if strings.Contains(string(text), "drill-secret-of") {
		t.Error("the report shows a secret")
	}
}

func TestTheDrillPassesWithThreeReplicas(t *testing.T) {
	for name, redis := range map[string]bool{"PostgreSQL": false, "PostgreSQL and Redis": true} {
		t.Run(name, func(t *testing.T) {
			settings := map[string]string{"DATABASE_URL": testenv.Postgres(t)}
			if redis { // and sealed
				settings["REDIS_URL"], settings[sealKeyVariable] = testenv.Redis(t), sealKeyFile(t, "drill")
			}
			status, report := runDrill(t, settings)
			wantPassed(t, status, report)
			if report.Replicas != 3 || strings.Contains(report.Ledger, "Redis") != redis {
				t.Errorf("%d replicas on %s", report.Replicas, report.Ledger)
			}
			if schemas := schemasIn(t, settings["DATABASE_URL"]); schemas != 0 {
				t.Errorf("%d schemas are left behind", schemas)
			}
		})
	}
}

func schemasIn(t *testing.T, database string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var count int
	query := `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'sidecar%'`
	if err := conn.QueryRow(t.Context(), query).Scan(&count); err != nil {
		t.Fatal(err)
	}
	return count
}

// Every promise that is broken on purpose fails the step that is about it.
func TestTheDrillNoticesABrokenPromise(t *testing.T) {
	noticed := map[string]string{
		"global key":                       "isolation",
		"acknowledgement before commit":    "kill_after",
		"scope lost in rotation":           "rotation",
		"cache that outlives a revocation": "revocation",
		"unverified claim":                 "refusals",
		"reload that never comes":          "revocation",
	}
	var drilling sync.WaitGroup // at once, because a drill mostly waits
	for name := range maps.Keys(brokenPromises()) {
		drilling.Go(func() {
			status, report := runDrill(t, map[string]string{brokenPromise: name})
			if report.Bound != drillInterval {
				t.Errorf("%s: the drill declares %s", name, report.Bound)
			}
			failed := verdicts(report, drill.Failed)
			if status != 1 || report.Passed || !slices.Contains(failed, noticed[name]) {
				t.Errorf("%s: exit %d, failed %v, want %s among them", name, status, failed, noticed[name])
			}
		})
	}
	drilling.Wait()
}
