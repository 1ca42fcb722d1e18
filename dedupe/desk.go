package dedupe

import (
	"context"
	"crypto/sha256"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Receipt implements Desk.
func (k *Keeper) Receipt(ctx context.Context, scope delivery.Scope, id delivery.EventID) (Receipt, error) {
	key := Key{Scope: scope, EventID: id}
	row, err := k.read(ctx, key)
	if err != nil {
		return Receipt{}, err
	}
	receipts, err := k.receiptsOf(ctx, []Row{row})
	if err != nil {
		return Receipt{}, err
	}
	receipts[0].Evidence, receipts[0].Head, err = k.store.Evidence(ctx, key)
	return receipts[0], err
}

// Find implements Desk.
func (k *Keeper) Find(ctx context.Context, reference string) ([]Receipt, error) {
	rows, err := k.store.Find(ctx, reference)
	if err != nil {
		return nil, err
	}
	receipts, err := k.receiptsOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		if receipts[i].Evidence, receipts[i].Head, err = k.store.Evidence(ctx, row.Key); err != nil {
			return nil, err
		}
	}
	return receipts, nil
}

// List implements Desk.
func (k *Keeper) List(ctx context.Context, f Filter) ([]Receipt, error) {
	rows, err := k.store.List(ctx, f)
	if err != nil {
		return nil, err
	}
	return k.receiptsOf(ctx, rows)
}

// Attention implements Desk.
func (k *Keeper) Attention(ctx context.Context) ([]Attention, error) {
	return k.store.Attention(ctx)
}

// receiptsOf tells rows as people see them, and which of their requests cannot be opened.
func (k *Keeper) receiptsOf(ctx context.Context, rows []Row) ([]Receipt, error) {
	receipts := make([]Receipt, len(rows))
	var keys []Key
	var at []int
	for i := range rows {
		receipts[i] = rows[i].receipt()
		if rows[i].HasJob {
			keys, at = append(keys, rows[i].Key), append(at, i)
		}
	}
	if len(keys) == 0 {
		return receipts, nil
	}
	sealed, err := k.store.Unopened(ctx, keys)
	for i, why := range sealed {
		receipts[at[i]].JobSealed = why
	}
	return receipts, err
}

// receipt is the row as people see it.
func (row *Row) receipt() Receipt {
	return Receipt{
		Scope: row.Scope, EventID: row.EventID, Reference: delivery.Reference(row.Scope, row.EventID),
		State: row.State, Reason: row.Reason, Attempts: row.Attempt,
		CredentialID: row.CredentialID, EventType: row.EventType, Object: row.Object, Trace: row.Trace,
		Bound: row.Binding != [sha256.Size]byte{}, Fingerprint: row.Fingerprint,
		Created: row.Created, Changed: row.Changed, LeaseUntil: row.LeaseUntil, NextAttempt: row.NextAttempt,
		Expires: row.Expires, Status: row.Status, Response: row.Response, HasJob: row.HasJob,
		Sealed: row.Sealed,
	}
}
