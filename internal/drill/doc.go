// Package drill is the leaked-key drill: it revokes and rotates the credential of one of two accounts while both get
// deliveries, replays what was captured, kills sidecars, and tells whether everything stayed within the one account. It
// speaks to sidecars over HTTP as senders do, and reads their ledger; it does not know how they are made.
package drill
