package dedupe

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Sum is a link of a chain: of an event's evidence, or of a scope's checkpoints. The zero Sum is before every chain.
type Sum [sha256.Size]byte

// String is the sum in hex.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// SumOf reads a stored sum of evidence; none is before every chain. One of another length is none of ours, and becomes one that
// equals none.
func SumOf(stored []byte) Sum {
	if len(stored) == 0 {
		return Sum{}
	}
	return SealOf(stored)
}

// SealOf reads a stored sum of a checkpoint like SumOf, but it is never empty.
func SealOf(stored []byte) Sum {
	if len(stored) != sha256.Size {
		return sha256.Sum256(stored)
	}
	return Sum(stored)
}

var errSum = errors.New("want a sum of 64 hex digits")

// ParseSum reads what String writes.
func ParseSum(text string) (Sum, error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != sha256.Size {
		return Sum{}, errSum
	}
	return Sum(raw), nil
}

// Evidence is a transition that was not the happy path. The happy path is told by the receipt itself. At, Until, Sum and
// Checkpoint are the store's.
type Evidence struct {
	At           time.Time
	From         State
	To           State
	Attempt      int
	Reason       Reason
	Status       int       // of the application's answer; 0: none
	Actor        string    // replica, or person
	Note         string    // a person's reason
	CredentialID string    // of the delivery, or of the job, whose transition it is; empty: a person's or the sweeper's
	Until        time.Time // when the receipt may be forgotten, as of this transition; zero: not
	Sum          Sum       // continues the event's chain; zero: an older version wrote it, which did not chain
	Checkpoint   int64     // number of the one that sealed it; 0: none yet
}

// Content hashes what the writer of a row says.
func (e *Evidence) Content(key Key) [sha256.Size]byte {
	number := func(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) } //nolint:gosec // only its bits matter
	return delivery.HashParts([]byte("evidence"), []byte(key.Scope), []byte(key.EventID), number(int(e.From)),
		number(int(e.To)), number(e.Attempt), []byte(e.Reason), number(e.Status), []byte(e.Actor), []byte(e.Note),
		[]byte(e.CredentialID))
}

// Link is the Sum that a row has behind one with the sum previous: SHA-256 over previous, if there is one, At and Until as
// 64 bits of microseconds since 1970, and Content. A store that computes it itself computes the same.
func (e *Evidence) Link(key Key, previous Sum) Sum {
	var room [2*sha256.Size + 16]byte
	all := room[:0]
	if previous != (Sum{}) {
		all = append(all, previous[:]...)
	}
	all = appendMicros(all, e.At.UnixMicro())
	all = appendMicros(all, UntilMicros(e.Until))
	content := e.Content(key)
	return sha256.Sum256(append(all, content[:]...))
}

// UntilMicros is an end in microseconds since 1970; one that never comes is the greatest number.
func UntilMicros(until time.Time) int64 {
	if until.IsZero() {
		return math.MaxInt64
	}
	return until.UnixMicro()
}

func appendMicros(to []byte, micros int64) []byte {
	return binary.BigEndian.AppendUint64(to, uint64(micros)) //nolint:gosec // only its bits matter
}
