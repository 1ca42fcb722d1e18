package sqlite

import (
	"reflect"
	"testing"
)

func FuzzDecodeHeader(f *testing.F) {
	f.Add(encodeHeader(nil))
	f.Add(encodeHeader(map[string][]string{"A": {"1", "", "\x00\xff"}, "": {}}))
	f.Add([]byte{1, 1, 'A', 200})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		header, err := decodeHeader(encoded)
		if err != nil {
			return
		}
		again, err := decodeHeader(encodeHeader(header))
		if err != nil || !reflect.DeepEqual(again, header) {
			t.Errorf("%q came back as %q, %v", header, again, err)
		}
	})
}

func TestATruncatedHeaderIsAnError(t *testing.T) {
	whole := encodeHeader(map[string][]string{"Location": {"/1", "/2"}, "Etag": {"x"}})
	for length := range len(whole) {
		if header, err := decodeHeader(whole[:length]); err == nil {
			t.Errorf("%d bytes are %q", length, header)
		}
	}
	if header, err := decodeHeader(append(whole, 0)); err == nil {
		t.Errorf("one byte more is %q", header)
	}
}
