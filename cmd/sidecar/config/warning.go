package config

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// shortSecret is the length below which a secret can be guessed by whoever captured a delivery.
const shortSecret = 16

// staleReview is how old a reading of the sender's documentation may be.
const staleReview = 366 * day

// warn finds what is allowed and probably not meant, in the file alone.
func (s *Set) warn() {
	s.warnKeys()
	s.warnSecrets()
	for _, i := range s.Integrations {
		s.warnTimes(i)
		s.warnSender(i)
		s.warnCredentials(i)
		s.warnQueueing(i)
	}
	s.Warnings.sort()
}

func (s *Set) add(i *Integration, key, format string, args ...any) {
	s.Warnings = append(s.Warnings, i.at.problem(key, fmt.Sprintf(format, args...)))
}

// warnKeys looks at what several integrations have in common: one application.
func (s *Set) warnKeys() {
	if len(s.Integrations) < 2 {
		return
	}
	for _, i := range s.Integrations {
		if !i.KeyScoped {
			s.add(i, "idempotency", "value: event_id with %d scopes on one application: two senders may use one ID; "+
				"value: scoped tells them apart", len(s.Integrations))
			return
		}
	}
}

// warnSecrets finds one secret in the hands of several accounts.
func (s *Set) warnSecrets() {
	owners := map[[sha256.Size]byte]*Integration{}
	for _, i := range s.Integrations {
		for _, credential := range i.Credentials {
			if len(credential.Secret) == 0 {
				continue
			}
			sum := sha256.Sum256(credential.Secret)
			other, taken := owners[sum]
			if taken && other.Scope.Account() != i.Scope.Account() {
				s.add(i, "credentials", "credential %s shares its secret with account %s: either can sign for the other",
					credential.ID, other.Scope.Account())
			}
			owners[sum] = i
		}
	}
}

func (s *Set) warnTimes(i *Integration) {
	if i.Lease < i.Timeout+leaseMargin {
		s.add(i, "lease", "%s is less than timeout + %s: a result that takes long to record may be lost to a successor",
			FormatDuration(i.Lease), FormatDuration(leaseMargin))
	}
	if window := i.preset.SenderWindow; i.Retention.SenderWindow < window {
		s.add(i, "retention", "sender_window of %s is shorter than the %s for which %s retries: a late retry would run again",
			FormatDuration(i.Retention.SenderWindow), FormatDuration(window), i.Provider)
	}
}

// warnSender says what the sender's own contract leaves open.
func (s *Set) warnSender(i *Integration) {
	for _, remark := range slices.Concat(i.preset.Weak, i.preset.Advice) {
		s.add(i, "provider", "%s: %s", i.Provider, remark)
	}
	s.warnUnsignedID(i)
	if i.preset.InFlightStatus != 0 && i.InFlightStatus != i.preset.InFlightStatus {
		s.add(i, "in_flight_status", "%d where %d suits %s: some senders give up, or drop the subscription, after statuses they do not expect",
			i.InFlightStatus, i.preset.InFlightStatus, i.Provider)
	}
	if !i.DocsReviewed.IsZero() && time.Since(i.DocsReviewed) > staleReview {
		s.add(i, "docs_reviewed", "the sender's documentation was last read on %s, more than a year ago", i.DocsReviewed.Format(time.DateOnly))
	}
	if i.HMAC != nil && i.HMAC.Timestamp.Header == "" {
		s.add(i, "hmac", "no timestamp: a captured delivery stays valid as long as its key, and only the receipt stops it, for %s",
			FormatDuration(i.Retention.Receipt()))
	}
}

// warnUnsignedID states what remains where the signature does not cover the event ID.
func (s *Set) warnUnsignedID(i *Integration) {
	switch {
	case i.signsID():
	case i.UnsignedID == verify.Trust:
		s.add(i, "unsigned_id", "trust, and the event ID is not signed: whoever captured a delivery can run it again under any ID")
	case i.HMAC != nil:
		s.add(i, "event", "the event ID is not signed: a captured delivery can be replayed once per event type")
	}
}

// signsID tells whether the signature covers the event ID.
func (i *Integration) signsID() bool {
	if i.HMAC == nil {
		return i.preset.IDSigned
	}
	header := i.Event.ID.Header
	if header == "" {
		return true // in the body, which every scheme signs
	}
	signed := strings.ToLower(i.HMAC.Signed)
	return strings.Contains(signed, "{id}") || strings.Contains(signed, "{header:"+strings.ToLower(header)+"}")
}

func (s *Set) warnCredentials(i *Integration) {
	live := 0
	for n, info := range s.verifiers[i.Scope].Credentials() {
		credential := i.Credentials[n]
		if credential.Status == revoked {
			continue
		}
		if info.NotAfter.IsZero() || time.Now().Before(info.NotAfter) {
			live++
		}
		s.warnKeyLife(i, credential, info)
		if length := len(credential.Secret); length < shortSecret && !credential.Fetch {
			s.add(i, "credentials", "the secret of credential %s has only %d bytes", credential.ID, length)
		}
	}
	if live == 0 {
		s.add(i, "credentials", "no credential is or will be live: every delivery gets 503")
	}
}

// warnKeyLife looks at the validity that a certificate or a key has by itself.
func (s *Set) warnKeyLife(i *Integration, credential Credential, info verify.CredentialInfo) {
	if ends := info.NotAfter; !ends.Equal(credential.NotAfter) && time.Now().After(ends) {
		s.add(i, "credentials", "the certificate or key of credential %s expired on %s", credential.ID, ends.Format(time.DateOnly))
	}
	if begins := info.NotBefore; !begins.Equal(credential.NotBefore) && time.Now().Before(begins) {
		s.add(i, "credentials", "the certificate or key of credential %s is valid from %s only", credential.ID, begins.Format(time.DateOnly))
	}
}

// warnQueueing finds keys that say nothing in the integration's mode.
func (s *Set) warnQueueing(i *Integration) {
	said := func(key string) bool { _, written := i.at.lines[key]; return written }
	if i.Accept {
		if i.Queue {
			s.add(i, "on_failure", "says nothing in accept mode: every event is queued")
		}
		if i.ForwardLimit.MaxAttempts > 0 || i.ForwardLimit.MaxAge > 0 {
			s.add(i, "forward_limit", "says nothing in accept mode: retry limits the attempts")
		}
		if i.DuplicateWait > 0 {
			s.add(i, "duplicate_wait", "says nothing in accept mode: duplicates are acknowledged at once")
		}
	}
	if !i.Accept && i.Record.saysRejected {
		s.add(i, "record", "rejected says nothing in forward mode, where whatever is not final may be tried again")
	}
	if !i.acknowledges() {
		if said("accept") {
			s.add(i, "accept", "says nothing in forward mode without on_failure: queue: the sender gets the application's answer")
		}
		if i.Concurrency > 0 {
			s.add(i, "concurrency", "bounds the worker's attempts only: in forward mode the sender's own concurrency reaches the application")
		}
	}
}

// Warn finds what is allowed and probably not meant between the settings and the integrations.
func Warn(settings Settings, set *Set) Problems {
	var warnings Problems
	if len(settings.Guard) == 0 {
		warnings = append(warnings, Problem{Key: "SIDECAR_GUARD", Text: "is not set: a webhook path that is no route here reaches the application unverified"})
	}
	for _, i := range set.Integrations {
		if i.Timeout > settings.Timeout() {
			warnings = append(warnings, i.at.problem("timeout", fmt.Sprintf(
				"%s is longer than SIDECAR_SHUTDOWN_TIMEOUT of %s: a restart may cut an attempt off",
				FormatDuration(i.Timeout), FormatDuration(settings.Timeout()))))
		}
		if share := int64(settings.MaxInflight) / 4; i.MaxBody > share {
			warnings = append(warnings, i.at.problem("max_body", fmt.Sprintf(
				"%s is more than the %s that one integration may hold of SIDECAR_MAX_INFLIGHT_BYTES: larger bodies get 503",
				FormatSize(i.MaxBody), FormatSize(share))))
		}
	}
	return append(warnings, set.Warnings...)
}
