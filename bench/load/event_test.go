package main

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A delivery is what it says: framed, signed over its own bytes, with the event's ID and of the size asked for.
func TestDelivery(t *testing.T) {
	w, err := newWriter(settings{target: "/hooks", seed: 7, secret: "whsec_test", size: 1024})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for n := range uint64(1000) {
		request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(w.write(n))))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(request.Body)
		if err != nil || len(body) != 1024 {
			t.Fatalf("a body of %d bytes, %v", len(body), err)
		}
		var event struct{ ID string }
		if err := json.Unmarshal(body, &event); err != nil {
			t.Fatal(err)
		}
		id := idOf(7, n, false)
		if event.ID != string(id[:]) || seen[event.ID] {
			t.Fatalf("event %d has the ID %q", n, event.ID)
		}
		seen[event.ID] = true
		stamp, signature, _ := strings.Cut(strings.TrimPrefix(request.Header.Get("Stripe-Signature"), "t="), ",v1=")
		mac := hmac.New(sha256.New, []byte("whsec_test"))
		mac.Write([]byte(stamp + "." + string(body)))
		if signature != hex.EncodeToString(mac.Sum(nil)) {
			t.Fatalf("event %d is not signed", n)
		}
	}
}

func TestOrderedIDsRise(t *testing.T) {
	last := idOf(1, 0, true)
	for n := range uint64(1000) {
		next := idOf(1, n+1, true)
		if bytes.Compare(last[:], next[:]) >= 0 {
			t.Fatalf("%s is followed by %s", last[:], next[:])
		}
		last = next
	}
}

func TestBodyThatDoesNotFit(t *testing.T) {
	if _, err := newWriter(settings{target: "/hooks", seed: 1, secret: "s", size: 100}); err == nil {
		t.Fatal("an event in 100 bytes")
	}
}
