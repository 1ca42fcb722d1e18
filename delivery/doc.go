// Package delivery holds the nouns that every room of the sidecar shares.
//
// A delivery is one inbound HTTP request on a guarded route. An event is what the sender says happened; it may arrive in
// many deliveries. A scope is the namespace of event IDs. A response is what the application answered, and a result is
// all that is known after one attempt at the application.
//
// The package uses the standard library only and does no I/O, reads no clock and takes no locks. Its values are immutable
// by agreement: whoever makes one may fill it in, and nobody changes it afterwards.
package delivery
