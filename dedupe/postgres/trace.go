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
		digits := text[3:35] + text[36:52] + text[53:]
		if number, err := hex.DecodeString(digits); err == nil {
			packed = append(packed, number...)
		}
	}
	if len(packed) == 26 && unpackTrace(packed) == text { // upper-case digits would come back in lower case
		return packed
	}
	return append([]byte{traceText}, text...)
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
