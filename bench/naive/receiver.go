package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const scope = "acme/payments"

// receiver is one request after the other, each with its own two commits.
type receiver struct {
	secret   []byte
	ledger   *ledger
	upstream string
	client   *http.Client
}

func (n *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var event struct {
		ID string `json:"id"`
	}
	switch {
	case !n.verified(r.Header.Get("Stripe-Signature"), body):
		w.WriteHeader(http.StatusUnauthorized)
	case json.Unmarshal(body, &event) != nil || event.ID == "":
		w.WriteHeader(http.StatusBadRequest)
	default:
		n.deliver(w, r, event.ID, body)
	}
}

// verified judges "t=<seconds>,v1=<hex>", the HMAC-SHA256 of the time, a dot and the body.
func (n *receiver) verified(header string, body []byte) bool {
	stamp, signature, found := strings.Cut(strings.TrimPrefix(header, "t="), ",v1=")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if !found || err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	given, err := hex.DecodeString(signature)
	mac := hmac.New(sha256.New, n.secret)
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return err == nil && hmac.Equal(given, mac.Sum(nil))
}

func (n *receiver) deliver(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	fresh, err := n.ledger.claim(r.Context(), scope, id)
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if !fresh {
		n.replay(w, r, id)
		return
	}
	answer, err := n.forward(r, body)
	if err != nil {
		_ = n.ledger.release(r.Context(), scope, id) // the sender is told to come again either way
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if err := n.ledger.record(r.Context(), scope, id, answer); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	write(w, answer)
}

func (n *receiver) replay(w http.ResponseWriter, r *http.Request, id string) {
	answer, err := n.ledger.recall(r.Context(), scope, id)
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	write(w, answer)
}

func (n *receiver) forward(r *http.Request, body []byte) (result, error) {
	request, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, n.upstream+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return result{}, err
	}
	request.Header = r.Header.Clone()
	answer, err := n.client.Do(request)
	if err != nil {
		return result{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return result{status: answer.StatusCode, contentType: answer.Header.Get("Content-Type"), body: text}, err
}

func write(w http.ResponseWriter, answer result) {
	w.Header().Set("Content-Type", answer.contentType)
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body)
}
