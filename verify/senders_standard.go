package verify

import (
	"net/http"
	"time"
)

// standardSenders follow Standard Webhooks.
func standardSenders() []Preset {
	return []Preset{
		standardWebhooks(), svix("svix", "Svix"), svix("clerk", "Clerk"), svix("resend", "Resend"), gitLabSigningToken(),
	}
}

// specialSenders have schemes of their own.
func specialSenders() []Preset {
	return []Preset{
		twilioPreset(), sendGridPreset(), hubSpotPreset(), mailgunPreset(), adyenPreset(), payPalPreset(), braintreePreset(),
		plaidPreset(), snsPreset(), messageSignaturePreset(), gitLab(), postmark(), okta(), graphPreset(),
	}
}

// svix is a sender that delivers through Svix, whose headers are branded or not.
func svix(name, title string) Preset {
	p := standard(name, title, []names{svixNames(), webhookNames()})
	p.SenderWindow = 30 * time.Hour
	p.Sources = append(p.Sources, "github.com/svix/svix-webhooks at 4fc0cfb (2026-08-21)")
	p.Advice = []string{"Deliveries carry one complete set of svix- or webhook- headers; the two are never mixed."}
	return p
}

func gitLabSigningToken() Preset {
	p := standard("gitlab-signing-token", "GitLab with a signing token", []names{webhookNames()})
	p.SenderWindow, p.AckDeadline = 24*time.Hour, 10*time.Second
	p.EventID = Source{Header: http.CanonicalHeaderKey("webhook-id")}
	p.EventType, p.Object = Source{JSON: "/object_kind"}, Source{JSON: "/project/id"}
	p.Sources = append(p.Sources, "gitlab.com/gitlab-org/gitlab merge requests 230944 and 231325, work item 19367")
	p.Advice = []string{"A 4xx disables the webhook for good, four failures in a row for a while."}
	return p
}
