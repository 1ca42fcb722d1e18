package postgres

import "encoding/hex"

// The first byte of a stored trace says how the rest is written.
const (
	traceBinary = 0x00 // a traceparent of version 00: 25 bytes
	traceText   = 0xff // anything else, as it is
)

// packTrace writes a traceparent in 26 bytes. Empty stays empty.
func packTrace(text string) []byte {
	if text == "" {
		return []byte{}
	}
	packed := append(make([]byte, 0, 26), traceBinary)
	if len(text) == 55 && text[:3] == "00-" && text[35] == '-' && text[52] == '-' {
		for _, digits := range [...]string{text[3:35], text[36:52], text[53:]} {
			packed = appendHex(packed, digits)
		}
	}
	if len(packed) == 26 {
		return packed
	}
	return append([]byte{traceText}, text...)
}

// appendHex adds what digits say. It adds nothing if one is no digit, or in upper case, which would come back in lower case.
func appendHex(to []byte, digits string) []byte {
	from := len(to)
	for i := 0; i < len(digits); i += 2 {
		high, low := hexValue(digits[i]), hexValue(digits[i+1])
		if high > 0xf || low > 0xf {
			return to[:from]
		}
		to = append(to, high<<4|low)
	}
	return to
}

func hexValue(digit byte) byte {
	switch {
	case digit >= '0' && digit <= '9':
		return digit - '0'
	case digit >= 'a' && digit <= 'f':
		return digit - 'a' + 10
	default:
		return 0xff
	}
}

// unpackTrace reads what packTrace wrote; anything else is empty.
func unpackTrace(packed []byte) string {
	switch {
	case len(packed) == 26 && packed[0] == traceBinary:
		digits := hex.EncodeToString(packed[1:])
		return "00-" + digits[:32] + "-" + digits[32:48] + "-" + digits[48:]
	case len(packed) > 0 && packed[0] == traceText:
		return string(packed[1:])
	}
	return ""
}
