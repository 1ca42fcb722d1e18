package verify

import (
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func slack() Preset {
	return Preset{
		Name: "slack", Title: "Slack",
		SenderWindow: time.Hour, AckDeadline: 3 * time.Second, Retries: true,
		EventID: Source{JSON: "/event_id"}, IDSigned: true, otherIDs: []Source{{Form: "trigger_id"}},
		EventType: Source{JSON: "/event/type"}, otherTypes: []Source{{JSON: "/type"}, {Form: "command"}},
		Tolerance: 5 * time.Minute, Symmetric: true,
		Signed: "v0, time and body with colons between; HMAC-SHA256 in hex behind v0= in X-Slack-Signature",
		Secret: "the app's signing secret as text",
		Advice: []string{
			"Slack waits 3 seconds: use accept mode for events that take longer.",
			"Slash commands are told apart by their trigger_id; their answer is the reply to the user.",
		},
		Sources: []string{
			"docs.slack.dev: verifying requests from Slack", "github.com/slackapi/python-slack-sdk at ae87985 (2026-08-05)",
		},
		Reviewed: reviewed,
		controls: []control{{name: "url_verification", recognises: isSlackChallenge, answer: slackChallenge}},
		reads:    []string{"/type", "/challenge"},
		build: declare(declared{
			algorithm: "sha256", unit: unitSeconds, tolerance: 5 * time.Minute,
			variants: []names{{signatures: []string{"X-Slack-Signature"}, timestamp: "X-Slack-Request-Timestamp"}},
			syntax:   syntax{prefix: "v0=", encoding: "hex"},
		}, "v0:{timestamp}:{body}", "raw"),
	}
}

func isSlackChallenge(c controlRequest) bool {
	kind, _ := c.document.pointer("/type")
	challenge, _ := c.document.pointer("/challenge")
	return kind == "url_verification" && plainToken(challenge)
}

// slackChallenge echoes the challenge of a verified request.
func slackChallenge(c controlRequest) *delivery.Response {
	challenge, _ := c.document.pointer("/challenge")
	return answerText(http.StatusOK, "text/plain", challenge)
}
