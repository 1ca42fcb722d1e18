package verify

import "time"

// codeSenders are the tools that programmers use.
func codeSenders() []Preset {
	return []Preset{gitHub(), bitbucket(), jira(), linear(), sentry(), circleCI(), vercel(), pagerDuty()}
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

func bitbucket() Preset {
	return Preset{
		Name: "bitbucket", Title: "Bitbucket Cloud and Data Center",
		SenderWindow: time.Hour, AckDeadline: 10 * time.Second, Retries: true,
		EventID: Source{Header: "X-Request-UUID"}, otherIDs: []Source{{Header: "X-Request-Id"}},
		EventType: Source{Header: "X-Event-Key"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex behind sha256= in X-Hub-Signature",
		Secret:    "the webhook's secret as text",
		Weak:      []string{"Neither the request ID nor the event key is signed, and no time: a captured delivery can be replayed once per key."},
		Advice:    []string{"Without a secret Bitbucket sends no signature, and everything is refused."},
		Sources:   []string{"support.atlassian.com: manage webhooks (test values)"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-Hub-Signature"}}},
			syntax: syntax{prefix: "sha256=", encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func jira() Preset {
	return Preset{
		Name: "jira", Title: "Jira (admin webhooks)",
		SenderWindow: 24 * time.Hour, Retries: true,
		EventID: Source{Header: "X-Atlassian-Webhook-Identifier"}, EventType: Source{JSON: "/webhookEvent"}, Object: Source{JSON: "/issue/id"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex behind sha256= in X-Hub-Signature",
		Secret:    "the webhook's secret as text",
		Weak:      []string{"The webhook identifier is not signed, and no time: a captured delivery can be replayed once per event type."},
		Advice:    []string{"Webhooks of Connect and OAuth apps are signed by a JWT that does not cover the body; they are not supported."},
		Sources:   []string{"developer.atlassian.com: Jira webhooks"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-Hub-Signature"}}},
			syntax: syntax{prefix: "sha256=", encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func linear() Preset {
	return Preset{
		Name: "linear", Title: "Linear",
		SenderWindow: 24 * time.Hour, AckDeadline: 5 * time.Second, Retries: true,
		EventID: Source{Header: "Linear-Delivery"}, EventType: Source{JSON: "/type"}, Object: Source{JSON: "/data/id"},
		Tolerance: time.Minute, Symmetric: true,
		Fingerprint: Fingerprint{Exclude: []string{"/webhookTimestamp"}},
		Signed:      "the body, with its time at /webhookTimestamp in milliseconds; HMAC-SHA256 in hex in Linear-Signature",
		Secret:      "the webhook's signing secret as text",
		Weak:        []string{"The delivery ID is not signed: a captured delivery can be replayed for one minute."},
		Sources:     []string{"github.com/linear/linear packages/sdk/src/webhooks/client.ts at 8335e09 (2026-07-22)"},
		Reviewed:    reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"Linear-Signature"}}},
			syntax:    syntax{encoding: "hex"},
			timeField: "/webhookTimestamp", timeUnit: unitMillis, tolerance: time.Minute,
		}, "{body}", "raw"),
	}
}

func sentry() Preset {
	return Preset{
		Name: "sentry", Title: "Sentry",
		AckDeadline: time.Second,
		EventID:     Source{Header: "Request-ID"}, EventType: Source{Header: "Sentry-Hook-Resource"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex in Sentry-Hook-Signature (Sentry-App-Signature for alerts and selects)",
		Secret:    "the integration's client secret as text",
		Weak: []string{
			"Request ID, resource and time are not signed: a captured delivery can be replayed once per resource.",
			"Requests with an empty body cannot be bound and can be replayed under any ID.",
		},
		Advice:   []string{"Sentry waits one second, does not retry, and unsubscribes after a thousand timeouts a day: use accept mode."},
		Sources:  []string{"docs.sentry.io: integration platform webhooks"},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256",
			variants:  []names{{signatures: []string{"Sentry-Hook-Signature"}}, {signatures: []string{"Sentry-App-Signature"}}},
			syntax:    syntax{encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func circleCI() Preset {
	return Preset{
		Name: "circleci", Title: "CircleCI",
		SenderWindow: 72 * time.Hour, AckDeadline: 10 * time.Second, Retries: true,
		EventID: Source{JSON: "/id"}, IDSigned: true, EventType: Source{JSON: "/type"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex in the v1 entry of circleci-signature; other versions are passed over",
		Secret:    "the webhook's secret as text",
		Sources:   []string{"github.com/circleci/circleci-docs outbound-webhooks.adoc at 9734a14 (2026-08-20)"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"circleci-signature"}}},
			syntax: syntax{separator: ',', prefix: "v1=", encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func vercel() Preset {
	return Preset{
		Name: "vercel", Title: "Vercel",
		SenderWindow: 24 * time.Hour, Retries: true,
		EventID: Source{JSON: "/id"}, IDSigned: true, EventType: Source{JSON: "/type"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA1 in hex in x-vercel-signature",
		Secret:    "the webhook's secret, or the integration's client secret, as text",
		Sources:   []string{"github.com/hookdeck/webhook-skills at f8a4801 (2026-02-22), a third party", "vercel.com/docs/webhooks"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha1", variants: []names{{signatures: []string{"x-vercel-signature"}}},
			syntax: syntax{encoding: "hex"},
		}, "{body}", "raw"),
	}
}

func pagerDuty() Preset {
	return Preset{
		Name: "pagerduty", Title: "PagerDuty (webhooks v3)",
		SenderWindow: time.Hour, AckDeadline: 5 * time.Second, Retries: true,
		EventID: Source{JSON: "/event/id"}, IDSigned: true, EventType: Source{JSON: "/event/event_type"}, Object: Source{JSON: "/event/data/id"},
		Symmetric: true,
		Signed:    "the body; HMAC-SHA256 in hex in the v1 entries of X-PagerDuty-Signature",
		Secret:    "the subscription's secret as text",
		Advice:    []string{"PagerDuty does not retry after a 4xx other than 429, and disables a subscription after 3 dropped events."},
		Sources:   []string{"github.com/PagerDuty/go-pagerduty at d34fb98 (2026-02-25)", "developer.pagerduty.com: webhooks v3"},
		Reviewed:  reviewed,
		build: declare(declared{
			algorithm: "sha256", variants: []names{{signatures: []string{"X-PagerDuty-Signature"}}},
			syntax: syntax{separator: ',', prefix: "v1=", encoding: "hex"},
		}, "{body}", "raw"),
	}
}
