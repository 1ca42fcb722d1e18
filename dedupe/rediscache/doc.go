// Package rediscache answers duplicates of finished events without asking the ledger. It is a decorator over any
// dedupe.Ledger: a small local memory in front, then Redis, shared by the replicas of one application, then the ledger.
//
// # What is cached
//
// Only facts that are finished: an applied event's result. What is in flight, may be retried, is dead or closed is
// always asked of the ledger. Losing the cache, all of it or any part, costs a read and never a duplicate: a miss goes
// to the ledger, and nothing is decided here that the ledger has not decided before.
//
// A value carries scope, event ID and fingerprint, its own version, and a checksum over itself and its key. It is a miss
// unless every one of them matches: garbage, another version's value, another event's value and a reply that belongs to
// another request are all nothing.
//
// # Redis may be missing, always
//
// Nothing here returns an error of Redis. Redis has one budget per delivery, and a breaker stops asking a Redis that does
// not answer; it is asked again in the background, at jittered times, so that no delivery pays for finding out. Reads of
// concurrent deliveries share a pipeline. No caller's context ever cancels a command. Writes are behind a bounded queue
// that drops what does not fit.
//
// Where next to none of the deliveries are duplicates, the ledger is asked at once, which finds the few as well, and Redis
// only if it fails: see worth.
//
// # Reopen
//
// A person may reopen an applied event; only then a cached fact stops being true. The rule: nobody answers from the old
// fact more than 30 s after Reopen returned.
//
//   - Reopen first replaces the key in Redis with a mark that is a miss to every reader, and then tells the ledger.
//   - Facts are written only if the key does not exist (SET NX), and the mark lives for two minutes. A replica that read
//     the old fact from the ledger before and writes it afterwards meets the mark and writes nothing; it drops what has
//     waited for ten seconds, so it is not later than the mark either. Had the key only been deleted, that late write
//     would have brought the old fact back for a day. The price is that the reopened event's next result reaches Redis
//     two minutes late.
//   - Local memory keeps a fact for 30 s since the ledger or Redis confirmed it, counted from before it was asked, so a
//     slow answer does not prolong it. After the mark and the ledger's commit nobody confirms the old fact any more.
//   - Where the mark could not be set (Redis out of reach for the person, but not for the replicas) or was lost (a
//     failover to a replica that had not got it, an eviction) a fact in Redis is still believed for at most an hour since
//     the ledger confirmed it. Older ones are answered only while the ledger is out of reach, which a result that it has and
//     cannot open is not. Stats.Unmarked tells. As nothing replaces a fact before its time is over, it is the old result
//     that stands in for the ledger then.
package rediscache
