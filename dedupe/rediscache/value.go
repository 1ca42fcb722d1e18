package rediscache

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// A value is the version, a payload, and a checksum over the key and both. Every number has a fixed width and every list
// one order, so that a fact has exactly one encoding.
const (
	version      = 0xd1 // changes with every change to the payload
	checksumSize = 4
)

// What a payload can be.
const (
	kindFact     = 1
	kindReopened = 2 // the mark of Reopen: to readers nothing, to writers an obstacle
)

// Flags of a fact.
const (
	flagBound   = 1
	flagOmitted = 2
)

// encode writes a fact as the value of a key. It reports false for what does not fit the encoding.
func encode(key string, f *fact) ([]byte, bool) {
	w := writer{buffer: make([]byte, 0, 192+len(f.response.Body)+headerSize(f.response.Header)), fits: true}
	w.identity(kindFact, f.scope, f.id)
	w.buffer = append(w.buffer, f.fingerprint[:]...)
	w.uint8(flags(f))
	w.uint32(uint64(f.attempt))
	w.uint16(uint64(f.lastStatus))
	w.uint64(uint64(f.created.UnixMilli()))
	w.uint64(uint64(f.confirmed.UnixMilli()))
	w.uint64(uint64(f.expires.UnixMilli()))
	w.short(string(f.reason))
	w.short(f.trace)
	w.response(f.response)
	return stamp(key, w.buffer), w.fits
}

// encodeReopened writes the mark of Reopen.
func encodeReopened(key string, scope delivery.Scope, id delivery.EventID) []byte {
	w := writer{fits: true}
	w.identity(kindReopened, scope, id)
	return stamp(key, w.buffer)
}

func flags(f *fact) uint64 {
	var bits uint64
	if f.bound {
		bits |= flagBound
	}
	if f.response.Omitted {
		bits |= flagOmitted
	}
	return bits
}

// stamp adds the checksum.
func stamp(key string, value []byte) []byte {
	return binary.BigEndian.AppendUint32(value, checksum(key, value))
}

// stamped returns a value's payload, where version and checksum are right for the key.
func stamped(key string, value []byte) ([]byte, bool) {
	if len(value) < 1+checksumSize || value[0] != version {
		return nil, false
	}
	end := len(value) - checksumSize
	if binary.BigEndian.Uint32(value[end:]) != checksum(key, value[:end]) {
		return nil, false
	}
	return payloadOf(value), true
}

// payloadOf cuts the payload out of a value that is known to be good.
func payloadOf(value []byte) []byte { return value[1 : len(value)-checksumSize] }

func checksum(key string, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum([]byte(key), table), table, value)
}
