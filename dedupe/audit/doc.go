// Package audit seals the ledger's evidence in checkpoints and finds out whether anything was changed since.
//
// Each event's evidence is a chain: a row's sum covers the row and the sum before it, and the receipt knows the last one.
// A Notary seals the new rows of each scope in a checkpoint, and the checkpoints are a chain, too. An Auditor computes
// everything anew. What the ledger itself cannot tell is whether somebody computed everything anew before: the sums of
// checkpoints that were kept elsewhere, anchors, tell that.
//
// Rows are marked with their checkpoint, and the rows without a mark are the ones to seal: a transaction that commits late
// is never passed over. The mark costs the hot path nothing.
package audit
