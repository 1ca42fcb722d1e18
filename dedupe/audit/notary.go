package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// NotaryConfig is what a Notary is made of. Store must be set.
type NotaryConfig struct {
	Store  dedupe.Checkpoints
	Batch  int           // most rows of a checkpoint; 0: 1000
	Retire time.Duration // between looks at what of a scope's old checkpoints is no longer needed; 0: 1 h
}

// Notary seals evidence. Any number of them may work on one ledger: whoever comes second does nothing. It is not safe for
// concurrent use.
type Notary struct {
	config  NotaryConfig
	retired map[delivery.Scope]time.Time // when a scope's old checkpoints were looked at
}

// NewNotary makes a Notary.
func NewNotary(config NotaryConfig) (*Notary, error) {
	if config.Store == nil {
		return nil, errors.New("audit: a notary needs a store")
	}
	if config.Batch <= 0 {
		config.Batch = 1000
	}
	if config.Retire == 0 {
		config.Retire = time.Hour
	}
	return &Notary{config: config, retired: map[delivery.Scope]time.Time{}}, nil
}

// Sealed is what one round of sealing did.
type Sealed struct {
	Made  []dedupe.Checkpoint
	Gone  []delivery.Scope // where rows are gone before their time: an audit tells which
	More  bool             // rows wait for the next round
	Other bool             // another notary was faster somewhere
}

// Seal makes one checkpoint of each scope that has new evidence. What it returns beside an error is done all the same.
func (n *Notary) Seal(ctx context.Context) (Sealed, error) {
	var sealed Sealed
	scopes, err := n.config.Store.Unsealed(ctx)
	if err != nil {
		return sealed, fmt.Errorf("seal: %w", err)
	}
	for _, scope := range scopes {
		if ctx.Err() != nil {
			return sealed, errors.Join(err, context.Cause(ctx))
		}
		if failed := n.seal(ctx, scope, &sealed); failed != nil {
			err = errors.Join(err, fmt.Errorf("seal %s: %w", scope, failed))
		}
	}
	return sealed, err
}

// seal looks at the chain's end first and at the rows then: what a faster notary has sealed is either no longer among the
// rows, or its checkpoint has the number that this one would have.
func (n *Notary) seal(ctx context.Context, scope delivery.Scope, sealed *Sealed) error {
	ends, err := n.config.Store.Ends(ctx, scope)
	if err != nil {
		return err
	}
	rows, err := n.config.Store.Marked(ctx, scope, 0, 0, n.config.Batch)
	if err != nil || len(rows.Rows) == 0 {
		return err
	}
	oldest, err := n.oldest(ctx, scope, ends, rows.Now, sealed)
	if err != nil {
		return err
	}
	c := dedupe.Checkpoint{
		Scope: scope, Number: ends.Newest.Number + 1, At: rows.Now, Oldest: oldest, Previous: ends.Newest.Sum,
		Leaves: pack(scope, rows.Rows),
	}
	c.Sum = c.Total()
	made, err := n.config.Store.Seal(ctx, c, ids(rows.Rows))
	if err != nil {
		return err
	}
	sealed.More = sealed.More || len(rows.Rows) == n.config.Batch
	if !made {
		sealed.Other = true
		return nil
	}
	sealed.Made = append(sealed.Made, c)
	return n.config.Store.Retire(ctx, scope, c.Oldest, retireBatch)
}

func ids(rows []dedupe.Sealable) []int64 {
	list := make([]int64, len(rows))
	for i := range rows {
		list[i] = rows[i].ID
	}
	return list
}
