package verify

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// CredentialInfo is what may be shown of a credential.
type CredentialInfo struct {
	ID        string
	Status    Status
	NotBefore time.Time // as configured, or as its certificate or key says where that is later; zero: always
	NotAfter  time.Time // the same, where that is earlier; zero: for ever
	// Fingerprint is the first 12 hex digits of SHA-256 over the secret, to compare two places with. It is empty where
	// there is no secret: the sender's certificate is fetched.
	Fingerprint string
}

// credential is a Credential whose secret was read. Its validity is that of its key, too.
type credential struct {
	Credential
	key any // of the scheme's own kind; nil when revoked
}

// limitedKey is a key with a validity of its own, as a certificate has. Zero: always, for ever.
type limitedKey interface {
	validity() (notBefore, notAfter time.Time)
}

// limit narrows the credential's validity to that of its key.
func (c *credential) limit() {
	key, limited := c.key.(limitedKey)
	if !limited {
		return
	}
	notBefore, notAfter := key.validity()
	if notBefore.After(c.NotBefore) {
		c.NotBefore = notBefore
	}
	if !notAfter.IsZero() && (c.NotAfter.IsZero() || notAfter.Before(c.NotAfter)) {
		c.NotAfter = notAfter
	}
}

// live tells whether the credential verifies at a time. Both ends of its validity count as valid.
func (c *credential) live(now time.Time) bool {
	if c.Status == Revoked || c.key == nil {
		return false
	}
	early := !c.NotBefore.IsZero() && now.Before(c.NotBefore)
	late := !c.NotAfter.IsZero() && now.After(c.NotAfter)
	return !early && !late
}

func (c *credential) info() CredentialInfo {
	return CredentialInfo{c.ID, c.Status, c.NotBefore, c.NotAfter, fingerprintSecret(c.Secret)}
}

func fingerprintSecret(secret []byte) string {
	if len(secret) == 0 {
		return ""
	}
	sum := delivery.HashParts([]byte("webhook-sidecar credential fingerprint"), secret)
	return hex.EncodeToString(sum[:6])
}

// ring is the credentials of one integration in the order of the configuration.
type ring []*credential

func (r ring) live(now time.Time) iter.Seq[*credential] {
	return func(yield func(*credential) bool) {
		for _, c := range r {
			if c.live(now) && !yield(c) {
				return
			}
		}
	}
}

// signing is the credential to sign with: the first that is active, or else the first that is retiring; nil: none is live.
func (r ring) signing(now time.Time) *credential {
	var out *credential
	for c := range r.live(now) {
		if c.Status == Active {
			return c
		}
		out = cmp.Or(out, c)
	}
	return out
}

func newRing(credentials []Credential, s scheme) (ring, error) {
	if len(credentials) == 0 {
		return nil, errors.New("credentials: none")
	}
	var out ring
	var faults []error
	seen := map[string]*credential{}
	for i, c := range credentials {
		made, err := newCredential(c, s)
		if err == nil && seen[c.ID] != nil {
			err = errors.New("used twice")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("credentials.%s: %w", nameOf(c, i), err))
			continue
		}
		seen[c.ID] = made
		out = append(out, made)
	}
	return out, errors.Join(append(faults, revokedTwins(out)...)...)
}

func nameOf(c Credential, index int) string {
	if delivery.CheckName(c.ID) != nil {
		return fmt.Sprint(index)
	}
	return c.ID
}

// revokedTwins finds secrets that are revoked under one name and live under another: the revocation would do nothing.
func revokedTwins(all ring) []error {
	var faults []error
	for _, dead := range all {
		for _, other := range all {
			same := len(dead.Secret) > 0 && string(dead.Secret) == string(other.Secret)
			if same && dead.Status == Revoked && other.Status != Revoked {
				faults = append(faults, fmt.Errorf("credentials.%s: same secret as %s, which is revoked", other.ID, dead.ID))
			}
		}
	}
	return faults
}

func newCredential(c Credential, s scheme) (*credential, error) {
	if err := delivery.CheckName(c.ID); err != nil {
		return nil, fmt.Errorf("id: %w", err)
	}
	if c.Status == "" {
		c.Status = Active
	}
	if c.Status != Active && c.Status != Retiring && c.Status != Revoked {
		return nil, fmt.Errorf("status: %q is none of active, retiring, revoked", c.Status)
	}
	if !c.NotBefore.IsZero() && !c.NotAfter.IsZero() && !c.NotBefore.Before(c.NotAfter) {
		return nil, errors.New("not_after: not behind not_before")
	}
	made := &credential{Credential: c}
	if c.Status == Revoked {
		return made, nil // it never verifies, so its secret may already be gone
	}
	key, err := readKey(c, s)
	if err != nil {
		return nil, err
	}
	made.key = key
	made.limit()
	return made, nil
}

func readKey(c Credential, s scheme) (any, error) {
	if c.Fetch {
		fetches, ok := s.(fetcher)
		if !ok {
			return nil, errors.New("secret: this sender has no certificate to fetch")
		}
		return fetches.fetched()
	}
	if err := checkSecret(c.Secret); err != nil {
		return nil, fmt.Errorf("secret: %w", err)
	}
	key, err := s.key(c.Secret)
	if err != nil {
		return nil, fmt.Errorf("secret: %w", err)
	}
	return key, nil
}
