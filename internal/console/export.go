package console

import (
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
)

// Exported are the kinds of lines of an export.
const (
	ExportedEvent      = "event"
	ExportedPause      = "pause"
	ExportedCredential = "credential"
	ExportedRotation   = "rotation"
	ExportedCheckpoint = audit.LogMessage
)

// EventLine is an event in an export: its receipt, without the recorded response, and its transitions.
type EventLine struct {
	Kind string `json:"kind"`
	Receipt
	Head string `json:"chain,omitempty"` // sum of the last chained transition, as the receipt knows it
}

// NewEventLine translates an event.
func NewEventLine(h *dedupe.History) EventLine {
	line := EventLine{Kind: ExportedEvent, Receipt: NewReceipt(h.Receipt())}
	if h.Head != (dedupe.Sum{}) {
		line.Head = h.Head.String()
	}
	return line
}

// PauseLine is a person's word on holding a scope.
type PauseLine struct {
	Kind   string    `json:"kind"`
	Scope  string    `json:"scope"`
	At     time.Time `json:"at"`
	Paused bool      `json:"paused"`
	Actor  string    `json:"actor"`
	Reason string    `json:"reason"`
}

// NewPauseLine translates an act.
func NewPauseLine(act dedupe.PauseAct) PauseLine {
	return PauseLine{
		Kind: ExportedPause, Scope: string(act.Scope), At: utc(act.At), Paused: act.Paused, Actor: act.Actor, Reason: act.Reason,
	}
}

// RotationLine is that a person began to rewrite what is kept under another seal key.
type RotationLine struct {
	Kind    string    `json:"kind"`
	At      time.Time `json:"at"`
	Sealing string    `json:"sealing"` // ID of the first key, or off
	Actor   string    `json:"actor"`
	Reason  string    `json:"reason"`
}

// NewRotationLine translates an act.
func NewRotationLine(act dedupe.RotationAct) RotationLine {
	return RotationLine{Kind: ExportedRotation, At: utc(act.At), Sealing: act.Sealing, Actor: act.Actor, Reason: act.Reason}
}

// CredentialLine is a step of a credential's life. Nothing in it is secret.
type CredentialLine struct {
	Kind        string    `json:"kind"`
	Scope       string    `json:"scope"`
	At          time.Time `json:"at"`
	Credential  string    `json:"credential"`
	Change      string    `json:"change"`
	Status      string    `json:"status"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	Replica     string    `json:"replica"`
}

// NewCredentialLine translates a step.
func NewCredentialLine(e dedupe.CredentialEvent) CredentialLine {
	return CredentialLine{
		Kind: ExportedCredential, Scope: string(e.Scope), At: utc(e.At), Credential: e.ID, Change: string(e.Change),
		Status: string(e.Status), Fingerprint: e.Fingerprint, Replica: e.Replica,
	}
}

// CheckpointLine is a checkpoint in an export, which is an anchor for a later audit.
type CheckpointLine struct {
	Kind     string    `json:"kind"`
	Scope    string    `json:"scope"`
	Number   int64     `json:"number"`
	At       time.Time `json:"at"`
	Rows     int       `json:"rows"`
	Oldest   int64     `json:"oldest"`
	Previous string    `json:"previous"`
	Sum      string    `json:"sum"`
}

// NewCheckpointLine translates a checkpoint.
func NewCheckpointLine(c *dedupe.Checkpoint) CheckpointLine {
	return CheckpointLine{
		Kind: ExportedCheckpoint, Scope: string(c.Scope), Number: c.Number, At: utc(c.At), Rows: audit.Rows(c), Oldest: c.Oldest,
		Previous: c.Previous.String(), Sum: c.Sum.String(),
	}
}
