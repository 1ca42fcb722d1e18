package drill

import "context"

// scene is a step that can be played.
type scene struct {
	id      string
	title   string
	promise string
	several bool // means nothing with one replica
	play    func(d *Drill, ctx context.Context, step *Step)
}

// scenes are the steps in their order: what is captured in the first ones is replayed in the later ones.
func scenes() []scene {
	return append(before(), after()...)
}

// before is what comes before the key leaks.
func before() []scene {
	return []scene{
		{"deliver", "Distinct events and one duplicate each, two accounts",
			"every event runs once; a duplicate gets the first result", false, (*Drill).deliveries},
		{"isolation", "One event ID in both accounts",
			"the same ID in another account is another event: neither suppresses the other", false, (*Drill).isolation},
		{"concurrency", "Concurrent duplicates on one sidecar",
			"one run, however many arrive at once", false, (*Drill).concurrency},
		{"replicas", "Concurrent duplicates over all replicas",
			"one run, wherever they arrive", true, (*Drill).replicas},
		{"wrong_route", "A valid signature of A on B's route",
			"401, no row, and B's own event under that ID still runs", false, (*Drill).wrongRoute},
		{"conflict", "The same ID with another body",
			"422, and the application does not see it", false, (*Drill).conflict},
		{"altered", "Captured deliveries under altered IDs",
			"an altered signed ID is 401; an altered unsigned one gets the first result, flagged, and runs nothing", false, (*Drill).altered},
		{"refusals", "Unauthenticated, stale, oversized, malformed requests",
			"each is refused and reserves nothing: the genuine event runs afterwards", false, (*Drill).refusals},
		{"kill_before", "A sidecar killed before the result is committed",
			"nobody was told of a success; the retry takes over with the same key, as attempt 2", false, (*Drill).killBefore},
		{"kill_after", "A sidecar killed right after it acknowledged",
			"what was acknowledged is recorded: the retry gets the result, and nothing runs again", false, (*Drill).killAfter},
		{"kill_accepted", "A sidecar killed right after it accepted (accept mode)",
			"what was accepted is stored: somebody else works it off", false, (*Drill).killAccepted},
	}
}

// after is what comes from the leak on.
func after() []scene {
	return []scene{
		{"revocation", "A's leaked credential is revoked",
			"every replica refuses it within the bound (401, or 503 when no other is live); no row changes; B goes on", false, (*Drill).revocation},
		{"rotation", "A gets a replacement credential in the same scope",
			"a captured event under the new key gets its original result and runs nothing", false, (*Drill).rotation},
		{"captured", "Captured deliveries under the revoked key",
			"401 on every replica although another key is live now; no row changes", false, (*Drill).replayCaptured},
		{"overlap", "The replacement is rotated once more, with an overlap",
			"the retiring and the new key verify for one scope and share its receipts", false, (*Drill).overlap},
		{"waiting", "A duplicate that waits when its credential is revoked",
			"the wait ends with a refusal; the attempt that runs is still recorded", false, (*Drill).waiting},
		{"backlog", "A's backlog and dead application (accept mode), and B",
			"B's events are accepted and worked off, in both modes, while A's hang", false, (*Drill).backlog},
		{"retention", "A replay past the retention of its receipt",
			"the documented consequence: nobody remembers, and it runs again as a new event", false, (*Drill).retention},
		{"logs", "Log lines of A name no B, and no line shows a secret",
			"what is logged of one account tells nothing of another, and nothing that signs", false, (*Drill).logs},
	}
}
