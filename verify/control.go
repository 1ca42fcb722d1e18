package verify

import (
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// control is one kind of a sender's control messages.
type control struct {
	name string
	// unsigned messages need no signature: they are known by their exact method, parameters and empty body. Where there is a
	// signature all the same, it has to verify.
	unsigned bool
	// awaits tells from the headers alone whether an unsigned message is possible; nil: it has no body.
	awaits func(h http.Header) bool
	// recognises tells whether a request is such a message.
	recognises func(c controlRequest) bool
	// answer is what the sender expects. It is called only for recognised messages, and only where the sidecar answers.
	answer func(c controlRequest) *delivery.Response
}

// controlRequest is what an answer may be made of.
type controlRequest struct {
	document *document
	now      time.Time
	by       *credential // that verified; nil where there is no signature
	keys     ring
	scheme   scheme
}

// awaitsControl tells whether headers without a signature may belong to a control message.
func (v *Verifier) awaitsControl(h http.Header) bool {
	if v.handshake == HandshakeOff || v.scheme.presented(h) && !v.bodySigned {
		return false
	}
	for _, c := range v.preset.controls {
		if c.unsigned && (c.awaits == nil && bodiless(h) || c.awaits != nil && c.awaits(h)) {
			return true
		}
	}
	return false
}

// control finds the control message that a request is. Nothing unsigned passes for a message that needs a signature.
func (v *Verifier) control(c controlRequest) (control, bool) {
	if v.handshake == HandshakeOff {
		return control{}, false
	}
	for _, known := range v.preset.controls {
		if (known.unsigned || c.by != nil) && known.recognises(c) {
			return known, true
		}
	}
	return control{}, false
}

// respond is what is done with a control message.
func (v *Verifier) respond(known control, c controlRequest) *Control {
	out := &Control{Name: known.name}
	if v.handshake == HandshakeAnswer {
		out.Answer = known.answer(c)
	}
	return out
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
