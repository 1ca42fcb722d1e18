package audit

import (
	"bytes"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

func TestLeavesComeBack(t *testing.T) {
	rows := []dedupe.Sealable{
		{EventID: "evt_1", Sum: dedupe.Sum{1}},
		{EventID: "evt_2", Sum: dedupe.Sum{2}, Until: time.UnixMicro(1_800_000_000_000_001).UTC()},
	}
	packed := pack("acme/orders", rows)
	got := unpack(packed)
	if len(packed) != 2*leafSize || len(got) != 2 || got[0] != leafOf("acme/orders", &rows[0]) || got[1] != leafOf("acme/orders", &rows[1]) {
		t.Fatalf("%x comes back as %+v", packed, got)
	}
	for _, at := range []struct {
		micros int64
		want   bool
	}{{1_800_000_000_000_000, false}, {1_800_000_000_000_001, true}, {1 << 62, true}} {
		if now := time.UnixMicro(at.micros); got[1].over(now) != at.want || got[0].over(now) {
			t.Errorf("at %v the rows are over: %t and %t", now, got[0].over(now), got[1].over(now))
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{})
	f.Add(pack("acme/orders", []dedupe.Sealable{{EventID: "evt_1", Sum: dedupe.Sum{1}}}))
	f.Add(make([]byte, 2*leafSize+1))
	f.Fuzz(func(t *testing.T, packed []byte) {
		leaves := unpack(packed)
		if len(leaves) != len(packed)/leafSize {
			t.Fatalf("%d bytes are %d leaves", len(packed), len(leaves))
		}
		for i, l := range leaves {
			raw := packed[i*leafSize : (i+1)*leafSize]
			if !bytes.Equal(raw[:8], l.tag[:]) || !bytes.Equal(raw[16:], l.sum[:]) {
				t.Fatalf("%x is %+v", raw, l)
			}
		}
	})
}
