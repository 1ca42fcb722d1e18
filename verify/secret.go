package verify

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
)

// checkSecret refuses what is surely no secret.
func checkSecret(secret []byte) error {
	if len(bytes.TrimSpace(secret)) == 0 {
		return errors.New("empty or only white space")
	}
	if bytes.HasPrefix(secret, []byte("\xef\xbb\xbf")) {
		return errors.New("begins with a byte order mark")
	}
	if bytes.IndexByte(secret, 0) >= 0 {
		return errors.New("holds a NUL byte; is the file UTF-16?")
	}
	return nil
}

// checkPart refuses what is surely no secret as a part of a larger one.
func checkPart(name, part string) error { return field(name, checkSecret([]byte(part))) }

// decodeSecret reads a secret as a sender's dashboard shows it. The error never holds a part of it.
func decodeSecret(secret []byte, form string) ([]byte, error) {
	switch form {
	case "", "raw":
		return secret, nil
	case "hex":
		return decodeWith(hex.DecodeString, secret, "hex")
	case "base64":
		return decodeWith(decodeBase64, secret, "base64")
	}
	return nil, fmt.Errorf("%q is none of raw, hex, base64", form)
}

func decodeWith(decode func(string) ([]byte, error), secret []byte, form string) ([]byte, error) {
	out, err := decode(string(bytes.TrimSpace(secret)))
	if err != nil {
		return nil, fmt.Errorf("not %s", form)
	}
	if len(out) == 0 {
		return nil, errors.New("empty")
	}
	return out, nil
}

// decodeBase64 is strict: padded, no line ends, no stray bits in the last character, so that there is one text for each
// value.
func decodeBase64(text string) ([]byte, error) {
	for i := range len(text) {
		if text[i] == '\r' || text[i] == '\n' {
			return nil, errors.New("line end in base64")
		}
	}
	return base64.StdEncoding.Strict().DecodeString(text)
}
