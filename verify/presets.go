package verify

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Presets are all senders that are known, by name.
func Presets() []Preset {
	all := []Preset{generic(), standardWebhooks(), stripe(), gitHub(), shopify(), slack()}
	for i := range all {
		all[i].settle()
	}
	slices.SortFunc(all, func(a, b Preset) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// settle fills in what most senders have in common.
func (p *Preset) settle() {
	if p.Methods == nil {
		p.Methods = []string{http.MethodPost}
	}
	if p.MaxBody == 0 {
		p.MaxBody = 1 << 20
	}
	if p.InFlightStatus == 0 {
		p.InFlightStatus = http.StatusServiceUnavailable
	}
	if p.UnsignedID == "" {
		p.UnsignedID = Bind
	}
	if p.Handshake == "" {
		p.Handshake = HandshakePass
	}
	for _, c := range p.controls {
		if !slices.Contains(p.Controls, c.name) {
			p.Controls = append(p.Controls, c.name)
		}
	}
}

func generic() Preset {
	return Preset{
		Name:      "hmac",
		Title:     "Any sender with an HMAC, declared by the operator",
		Tolerance: defaultTolerance,
		Symmetric: true,
		Signed:    "what hmac.signed says",
		Secret:    "the shared secret, encoded as hmac.secret_encoding says",
		Choose:    "say where the sender puts the event ID",
		Advice:    []string{"Prefer a scheme that signs a timestamp and the event ID."},
		Sources:   []string{"RFC 2104"},
		Reviewed:  reviewed,
		build:     newGeneric,
	}
}

// reviewed is when the sources of the presets were last read.
const reviewed = "2026-11-30"

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

func gitHub() Preset {
	return Preset{
		Name: "github", Title: "GitHub",
		MaxBody: 25 << 20, SenderWindow: 72 * time.Hour, AckDeadline: 10 * time.Second,
		EventID: Source{Header: "X-GitHub-Delivery"}, EventType: Source{Header: "X-GitHub-Event"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex behind sha256= in X-Hub-Signature-256",
		Secret:    "the webhook's secret as text",
		Weak: []string{
			"Neither the delivery ID nor the event type is signed, and no time: a captured delivery can be replayed once per event type.",
		},
		Advice: []string{
			"GitHub does not retry by itself: use accept mode or on_failure: queue.",
			"A redelivery keeps its delivery ID on purpose: use receipts reopen to let it run again.",
		},
		Sources: []string{
			"docs.github.com: validating, handling and redelivering webhook deliveries",
			"github.com/octokit/webhooks-methods.js at da0cc1c (2026-07-27)",
		},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256",
			variants:  []names{{signatures: []string{"X-Hub-Signature-256"}}},
			syntax:    syntax{prefix: "sha256=", encoding: "hex"},
		}, "{body}", "raw"),
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
