package verify

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"errors"
)

// strictJSON reads a secret that is a JSON object with these fields and no others.
func strictJSON(secret []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(secret))
	decoder.DisallowUnknownFields()
	if decoder.Decode(into) != nil || decoder.More() {
		return errors.New("not the JSON object that is expected")
	}
	return nil
}

func isJSON(secret []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(secret), []byte("{")) }

// metaKey is an app secret and the token of the subscription check.
type metaKey struct {
	*macKey
	token []byte
}

func metaSecret(secret []byte) (any, error) {
	app, token := secret, secret
	if isJSON(secret) {
		var pair struct {
			AppSecret   string `json:"app_secret"`
			VerifyToken string `json:"verify_token"`
		}
		if err := strictJSON(secret, &pair); err != nil {
			return nil, err
		}
		if err := cmp.Or(checkPart("app_secret", pair.AppSecret), checkPart("verify_token", pair.VerifyToken)); err != nil {
			return nil, err
		}
		app, token = []byte(pair.AppSecret), []byte(pair.VerifyToken)
	}
	mac, err := newMACKey("sha256", app)
	return &metaKey{mac, token}, err
}

// boxKeys are the two signature keys of an application; either of them is enough.
type boxKeys []*macKey

func (k boxKeys) macs() []*macKey { return k }

func boxSecret(secret []byte) (any, error) {
	texts := []string{string(secret)}
	if isJSON(secret) {
		var pair struct{ Primary, Secondary string }
		if err := strictJSON(secret, &pair); err != nil {
			return nil, err
		}
		texts = []string{pair.Primary, pair.Secondary}
	}
	var out boxKeys
	for _, text := range texts {
		if text == "" {
			continue
		}
		if err := checkPart("primary or secondary", text); err != nil {
			return nil, err
		}
		key, err := newMACKey("sha256", []byte(text))
		if err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	if len(out) == 0 {
		return nil, errors.New("primary and secondary are missing")
	}
	return out, nil
}

// hexPublicKey is an Ed25519 public key in hex.
func hexPublicKey(secret []byte) (any, error) {
	key, ok := decodeFixed(string(bytes.TrimSpace(secret)), "hex", ed25519.PublicKeySize)
	if !ok {
		return nil, errors.New("not the hex of a 32-byte public key")
	}
	return ed25519.PublicKey(key), nil
}
