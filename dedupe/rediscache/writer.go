package rediscache

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// writer appends the parts of a value.
type writer struct {
	buffer []byte
	fits   bool
}

func (w *writer) identity(kind uint64, scope delivery.Scope, id delivery.EventID) {
	w.uint8(version)
	w.uint8(kind)
	w.short(string(scope))
	w.short(string(id))
}

func (w *writer) response(r *delivery.Response) {
	w.uint16(uint64(r.Status))
	w.uint16(uint64(len(r.Header)))
	for _, name := range sortedNames(r.Header) {
		w.long(name)
		w.uint16(uint64(len(r.Header[name])))
		for _, value := range r.Header[name] {
			w.long(value)
		}
	}
	w.uint32(uint64(len(r.Body)))
	w.buffer = append(w.buffer, r.Body...)
}

func (w *writer) bound(n uint64, most uint64) {
	if n > most {
		w.fits = false
	}
}

func (w *writer) uint8(n uint64) {
	w.bound(n, math.MaxUint8)
	w.buffer = append(w.buffer, byte(n))
}

func (w *writer) uint16(n uint64) {
	w.bound(n, math.MaxUint16)
	w.buffer = binary.BigEndian.AppendUint16(w.buffer, uint16(n))
}

func (w *writer) uint32(n uint64) {
	w.bound(n, math.MaxUint32)
	w.buffer = binary.BigEndian.AppendUint32(w.buffer, uint32(n))
}

func (w *writer) uint64(n uint64) { w.buffer = binary.BigEndian.AppendUint64(w.buffer, n) }

// short is for at most 255 bytes.
func (w *writer) short(text string) {
	w.uint8(uint64(len(text)))
	w.buffer = append(w.buffer, text...)
}

// long is for at most 65,535 bytes.
func (w *writer) long(text string) {
	w.uint16(uint64(len(text)))
	w.buffer = append(w.buffer, text...)
}

func sortedNames(header map[string][]string) []string {
	if len(header) == 0 {
		return nil
	}
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func headerSize(header map[string][]string) int {
	size := 0
	for name, values := range header {
		size += 4 + len(name)
		for _, value := range values {
			size += 2 + len(value)
		}
	}
	return size
}
