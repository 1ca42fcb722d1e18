package delivery

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// maxTokenBytes bounds event IDs and event types.
const maxTokenBytes = 255

// EventID is a sender's name for an event: 1 to 255 bytes of 0x21 to 0x7E. It is unique within a scope only.
type EventID string

// ParseEventID checks an event ID. The error does not carry the ID, which may be anything.
func ParseEventID(text string) (EventID, error) {
	if err := CheckToken(text); err != nil {
		return "", fmt.Errorf("event ID %w", err)
	}
	return EventID(text), nil
}

// CheckToken tells whether text is 1 to 255 bytes of 0x21 to 0x7E, the form of event IDs and event types. The error does
// not carry the text.
func CheckToken(text string) error {
	if text == "" {
		return fmt.Errorf("is empty")
	}
	if len(text) > maxTokenBytes {
		return fmt.Errorf("has %d bytes, at most %d are allowed", len(text), maxTokenBytes)
	}
	for i := range len(text) {
		if text[i] < 0x21 || text[i] > 0x7e {
			return fmt.Errorf("has byte 0x%02x at position %d, allowed are 0x21 to 0x7e", text[i], i)
		}
	}
	return nil
}

// Reference names an event in logs, metrics and traces without telling its ID: the first 16 hex digits of SHA-256 over
// the length-prefixed scope and ID.
func Reference(scope Scope, id EventID) string {
	sum := HashParts([]byte(scope), []byte(id))
	return hex.EncodeToString(sum[:8])
}

// smallParts is how many bytes HashParts puts together on the stack: most events, with the lengths.
const smallParts = 2048

// HashParts is SHA-256 over parts, each preceded by its length as 8 bytes in big-endian order, so that no two lists of
// parts are hashed alike.
func HashParts(parts ...[]byte) [sha256.Size]byte {
	size := 0
	for _, part := range parts {
		size += 8 + len(part)
	}
	if size <= smallParts {
		return hashSmall(parts)
	}
	digest := sha256.New()
	var length []byte
	for _, part := range parts {
		length = binary.BigEndian.AppendUint64(length[:0], uint64(len(part)))
		digest.Write(length)
		digest.Write(part)
	}
	var sum [sha256.Size]byte
	digest.Sum(sum[:0])
	return sum
}

// hashSmall copies the parts, which costs less than the memory for a digest.
func hashSmall(parts [][]byte) [sha256.Size]byte {
	var room [smallParts]byte
	all := room[:0]
	for _, part := range parts {
		all = binary.BigEndian.AppendUint64(all, uint64(len(part)))
		all = append(all, part...)
	}
	return sha256.Sum256(all)
}
