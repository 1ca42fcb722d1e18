module github.com/webhook-sidecar/webhook-sidecar/test/oracle

go 1.26.0

require (
	github.com/slack-go/slack v0.36.0
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
	github.com/stripe/stripe-go/v85 v85.0.0
	github.com/webhook-sidecar/webhook-sidecar v0.0.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/go-jose/go-jose/v4 v4.1.9 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
)

replace github.com/webhook-sidecar/webhook-sidecar => ../..
