package inject

import (
	"errors"
	"fmt"
	"strings"
)

// errProbed refuses to move an application to loopback that the kubelet asks over the network.
var errProbed = errors.New("loopback: the kubelet asks the application over the network, and would not reach it any more; give it exec probes first")

// loopback sets the variables by which an application is told to listen on loopback only.
func (r *run) loopback(plan *planner, w *workload) error {
	if len(r.options.Loopback) == 0 {
		return nil
	}
	for _, one := range []probe{w.app.Liveness, w.app.Readiness, w.app.Startup, w.app.Lifecycle.PostStart, w.app.Lifecycle.PreStop.Probe} {
		if one.HTTP.Port != "" || one.TCP.Port != "" {
			return errProbed
		}
	}
	var missing []named
	for _, pair := range r.options.Loopback {
		name, value, _ := strings.Cut(pair, "=")
		at := w.app.place.to("env", name)
		found, err := locate(plan.root, at)
		switch {
		case isAbsentError(err):
			node, err := nodeOf(sidecarEnv{Name: name, Value: value})
			if err != nil {
				return err
			}
			missing = append(missing, named{name: name, node: node})
			continue
		case err != nil:
			return err
		case child(found.value(), "valueFrom") != nil:
			return fmt.Errorf("loopback: %s comes from elsewhere (valueFrom)", name)
		}
		if err := plan.set(at.to("value"), stringNode(value)); err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return plan.insert(w.app.place.to("env"), missing...)
}
