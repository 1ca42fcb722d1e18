package config

import (
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// Integration is one entry of the integrations file with every default filled in. It does not change after loading.
type Integration struct {
	Scope          delivery.Scope
	Route          string
	Methods        []string
	Provider       string
	Enabled        bool
	Paused         bool
	Credentials    []Credential
	Require        map[string][]string
	PublicURL      string
	UnsignedID     verify.UnsignedID  // empty: the preset's
	Handshake      verify.Handshake   // empty: the preset's
	Fingerprint    verify.Fingerprint // zero: the preset's
	MaxBody        int64
	Timeout        time.Duration
	Lease          time.Duration
	DuplicateWait  time.Duration
	InFlightStatus int
	Record         Record
	ReplayConflict bool
	Quarantine     bool
	ForwardLimit   dedupe.Limit
	Accept         bool         // mode: accept
	Queue          bool         // on_failure: queue
	Retry          dedupe.Limit // of the worker's attempts
	Backoff        dedupe.Backoff
	Concurrency    int // of the worker; 0: no limit
	Acknowledge    proxy.Acknowledgement
	Retention      Retention
	KeyHeader      string
	KeyScoped      bool
	HMAC           *verify.HMAC
	Event          verify.Event
	Owner          string
	DocsReviewed   time.Time // zero: nobody said

	preset verify.Preset
	at     position
}

// Record says which answers are final and what is kept of them.
type Record struct {
	Statuses Statuses
	Rejected Statuses // accept mode
	Headers  []string // canonical
	MaxBody  int64

	saysRejected bool // and it is not the default
}

// Retention is how long rows live.
type Retention struct {
	SenderWindow time.Duration
	RepairWindow time.Duration
	ClockSkew    time.Duration
	DeadLetter   time.Duration
}

// Receipt is how long a receipt lives after its event is over.
func (r Retention) Receipt() time.Duration { return r.SenderWindow + r.RepairWindow + r.ClockSkew }

// Credential is one key of an integration.
type Credential struct {
	verify.Credential
	Origin string // where the secret is from: "file PATH", "env NAME" or "the sender"
	line   int
}

// position tells where parts of an integration are written, for problems that show up later.
type position struct {
	file  string
	path  string
	line  int
	lines map[string]int // by key; absent where the default is used
}

func (p position) problem(key, text string) Problem {
	line := p.line
	if written, ok := p.lines[key]; ok {
		line = written
	}
	path := p.path
	if key != "" {
		path += "." + key
	}
	return Problem{File: p.file, Line: line, Key: path, Text: text}
}

// complaint turns what a room says about its configuration ("hmac.signed: …") into a problem on the line of that key.
func (p position) complaint(text string) Problem {
	path, rest, found := strings.Cut(text, ": ")
	key, _, _ := strings.Cut(path, ".")
	if !found || strings.ContainsAny(path, " \t") {
		return p.problem("", text)
	}
	problem := p.problem(key, rest)
	problem.Key = p.path + "." + path
	return problem
}
