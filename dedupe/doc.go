// Package dedupe is the ledger: one durable receipt per event, which decides who may hand the event to the application
// and remembers what came of it.
//
//	                 first delivery                     first delivery, accept mode
//	                       │                                        │
//	                       ▼         due, by a worker               ▼
//	   ┌──────────────▶ claimed ◀────────────────────────────── queued
//	   │                   │  │ └───────── not final ────────────▶ ▲
//	next delivery          │  │   (accept mode, on_failure: queue) │
//	   │                   │  │                                    │
//	retryable ◀── not ─────┘  ├──── final answer ──▶ applied       │ replay, with its request
//	 ▲ ▲ ▲      final, not    │                         │          │
//	 │ │ │          sent      └─ limits, rejected, ─▶ dead ────────┘
//	 │ │ │                       in doubt               │ │
//	 │ │ └──────────── replay, without its request ─────┘ └── close ──▶ closed
//	 │ └────────────── reopen (from applied)
//	 └──────────────── lease expired (from claimed)
//
// An expired lease leads from claimed to retryable (or queued), to dead under quarantine or when the attempts are used up,
// or straight to the next attempt's claim: whichever comes first, the sweeper or the next delivery. Where the request is
// kept it is the sweeper's, and no attempt leads to retryable, whatever the mode is by then: a worker has it. A delivery that
// finds a retryable event over its limits makes it dead. In accept mode a delivery may also bring the request that an event
// lacks: it is stored with a retryable event or an expired claim, which becomes queued. A claim that came too late for its
// delivery is given back: the event is as it was, and the attempt does not count.
//
// # What is promised
//
// One recorded result per event. A second run happens only where an attempt's outcome is unknown or its answer was not
// final, by policy, and the application sees it as a higher attempt.
//
//   - Calls for one (scope, event ID) are linearizable across processes and restarts: one row under a unique key decides.
//   - A write is durable when it returns without an error. Otherwise its outcome is unknown, and the same call finds out by
//     the token that it made before it wrote.
//   - Every write that ends a claim carries the claim's token and state. Whoever decides about somebody else's claim
//     leaves a token of its own, so that a late owner learns that it has lost; its result is not stored.
//   - Leases, ages and retention are judged by the store's clock. Attempts are counted when they are claimed.
//   - Nothing is held in the store while the application works.
//   - What is compared is compared on every path: a delivery whose fingerprint differs is a conflict in every state.
//   - Every transition that is not the happy path is evidence, written in its transaction, and so is every one that ends an
//     attempt after it. An event's evidence is a chain: what is changed in it, or removed, an audit finds (package audit).
//
// # How it is built
//
// Keeper has the rules and a Store has the rows. The rules are pure functions: decide makes a decision of a row and a
// request, Policy.Settle makes a transition of an attempt's result. Stores add, change and read rows in batches and know
// nothing about events; they pass the suite of package dedupetest. Concurrent calls are grouped without a timer: a batch
// forms while the ones before it are in flight (see group).
package dedupe
