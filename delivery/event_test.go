package delivery

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever the sizes, the parts are hashed as told, one behind the other with their lengths.
func TestHashPartsIsOverLengthsAndParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(1990, 2060), rapid.Just(9000)), 0, 6).
			Draw(t, "sizes")
		fill := rapid.Byte().Draw(t, "fill")
		var parts [][]byte
		var all []byte
		for i, size := range sizes {
			part := bytes.Repeat([]byte{fill + byte(i)}, size)
			parts = append(parts, part)
			all = binary.BigEndian.AppendUint64(all, uint64(size))
			all = append(all, part...)
		}
		if got, want := HashParts(parts...), sha256.Sum256(all); got != want {
			t.Fatalf("got %x, want %x", got, want)
		}
	})
}

func TestHashPartsOfAnEventTakesNoMemory(t *testing.T) {
	body := []byte(strings.Repeat("x", 1024))
	if n := testing.AllocsPerRun(100, func() { HashParts([]byte("body"), body) }); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkHashParts(b *testing.B) {
	body := []byte(strings.Repeat("x", 1024))
	b.ReportAllocs()
	for b.Loop() {
		HashParts([]byte("body"), body)
	}
}
