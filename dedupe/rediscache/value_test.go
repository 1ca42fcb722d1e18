package rediscache

import (
	"bytes"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"pgregory.net/rapid"
)

func someFact() fact {
	return fact{
		scope: "acme/orders", id: "evt_1", fingerprint: [32]byte{1, 2, 31: 3}, bound: true, attempt: 2, lastStatus: 200,
		trace:   "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		created: time.UnixMilli(1_700_000_000_000), confirmed: time.UnixMilli(1_700_000_001_234),
		expires:  time.UnixMilli(1_700_000_900_000),
		response: &delivery.Response{Status: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("done")},
	}
}

func genFact() *rapid.Generator[fact] {
	return rapid.Custom(func(t *rapid.T) fact {
		text := rapid.StringMatching(`[!-~]{0,80}`)
		millis := rapid.Int64Range(-1<<50, 1<<50)
		f := fact{
			scope:   delivery.Scope(rapid.StringMatching(`[a-z.-]{1,64}/[A-Z_0-9]{1,64}`).Draw(t, "scope")),
			id:      delivery.EventID(rapid.StringMatching(`[!-~]{1,255}`).Draw(t, "id")),
			bound:   rapid.Bool().Draw(t, "bound"),
			attempt: rapid.Uint32().Draw(t, "attempt"), lastStatus: rapid.Uint16().Draw(t, "last status"),
			reason: dedupe.Reason(text.Draw(t, "reason")), trace: text.Draw(t, "trace"),
			created: time.UnixMilli(millis.Draw(t, "created")), confirmed: time.UnixMilli(millis.Draw(t, "confirmed")),
			expires: time.UnixMilli(millis.Draw(t, "expires")),
		}
		copy(f.fingerprint[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "fingerprint"))
		f.response = &delivery.Response{
			Status:  rapid.IntRange(101, 599).Draw(t, "status"),
			Omitted: rapid.Bool().Draw(t, "omitted"),
			Header:  http.Header(rapid.MapOf(text, rapid.SliceOf(text)).Draw(t, "header")),
		}
		if body := rapid.SliceOf(rapid.Byte()).Draw(t, "body"); !f.response.Omitted && len(body) > 0 {
			f.response.Body = body
		}
		return f
	})
}

func TestFactsSurviveTheirEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genFact().Draw(t, "fact")
		value, fits := encode("key", &want)
		if !fits {
			t.Fatalf("it does not fit")
		}
		payload, fine := stamped("key", value)
		if !fine {
			t.Fatalf("it is not good")
		}
		got, what := decode(payload, want.scope, want.id)
		if what != ours || !reflect.DeepEqual(got, want) {
			t.Fatalf("%d %+v, want %+v", what, got, want)
		}
		if _, what := decode(payload, want.scope, want.id+"x"); what != foreign {
			t.Fatalf("another event's value is accepted")
		}
		if _, what := decode(payload, want.scope+"x", want.id); what != foreign {
			t.Fatalf("another scope's value is accepted")
		}
	})
}

// Scope and ID are two: moving the border between them makes another event.
func TestBorderBetweenScopeAndID(t *testing.T) {
	f := someFact()
	f.scope, f.id = "a/b", "cd"
	value, _ := encode("key", &f)
	if _, what := decode(payloadOf(value), "a/bc", "d"); what != foreign {
		t.Error("another scope's value is accepted")
	}
}

func TestWhatDoesNotFitIsNotEncoded(t *testing.T) {
	for name, change := range map[string]func(*fact){
		"a long trace": func(f *fact) { f.trace = strings.Repeat("a", 256) },
		"a long field": func(f *fact) { f.response.Header["A"] = []string{strings.Repeat("a", 1<<16)} },
		"many values":  func(f *fact) { f.response.Header["A"] = make([]string, 1<<16) },
		"a long ID":    func(f *fact) { f.id = delivery.EventID(strings.Repeat("a", 256)) },
	} {
		f := someFact()
		change(&f)
		if _, fits := encode("key", &f); fits {
			t.Errorf("%s fits", name)
		}
	}
}

func TestMarkIsNoFact(t *testing.T) {
	value := encodeReopened("key", "acme/orders", "evt_1")
	payload, fine := stamped("key", value)
	if !fine {
		t.Fatal("the mark is not good")
	}
	if _, what := decode(payload, "acme/orders", "evt_1"); what != reopened {
		t.Errorf("it is %d", what)
	}
	if _, what := decode(payload, "acme/orders", "evt_2"); what != foreign {
		t.Errorf("another event's mark is %d", what)
	}
}

// What the decoder accepts is exactly what the encoder writes.
func FuzzDecode(f *testing.F) {
	one := someFact()
	value, _ := encode("key", &one)
	f.Add(payloadOf(value))
	one.response = &delivery.Response{Status: 299, Omitted: true, Header: http.Header{"A": {"1", ""}, "B": {}}}
	value, _ = encode("key", &one)
	f.Add(payloadOf(value))
	f.Add(payloadOf(encodeReopened("key", one.scope, one.id)))
	f.Fuzz(func(t *testing.T, payload []byte) {
		got, what := decode(payload, one.scope, one.id)
		switch what {
		case ours:
			again, fits := encode("key", &got)
			if !fits || !bytes.Equal(payloadOf(again), payload) {
				t.Fatalf("accepted %x, which is written %x", payload, payloadOf(again))
			}
		case reopened:
			if !bytes.Equal(payloadOf(encodeReopened("key", one.scope, one.id)), payload) {
				t.Fatalf("accepted %x as a mark", payload)
			}
		}
	})
}
