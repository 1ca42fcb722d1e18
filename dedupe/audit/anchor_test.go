package audit_test

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

var someSum = strings.Repeat("0a", 32)

func TestAnchorsAreReadFromAnyRecord(t *testing.T) {
	sum, err := dedupe.ParseSum(someSum)
	if err != nil {
		t.Fatal(err)
	}
	got, err := audit.ReadAnchors(strings.NewReader(strings.Join([]string{
		"# anchors of November", "",
		"acme/orders:1:" + someSum,
		`{"time":"2026-11-30T12:00:00Z","level":"INFO","msg":"checkpoint","replica":"a","scope":"acme/orders","number":2,"rows":3,"oldest":1,"sum":"` + someSum + `"}`,
		`{"msg":"delivery","scope":"acme/orders","number":"whatever"}`,
		`{"kind":"checkpoint","scope":"acme/shop","number":3,"at":"2026-11-30T12:00:00Z","rows":1,"previous":"","sum":"` + someSum + `"}`,
		`{"kind":"event","scope":"acme/shop"}`,
		`{"kind":"event","scope":"acme/shop","transitions":[` + strings.Repeat(`{"from":"claimed","to":"retryable"},`, 100_000) + `]}`,
		"acme/shop:4:" + someSum, `{broken off`,
	}, "\n")))
	want := []audit.Anchor{{Scope: "acme/orders", Number: 1, Sum: sum}, {Scope: "acme/orders", Number: 2, Sum: sum}, {Scope: "acme/shop", Number: 3, Sum: sum}, {Scope: "acme/shop", Number: 4, Sum: sum}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v", got, err)
	}
}

func TestAnAnchorThatCannotBeReadIsAnError(t *testing.T) {
	for _, line := range []string{
		"acme/orders", "acme/orders:1", "acme:1:" + someSum, "acme/orders:0:" + someSum, "acme/orders:x:" + someSum,
		"acme/orders:1:" + someSum[2:], "acme/orders:1:" + someSum + ":", "acme/orders:1:" + strings.Repeat("x", 64),
		`{"msg":"checkpoint","scope":"acme/orders","number":1}`, `{"kind":"checkpoint"}`,
		`{"kind":"checkpoint","scope":"acme/orders","number":1.5,"sum":"` + someSum + `"}`,
	} {
		if got, err := audit.ReadAnchors(strings.NewReader("\n" + line + "\n")); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%s: read %+v, %v", line, got, err)
		}
	}
	if _, err := audit.ReadAnchors(strings.NewReader("\n" + strings.Repeat("x", 2<<20))); err == nil || err.Error() != "line 2: the line is too long" {
		t.Errorf("a line without end: %v", err)
	}
	if _, err := audit.ReadAnchors(iotest.ErrReader(io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

func FuzzReadAnchors(f *testing.F) {
	f.Add("acme/orders:1:" + someSum)
	f.Add(`{"msg":"checkpoint","scope":"acme/orders","number":2,"sum":"` + someSum + `"}`)
	f.Add(`{"kind":"checkpoint","scope":"a/b","number":1e3,"sum":"` + someSum + `"}`)
	f.Add("# nothing\n\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		anchors, err := audit.ReadAnchors(strings.NewReader(text))
		if err != nil {
			return
		}
		var lines strings.Builder
		for _, a := range anchors {
			if scope, err := delivery.ParseScope(string(a.Scope)); err != nil || scope != a.Scope || a.Number < 1 {
				t.Fatalf("read %+v", a)
			}
			lines.WriteString(string(a.Scope) + ":" + decimal(a.Number) + ":" + a.Sum.String() + "\n")
		}
		again, err := audit.ReadAnchors(strings.NewReader(lines.String()))
		if err != nil || !reflect.DeepEqual(again, anchors) {
			t.Fatalf("%+v is read again as %+v, %v", anchors, again, err)
		}
	})
}
