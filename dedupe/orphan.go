package dedupe

import "time"

// orphanedClaim gives a claim back that came too late for its delivery: nobody will run it, and the event would wait for
// the lease to end, or be quarantined without ever having been sent. A stored job stays; it was asked for.
func (k *Keeper) orphanedClaim(row NewRow, found Found) {
	claim := Move{Key: row.Key, Token: row.Token, CredentialID: row.CredentialID, FromReason: row.FromReason}
	switch {
	case row.State != Claimed:
	case found.Inserted:
		claim.Attempt = 1
		k.giveBack(claim)
	case found.Row.State == Claimed && found.Row.Token == row.Token:
		claim.Attempt, claim.Kept = found.Row.Attempt, found.Row.HasJob
		k.giveBack(claim)
	}
}

// orphanedMove does the same for an event that was claimed again.
func (k *Keeper) orphanedMove(move Move, made bool) {
	if made && move.To == Claimed {
		k.giveBack(move)
	}
}

// giveBack lets the event be as it was before the claim: what a person wanted to run is still wanted. Where the request is
// kept a worker has it, since duplicates may have been acknowledged meanwhile.
func (k *Keeper) giveBack(claim Move) {
	switch {
	case claim.FromState == Queued || claim.Kept:
		k.requeue(claim.Key, claim.Token, claim.Attempt, claim.CredentialID)
	case claim.FromReason.byHand():
		k.unclaim(claim, Retryable, claim.FromReason, k.retention(claim.Scope).Receipt)
	default:
		k.unclaim(claim, Retryable, Abandoned, k.retention(claim.Scope).Receipt)
	}
}

// requeue gives back the claim of a job, which is due at once.
func (k *Keeper) requeue(key Key, token Token, attempt int, credential string) {
	k.unclaim(Move{Key: key, Token: token, Attempt: attempt, CredentialID: credential}, Queued, Abandoned, 0)
}

// unclaim is asynchronous, and as good as it gets: where it fails, the lease ends by itself.
func (k *Keeper) unclaim(claim Move, to State, as Reason, expires time.Duration) {
	go k.moves.join(Move{
		Key: claim.Key, FromState: Claimed, FromToken: claim.Token, To: to, Token: claim.Token, Attempt: claim.Attempt - 1,
		Reason: as, Expires: expires,
		Evidence: &Evidence{
			From: Claimed, To: to, Attempt: claim.Attempt, Reason: Abandoned, Actor: k.replica, CredentialID: claim.CredentialID,
		},
	})
}
