// Package postgres is the production store of the ledger: the contract of dedupe.Backend on PostgreSQL 14 or newer, for
// any number of replicas.
//
// A namespace is a schema, sidecar_<namespace>. Every call is one transaction in one round trip (two where an insertion
// meets rows that exist, or a move a kept request for the first time). What a transaction needs (a lock timeout, plans by
// index) it sets for itself, so PgBouncer may pool transactions; only where a connection leads to a server process of its
// own, which each new one finds out, the session keeps what the hot calls need. A PgBouncer that mixes up
// prepared statements (before 1.21) is recognised by its answers, and nothing is prepared from then on.
//
// All times are the database's now(): one instant for a whole transaction and the same as its snapshot's, so that a row
// and the Now returned with it agree. A transaction waits for locks no longer than Config.LockTimeout, which is what a
// lease may lose by that choice. Running statements are never cancelled: that would close the connection.
package postgres
