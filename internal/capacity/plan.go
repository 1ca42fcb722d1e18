package capacity

import (
	"math"
	"time"
)

const (
	// Published is what an applied receipt with its index entries takes at most, in bytes: an ID of 30 bytes, a recorded
	// result of 11, after vacuum. The stores' tests and the benchmark hold it.
	Published = 320
	// Example is the number of events a day where nobody said one and nothing was observed.
	Example = 1_000_000
	// DefaultRetention is how long a receipt is kept where nothing is configured.
	DefaultRetention = (72+96)*time.Hour + 5*time.Minute

	day = 24 * time.Hour
)

// Factor is a number of the equation, and where it is from.
type Factor struct {
	Value float64 `json:"value"`
	From  string  `json:"from"`
}

// Plan is the equation.
type Plan struct {
	EventsPerDay    Factor  `json:"events_per_day"`
	Days            Factor  `json:"days"`
	BytesPerReceipt Factor  `json:"bytes_per_receipt"`
	Receipts        float64 `json:"receipts"`
	Bytes           float64 `json:"bytes"`
	GB              float64 `json:"gb"`  // of 10^9 bytes
	GiB             float64 `json:"gib"` // of 2^30 bytes
}

// NewPlan multiplies. Each event has one receipt, however often it is delivered.
func NewPlan(eventsPerDay, days, bytesPerReceipt Factor) Plan {
	plan := Plan{EventsPerDay: eventsPerDay, Days: days, BytesPerReceipt: bytesPerReceipt}
	plan.Receipts = math.Round(eventsPerDay.Value * days.Value)
	plan.Bytes = math.Round(eventsPerDay.Value * days.Value * bytesPerReceipt.Value)
	plan.GB, plan.GiB = plan.Bytes/1e9, plan.Bytes/(1<<30)
	return plan
}

// Days is a time in days.
func Days(d time.Duration) float64 { return float64(d) / float64(day) }

// Excluded is what no number here contains.
func Excluded() []string {
	return []string{
		"replicas of the database, each of which takes as much again",
		"the write-ahead log, and its archive",
		"backups",
		"headroom for vacuum: keep at least 30 % of the volume free",
		"requests that are kept while their event is queued or dead: each takes as much as it is large",
		"Redis and each replica's local memory, which are bounded by themselves",
	}
}
