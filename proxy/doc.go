// Package proxy is the HTTP edge: it decides which requests are deliveries, takes them through the arrows of the product
// in their fixed order, and owns every status code that a sender sees.
//
// A request on a guarded route becomes a delivery.Delivery, a verify.Proof, a dedupe.Decision, and, when this delivery is
// the one that runs, a delivery.Result that is settled before the sender hears of it. Everything else is passed to the
// application untouched, unless some reading of its path would be a guarded one.
//
// Nothing before the claim writes to the ledger. From the claim on a delivery is detached from its sender: whether the
// sender is still there changes nothing about what is recorded.
package proxy
