package verify

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// sign signs with the first set of header names. An ID that is to be signed is taken from the delivery or made up.
func (s *declared) sign(d *delivery.Delivery, now time.Time, by *credential) (http.Header, error) {
	key, err := symmetric(by)
	if err != nil {
		return nil, err
	}
	out := http.Header{}
	n := s.variants[0]
	if n.id != "" {
		out.Set(n.id, firstOr(d.Header, n.id, inventID))
	}
	stamp := ""
	if s.unit != "" {
		stamp = formatTime(now, s.unit)
	}
	if n.timestamp != "" {
		out.Set(n.timestamp, stamp)
	}
	copied := *d
	copied.Header = merged(d.Header, out)
	message, rejection := s.message(&copied, n, stamp)
	if rejection != nil {
		return nil, rejection
	}
	s.write(out, n, stamp, key.sum(message), by)
	return out, nil
}

func (s *declared) write(out http.Header, n names, stamp string, mac []byte, by *credential) {
	value := s.syntax.prefix + encode(mac, s.syntax.encoding)
	if s.syntax.stamp != "" {
		value = s.syntax.stamp + stamp + string(s.syntax.separator) + value
	}
	out.Set(n.signatures[0], value)
	for _, must := range s.demands {
		out.Set(must.name, must.value)
	}
	if s.keyID != "" {
		out.Set(s.keyID, by.ID)
	}
}

func symmetric(by *credential) (*macKey, error) {
	if holder, ok := by.key.(macHolder); ok {
		return holder.macs()[0], nil
	}
	return nil, errors.New("credential " + by.ID + " holds a public key, which can only verify")
}

// inventID makes an event ID that nobody has used.
func inventID() string {
	var random [12]byte
	rand.Read(random[:])
	return "evt_" + hex.EncodeToString(random[:])
}

func firstOr(h http.Header, name string, fallback func() string) string {
	if values := h[name]; len(values) > 0 && values[0] != "" {
		return values[0]
	}
	return fallback()
}

// merged is a copy of base in which the fields of over replace those of the same name.
func merged(base, over http.Header) http.Header {
	out := http.Header{}
	for name, values := range base {
		out[name] = values
	}
	for name, values := range over {
		out[name] = values
	}
	return out
}
