package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"time"
)

// idSize is the length of an event ID, evt_ and 24 hex digits: as long as Stripe's.
const idSize = 28

// idOf is the nth event's ID. Most senders' IDs come in no order, and an index is not filled from one end; ordered ones
// rise, as those do that begin with the time.
func idOf(seed, n uint64, ordered bool) [idSize]byte {
	high := mix(n + mix(seed))
	if ordered {
		high = 0x9000_0000_0000_0000 + seed<<48 + n
	}
	var raw [12]byte
	binary.BigEndian.PutUint64(raw[:8], high)
	binary.BigEndian.PutUint32(raw[8:], uint32(mix(n))) //nolint:gosec // only makes IDs look alike
	var id [idSize]byte
	copy(id[:], "evt_")
	hex.Encode(id[4:], raw[:])
	return id
}

// mix is a bijection that scatters (splitmix64's finalizer).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// writer makes signed deliveries, each in the same buffer. For one goroutine.
type writer struct {
	seed    uint64
	ordered bool
	mac     hash.Hash
	sum     []byte
	request []byte
	stamp   []byte // the current second, as the header has it
	second  int64
	at      struct{ stamp, signature, body, id int }
}

const bodyHead = `{"id":"`

// newWriter lays out a request whose body has the given size; only time, signature and ID change later.
func newWriter(s settings) (*writer, error) {
	body := eventBody(s.size)
	if body == nil {
		return nil, fmt.Errorf("an event does not fit in %d bytes", s.size)
	}
	if s.nameless {
		body = bytes.Replace(body, []byte(`"object":{"id":`), []byte(`"object":{"no":`), 1)
	}
	w := &writer{seed: s.seed, ordered: s.ordered, mac: hmac.New(sha256.New, []byte(s.secret))}
	head := "POST " + s.target + " HTTP/1.1\r\nHost: hooks.example.com\r\nUser-Agent: Stripe/1.0\r\nAccept: */*\r\n" +
		"Content-Type: application/json; charset=utf-8\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\nStripe-Signature: t="
	w.at.stamp = len(head)
	head += "0000000000,v1="
	w.at.signature = len(head)
	w.request = append([]byte(head), bytes.Repeat([]byte("0"), 2*sha256.Size)...)
	w.request = append(w.request, "\r\n\r\n"...)
	w.at.body = len(w.request)
	w.at.id = w.at.body + len(bodyHead)
	w.request = append(w.request, body...)
	return w, nil
}

// eventBody looks like a payment provider's: nested, with short fields.
func eventBody(size int) []byte {
	body := []byte(bodyHead + string(make([]byte, idSize)) + `","object":"event","api_version":"2026-09-30","created":1795500000,` +
		`"livemode":true,"type":"invoice.paid","pending_webhooks":1,"request":{"id":null,"idempotency_key":null},` +
		`"data":{"object":{"id":"in_1MtHbELkdIwHu7ixl4OzzPMv","object":"invoice","currency":"eur","amount_due":1299,"lines":[`)
	const line = `{"id":"il_1MtHbELkdIwHu7ix","amount":433,"currency":"eur","quantity":1,"proration":false,"price":"price_1Mt"},`
	const end = `{"note":"`
	const tail = `"}]}}}`
	for len(body)+len(line)+len(end)+len(tail) <= size {
		body = append(body, line...)
	}
	fill := size - len(body) - len(end) - len(tail)
	if fill < 0 {
		return nil
	}
	body = append(body, end...)
	body = append(body, bytes.Repeat([]byte("n"), fill)...)
	return append(body, tail...)
}

// write returns the nth event's delivery, signed now. It is valid until the next call.
func (w *writer) write(n uint64) []byte {
	if now := time.Now().Unix(); now != w.second {
		w.second, w.stamp = now, strconv.AppendInt(w.stamp[:0], now, 10)
		copy(w.request[w.at.stamp:], w.stamp)
		w.stamp = append(w.stamp, '.')
	}
	id := idOf(w.seed, n, w.ordered)
	copy(w.request[w.at.id:], id[:])
	w.mac.Reset()
	w.mac.Write(w.stamp)
	w.mac.Write(w.request[w.at.body:])
	w.sum = w.mac.Sum(w.sum[:0])
	hex.Encode(w.request[w.at.signature:], w.sum)
	return w.request
}
