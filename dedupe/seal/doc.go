// Package seal keeps what senders and the application said from whoever can read the ledger's store or its cache: kept
// requests, recorded bodies and cached values are sealed with keys that only the sidecar has.
//
// # What is sealed, and how
//
// A sealed value is one version byte, the ID of its key, a random nonce of 24 bytes, and XChaCha20-Poly1305's ciphertext
// with its tag. The associated data are its purpose (request, body or cache), the key's ID, the namespace, the scope and the
// event ID, each behind its length: nothing can be moved to another event, application or use. Whoever may write can put what
// was sealed of an event before, or what is not sealed, in its place: sealing keeps secrets, it is no history.
//
// Store is a decorator over any store. It seals whole requests and bodies of recorded results on their way in, and opens
// them on their way out. Everything else stays readable, because the ledger compares, finds and shows it: scopes, event
// IDs, types, references to objects, fingerprints, statuses, and the allowed header fields of results.
//
// What cannot be opened is told row by row (dedupe.SealedError), so that the others of a batch go on.
//
// # Keys
//
// The first key seals, all open. A ring's keys are exchanged while it is used; what is under way goes on with those that
// it began with. Keys and rows may be mixed in any way: each sealed value names its key, and what is not sealed is read as
// it is.
package seal
