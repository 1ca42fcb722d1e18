package verify

import "time"

// talkSenders are senders around messages, calls and streams.
func talkSenders() []Preset {
	return []Preset{slack(), discord(), twitch(), zoom(), meta(), xTwitter(), intercom(), mux(), line()}
}

func discord() Preset {
	return Preset{
		Name: "discord", Title: "Discord (interactions and webhook events)",
		SenderWindow: time.Hour, AckDeadline: 3 * time.Second, Retries: true,
		EventID: Source{JSON: "/id"}, IDSigned: true, otherIDs: []Source{{Hash: "body"}},
		EventType: Source{JSON: "/event/type"}, otherTypes: []Source{{JSON: "/type"}},
		Signed: "time and body side by side; Ed25519 in hex in X-Signature-Ed25519",
		Secret: "the application's public key in hex",
		Weak: []string{
			"Discord documents no tolerance of the signed time, so any is accepted: replays are kept out by the ID for as long as receipts are kept.",
			"Webhook events have no ID: identical bodies are one event. They carry a time.",
		},
		Advice: []string{
			"The answer to an interaction is the reply to the user: use forward mode.",
			"Discord probes with wrong signatures and wants 401 for them, which is the answer.",
		},
		Sources: []string{
			"github.com/discord/discord-api-docs developers/events/webhook-events.mdx at c98d64b (2026-08-06)",
			"github.com/discord/discord-interactions-js at ed17947",
		},
		Reviewed: reviewed,
		controls: []control{{name: "ping", recognises: isDiscordPing, answer: discordPing}},
		reads:    []string{"/type", "/event"},
		build: declare(declared{
			algorithm: "sha256", unit: unitSeconds,
			variants: []names{{signatures: []string{"X-Signature-Ed25519"}, timestamp: "X-Signature-Timestamp"}},
			syntax:   syntax{encoding: "hex", ed25519: true},
			secret:   hexPublicKey,
		}, "{timestamp}{body}", ""),
	}
}

func twitch() Preset {
	return Preset{
		Name: "twitch", Title: "Twitch EventSub",
		SenderWindow: 24 * time.Hour, Retries: true,
		EventID: Source{Header: "Twitch-Eventsub-Message-Id"}, IDSigned: true, EventType: Source{JSON: "/subscription/type"},
		Object:    Source{JSON: "/subscription/id"},
		Tolerance: 10 * time.Minute, Symmetric: true,
		Signed: "message ID, time and body side by side; HMAC-SHA256 in hex behind sha256= in Twitch-Eventsub-Message-Signature",
		Secret: "the secret given when the subscription was made, as text",
		Weak:   []string{"The message type is not signed; it is believed only where the body fits it."},
		Advice: []string{"Twitch waits a few seconds and revokes subscriptions after too many failures."},
		Sources: []string{
			"github.com/twitchdev/twitch-cli at fd7dac6 (2026-03-11)", "dev.twitch.tv: handling webhook events",
		},
		Reviewed: reviewed,
		controls: []control{
			{name: "webhook_callback_verification", recognises: isTwitchChallenge, answer: twitchChallenge}, {name: "revocation", recognises: isTwitchRevocation, answer: noContent},
		},
		reads: []string{"/challenge", "/event", "/subscription/status"},
		build: declare(declared{
			algorithm: "sha256", unit: unitRFC3339, tolerance: 10 * time.Minute,
			variants: []names{{
				signatures: []string{"Twitch-Eventsub-Message-Signature"},
				timestamp:  "Twitch-Eventsub-Message-Timestamp", id: "Twitch-Eventsub-Message-Id",
			}},
			syntax: syntax{prefix: "sha256=", encoding: "hex"},
		}, "{id}{timestamp}{body}", "raw"),
	}
}

func zoom() Preset {
	return Preset{
		Name: "zoom", Title: "Zoom",
		SenderWindow: 2 * time.Hour, AckDeadline: 3 * time.Second, Retries: true,
		EventID: Source{Hash: "body"}, IDSigned: true, EventType: Source{JSON: "/event"}, Object: Source{JSON: "/payload/object/uuid"},
		Tolerance: 5 * time.Minute, Symmetric: true,
		Signed:   "v0, time and body with colons between; HMAC-SHA256 in hex behind v0= in x-zm-signature",
		Secret:   "the app's secret token as text",
		Weak:     []string{"There is no event ID: identical bodies are one event. They carry a time in milliseconds."},
		Advice:   []string{"Zoom validates the URL again every 72 hours: the application must answer it, or set handshake: answer."},
		Sources:  []string{"developers.zoom.us: using webhooks (the tolerance is that of common libraries)"},
		Reviewed: reviewed,
		controls: []control{{name: "endpoint.url_validation", recognises: isZoomValidation, answer: zoomValidation}},
		reads:    []string{"/event", "/payload/plainToken"},
		build: declare(declared{
			algorithm: "sha256", unit: unitSeconds, tolerance: 5 * time.Minute,
			variants: []names{{signatures: []string{"x-zm-signature"}, timestamp: "x-zm-request-timestamp"}},
			syntax:   syntax{prefix: "v0=", encoding: "hex"},
		}, "v0:{timestamp}:{body}", "raw"),
	}
}

func meta() Preset {
	return Preset{
		Name: "meta", Title: "Meta (Facebook, Instagram, WhatsApp Cloud)",
		Methods:      []string{"POST", "GET"},
		SenderWindow: 7 * 24 * time.Hour, Retries: true,
		EventID: Source{Hash: "body"}, IDSigned: true, EventType: Source{JSON: "/object"}, Object: Source{JSON: "/entry/0/id"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex behind sha256= in X-Hub-Signature-256",
		Secret: "the app secret as text, or JSON {\"app_secret\", \"verify_token\"} where handshake is answer " +
			"(with text alone, the verify token is expected to be the same text)",
		Weak: []string{"A delivery is a batch of changes and the unit; it is known by its whole body, which holds the IDs of its messages."},
		Advice: []string{
			"Give the verify token apart from the app secret: Meta sends it in a URL.",
			"Meta escapes bodies in its own way; nothing may decode and write them again on the way.",
		},
		Sources:  []string{"developers.facebook.com: webhooks, getting started", "docs.360dialog.com: retry window of WhatsApp (third party)"},
		Reviewed: reviewed,
		controls: []control{{name: "hub.challenge", unsigned: true, recognises: isMetaChallenge, answer: metaChallenge}},
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-Hub-Signature-256"}}},
			syntax: syntax{prefix: "sha256=", encoding: "hex"},
			secret: metaSecret,
		}, "{body}", ""),
	}
}

func xTwitter() Preset {
	return Preset{
		Name: "x-twitter", Title: "X (account activity)",
		Methods:      []string{"POST", "GET"},
		SenderWindow: 24 * time.Hour, AckDeadline: 10 * time.Second,
		EventID: Source{Hash: "body"}, IDSigned: true, Object: Source{JSON: "/for_user_id"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in base64 behind sha256= in x-twitter-webhooks-signature",
		Secret:    "the app's consumer (API) secret as text",
		Weak:      []string{"There is no event ID: identical bodies are one event. They hold the IDs and times of what happened."},
		Advice:    []string{"X repeats the CRC check: the application must answer it, or set handshake: answer."},
		Sources:   []string{"docs.x.com: webhooks, introduction", "github.com/frain-dev/convoy pkg/verifier at 2b60cc6"},
		Reviewed:  reviewed,
		controls:  []control{{name: "crc_check", unsigned: true, recognises: isXChallenge, answer: xChallenge}},
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"x-twitter-webhooks-signature"}}},
			syntax: syntax{prefix: "sha256=", encoding: "base64"},
			object: true,
		}, "{body}", "raw"),
	}
}

func intercom() Preset {
	return Preset{
		Name: "intercom", Title: "Intercom",
		SenderWindow: time.Hour, AckDeadline: 5 * time.Second, Retries: true,
		EventID: Source{JSON: "/id"}, IDSigned: true, EventType: Source{JSON: "/topic"}, Object: Source{JSON: "/data/item/id"},
		Symmetric:   true,
		Fingerprint: Fingerprint{Exclude: []string{"/delivery_attempts", "/delivery_status", "/delivered_at"}},
		Signed:      "the body; HMAC-SHA1 in hex behind sha1= in X-Hub-Signature",
		Secret:      "the app's client secret as text",
		Weak:        []string{"HMAC-SHA1 is old, though not broken. No time is signed."},
		Sources:     []string{"developers.intercom.com: webhooks (deadline and retries are not confirmed)"},
		Reviewed:    reviewed,
		build: declare(declared{
			algorithm: "sha1", variants: []names{{signatures: []string{"X-Hub-Signature"}}},
			syntax: syntax{prefix: "sha1=", encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func mux() Preset {
	return Preset{
		Name: "mux", Title: "Mux",
		SenderWindow: 24 * time.Hour, Retries: true,
		EventID: Source{JSON: "/id"}, IDSigned: true, EventType: Source{JSON: "/type"}, Object: Source{JSON: "/object/id"},
		Tolerance: 5 * time.Minute, Symmetric: true,
		Fingerprint: Fingerprint{Exclude: []string{"/attempts"}},
		Signed:      "t, a dot and the body; HMAC-SHA256 in hex, in the v1 entries of Mux-Signature",
		Secret:      "the webhook's signing secret as text",
		Sources:     []string{"docs.mux.com: verify webhook signatures (the example of the SDK)"},
		Reviewed:    reviewed,
		build: declare(declared{
			algorithm: "sha256", unit: unitSeconds, tolerance: 5 * time.Minute,
			variants: []names{{signatures: []string{"Mux-Signature"}}},
			syntax:   syntax{separator: ',', prefix: "v1=", stamp: "t=", encoding: "hex"},
		}, "{timestamp}.{body}", "raw"),
	}
}

func line() Preset {
	return Preset{
		Name: "line", Title: "LINE Messaging API",
		SenderWindow: 24 * time.Hour, Retries: true,
		IDSigned:    true,
		Symmetric:   true,
		Signed:      "the body; HMAC-SHA256 in base64 in x-line-signature",
		Secret:      "the channel secret as text",
		Weak:        []string{"A delivery is a batch and the unit; its ID is made of the webhookEventId of its events."},
		Advice:      []string{"LINE delivers again only where redelivery is switched on in the console."},
		Sources:     []string{"developers.line.biz: receiving messages (signature and redelivery)"},
		Reviewed:    reviewed,
		identify:    lineBatch,
		controls:    []control{{name: "url_verification", recognises: isEmptyBatch, answer: emptyOK}},
		reads:       []string{"/events", "/events/0"},
		Fingerprint: Fingerprint{Exclude: []string{"/events/*/deliveryContext"}},
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"x-line-signature"}}},
			syntax: syntax{encoding: "base64"},
		}, "{body}", "raw"),
	}
}
