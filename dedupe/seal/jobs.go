package seal

import (
	"context"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Job implements dedupe.Jobs.
func (s *Store) Job(ctx context.Context, key dedupe.Key) (*dedupe.Job, error) {
	job, err := s.Backend.Job(ctx, key)
	if err != nil {
		return nil, err
	}
	if job = s.openJob(s.ring.Keys(), key, job); job.Sealed != nil {
		return nil, job.Sealed
	}
	return job, nil
}

// Requests implements dedupe.Jobs.
func (s *Store) Requests(ctx context.Context, wanted []dedupe.Key) ([]*dedupe.Job, error) {
	jobs, err := s.Backend.Requests(ctx, wanted)
	keys := s.ring.Keys()
	for i, job := range jobs {
		if job == nil {
			continue
		}
		if jobs[i] = s.openJob(keys, wanted[i], job); jobs[i].Sealed != nil {
			s.watch.Unopened(dedupe.KeptRequests, jobs[i].Sealed)
		}
	}
	return jobs, err
}

// Unopened implements dedupe.Jobs.
func (s *Store) Unopened(ctx context.Context, wanted []dedupe.Key) ([]*dedupe.SealedError, error) {
	unopened, err := s.Backend.Unopened(ctx, wanted)
	keys := s.ring.Keys()
	for i, why := range unopened {
		if why != nil && keys.Has(why.KeyID) {
			unopened[i] = nil
		}
	}
	return unopened, err
}

func (s *Store) openJob(keys *Keys, key dedupe.Key, job *dedupe.Job) *dedupe.Job {
	if !job.IsSealed() {
		return job
	}
	opened, why := openRequest(keys, s.label(forRequest, key), job)
	if why != nil {
		return &dedupe.Job{Sealed: why}
	}
	return opened
}

func sealRequest(keys *Keys, l *label, job *dedupe.Job) *dedupe.Job {
	return dedupe.SealedJob(keys.closeEnvelope(l, appendRequest(envelope(sizeOf(job)), job)))
}

func openRequest(keys *Keys, l *label, job *dedupe.Job) (*dedupe.Job, *dedupe.SealedError) {
	id, _ := dedupe.SealedBy(job.Body)
	plain, why := keys.open(l, job.Body)
	if why != nil {
		return nil, why
	}
	opened, well := readRequest(plain)
	if !well {
		return nil, &dedupe.SealedError{Key: l.key, KeyID: id, Damaged: true}
	}
	return opened, nil
}

// sealBody is a result whose body is there and marked omitted, which no other result is.
func sealBody(keys *Keys, l *label, r *delivery.Response) *delivery.Response {
	sealed := *r
	sealed.Body, sealed.Omitted = keys.seal(l, r.Body), true
	return &sealed
}

func openBody(keys *Keys, l *label, r *delivery.Response) (*delivery.Response, *dedupe.SealedError) {
	plain, why := keys.open(l, r.Body)
	if why != nil {
		return nil, why
	}
	opened := *r
	opened.Body, opened.Omitted = plain, false
	return &opened, nil
}
