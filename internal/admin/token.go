package admin

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Role is what a token may do.
type Role string

// The roles of tokens.
const (
	Read    Role = "read"    // look at everything
	Operate Role = "operate" // and change it
)

// Token is a bearer token of the operator API.
type Token struct {
	Name   string // whom changes are attributed to; empty for a file that is one bare token
	Role   Role
	Secret []byte
}

// minToken is the fewest bytes of a token's secret.
const minToken = 16

// ParseTokens reads a file of tokens: a line each, name:role:secret, or a bare secret without a colon, which may operate.
// Empty lines and lines that begin with # count for nothing. Errors name the line and never show it.
func ParseTokens(text []byte) ([]Token, error) {
	var tokens []Token
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		token, err := parseToken(string(line))
		if err == nil {
			err = token.among(tokens)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		tokens = append(tokens, token)
	}
	if len(tokens) == 0 {
		return nil, errors.New("there is no token")
	}
	return tokens, nil
}

func parseToken(line string) (Token, error) {
	token := Token{Role: Operate, Secret: []byte(line)}
	if name, rest, named := strings.Cut(line, ":"); named {
		role, secret, complete := strings.Cut(rest, ":")
		if !complete || delivery.CheckName(name) != nil || Role(role) != Read && Role(role) != Operate {
			return token, errors.New("want name:role:token with role read or operate, or a bare token without a colon")
		}
		token = Token{Name: name, Role: Role(role), Secret: []byte(secret)}
	}
	if len(token.Secret) < minToken {
		return token, fmt.Errorf("the token has fewer than %d bytes", minToken)
	}
	return token, nil
}

// among finds what would make it unclear who somebody is.
func (t Token) among(others []Token) error {
	for _, other := range others {
		switch {
		case other.Name == t.Name && t.Name != "":
			return errors.New("the name is used twice")
		case bytes.Equal(other.Secret, t.Secret):
			return errors.New("the token is used twice")
		}
	}
	return nil
}

// holder is the token that was presented. Digests are compared, all of them, so that the time tells nothing about any
// token, nor about its length.
func holder(tokens []Token, presented string) (Token, bool) {
	got := sha256.Sum256([]byte(presented))
	var held Token
	found := 0
	for _, token := range tokens {
		want := sha256.Sum256(token.Secret)
		same := subtle.ConstantTimeCompare(want[:], got[:])
		if same == 1 && len(token.Secret) >= minToken {
			held = token
		}
		found |= same
	}
	return held, found == 1 && len(held.Secret) > 0
}
