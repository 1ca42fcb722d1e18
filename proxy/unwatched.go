package proxy

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
)

// unwatched is the Watch of a Proxy that nobody watches. It still gives every delivery a trace of its own, because the
// application is promised a traceparent.
type unwatched struct{}

type traceKey struct{}

func (unwatched) Begin(r *http.Request) context.Context {
	ctx := context.WithoutCancel(r.Context())
	var id [24]byte
	rand.Read(id[:])
	parent := "00-" + hex.EncodeToString(id[:16]) + "-" + hex.EncodeToString(id[16:]) + "-00"
	return context.WithValue(ctx, traceKey{}, parent)
}

func (unwatched) Stage(ctx context.Context, _ Stage) (context.Context, func()) {
	return ctx, func() {}
}

func (unwatched) TraceParent(ctx context.Context) string {
	parent, _ := ctx.Value(traceKey{}).(string)
	return parent
}

func (unwatched) Done(context.Context, Record) {}
