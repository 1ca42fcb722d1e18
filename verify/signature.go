package verify

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// maxSignatures bounds the entries of a list of signatures.
const maxSignatures = 10

// syntax is how signatures, and in some schemes the time, are written into one header.
type syntax struct {
	separator byte   // between entries; 0: one signature only
	prefix    string // before each signature, such as "sha256=" or "v1,"
	bare      bool   // a signature without the prefix counts as well
	public    string // before each Ed25519 signature, where the scheme has both kinds
	ed25519   bool   // signatures are Ed25519 only
	stamp     string // before the entry that holds the time, such as "t="; empty: not here
	encoding  string // hex or base64
}

// signed is what a signature header said.
type signed struct {
	macs   [][]byte // decoded
	public [][]byte // decoded Ed25519 signatures
	stamp  string   // as sent
}

// parse reads a header. Entries that are no signature of the scheme are passed over: they may be of a newer version.
// size is the length of a MAC.
func (x syntax) parse(header string, size int) (signed, *Rejection) {
	var out signed
	entries, stamped := 0, false
	for rest, more := header, true; more; {
		var entry string
		entry, rest, more = x.cut(rest)
		if stamp, found := cutPrefix(entry, x.stamp); found {
			if stamped {
				return out, reject(TimestampRepeated)
			}
			out.stamp, stamped = stamp, true
			continue
		}
		if entries++; entries > maxSignatures {
			return out, reject(SignatureListTooLong)
		}
		x.collect(&out, entry, size)
	}
	if x.stamp != "" && !stamped {
		return out, reject(TimestampMissing)
	}
	if len(out.macs)+len(out.public) == 0 {
		return out, reject(SignatureMalformed)
	}
	return out, nil
}

func (x syntax) cut(header string) (entry, rest string, more bool) {
	if x.separator == 0 {
		return header, "", false
	}
	if at := strings.IndexByte(header, x.separator); at >= 0 {
		entry, rest, more = header[:at], header[at+1:], true
	} else {
		entry = header
	}
	return strings.Trim(entry, " \t"), rest, more
}

func (x syntax) collect(out *signed, entry string, size int) {
	if value, found := cutPrefix(entry, x.public); found {
		if decoded, ok := decodeFixed(value, x.encoding, ed25519.SignatureSize); ok {
			out.public = append(out.public, decoded)
		}
		return
	}
	value, found := strings.CutPrefix(entry, x.prefix)
	if !found && !x.bare {
		return
	}
	if x.ed25519 {
		if decoded, ok := decodeFixed(value, x.encoding, ed25519.SignatureSize); ok {
			out.public = append(out.public, decoded)
		}
		return
	}
	if decoded, ok := decodeFixed(value, x.encoding, size); ok {
		out.macs = append(out.macs, decoded)
	}
}

// cutPrefix is strings.CutPrefix for a prefix that may not exist.
func cutPrefix(text, prefix string) (string, bool) {
	if prefix == "" {
		return "", false
	}
	return strings.CutPrefix(text, prefix)
}

// decodeFixed decodes size bytes and nothing else. Hex counts in either case; base64 is strict.
func decodeFixed(value, encoding string, size int) ([]byte, bool) {
	if encoding == "hex" {
		if len(value) != hex.EncodedLen(size) {
			return nil, false
		}
		out, err := hex.DecodeString(value)
		return out, err == nil
	}
	if len(value) != base64.StdEncoding.EncodedLen(size) {
		return nil, false
	}
	out, err := decodeBase64(value)
	return out, err == nil && len(out) == size
}

func encode(value []byte, encoding string) string {
	if encoding == "hex" {
		return hex.EncodeToString(value)
	}
	return base64.StdEncoding.EncodeToString(value)
}
