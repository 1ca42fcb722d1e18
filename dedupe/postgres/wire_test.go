package postgres

import (
	"bytes"
	"net/http"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// header draws fields with coded and other names, and none, one or several values of any bytes.
func header(t *rapid.T) map[string][]string {
	names := rapid.OneOf(rapid.SampledFrom(fieldNames()), rapid.String(), rapid.Just("X-Request-Id"))
	odd := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) })
	values := rapid.OneOf(odd, rapid.SampledFrom(contentTypes()))
	return rapid.MapOfN(names, rapid.SliceOfN(values, 0, 3), 0, 6).Draw(t, "header")
}

func TestResponseSurvivesPacking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &delivery.Response{Header: http.Header(header(t)), Omitted: rapid.Bool().Draw(t, "omitted")}
		got, err := unpackHead(packHead(want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	})
}

func TestRequestSurvivesPacking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &dedupe.Job{
			Method: rapid.String().Draw(t, "method"), Target: rapid.String().Draw(t, "target"),
			Host: rapid.String().Draw(t, "host"), Header: header(t),
			Body: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body"),
		}
		got, err := unpackJob(packJob(want))
		if err != nil || !bytes.Equal(got.Body, want.Body) {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
		got.Body = want.Body
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func TestTraceSurvivesPacking(t *testing.T) {
	const plain = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if packed := packTrace(plain); len(packed) != 26 {
		t.Fatalf("a traceparent takes %d bytes", len(packed))
	}
	odd := []string{
		"", plain, "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", plain + "-x", plain[:54],
		"01" + plain[2:], "00-0af7651916cd43dd8448eb211c80319cxb7ad6b7169203331-01", "\x00", "\xff\x00",
		"00-zzf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a text of exactly 24 byte", "a text of exactly 25 bytes!",
	}
	for _, text := range odd {
		if got := unpackTrace(packTrace(text)); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "trace")
		if got := unpackTrace(packTrace(text)); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// What is read of a damaged row is an error or a value, never a panic, and never more than the row has.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{headPlain, wholeField, wholeField | 14, wholeField | 15})
	f.Add([]byte{headPlain, 1, 3, 'a', '/', 'b'})
	f.Add([]byte{headOmitted, 0, 1, 'x', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{jobFormat, 4, 'P', 'O', 'S', 'T', 1, '/', 0, 2, 0x81, 0x82})
	f.Fuzz(func(t *testing.T, packed []byte) {
		if response, err := unpackHead(packed); err == nil && response != nil {
			if again, err := unpackHead(packHead(response)); err != nil || !reflect.DeepEqual(again, response) {
				t.Fatalf("%+v became %+v, %v", response, again, err)
			}
		}
		if job, err := unpackJob(packed); err == nil {
			if len(job.Body) > len(packed) {
				t.Fatal("a body out of nothing")
			}
			if again, err := unpackJob(packJob(job)); err != nil || !reflect.DeepEqual(again, job) {
				t.Fatalf("%+v became %+v, %v", job, again, err)
			}
		}
		_ = unpackTrace(packed)
	})
}
