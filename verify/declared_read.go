package verify

import (
	"net/http"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// read takes the signatures and the time out of the headers.
func (s *declared) read(h http.Header, n names) (signed, *Rejection) {
	for _, must := range s.demands {
		value, rejection := one(h, must.name, AlgorithmRefused, AlgorithmRefused)
		if rejection != nil || value != must.value {
			return signed{}, reject(AlgorithmRefused)
		}
	}
	found, rejection := s.signatures(h, n)
	if rejection == nil && n.timestamp != "" {
		found.stamp, rejection = one(h, n.timestamp, TimestampMissing, TimestampRepeated)
	}
	return found, rejection
}

// signatures joins the signatures of all headers that may hold one. A malformed one counts as long as no other is good.
func (s *declared) signatures(h http.Header, n names) (signed, *Rejection) {
	var all signed
	var fault *Rejection
	for _, name := range n.signatures {
		if len(h[name]) == 0 {
			continue
		}
		value, rejection := one(h, name, SignatureMissing, SignatureRepeated)
		if rejection == nil {
			var found signed
			found, rejection = s.syntax.parse(value, s.size)
			all.macs = append(all.macs, found.macs...)
			all.public = append(all.public, found.public...)
			all.stamp = found.stamp
		}
		if rejection != nil && rejection.Reason != SignatureMalformed {
			return all, rejection
		}
		if rejection != nil {
			fault = rejection
		}
	}
	if len(all.macs)+len(all.public) == 0 {
		return all, fault
	}
	return all, nil
}

// message is what the sender must have signed, one part for each piece of the template.
func (s *declared) message(d *delivery.Delivery, n names, stamp string) ([][]byte, *Rejection) {
	out := make([][]byte, 0, len(s.template)+1)
	for i, p := range s.template {
		switch p.kind {
		case literal:
			out = append(out, []byte(p.text))
		case pieceTimestamp:
			out = append(out, []byte(stamp))
		case pieceBody:
			out = append(out, d.Body)
		case pieceURL:
			if s.origin == "" {
				return nil, reject(PublicURLMissing)
			}
			out = append(out, []byte(s.origin+d.Target))
		case pieceMethod:
			out = append(out, []byte(d.Method))
		default:
			value, rejection := s.header(d.Header, n, i)
			if rejection != nil {
				return nil, rejection
			}
			out = append(out, []byte(value))
		}
	}
	return out, nil
}

func (s *declared) header(h http.Header, n names, i int) (string, *Rejection) {
	name := s.template[i].text
	if s.template[i].kind == pieceID {
		name = n.id
	}
	value, rejection := one(h, name, SignedPartMissing, SignedPartRepeated)
	if rejection != nil {
		return "", rejection
	}
	for _, stop := range s.template.stops(i) {
		if strings.Contains(value, stop) {
			return "", reject(SignedPartAmbiguous)
		}
	}
	return value, nil
}
