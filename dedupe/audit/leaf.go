package audit

import (
	"encoding/binary"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// leafSize is of a leaf as it is stored: an event's tag, the time when its receipt may be forgotten, and a row's sum.
const leafSize = 48

// leaf is what a checkpoint keeps of a row of evidence, also when the row is forgotten.
type leaf struct {
	tag   [8]byte
	until int64 // in µs since 1970; the greatest number: never
	sum   dedupe.Sum
}

func leafOf(scope delivery.Scope, row *dedupe.Sealable) leaf {
	return leaf{tag: dedupe.Tag(scope, row.EventID), until: dedupe.UntilMicros(row.Until), sum: row.Sum}
}

// over tells that the receipt of which this is the last row may have been forgotten.
func (l *leaf) over(now time.Time) bool { return l.until <= now.UnixMicro() }

func pack(scope delivery.Scope, rows []dedupe.Sealable) []byte {
	packed := make([]byte, 0, leafSize*len(rows))
	for i := range rows {
		l := leafOf(scope, &rows[i])
		packed = append(packed, l.tag[:]...)
		packed = binary.BigEndian.AppendUint64(packed, uint64(l.until)) //nolint:gosec // only its bits matter
		packed = append(packed, l.sum[:]...)
	}
	return packed
}

// unpack reads what pack wrote; a piece of a leaf at the end is none.
func unpack(packed []byte) []leaf {
	leaves := make([]leaf, 0, len(packed)/leafSize)
	for ; len(packed) >= leafSize; packed = packed[leafSize:] {
		var l leaf
		copy(l.tag[:], packed)
		l.until = int64(binary.BigEndian.Uint64(packed[8:])) //nolint:gosec // as it was written
		copy(l.sum[:], packed[16:])
		leaves = append(leaves, l)
	}
	return leaves
}

// Rows says how many rows a checkpoint sealed.
func Rows(c *dedupe.Checkpoint) int { return len(c.Leaves) / leafSize }
