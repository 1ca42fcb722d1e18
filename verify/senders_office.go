package verify

import (
	"fmt"
	"net/http"
	"time"
)

// officeSenders are senders around documents, forms, calendars, people and tickets.
func officeSenders() []Preset {
	return []Preset{
		typeform(), zendesk(), docuSign(), dropbox(), box(), calendly(), calCom(), acuity(), workOS(), asana(), clickUp(), afterShip(),
	}
}

func typeform() Preset {
	return Preset{
		Name: "typeform", Title: "Typeform",
		SenderWindow: 24 * time.Hour, Retries: true,
		EventID: Source{JSON: "/event_id"}, IDSigned: true, EventType: Source{JSON: "/event_type"}, Object: Source{JSON: "/form_response/form_id"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in base64 behind sha256= in Typeform-Signature",
		Secret:    "the webhook's secret as text",
		Sources:   []string{"typeform.com/developers: secure your webhooks (the retry window is not confirmed)"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"Typeform-Signature"}}},
			syntax: syntax{prefix: "sha256=", encoding: "base64"},
		}, "{body}", "raw"),
	}
}

func zendesk() Preset {
	return Preset{
		Name: "zendesk", Title: "Zendesk",
		Methods:      []string{http.MethodPost, http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete},
		SenderWindow: 24 * time.Hour, AckDeadline: 12 * time.Second, Retries: true, InFlightStatus: http.StatusConflict,
		EventID: Source{Header: "X-Zendesk-Webhook-Invocation-Id"}, EventType: Source{JSON: "/type"},
		Symmetric: true,
		Signed:    "time and body side by side; HMAC-SHA256 in base64 in X-Zendesk-Webhook-Signature",
		Secret:    "the webhook's signing secret as text: it looks like base64 and is not decoded",
		Weak: []string{
			"The invocation ID is not signed, and no tolerance of the time is documented, so any is accepted.",
			"Requests without a body (GET, DELETE) cannot be bound and can be replayed under any ID.",
		},
		Advice: []string{
			"Zendesk tests webhooks with a public secret of its own: such a test is refused, and must be.",
			"Zendesk is said to retry after 409 and timeouts only, so a running attempt is answered 409.",
		},
		Sources:  []string{"developer.zendesk.com: verifying webhooks", "a third-party client in Go at 23abd70 (2024-12-12)"},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256", unit: unitRFC3339,
			variants: []names{{
				signatures: []string{"X-Zendesk-Webhook-Signature"}, timestamp: "X-Zendesk-Webhook-Signature-Timestamp",
			}},
			syntax: syntax{encoding: "base64"},
		}, "{timestamp}{body}", "raw"),
	}
}

func docuSign() Preset {
	var headers []string
	for i := range maxSignatures {
		headers = append(headers, fmt.Sprintf("X-DocuSign-Signature-%d", i+1))
	}
	return Preset{
		Name: "docusign", Title: "DocuSign Connect",
		MaxBody: 25 << 20, SenderWindow: 15 * 24 * time.Hour, AckDeadline: 100 * time.Second, Retries: true,
		EventID:  Source{Join: []Source{{JSON: "/event"}, {JSON: "/data/envelopeId"}, {JSON: "/generatedDateTime"}}},
		IDSigned: true, otherIDs: []Source{{Hash: "body"}},
		EventType: Source{JSON: "/event"}, Object: Source{JSON: "/data/envelopeId"},
		Fingerprint: Fingerprint{Exclude: []string{"/retryCount"}},
		Symmetric:   true,
		Signed:      "the body; HMAC-SHA256 in base64 in X-DocuSign-Signature-1 to -10, one for each active key",
		Secret:      "one Connect HMAC key as text",
		Weak:        []string{"There is no event ID: it is made of event, envelope and time, or of the whole body where one of them is missing."},
		Advice:      []string{"Signatures beyond the tenth key are not looked at."},
		Sources:     []string{"developers.docusign.com: HMAC security with Connect (deadline and retries are not confirmed)"},
		Reviewed:    reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: headers}},
			syntax: syntax{encoding: "base64"},
		}, "{body}", "raw"),
	}
}

func dropbox() Preset {
	return Preset{
		Name: "dropbox", Title: "Dropbox",
		Methods:      []string{http.MethodPost, http.MethodGet},
		SenderWindow: time.Hour, AckDeadline: 10 * time.Second, Retries: true,
		Choose: "a Dropbox notification only lists changed accounts, and two changes look alike; " +
			"use {hash: body} only if a suppressed second notification does no harm",
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex in X-Dropbox-Signature",
		Secret:    "the app secret as text",
		Weak:      []string{"There is no event ID, and identical bodies are legitimate: nothing tells a replay from a new change."},
		Sources:   []string{"dropbox.com/developers: webhooks"},
		Reviewed:  reviewed,
		controls:  []control{{name: "challenge", unsigned: true, recognises: isDropboxChallenge, answer: dropboxChallenge}},
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-Dropbox-Signature"}}},
			syntax: syntax{encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func box() Preset {
	return Preset{
		Name: "box", Title: "Box",
		SenderWindow: 2 * time.Hour, Retries: true,
		EventID: Source{Header: "BOX-DELIVERY-ID"}, EventType: Source{JSON: "/trigger"}, Object: Source{JSON: "/source/id"},
		Tolerance: 10 * time.Minute, Symmetric: true,
		Signed:   "body and time side by side; HMAC-SHA256 in base64 in BOX-SIGNATURE-PRIMARY and -SECONDARY",
		Secret:   "JSON {\"primary\", \"secondary\"} with the app's signature keys, or one of them as text",
		Weak:     []string{"The delivery ID is not signed: a captured delivery can be replayed for ten minutes, once per event type."},
		Sources:  []string{"github.com/box/box-node-sdk at 7dcf9c2 (2025-04-14)"},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256", unit: unitRFC3339, tolerance: 10 * time.Minute,
			variants: []names{{
				signatures: []string{"BOX-SIGNATURE-PRIMARY", "BOX-SIGNATURE-SECONDARY"}, timestamp: "BOX-DELIVERY-TIMESTAMP",
			}},
			demands: []demand{{"Box-Signature-Version", "1"}, {"Box-Signature-Algorithm", "HmacSHA256"}},
			syntax:  syntax{encoding: "base64"},
			secret:  boxSecret,
		}, "{body}{timestamp}", ""),
	}
}

func calendly() Preset {
	return Preset{
		Name: "calendly", Title: "Calendly",
		SenderWindow: 24 * time.Hour, Retries: true,
		EventID:  Source{Join: []Source{{JSON: "/event"}, {JSON: "/created_at"}, {JSON: "/payload/uri"}}},
		IDSigned: true, otherIDs: []Source{{Hash: "body"}},
		EventType: Source{JSON: "/event"}, Object: Source{JSON: "/payload/uri"},
		Tolerance: 3 * time.Minute, Symmetric: true,
		Signed:   "t, a dot and the body; HMAC-SHA256 in hex, in the v1 entries of Calendly-Webhook-Signature",
		Secret:   "the subscription's signing key as text",
		Weak:     []string{"There is no event ID: it is made of event, time and subject, or of the whole body where one of them is missing."},
		Advice:   []string{"Calendly disables a subscription after 24 hours of failures; it must be made anew."},
		Sources:  []string{"developer.calendly.com: webhook signatures, webhook errors"},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256", unit: unitSeconds, tolerance: 3 * time.Minute,
			variants: []names{{signatures: []string{"Calendly-Webhook-Signature"}}},
			syntax:   syntax{separator: ',', prefix: "v1=", stamp: "t=", encoding: "hex"},
		}, "{timestamp}.{body}", "raw"),
	}
}

func calCom() Preset {
	return Preset{
		Name: "cal.com", Title: "Cal.com",
		SenderWindow: 24 * time.Hour,
		EventID:      Source{Join: []Source{{JSON: "/triggerEvent"}, {JSON: "/createdAt"}, {JSON: "/payload/uid"}}},
		IDSigned:     true, otherIDs: []Source{{Hash: "body"}}, opaque: true,
		EventType: Source{JSON: "/triggerEvent"}, Object: Source{JSON: "/payload/uid"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex in X-Cal-Signature-256",
		Secret:    "the webhook's secret as text",
		Weak:      []string{"There is no event ID: it is made of trigger, time and booking, or of the whole body where a template of one's own lacks them."},
		Advice:    []string{"Without a secret the header holds no signature, and everything is refused."},
		Sources:   []string{"trigger.dev: Cal.com webhooks (third party)"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-Cal-Signature-256"}}},
			syntax: syntax{encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func acuity() Preset {
	return Preset{
		Name: "acuity", Title: "Acuity Scheduling",
		SenderWindow: 24 * time.Hour, Retries: true,
		EventType: Source{Form: "action"}, Object: Source{Form: "id"},
		Choose: "an Acuity notification holds action and appointment only, and a second change of one appointment looks like the first; " +
			"use {hash: body} only if a suppressed second notification does no harm",
		Symmetric: true,
		Signed:    "the body, a form; HMAC-SHA256 in base64 in X-Acuity-Signature",
		Secret:    "the main administrator's API key as text",
		Weak:      []string{"There is no event ID, and identical bodies are legitimate: nothing tells a replay from a new change."},
		Sources:   []string{"developers.acuityscheduling.com: webhooks (retries are not confirmed)"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-Acuity-Signature"}}},
			syntax: syntax{encoding: "base64"},
		}, "{body}", "raw"),
	}
}

func workOS() Preset {
	return Preset{
		Name: "workos", Title: "WorkOS",
		SenderWindow: 72 * time.Hour, Retries: true,
		EventID: Source{JSON: "/id"}, IDSigned: true, EventType: Source{JSON: "/event"}, Object: Source{JSON: "/data/id"},
		Tolerance: 3 * time.Minute, Symmetric: true,
		Signed:   "t (milliseconds), a dot and the body; HMAC-SHA256 in hex, in the v1 entries of WorkOS-Signature",
		Secret:   "the endpoint's secret as text",
		Sources:  []string{"github.com/workos/workos-go webhook_verification.go at 27a5c27 (2026-08-05)"},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256", unit: unitMillis, tolerance: 3 * time.Minute,
			variants: []names{{signatures: []string{"WorkOS-Signature"}}},
			syntax:   syntax{separator: ',', prefix: "v1=", stamp: "t=", encoding: "hex"},
		}, "{timestamp}.{body}", "raw"),
	}
}

func asana() Preset {
	return Preset{
		Name: "asana", Title: "Asana",
		SenderWindow: 24 * time.Hour, AckDeadline: 10 * time.Second, Retries: true,
		EventID: Source{Hash: "body"}, IDSigned: true, Handshake: HandshakeOff,
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex in X-Hook-Signature",
		Secret:    "the secret that Asana sent in X-Hook-Secret when the webhook was made, as text",
		Weak: []string{
			"There is no event ID: identical bodies are one event. Events carry times; heartbeats, which hold none, are one event.",
			"The handshake that sets the secret is not signed. It is off; switch it to pass or answer only while a webhook is being made.",
		},
		Sources:  []string{"developers.asana.com: webhooks (deadline and retries are not confirmed)"},
		Reviewed: reviewed,
		controls: []control{{name: "x_hook_secret", unsigned: true, awaits: asanaAwaits, recognises: isAsanaSecret, answer: asanaSecret}},
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-Hook-Signature"}}},
			syntax: syntax{encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func clickUp() Preset {
	return Preset{
		Name: "clickup", Title: "ClickUp",
		SenderWindow: 24 * time.Hour, Retries: true,
		EventID: Source{Hash: "body"}, IDSigned: true, EventType: Source{JSON: "/event"}, Object: Source{JSON: "/task_id"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex in X-Signature",
		Secret:    "the webhook's secret as text",
		Weak:      []string{"There is no event ID: identical bodies are one event. Most hold the IDs of history items."},
		Sources:   []string{"developer.clickup.com: webhook signature (retries are not confirmed)"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-Signature"}}},
			syntax: syntax{encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func afterShip() Preset {
	return Preset{
		Name: "aftership", Title: "AfterShip",
		SenderWindow: 72 * time.Hour, Retries: true,
		EventID: Source{JSON: "/event_id"}, IDSigned: true, EventType: Source{JSON: "/event"}, Object: Source{JSON: "/msg/id"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in base64 in aftership-hmac-sha256 (tracking) or as-signature-hmac-sha256 (returns)",
		Secret:    "the webhook secret as text",
		Advice:    []string{"Organisations from before October 2022 may get am-webhook-signature instead: declare it with provider hmac."},
		Sources: []string{
			"aftership.com/docs: webhook signature of tracking, and of returns 2025-04 (the retry window and event_id are not confirmed)",
		},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256",
			variants:  []names{{signatures: []string{"aftership-hmac-sha256"}}, {signatures: []string{"as-signature-hmac-sha256"}}},
			syntax:    syntax{encoding: "base64"},
		}, "{body}", "raw"),
	}
}
