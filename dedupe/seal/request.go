package seal

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// A request is sealed as a whole: method, target and host, a number of header fields, and for each its name, a number of
// values, and the values; then the body. Numbers are unsigned varints, and every text is behind its length.

// sizeOf is at least what a packed request takes.
func sizeOf(j *dedupe.Job) int {
	size := 64 + len(j.Method) + len(j.Target) + len(j.Host) + len(j.Body)
	for name, values := range j.Header {
		size += 16 + len(name)
		for _, value := range values {
			size += 8 + len(value)
		}
	}
	return size
}

func appendRequest(to []byte, j *dedupe.Job) []byte {
	for _, text := range []string{j.Method, j.Target, j.Host} {
		to = appendText(to, text)
	}
	to = binary.AppendUvarint(to, uint64(len(j.Header)))
	for _, name := range slices.Sorted(maps.Keys(j.Header)) {
		to = binary.AppendUvarint(appendText(to, name), uint64(len(j.Header[name])))
		for _, value := range j.Header[name] {
			to = appendText(to, value)
		}
	}
	return append(to, j.Body...)
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// readRequest reads what appendRequest wrote; false for anything else. The body shares its memory with packed.
func readRequest(packed []byte) (*dedupe.Job, bool) {
	r := reader{rest: packed}
	job := &dedupe.Job{Method: r.text(), Target: r.text(), Host: r.text(), Header: map[string][]string{}}
	for range r.count() {
		name := r.text()
		values := make([]string, r.count())
		for i := range values {
			values[i] = r.text()
		}
		if r.bad {
			return nil, false
		}
		job.Header[name] = values
	}
	job.Body = r.rest
	return job, !r.bad && !job.IsSealed()
}

// reader takes parts off its front. After the first part that is not there everything is empty.
type reader struct {
	rest []byte
	bad  bool
}

// count is a number of things to come, each at least one byte long.
func (r *reader) count() int {
	n, size := binary.Uvarint(r.rest)
	if r.bad || size <= 0 || n > uint64(len(r.rest)-size) {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *reader) text() string {
	n := r.count()
	text := string(r.rest[:n])
	r.rest = r.rest[n:]
	return text
}
