package dedupetest

import (
	"slices"
	"testing"
)

// part is one promise of a ledger.
type part struct {
	name string
	test func(*bench)
}

// RunLedger runs the contract of dedupe.Ledger and dedupe.Desk, over any store and under any decorator.
func RunLedger(t *testing.T, open func(t *testing.T) Harness) {
	for _, p := range slices.Concat(deliveries(), operatorsAndWorkers(), upkeep()) {
		t.Run(p.name, func(t *testing.T) { p.test(newBench(t, open(t))) })
	}
}

// deliveries are what senders are promised.
func deliveries() []part {
	return []part{
		{"the first delivery is told to run", testFirst},
		{"every state answers a duplicate", testDuplicates},
		{"a conflict is one in every state", testConflicts},
		{"keys that look alike are different events", testLookAlikes},
		{"a bound ID is the event that it is bound to", testBinding},
		{"a bound ID with other content never runs", testBindingConflict},
		{"IDs with one binding run once", testBindingRace},
		{"deliveries at one instant run once", testRace},
		{"a claim wants a lease", testNoLease},
		{"a caller that gave up changes nothing for others", testCancelled},
		{"stored with its job", testAccept},
		{"an accepted event keeps every delivery's promise", testAcceptLater},
		{"an expired claim is taken over", testTakeover},
		{"takeovers at one instant run once", testTakeoverRace},
		{"a late result is accepted while nobody else decided", testLateButOwn},
		{"the sweeper settles expired claims", testSweepExpired},
		{"the sweeper leaves an owner its grace", testGrace},
		{"an unknown outcome is quarantined", testQuarantine},
		{"attempts are limited", testMaxAttempts},
		{"age is limited", testMaxAge},
		{"an attempt that was not sent does not count", testNotSent},
		{"a settlement is what it says", testSettlements},
		{"settling again is the same", testSettleTwice},
		{"settling what is not one's own is refused", testSettleForeign},
		{"foreign bytes come back", testForeignBytes},
		{"evidence tells what was not the happy path", testEvidence},
	}
}

// operatorsAndWorkers are about events that go on without their sender.
func operatorsAndWorkers() []part {
	return []part{
		{"operators act on the right states only", testActs},
		{"operators at one instant act once", testActRace},
		{"an act is about what its person saw", testActOvertaken},
		{"an act whose answer was lost is found out", testActUnknown},
		{"a person's word is over the limits, once", testReplayOverLimits},
		{"a dead event's request is queued again by a worker", testReplayQueued},
		{"a worker takes what is due", testTake},
		{"a worker's limits are its own", testTakeLimits},
		{"every scope gets its turn", testTakeFair},
		{"a worker takes what it has room for", testTakeRoom},
		{"workers share without running twice", testTakeShared},
		{"a worker that vanished loses its job to the next", testTakeExpired},
		{"a job that kills every worker dies of it", testTakeKiller},
		{"what a worker is refused for good is dead", testTakeRejected},
		{"a replayed request runs once, as it was", testTakeReplayed},
		{"a kept request is worked off whatever the mode is", testKeptIsWorked},
		{"a claim that was given back leaves the event as it was", testGivenBack},
		{"a replay beside the end of the request", testReplayBesideForgetting},
		{"a paused scope is held", testPause},
		{"a failed taking is found out", testTakeFaults},
	}
}

// upkeep is what outlives an event, and what holds whatever happens.
func upkeep() []part {
	return []part{
		{"what is over is forgotten", testRetention},
		{"a large backlog is swept in batches", testSweepBatches},
		{"a backlog of what is over is forgotten in batches", testForgetBatches},
		{"a claim that cannot be swept holds up nothing", testSweepDespite},
		{"sweepers at one instant do everything once", testSweepRace},
		{"a delivery that runs again is not forgotten", testForgetOrRun},
		{"looking changes nothing", testLook},
		{"the desk lists and finds", testDesk},
		{"a failed write is tried again", testFaults},
		{"a fault that lasts is told", testLastingFault},
		{"only the guilty row of a batch fails", testGuilty},
		{"any order of calls follows the state machine", testModel},
	}
}
