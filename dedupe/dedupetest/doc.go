// Package dedupetest is the ledger's contract as tests. Every store runs RunStore and RunLedger, every decorator of a
// ledger runs RunLedger. A change to a store or to the rules extends this suite first.
//
// Nothing here sleeps: time passes when a test ages a row.
package dedupetest
