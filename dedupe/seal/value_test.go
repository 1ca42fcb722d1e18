package seal

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func genLabel() *rapid.Generator[label] {
	return rapid.Custom(func(t *rapid.T) label {
		return label{
			purpose:   rapid.SampledFrom([]purpose{forRequest, forBody, forCache}).Draw(t, "purpose"),
			namespace: rapid.StringMatching(`[a-z0-9_-]{1,8}`).Draw(t, "namespace"),
			key: dedupe.Key{
				Scope:   delivery.Scope(rapid.StringMatching(`[a-z.]{1,4}/[a-z.]{1,4}`).Draw(t, "scope")),
				EventID: delivery.EventID(rapid.StringMatching(`[!-~]{1,12}`).Draw(t, "event")),
			},
		}
	})
}

func TestWhatIsSealedOpensForItsEventOnly(t *testing.T) {
	one, both := keysOf(t, "a"), keysOf(t, "b", "a")
	rapid.Check(t, func(t *rapid.T) {
		at, plain := genLabel().Draw(t, "label"), rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		value := one.seal(&at, plain)
		for _, keys := range []*Keys{one, both} {
			if got, why := keys.open(&at, slices.Clone(value)); why != nil || !bytes.Equal(got, plain) {
				t.Fatalf("opened as %q, %v", got, why)
			}
		}
		if again := one.seal(&at, plain); bytes.Equal(again, value) {
			t.Fatal("sealed twice alike")
		}
		if other := genLabel().Draw(t, "other label"); other != at {
			refused(t, one, other, value, true)
		}
		flipped := slices.Clone(value)
		bit := rapid.IntRange(0, 8*len(value)-1).Draw(t, "bit")
		flipped[bit/8] ^= 1 << (bit % 8)
		inID := bit/8 >= 1 && bit/8 < dedupe.SealHead
		refused(t, one, at, flipped, !inID)
		refused(t, one, at, value[:rapid.IntRange(0, len(value)-1).Draw(t, "cut")], true)
		refused(t, one, at, append(slices.Clone(value), 0), true)
	})
}

func refused(t *rapid.T, keys *Keys, at label, value []byte, damaged bool) {
	t.Helper()
	got, why := keys.open(&at, slices.Clone(value))
	if why == nil || got != nil || why.Damaged != damaged || !errors.Is(why, dedupe.ErrSealed) || why.Key != at.key {
		t.Fatalf("opened as %q, %+v", got, why)
	}
}

// Parts are told from each other by their lengths: moving a border makes another event.
func TestBordersBetweenParts(t *testing.T) {
	keys := keysOf(t, "a")
	at := label{purpose: forBody, namespace: "ns", key: dedupe.Key{Scope: "a/b", EventID: "cd"}}
	value := keys.seal(&at, []byte("x"))
	for _, other := range []label{
		{purpose: forBody, namespace: "ns", key: dedupe.Key{Scope: "a/bc", EventID: "d"}},
		{purpose: forBody, namespace: "n", key: dedupe.Key{Scope: "sa/b", EventID: "cd"}},
		{purpose: forBody + "n", namespace: "s", key: dedupe.Key{Scope: "a/b", EventID: "cd"}},
	} {
		if _, why := keys.open(&other, slices.Clone(value)); why == nil {
			t.Errorf("opened for %+v", other)
		}
	}
}

func TestAKeyThatIsNotAtHandIsNamed(t *testing.T) {
	at := label{purpose: forBody, key: dedupe.Key{Scope: "a/b", EventID: "c"}}
	value := keysOf(t, "a").seal(&at, []byte(canary))
	for _, keys := range []*Keys{nil, keysOf(t, "b"), keysOf(t, off)} {
		_, why := keys.open(&at, slices.Clone(value))
		if why == nil || why.Damaged || why.KeyID != keyID(t, "a") {
			t.Errorf("got %+v", why)
		}
	}
}

func TestRequestsSurviveSealing(t *testing.T) {
	keys := keysOf(t, "a")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) })
		want := &dedupe.Job{
			Method: "M" + text.Draw(t, "method"), Target: text.Draw(t, "target"), Host: text.Draw(t, "host"),
			Header: rapid.MapOf(text, rapid.SliceOf(text)).Draw(t, "header"), Body: rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
		}
		at := genLabel().Draw(t, "label")
		value := sealRequest(keys, &at, want)
		if !value.IsSealed() || value.Target+value.Host != "" || len(value.Header) != 0 {
			t.Fatalf("sealed as %+v", value)
		}
		got, why := openRequest(keys, &at, value)
		if why != nil || got.Method != want.Method || got.Target != want.Target || got.Host != want.Host || !bytes.Equal(got.Body, want.Body) {
			t.Fatalf("opened as %+v, %v", got, why)
		}
		if len(got.Header) != len(want.Header) {
			t.Fatalf("opened with %v", got.Header)
		}
		for name, values := range want.Header {
			if kept, has := got.Header[name]; !has || !slices.Equal(kept, values) {
				t.Fatalf("opened with %v", got.Header)
			}
		}
	})
}

func FuzzOpen(f *testing.F) {
	keys := keysOf(f, "a", "b")
	at := label{purpose: forRequest, namespace: "ns", key: dedupe.Key{Scope: "a/b", EventID: "c"}}
	f.Add(sealRequest(keys, &at, &dedupe.Job{Method: "POST", Body: []byte("x")}).Body)
	f.Add([]byte{dedupe.SealVersion})
	f.Add(keys.seal(&at, nil))
	f.Fuzz(func(t *testing.T, value []byte) {
		job, why := openRequest(keys, &at, dedupe.SealedJob(slices.Clone(value)))
		if (job == nil) == (why == nil) || job != nil && job.IsSealed() {
			t.Fatalf("%+v and %v", job, why)
		}
	})
}

// FuzzRequest: what was sealed is read whatever it is, without a panic and without more memory than it has bytes.
func FuzzRequest(f *testing.F) {
	f.Add(appendRequest(nil, &dedupe.Job{Method: "POST", Target: "/", Host: "h", Header: map[string][]string{"A": {"1", ""}, "B": {}}, Body: []byte("x")}))
	f.Add([]byte("\x01P\x00\x00\x7f"))
	f.Fuzz(func(t *testing.T, packed []byte) {
		job, well := readRequest(packed)
		if !well {
			return
		}
		again, well := readRequest(appendRequest(nil, job))
		if !well || again.Method != job.Method || !bytes.Equal(again.Body, job.Body) || len(again.Header) != len(job.Header) {
			t.Fatalf("%+v became %+v", job, again)
		}
	})
}
