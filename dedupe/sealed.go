package dedupe

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// ErrSealed tells that what is kept of an event is sealed and cannot be opened here: the key is not at hand, or the bytes
// are not what was sealed for this event. Trying again does not help, and no other event is concerned. The error is a
// *SealedError.
var ErrSealed = errors.New("what is kept of the event cannot be opened")

// KeyID names a key that seals. It is made of the key and tells nothing about it.
type KeyID [8]byte

// String is the ID as people compare it: 16 hex digits.
func (id KeyID) String() string { return hex.EncodeToString(id[:]) }

// SealedError says what cannot be opened, and which key it wants. It wraps ErrSealed and carries nothing that is secret.
type SealedError struct {
	Key     Key
	KeyID   KeyID
	Damaged bool // the key is at hand, or none is named: the bytes are not what was sealed for this event
}

// Error names the event by its reference, and the key by its ID.
func (e *SealedError) Error() string {
	return fmt.Sprintf("event %s: %s", delivery.Reference(e.Key.Scope, e.Key.EventID), e.Cause())
}

// Cause is the error without the event.
func (e *SealedError) Cause() string {
	switch {
	case e.Damaged && e.KeyID == KeyID{}:
		return "what is kept is damaged: it is neither what was said nor a sealed value"
	case e.Damaged:
		return fmt.Sprintf("what is kept is sealed with key %s and damaged, or was not sealed for this event", e.KeyID)
	default:
		return fmt.Sprintf("what is kept is sealed with key %s, which is not at hand", e.KeyID)
	}
}

// Unwrap is ErrSealed.
func (e *SealedError) Unwrap() error { return ErrSealed }

// How a store tells what is sealed, without a column for it. A request is sealed where it has no method, which none has:
// its body is the sealed value of the whole request. A recorded body is sealed where it is there although it is marked
// omitted. A store keeps these parts apart and knows nothing else of it.

// SealVersion is the first byte of a sealed value; the ID of its key follows.
const SealVersion = 1

// SealHead is how many bytes of a sealed value SealedBy wants to see.
const SealHead = 1 + len(KeyID{})

// SealedBy reads which key sealed a value; false for what is none.
func SealedBy(value []byte) (KeyID, bool) {
	if len(value) < SealHead || value[0] != SealVersion {
		return KeyID{}, false
	}
	return KeyID(value[1:SealHead]), true
}

// Unopened is why a sealed request whose value begins so cannot be opened without any key.
func Unopened(key Key, head []byte) *SealedError {
	id, well := SealedBy(head)
	return &SealedError{Key: key, KeyID: id, Damaged: !well}
}

// SealedJob is a request as a store keeps it sealed.
func SealedJob(value []byte) *Job { return &Job{Header: map[string][]string{}, Body: value} }

// DamagedJob is what a store returns for a request that it cannot read any more: nobody can open it, and others go on.
func DamagedJob() *Job { return SealedJob(nil) }

// DamagedResponse is the same of a recorded result.
func DamagedResponse(status int) *delivery.Response {
	return &delivery.Response{Status: status, Header: map[string][]string{}, Body: []byte{0}, Omitted: true}
}

// IsSealed tells that a request is as SealedJob made it.
func (j *Job) IsSealed() bool { return j.Method == "" }

// IsSealed tells that a recorded body is sealed.
func IsSealed(r *delivery.Response) bool { return r.Omitted && len(r.Body) > 0 }
