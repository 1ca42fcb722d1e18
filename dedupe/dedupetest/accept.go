package dedupetest

import (
	"reflect"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

func accepted(id, body string) dedupe.Request {
	r := event(id)
	accepts(&r, body)
	return r
}

// accepts makes a delivery one of accept mode.
func accepts(r *dedupe.Request, body string) {
	r.Accept, r.Job, r.Policy.OnFailure = true, hand(job(body)), dedupe.Queue
}

func testAccept(b *bench) {
	r := accepted("evt_1", foreign)
	if got := b.expect(b.a, r, dedupe.AlreadyQueued); !got.First || got.State != dedupe.Queued {
		b.Errorf("decision is %+v", got)
	}
	if got := b.expect(b.b, r, dedupe.AlreadyQueued); got.First {
		b.Error("the duplicate is called the first")
	}
	got := b.state(r, dedupe.Queued, dedupe.Accepted)
	if !got.HasJob || got.Attempts != 0 || got.NextAttempt.IsZero() {
		b.Errorf("receipt is %+v", got)
	}
	kept, err := b.h.Store.Job(b.ctx, keyOf(r))
	if err != nil || !reflect.DeepEqual(kept, r.Job()) {
		b.Errorf("kept %+v, %v", kept, err)
	}
}

// testAcceptLater: whatever became of an event under forward mode, an acknowledgement means a job.
func testAcceptLater(b *bench) {
	for i, s := range situations() {
		r := event(name("evt_", i))
		s.enter(b, r)
		accepts(&r, "second")
		decision := b.claim(b.b, r)
		if s.kind == dedupe.Fresh {
			if decision.Kind != dedupe.AlreadyQueued || !decision.First || decision.State != dedupe.Queued {
				b.Errorf("%s: %+v", s.name, decision)
			}
			b.state(r, dedupe.Queued, dedupe.Accepted)
		} else if decision.Kind != s.kind {
			b.Errorf("%s: kind %d", s.name, decision.Kind)
		}
		if decision.Kind == dedupe.DeadLetter && !decision.Kept {
			b.Errorf("%s: its request is not kept: %+v", s.name, decision)
		}
		if decision.Kind == dedupe.AlreadyQueued || decision.Kept {
			if _, err := b.h.Store.Job(b.ctx, keyOf(r)); err != nil {
				b.Errorf("%s: acknowledged without a job: %v", s.name, err)
			}
		}
	}
}
