package verify

import (
	"bytes"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// maxItems bounds the items of a batch.
const maxItems = 10_000

// elements gives the items of a JSON array as they were sent.
func elements(raw []byte) ([][]byte, bool) {
	s := scanner{data: raw}
	s.space()
	if !s.next('[') {
		return nil, false
	}
	s.space()
	if s.next(']') {
		return nil, true
	}
	var out [][]byte
	for len(out) < maxItems {
		s.space()
		start := s.at
		if !s.value(nil) {
			return nil, false
		}
		out = append(out, raw[start:s.at])
		s.space()
		if s.next(']') {
			return out, true
		}
		if !s.next(',') {
			return nil, false
		}
	}
	return nil, false
}

// batchID makes the ID of a batch: that of its only item, or a hash of the IDs of all.
func batchID(raw []byte, tree *pointerTree, id func(found []jsonValue) (string, status)) (delivery.EventID, *Rejection) {
	items, ok := elements(raw)
	if !ok || len(items) == 0 {
		return "", rejectEvent(EventIDMissing)
	}
	ids := make([][]byte, 0, len(items))
	for _, item := range items {
		found, _, err := tree.scan(item)
		if err != nil {
			return "", rejectEvent(BodyMalformed)
		}
		value, state := id(found)
		switch {
		case state == missing:
			return "", rejectEvent(EventIDMissing)
		case state != present:
			return "", rejectEvent(EventIDMalformed)
		}
		ids = append(ids, []byte(value))
	}
	return oneOrAll(ids)
}

func oneOrAll(ids [][]byte) (delivery.EventID, *Rejection) {
	value := hashed(ids...)
	if len(ids) == 1 {
		value = string(ids[0])
	}
	return parsedID(value)
}

func parsedID(value string) (delivery.EventID, *Rejection) {
	id, err := delivery.ParseEventID(value)
	if err != nil {
		return "", rejectEvent(EventIDMalformed)
	}
	return id, nil
}

// items is a tree for some pointers into an item, in the order of their slots.
func items(pointers ...string) *pointerTree {
	tree := &pointerTree{}
	for _, pointer := range pointers {
		if _, err := tree.add(pointer); err != nil {
			panic(err) // the pointers are constants of this package
		}
	}
	return tree
}

// whole is the body without its Content-Encoding, once it is known to be one JSON document.
func whole(d *document) ([]byte, *Rejection) {
	if _, ok := d.values(); !ok {
		return nil, rejectEvent(BodyMalformed)
	}
	plain, _ := d.text()
	return bytes.TrimPrefix(plain, []byte("\xef\xbb\xbf")), nil
}

func sendGridBatch(d *document) (delivery.EventID, *Rejection) {
	plain, rejection := whole(d)
	if rejection != nil {
		return "", rejection
	}
	return batchID(plain, items("/sg_event_id"), func(found []jsonValue) (string, status) { return found[0].scalar() })
}

func lineBatch(d *document) (delivery.EventID, *Rejection) {
	if _, rejection := whole(d); rejection != nil {
		return "", rejection
	}
	return batchID(d.value("/events").raw, items("/webhookEventId"), func(found []jsonValue) (string, status) { return found[0].scalar() })
}

// hubSpotBatch does not rely on eventId alone, which HubSpot does not promise to be unique.
func hubSpotBatch(d *document) (delivery.EventID, *Rejection) {
	plain, rejection := whole(d)
	if rejection != nil {
		return "", rejection
	}
	tree := items("/eventId", "/subscriptionId", "/objectId", "/occurredAt")
	return batchID(plain, tree, func(found []jsonValue) (string, status) {
		parts := make([][]byte, len(found))
		for i, value := range found {
			part, state := value.scalar()
			if state == malformed || state == missing && i == 0 {
				return "", state
			}
			parts[i] = []byte(part)
		}
		return hashed(parts...), present
	})
}
