package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only attempts of the scope count, whatever else is in the log.
func TestWaitsInTheLog(t *testing.T) {
	log := `{"level":"INFO","msg":"delivery","scope":"acme/payments","outcome":"queued","total_us":900}
{"level":"INFO","msg":"attempt","scope":"acme/payments","waited_us":3000}
{"level":"INFO","msg":"attempt","scope":"acme/reports","waited_us":900000}
{"level":"INFO","msg":"attempt","scope":"acme/payments","waited_us":1000}
{"level":"INFO","msg":"attempt","scope":"acme/payments","waited_us":8500}
`
	got, err := readWaits(strings.NewReader(log), "acme/payments")
	if want := (waits{count: 3, p50: 3, p99: 3, most: 8.5}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := readWaits(strings.NewReader(`{"waited_us":`), "acme/payments"); err == nil {
		t.Error("a broken line is read")
	}
}

func TestWaitsOfNothing(t *testing.T) {
	if got := waitsOf(nil); got != (waits{}) {
		t.Errorf("%+v", got)
	}
}

// What is dropped is not read again, and a log that nobody has written yet can be dropped.
func TestDroppedLog(t *testing.T) {
	l := attemptLog{filepath.Join(t.TempDir(), "log")}
	if err := l.drop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.file, []byte(`{"scope":"a/b","waited_us":1}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := l.read("a/b"); err != nil || got.count != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := l.drop(); err != nil {
		t.Fatal(err)
	}
	if got, err := l.read("a/b"); err != nil || got.count != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
