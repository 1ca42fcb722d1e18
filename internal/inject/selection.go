package inject

import (
	"fmt"
	"strings"
)

// choose marks the workloads that are selected, and notes what is left out although it looks like one.
func (r *run) choose(workloads []*workload) error {
	selector, err := parseLabels(r.options.Selector)
	if err != nil {
		return err
	}
	for _, w := range workloads {
		if !r.wanted(w, selector) {
			continue
		}
		switch reason, err := unfit(w.object); {
		case err != nil:
			return w.object.at(err)
		case reason != "":
			r.note(w.object, "skipped: "+reason)
		default:
			w.selected = true
		}
	}
	return r.missing(workloads)
}

func (r *run) wanted(w *workload, selector map[string]string) bool {
	for _, name := range r.options.Workloads {
		if w.object.is(name) {
			return true
		}
	}
	if selects(selector, w.pod.Metadata.Labels) || selects(selector, stringMap(child(w.object.root, "metadata", "labels"))) {
		return true
	}
	return r.wish(w) == "enabled"
}

// wish is what people have written into the annotation, on the object or its pods.
func (r *run) wish(w *workload) string {
	if own := w.object.annotation(wishKey); own != "" {
		return own
	}
	return w.pod.Metadata.Annotations[wishKey]
}

// unfit tells why an object must not get a sidecar.
func unfit(o *object) (reason string, err error) {
	switch wish := textOf(child(o.templateSite().root, "metadata", "annotations", wishKey)); {
	case o.isHook():
		return "a Helm hook", nil
	case o.owned():
		return "made by a controller; inject what made it", nil
	case o.annotation(wishKey) == "disabled" || wish == "disabled":
		return "its annotation " + wishKey + " says disabled", nil
	case o.name == "":
		return "", fmt.Errorf("has no name")
	}
	return "", nil
}

// is tells whether kind/name means an object; the kind may be short.
func (o *object) is(name string) bool {
	kind, name, _ := strings.Cut(name, "/")
	return name == o.name && kindOf(kind) == strings.ToLower(o.kind)
}

// kindOf is a kind in lower case and singular, as String writes it.
func kindOf(text string) string {
	text, _, _ = strings.Cut(strings.ToLower(text), ".")
	switch text {
	case "deploy", "deployments":
		return "deployment"
	case "sts", "statefulsets":
		return "statefulset"
	case "ds", "daemonsets":
		return "daemonset"
	case "rs", "replicasets":
		return "replicaset"
	case "rc", "replicationcontrollers":
		return "replicationcontroller"
	case "po", "pods":
		return "pod"
	case "cj":
		return "cronjob"
	}
	return text
}

// missing refuses a selection of which a part is not there: it would deploy what was meant to be guarded unguarded.
func (r *run) missing(workloads []*workload) error {
	var names []string
	for _, w := range workloads {
		names = append(names, w.object.String())
	}
	found := "there is none that could be"
	if len(names) > 0 {
		found = "there are " + strings.Join(names, ", ")
	}
	matched := 0
	for _, w := range workloads {
		if w.selected {
			matched++
		}
	}
	for _, name := range r.options.Workloads {
		there := false
		for _, w := range workloads {
			there = there || w.selected && w.object.is(name)
		}
		if !there && !r.options.AllowEmpty {
			return fmt.Errorf("%w: no workload %s; %s", ErrNoMatch, name, found)
		}
	}
	if matched == 0 && !r.options.AllowEmpty {
		return fmt.Errorf("%w: no workload is selected (--workload kind/name, -l label=value or the annotation %s); %s",
			ErrNoMatch, wishKey, found)
	}
	return nil
}
