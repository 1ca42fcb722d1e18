package dedupe

// orphanedClaim gives a claim back that came too late for its delivery: nobody will run it, and the event would wait for
// the lease to end, or be quarantined without ever having been sent. A stored job stays; it was asked for.
func (k *Keeper) orphanedClaim(row NewRow, found Found) {
	switch {
	case row.State != Claimed:
	case found.Inserted:
		k.giveBack(row.Key, row.Token, 1, row.CredentialID)
	case found.Row.State == Claimed && found.Row.Token == row.Token:
		k.giveBack(row.Key, row.Token, found.Row.Attempt, row.CredentialID)
	}
}

// orphanedMove does the same for an event that was claimed again.
func (k *Keeper) orphanedMove(move Move, made bool) {
	switch {
	case !made || move.To != Claimed:
	case move.FromState == Queued:
		k.requeue(move.Key, move.Token, move.Attempt, move.CredentialID)
	default:
		k.giveBack(move.Key, move.Token, move.Attempt, move.CredentialID)
	}
}

// giveBack is asynchronous, and as good as it gets: where it fails, the lease ends by itself.
func (k *Keeper) giveBack(key Key, token Token, attempt int, credential string) {
	go k.moves.join(Move{
		Key: key, FromState: Claimed, FromToken: token, To: Retryable, Token: token, Attempt: attempt - 1,
		Reason: Abandoned, Expires: k.retention(key.Scope).Receipt,
		Evidence: &Evidence{
			From: Claimed, To: Retryable, Attempt: attempt, Reason: Abandoned, Actor: k.replica, CredentialID: credential,
		},
	})
}

// requeue does for a worker's claim what giveBack does for a delivery's: the job is due at once.
func (k *Keeper) requeue(key Key, token Token, attempt int, credential string) {
	go k.moves.join(Move{
		Key: key, FromState: Claimed, FromToken: token, To: Queued, Token: token, Attempt: attempt - 1, Reason: Abandoned,
		Evidence: &Evidence{
			From: Claimed, To: Queued, Attempt: attempt, Reason: Abandoned, Actor: k.replica, CredentialID: credential,
		},
	})
}
