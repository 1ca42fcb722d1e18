// Package verify turns bytes, keys and a time into a Proof of who sent a delivery and which event it carries, or into a
// Rejection.
//
// What a sender signs is a scheme. Most schemes are data: a header, a list syntax, an encoding, a template of what is
// signed. The others are one file each. A Preset holds what is known of one sender; New joins it with what the operator
// wrote and with the credentials. A Verifier keeps nothing between deliveries but what it fetched from a sender's own
// host, and is safe for concurrent use.
//
// The package reads no clock and no configuration, and its errors never carry a secret, a signature or a part of a body.
package verify
