package inject

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Variables by which a sidecar is told how long its end may take, and how Kubernetes and the sidecar have it by default.
const (
	drainDelay      = "SIDECAR_DRAIN_DELAY"
	shutdownTimeout = "SIDECAR_SHUTDOWN_TIMEOUT"

	defaultGrace           = 30 * time.Second
	defaultDrainDelay      = 3 * time.Second
	defaultShutdownTimeout = 25 * time.Second
)

// ending is what has to fit into the time that the kubelet gives a pod to end.
type ending struct {
	grace    time.Duration
	native   bool          // the sidecar is signalled when the application has ended; else at once
	preStop  time.Duration // how long the containers wait before they are signalled, as far as their hooks tell
	drain    time.Duration
	shutdown time.Duration
}

// ending reads it from a pod and from the options, which have been checked.
func (w *workload) ending(o Options) ending {
	e := ending{grace: defaultGrace, native: w.native, drain: defaultDrainDelay, shutdown: defaultShutdownTimeout}
	if w.pod.Spec.Grace != nil {
		e.grace = time.Duration(*w.pod.Spec.Grace) * time.Second
	}
	for _, one := range w.pod.Spec.Containers {
		e.preStop = max(e.preStop, one.Lifecycle.PreStop.sleeps())
	}
	for _, pair := range o.Env {
		name, value, _ := strings.Cut(pair, "=")
		switch took, _ := time.ParseDuration(value); name {
		case drainDelay:
			e.drain = took
		case shutdownTimeout:
			e.shutdown = took
		}
	}
	return e
}

// sleeps is how long a hook sleeps: by its own setting, or by the command sleep.
func (h hook) sleeps() time.Duration {
	if h.Sleep.Seconds > 0 {
		return time.Duration(h.Sleep.Seconds) * time.Second
	}
	found := regexp.MustCompile(`\bsleep\s+(\d+)`).FindStringSubmatch(strings.Join(h.Exec.Command, " "))
	if found == nil {
		return 0
	}
	took, _ := time.ParseDuration(found[1] + "s")
	return took
}

// tooShort tells what does not fit, or nothing. A native sidecar waits for the application, which takes a second at least;
// how long it really takes nobody here knows.
func (e ending) tooShort() string {
	takes, parts := e.drain+e.shutdown, fmt.Sprintf("drain delay %v + shutdown timeout %v", e.drain, e.shutdown)
	if e.native {
		takes += e.preStop + time.Second
		parts = "the application's own time + " + parts
	}
	if e.native && e.preStop > 0 {
		parts = fmt.Sprintf("preStop %v + %s", e.preStop, parts)
	}
	if takes <= e.grace {
		return ""
	}
	return fmt.Sprintf("terminationGracePeriodSeconds %v is too short for %s; raise it, or lower %s with --env", e.grace.Seconds(), parts, shutdownTimeout)
}
