package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// verdict is what sidecar verify tells a program.
type verdict struct {
	Verdict       string  `json:"verdict"`
	Reason        *string `json:"reason"`
	EventID       *string `json:"event_id"`
	EventIDSigned bool    `json:"event_id_signed"`
	EventType     *string `json:"event_type"`
}

// verifyFlags are what a delivery is judged against.
type verifyFlags struct {
	integration string
	provider    string
	secretFile  string
	publicURL   string
}

const verifyUsage = "verify (--integration ACCOUNT/NAME | --provider NAME --secret-file FILE [--public-url ORIGIN]) [--request FILE] [--at TIME] [--json]"

func (p *program) verify(_ context.Context, args []string) error {
	flags := p.newFlags(verifyUsage)
	var against verifyFlags
	flags.StringVar(&against.integration, "integration", "", "judge as this integration would, `account/name`")
	flags.StringVar(&against.provider, "provider", "", "judge as this `sender`'s scheme, without any configuration")
	flags.StringVar(&against.secretFile, "secret-file", "", "`file` with the secret, with --provider")
	flags.StringVar(&against.publicURL, "public-url", "", "`origin` that the sender calls, for schemes that sign the URL")
	request := flags.String("request", "-", "`file` with the raw HTTP/1.1 request; - is standard input")
	at := flags.String("at", "", "`time` of arrival, RFC 3339 or Unix seconds; default now")
	asJSON := flags.Bool("json", false, "as JSON")
	if _, err := flags.parse(args, 0, 0); err != nil {
		return err
	}
	now, err := parseAt(*at)
	if err != nil {
		return err
	}
	verifier, err := p.verifierFor(against)
	if err != nil {
		return err
	}
	raw, err := p.readInput(*request)
	if err != nil {
		return err
	}
	captured, err := parseRequest(raw, now)
	if err != nil {
		return usagef("the request: %v", err)
	}
	return p.tellVerdict(verifier.Explain(captured, now), *asJSON)
}

func parseAt(text string) (time.Time, error) {
	if text == "" {
		return time.Now(), nil
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds >= 0 && seconds < 1<<40 {
		return time.Unix(seconds, 0), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, usagef("--at: want RFC 3339 or Unix seconds")
	}
	return at, nil
}

// verifierFor makes the verifier of an integration, or of a sender's scheme alone.
func (p *program) verifierFor(against verifyFlags) (*verify.Verifier, error) {
	switch {
	case (against.integration == "") == (against.provider == ""):
		return nil, usagef("sidecar %s", verifyUsage)
	case against.integration != "":
		_, _, verifier, err := p.integration(against.integration)
		return verifier, err
	case against.secretFile == "":
		return nil, usagef("--provider needs --secret-file")
	}
	if _, known := verify.LookupPreset(against.provider); !known {
		return nil, usagef("%q is no provider; sidecar providers lists them", against.provider)
	}
	secret, err := os.ReadFile(against.secretFile)
	if err != nil {
		return nil, usagef("--secret-file: %v", err)
	}
	verifier, err := verify.New(verify.Config{
		Scope: "verify/verify", Provider: against.provider, PublicURL: against.publicURL, SignatureOnly: true,
		Credentials: []verify.Credential{{ID: "secret-file", Secret: withoutLineEnd(secret), Status: verify.Active}},
	})
	if err != nil {
		return nil, usagef("%v", err)
	}
	return verifier, nil
}

// withoutLineEnd removes one final line end, as for the secrets of the integrations file.
func withoutLineEnd(secret []byte) []byte {
	if n := len(secret); n > 0 && secret[n-1] == '\n' {
		secret = secret[:n-1]
		if n := len(secret); n > 0 && secret[n-1] == '\r' {
			secret = secret[:n-1]
		}
	}
	return secret
}

func (p *program) tellVerdict(v verify.Verdict, asJSON bool) error {
	var err error
	if asJSON {
		err = p.json(newVerdict(v))
	} else {
		err = p.printVerdict(v)
	}
	if v.Verdict == "rejected" {
		return errors.Join(errFailed, err)
	}
	return err
}

func newVerdict(v verify.Verdict) verdict {
	return verdict{
		Verdict: v.Verdict, Reason: orNull(string(v.Reason)), EventID: orNull(string(v.EventID)),
		EventIDSigned: v.EventIDSigned, EventType: orNull(v.EventType),
	}
}

// orNull makes what is missing null in JSON.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (p *program) printVerdict(v verify.Verdict) error {
	fmt.Fprintf(p.out, "%s\n", v.Verdict)
	show := func(name, value string) {
		if value != "" {
			p.row(2, name, "%s", strconv.QuoteToASCII(value))
		}
	}
	show("reason", string(v.Reason))
	show("hint", v.Hint)
	show("credential", v.CredentialID)
	if !v.SignedAt.IsZero() {
		p.row(2, "signed at", "%s", v.SignedAt.UTC().Format(time.RFC3339))
	}
	show("event ID", string(v.EventID))
	if v.EventID != delivery.EventID("") {
		p.row(2, "event ID signed", "%t", v.EventIDSigned)
	}
	show("event type", v.EventType)
	if v.Control != nil {
		show("control message", v.Control.Name)
	}
	return nil
}
