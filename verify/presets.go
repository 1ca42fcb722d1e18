package verify

import (
	"net/http"
	"slices"
	"strings"
)

// Presets are all senders that are known, by name.
func Presets() []Preset {
	all := slices.Concat(standardSenders(), codeSenders(), shopSenders(), talkSenders(), officeSenders(), specialSenders())
	all = append(all, generic())
	for i := range all {
		all[i].settle()
	}
	slices.SortFunc(all, func(a, b Preset) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// settle fills in what most senders have in common.
func (p *Preset) settle() {
	if p.Methods == nil {
		p.Methods = []string{http.MethodPost}
	}
	if p.MaxBody == 0 {
		p.MaxBody = 1 << 20
	}
	if p.InFlightStatus == 0 {
		p.InFlightStatus = http.StatusServiceUnavailable
	}
	if p.UnsignedID == "" {
		p.UnsignedID = Bind
	}
	if p.Handshake == "" {
		p.Handshake = HandshakePass
	}
	for _, c := range p.controls {
		if !slices.Contains(p.Controls, c.name) {
			p.Controls = append(p.Controls, c.name)
		}
	}
}

func generic() Preset {
	return Preset{
		Name:      "hmac",
		Title:     "Any sender with an HMAC, declared by the operator",
		Tolerance: defaultTolerance,
		Symmetric: true,
		Signed:    "what hmac.signed says",
		Secret:    "the shared secret, encoded as hmac.secret_encoding says",
		Choose:    "say where the sender puts the event ID",
		Advice:    []string{"Prefer a scheme that signs a timestamp and the event ID."},
		Sources:   []string{"RFC 2104"},
		Reviewed:  reviewed,
		build:     newGeneric,
	}
}

// reviewed is when the sources of the presets were last read.
const reviewed = "2026-11-30"
