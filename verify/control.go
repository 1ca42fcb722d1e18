package verify

import (
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// control recognises one kind of a sender's control messages and knows the answer that the sender expects.
type control struct {
	name string
	// unsigned messages carry no signature: they are known by their exact method, parameters and empty body, and they are
	// looked for only where there is no signature.
	unsigned bool
	// answer gives the answer; found is false where the request is none of these messages.
	answer func(c controlRequest) (answer *delivery.Response, found bool)
}

// controlRequest is what an answer may be made of.
type controlRequest struct {
	document *document
	now      time.Time
	by       *credential // that verified; nil for unsigned messages
	keys     ring
}

func (v *Verifier) awaitsControl() bool {
	if v.handshake == HandshakeOff {
		return false
	}
	for _, c := range v.preset.controls {
		if c.unsigned {
			return true
		}
	}
	return false
}

func (v *Verifier) unsignedControl(d *delivery.Delivery, now time.Time) *Control {
	return v.control(controlRequest{document: &document{delivery: d, tree: v.tree}, now: now, keys: v.keys})
}

func (v *Verifier) signedControl(doc *document, now time.Time, found evidence) *Control {
	return v.control(controlRequest{document: doc, now: now, by: found.by, keys: v.keys})
}

func (v *Verifier) control(c controlRequest) *Control {
	if v.handshake == HandshakeOff {
		return nil
	}
	for _, known := range v.preset.controls {
		if known.unsigned != (c.by == nil) {
			continue
		}
		answer, found := known.answer(c)
		if !found {
			continue
		}
		if v.handshake == HandshakePass {
			answer = nil
		}
		return &Control{Name: known.name, Answer: answer}
	}
	return nil
}

// bodiless tells whether headers announce no body.
func bodiless(h http.Header) bool {
	length := h["Content-Length"]
	empty := len(length) == 0 || len(length) == 1 && length[0] == "0"
	return empty && len(h["Transfer-Encoding"]) == 0
}

// answerText is an answer that browsers never take for a page.
func answerText(status int, kind, body string) *delivery.Response {
	header := http.Header{}
	if kind != "" {
		header.Set("Content-Type", kind)
		header.Set("X-Content-Type-Options", "nosniff")
	}
	return &delivery.Response{Status: status, Header: header, Body: []byte(body)}
}

// plainToken tells whether text is 1 to 256 bytes of letters, digits and -._~=+/: what senders use as challenges. No text
// that a scheme signs for a delivery is of this form, as each has a colon, a brace or a line end in it.
func plainToken(text string) bool {
	if text == "" || len(text) > 256 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '.', c == '_', c == '~', c == '=', c == '+', c == '/':
		default:
			return false
		}
	}
	return true
}
