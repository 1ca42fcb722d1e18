package verify

import "time"

// shopSenders are shops and payment services.
func shopSenders() []Preset {
	return []Preset{
		stripe(), shopify(), paddle(), square(), razorpay(), mollie(), lemonSqueezy(), wooCommerce(), adyenPlatform(), xero(),
		checkout(),
	}
}

func stripe() Preset {
	return Preset{
		Name: "stripe", Title: "Stripe",
		SenderWindow: 72 * time.Hour, Retries: true,
		EventID: Source{JSON: "/id"}, IDSigned: true, EventType: Source{JSON: "/type"}, Object: Source{JSON: "/data/object/id"},
		Tolerance: 5 * time.Minute, Symmetric: true,
		Fingerprint: Fingerprint{Exclude: []string{"/pending_webhooks"}},
		Signed:      "t, a dot and the body; HMAC-SHA256 in hex, in the v1 entries of Stripe-Signature",
		Secret:      "the endpoint's signing secret, whsec_ included",
		Weak:        []string{"Two events may tell of one change: Stripe advises to compare the object and the type as well."},
		Sources:     []string{"github.com/stripe/stripe-go webhook/client.go at a1e3932 (2026-08-07)", "docs.stripe.com/webhooks"},
		Reviewed:    reviewed,
		build: declare(declared{
			algorithm: "sha256", unit: unitSeconds, tolerance: 5 * time.Minute,
			variants: []names{{signatures: []string{"Stripe-Signature"}}},
			syntax:   syntax{separator: ',', prefix: "v1=", stamp: "t=", encoding: "hex"},
		}, "{timestamp}.{body}", "raw"),
	}
}

func shopify() Preset {
	return Preset{
		Name: "shopify", Title: "Shopify",
		SenderWindow: 4 * time.Hour, AckDeadline: 5 * time.Second, Retries: true,
		EventID: Source{Header: "X-Shopify-Webhook-Id"}, otherIDs: []Source{{Header: "Shopify-Webhook-Id"}},
		EventType: Source{Header: "X-Shopify-Topic"}, otherTypes: []Source{{Header: "Shopify-Topic"}},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in base64 in X-Shopify-Hmac-SHA256",
		Secret:    "the app's client secret as text (webhooks made in the admin have a key of their own)",
		Weak: []string{
			"ID, topic and shop domain are not signed, and no time: a captured delivery can be replayed once per topic, and the shop must not be told by its header.",
		},
		Advice: []string{
			"Keep the old client secret as retiring for an hour after a rotation: Shopify goes on signing with it.",
			"After 8 failed attempts in 4 hours Shopify removes the subscription.",
		},
		Sources: []string{
			"github.com/Shopify/shopify-api-ruby at 4eca719 (2026-08-04)", "github.com/Shopify/shopify-api-php at 3c41a5e (2026-03-13)",
			"shopify.dev: verify deliveries",
		},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256",
			variants: []names{
				{signatures: []string{"X-Shopify-Hmac-Sha256"}}, {signatures: []string{"Shopify-Hmac-Sha256"}},
			},
			syntax: syntax{encoding: "base64"},
		}, "{body}", "raw"),
	}
}

func paddle() Preset {
	return Preset{
		Name: "paddle", Title: "Paddle Billing",
		SenderWindow: 72 * time.Hour, AckDeadline: 5 * time.Second, Retries: true,
		EventID: Source{JSON: "/event_id"}, IDSigned: true, EventType: Source{JSON: "/event_type"}, Object: Source{JSON: "/data/id"},
		Tolerance: 5 * time.Second, Symmetric: true,
		Signed:   "ts, a colon and the body; HMAC-SHA256 in hex, in the h1 entries of Paddle-Signature",
		Secret:   "the notification destination's secret key as text, pdl_ntfset_ included",
		Advice:   []string{"The tolerance is 5 seconds as in Paddle's SDKs: keep the host's clock in step."},
		Sources:  []string{"github.com/PaddleHQ/paddle-go-sdk at 7f86494 (2026-03-30)", "developer.paddle.com: signature verification"},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256", unit: unitSeconds, tolerance: 5 * time.Second,
			variants: []names{{signatures: []string{"Paddle-Signature"}}},
			syntax:   syntax{separator: ';', prefix: "h1=", stamp: "ts=", encoding: "hex"},
		}, "{timestamp}:{body}", "raw"),
	}
}

func square() Preset {
	return Preset{
		Name: "square", Title: "Square",
		SenderWindow: 72 * time.Hour, AckDeadline: 10 * time.Second, Retries: true,
		EventID: Source{JSON: "/event_id"}, IDSigned: true, EventType: Source{JSON: "/type"}, Object: Source{JSON: "/data/id"},
		Symmetric: true, NeedsPublicURL: true,
		Signed:   "the notification URL and the body; HMAC-SHA256 in base64 in x-square-hmacsha256-signature",
		Secret:   "the subscription's signature key as text",
		Weak:     []string{"No time is signed: replays are kept out by the event ID for as long as receipts are kept."},
		Advice:   []string{"public_url and route together must be the subscription's URL byte for byte, a slash at the end included."},
		Sources:  []string{"github.com/square/square-python-sdk at 24302ba (2026-08-18)", "developer.squareup.com: validate webhooks"},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"x-square-hmacsha256-signature"}}},
			syntax: syntax{encoding: "base64"},
		}, "{url}{body}", "raw"),
	}
}

func razorpay() Preset {
	return Preset{
		Name: "razorpay", Title: "Razorpay",
		SenderWindow: 24 * time.Hour, Retries: true,
		EventID: Source{Header: "x-razorpay-event-id"}, EventType: Source{JSON: "/event"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex in X-Razorpay-Signature",
		Secret:    "the webhook's secret as text",
		Weak:      []string{"The event ID is not signed, and no time: a captured delivery can be replayed once per event type."},
		Advice:    []string{"After a change of the secret older events are still retried with the old one: keep it as retiring for a day."},
		Sources:   []string{"github.com/razorpay/razorpay-python at b56ac01", "github.com/razorpay/razorpay-go at 5763826"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-Razorpay-Signature"}}},
			syntax: syntax{encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func mollie() Preset {
	return Preset{
		Name: "mollie", Title: "Mollie (next-generation webhooks)",
		SenderWindow: 26 * time.Hour, Retries: true,
		EventID: Source{JSON: "/id"}, IDSigned: true, EventType: Source{JSON: "/type"}, otherTypes: []Source{{JSON: "/event_type"}},
		Object: Source{JSON: "/entityId"}, Symmetric: true,
		Signed: "the body; HMAC-SHA256 in hex, sha256= in front or not, in X-Mollie-Signature",
		Secret: "the webhook's signing secret as text",
		Weak:   []string{"No time is signed: replays are kept out by the event ID for as long as receipts are kept."},
		Advice: []string{
			"Classic webhooks carry no signature and are refused.",
			"Several signatures during a rotation must come in one header as a comma list: a repeated signature header is refused.",
		},
		Sources:  []string{"github.com/mollie/mollie-api-php SignatureValidator at 53e49e7 (2026-05-21)"},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-Mollie-Signature"}}},
			syntax: syntax{separator: ',', prefix: "sha256=", bare: true, encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func lemonSqueezy() Preset {
	return Preset{
		Name: "lemonsqueezy", Title: "Lemon Squeezy",
		SenderWindow: 24 * time.Hour, Retries: true,
		EventID: Source{Hash: "body"}, IDSigned: true, EventType: Source{JSON: "/meta/event_name"}, Object: Source{JSON: "/data/id"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex in X-Signature",
		Secret:    "the webhook's signing secret as text",
		Weak:      []string{"There is no event ID: identical bodies are one event. Their objects carry times of change, so two events differ."},
		Sources:   []string{"docs.lemonsqueezy.com: signing requests"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-Signature"}}},
			syntax: syntax{encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func wooCommerce() Preset {
	return Preset{
		Name: "woocommerce", Title: "WooCommerce",
		AckDeadline: time.Minute,
		EventID:     Source{Header: "X-WC-Webhook-Delivery-ID"}, EventType: Source{Header: "X-WC-Webhook-Topic"}, Object: Source{JSON: "/id"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in base64 in X-WC-Webhook-Signature",
		Secret:    "the webhook's secret as text",
		Weak: []string{
			"Delivery ID and topic are not signed, and every attempt has a new ID: only the same body under the same topic is known again.",
		},
		Advice: []string{
			"WooCommerce does not retry and disables a webhook after 5 failures in a row: use accept mode.",
			"The ping on creation is not signed and is refused.",
		},
		Sources:  []string{"WooCommerce core, class WC_Webhook"},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-WC-Webhook-Signature"}}},
			syntax: syntax{encoding: "base64"},
		}, "{body}", "raw"),
	}
}

func adyenPlatform() Preset {
	return Preset{
		Name: "adyen-platform", Title: "Adyen for Platforms (balance platform webhooks)",
		SenderWindow: 30 * 24 * time.Hour, AckDeadline: 10 * time.Second, Retries: true,
		EventID: Source{JSON: "/id"}, IDSigned: true, otherIDs: []Source{{Hash: "body"}},
		EventType: Source{JSON: "/type"}, Object: Source{JSON: "/data/id"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in base64 in HmacSignature",
		Secret:    "the HMAC key in hex, as the Customer Area shows it",
		Weak:      []string{"Where the body has no id, identical bodies are one event; they carry the time of creation."},
		Advice:    []string{"A new key takes time to spread: keep the old one as retiring.", "Adyen delivers in order: a refused message holds up those behind it for up to 30 days."},
		Sources:   []string{"github.com/Adyen/adyen-python-api-library at b6f4979 (2026-07-27)", "docs.adyen.com: verify HMAC signatures"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"HmacSignature"}}},
			syntax: syntax{encoding: "base64"},
		}, "{body}", "hex"),
	}
}

func xero() Preset {
	return Preset{
		Name: "xero", Title: "Xero",
		SenderWindow: 24 * time.Hour, AckDeadline: 5 * time.Second, Retries: true,
		EventID:     Source{Join: []Source{{JSON: "/firstEventSequence"}, {JSON: "/lastEventSequence"}}},
		IDSigned:    true,
		Fingerprint: Fingerprint{Exclude: []string{"/entropy"}},
		Symmetric:   true,
		Signed:      "the body; HMAC-SHA256 in base64 in x-xero-signature",
		Secret:      "the webhook key as text: it looks like base64 and is not decoded",
		Weak:        []string{"A batch is known by the first and the last sequence number in it."},
		Advice:      []string{"Xero probes with wrong signatures and wants 401 for them, which is the answer."},
		Sources: []string{
			"github.com/XeroAPI/Xero-NetStandard-Webhooks-Receiver at bf2bd0d (2025-08-28)", "developer.xero.com: intent to receive",
		},
		Reviewed: reviewed,
		controls: []control{{name: "intent_to_receive", recognises: isEmptyBatch, answer: emptyOK}},
		reads:    []string{"/events", "/events/0"},
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"x-xero-signature"}}},
			syntax: syntax{encoding: "base64"},
		}, "{body}", "raw"),
	}
}

func checkout() Preset {
	return Preset{
		Name: "checkout.com", Title: "Checkout.com",
		SenderWindow: 72 * time.Hour, Retries: true,
		EventID: Source{JSON: "/id"}, IDSigned: true, EventType: Source{JSON: "/type"}, Object: Source{JSON: "/data/id"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex in Cko-Signature",
		Secret:    "the workflow's signature key as text",
		Weak:      []string{"No time is signed: replays are kept out by the event ID for as long as receipts are kept."},
		Sources:   []string{"checkout.com: manage webhooks (signature header and hash only; the retry window is not confirmed)"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"Cko-Signature"}}},
			syntax: syntax{encoding: "hex"},
		}, "{body}", "raw"),
	}
}
