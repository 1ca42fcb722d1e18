package verify

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha512"
	"crypto/subtle"
	"math/big"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// checkDigest computes the body's hashes anew. Every one that is known must be right, and one must be known.
func checkDigest(d *delivery.Delivery) *Rejection {
	text, rejection := one(d.Header, "Content-Digest", BodyNotCovered, SignedPartRepeated)
	if rejection != nil {
		return rejection
	}
	members, ok := dictionary(text, sequence)
	if !ok {
		return reject(SignatureMalformed)
	}
	known := false
	for _, member := range members {
		var sum []byte
		switch member.label {
		case "sha-256":
			sum = sha256Sum(d.Body)
		case "sha-512":
			long := sha512.Sum512(d.Body)
			sum = long[:]
		default:
			continue
		}
		known = true
		if subtle.ConstantTimeCompare(sum, member.bytes) != 1 {
			return reject(SignatureMismatch)
		}
	}
	if !known {
		return reject(BodyNotCovered)
	}
	return nil
}

// checkMessage verifies with the algorithm that belongs to the kind of key.
func checkMessage(key any, base, signature []byte) (bool, string) {
	switch key := key.(type) {
	case *rsa.PublicKey:
		sum := sha512.Sum512(base)
		options := &rsa.PSSOptions{SaltLength: sha512.Size, Hash: crypto.SHA512}
		return rsa.VerifyPSS(key, crypto.SHA512, sum[:], signature, options) == nil, "rsa-pss-sha512"
	case *ecdsa.PublicKey:
		return checkECDSA(key, base, signature)
	case ed25519.PublicKey:
		return ed25519.Verify(key, base, signature), "ed25519"
	case *macKey:
		return key.matches([][]byte{base}, [][]byte{signature}), "hmac-sha256"
	}
	return false, ""
}

// checkECDSA reads r and s side by side, each of the curve's size.
func checkECDSA(key *ecdsa.PublicKey, base, signature []byte) (bool, string) {
	size, algorithm := 32, "ecdsa-p256-sha256"
	sum := sha256Sum(base)
	if key.Curve.Params().BitSize == 384 {
		size, algorithm = 48, "ecdsa-p384-sha384"
		long := sha512.Sum384(base)
		sum = long[:]
	}
	if len(signature) != 2*size {
		return false, algorithm
	}
	r, s := new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:])
	return ecdsa.Verify(key, sum, r, s), algorithm
}
