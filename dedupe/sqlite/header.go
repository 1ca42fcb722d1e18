package sqlite

import (
	"encoding/binary"
	"errors"
	"slices"
)

// Header fields are foreign bytes: they are stored as a number of names, and for each its name, a number of values, and
// the values, every string preceded by its length. Numbers are unsigned varints.

var errHeader = errors.New("malformed")

func encodeHeader(header map[string][]string) []byte {
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	encoded := binary.AppendUvarint(nil, uint64(len(names)))
	for _, name := range names {
		encoded = appendText(encoded, name)
		encoded = binary.AppendUvarint(encoded, uint64(len(header[name])))
		for _, value := range header[name] {
			encoded = appendText(encoded, value)
		}
	}
	return encoded
}

func appendText(encoded []byte, text string) []byte {
	encoded = binary.AppendUvarint(encoded, uint64(len(text)))
	return append(encoded, text...)
}

func decodeHeader(encoded []byte) (map[string][]string, error) {
	d := decoder{rest: encoded}
	header := make(map[string][]string)
	for range d.count() {
		name := d.text()
		values := make([]string, d.count())
		for i := range values {
			values[i] = d.text()
		}
		if d.bad {
			break
		}
		header[name] = values
	}
	if d.bad || len(d.rest) > 0 {
		return nil, errHeader
	}
	return header, nil
}

// decoder takes parts off its front. After the first part that is not there everything is empty.
type decoder struct {
	rest []byte
	bad  bool
}

// count is a number of things to come, each at least one byte long.
func (d *decoder) count() int {
	n, size := binary.Uvarint(d.rest)
	if d.bad || size <= 0 || n > uint64(len(d.rest)-size) {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return int(n)
}

func (d *decoder) text() string {
	n := d.count()
	text := string(d.rest[:n])
	d.rest = d.rest[n:]
	return text
}
