package dedupe

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// maxGuilty bounds the memory for keys that failed alone.
const maxGuilty = 1024

// PanicError is a panic of a store: its callers get it as an error, since a delivery that waits for its answer is more
// than the goroutine that died for it.
type PanicError struct {
	Value any
	Stack []byte
}

// Error names the panic without its stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic in the store: %v", e.Value) }

// flight asks the store. Its deadline is its own: no caller's context ever cancels a statement that others share.
func (g *group[T, R]) flight(items []T) (answers []R, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), g.config.timeout)
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			answers, err = nil, &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	answers, err = g.config.fly(ctx, items)
	if err == nil && len(answers) != len(items) {
		err = fmt.Errorf("the store gave %d answers for %d rows", len(answers), len(items))
	}
	return answers, err
}

// land tells the callers, and sends on what still waits.
func (g *group[T, R]) land(l *lane[T, R], chains []*chain[T, R], items []T, answers []R, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(chains) > 1 && (errors.Is(err, ErrBatch) || errors.Is(err, ErrRow)) {
		g.queue(&g.singles, chains...)
		return
	}
	for i, queue := range chains {
		switch {
		case errors.Is(err, ErrBatch):
			g.blame(queue.key)
		case err == nil && l == &g.suspects:
			delete(g.guilty, queue.key)
		}
		g.answer(queue, items[i], answers, i, err)
		g.sendOn(l, queue)
	}
}

// answer tells the first call of a chain, and those that may share its answer. Called with mu held.
func (g *group[T, R]) answer(queue *chain[T, R], item T, answers []R, i int, err error) {
	told := 1
	if err == nil && queue.aloft > 1 && g.config.share != nil && g.config.share(item, answers[i]) {
		told = queue.aloft
	}
	for j, c := range queue.calls[:told] {
		var answer R
		if err == nil {
			answer = answers[i]
		}
		if !c.tell(answer, err) && j == 0 && err == nil && g.config.orphan != nil {
			g.config.orphan(item, answer)
		}
	}
	queue.calls = slices.Delete(queue.calls, 0, told)
}

// sendOn queues the rest of a chain. A batch's own lane is preferred, since its server is about to look. Called with mu
// held.
func (g *group[T, R]) sendOn(l *lane[T, R], queue *chain[T, R]) {
	if len(queue.calls) == 0 {
		delete(g.chains, queue.key)
		return
	}
	if next := g.laneFor(queue.key); next != l {
		g.queue(next, queue)
		return
	}
	l.waiting = append(l.waiting, queue)
}

// blame keeps a key out of batches for a while. Called with mu held.
func (g *group[T, R]) blame(key Key) {
	now := time.Now()
	if len(g.guilty) >= maxGuilty {
		for other, until := range g.guilty {
			if now.After(until) {
				delete(g.guilty, other)
			}
		}
	}
	if len(g.guilty) < maxGuilty {
		g.guilty[key] = now.Add(g.config.suspect)
	}
}
