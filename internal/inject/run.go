package inject

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoMatch tells that nothing was selected, or not all that was named. What was meant to be guarded must not be deployed
// unguarded because of a slip in a name.
var ErrNoMatch = errors.New("nothing to inject")

// ErrOpen tells that there is a way round the sidecar.
var ErrOpen = errors.New("a way round the sidecar is open")

// Note is a line of the report.
type Note struct {
	Object  string // kind/name, or empty
	Text    string
	Warning bool
}

func (n Note) String() string {
	text := n.Text
	if n.Object != "" {
		text = n.Object + ": " + text
	}
	if n.Warning {
		return "warning: " + text
	}
	return text
}

// Result is a stream with (or without) the sidecar, and the report for people.
type Result struct {
	Output []byte
	Notes  []Note
	// Changed counts the objects that were changed.
	Changed int

	changes []*change
}

// run is one call of Inject.
type run struct {
	options Options
	chunks  []string
	pages   []*page
	notes   []Note
	changes []*change

	selected []*workload
}

func (r *run) note(o *object, text string) {
	r.notes = append(r.notes, Note{Object: o.String(), Text: text})
}

func (r *run) warn(o *object, text string) {
	r.notes = append(r.notes, Note{Object: o.String(), Text: text, Warning: true})
}

// Inject adds the sidecar to the selected workloads of a stream of manifests, and points the Services that reach them at
// it. On an error there is no output: whoever pipes it into a cluster must not deploy half of it.
func Inject(input []byte, o Options) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	r := &run{options: o, chunks: split(string(input))}
	for _, step := range []func() error{r.read, r.refresh, r.plan} {
		if err := step(); err != nil {
			return Result{}, err
		}
	}
	chunks, err := r.write()
	if err != nil {
		return Result{}, err
	}
	output, err := r.policies(chunks)
	if err != nil {
		return Result{}, err
	}
	if err := r.closed(output); err != nil {
		return Result{}, err
	}
	return Result{Output: []byte(output), Notes: r.notes, Changed: len(r.changes), changes: r.changes}, nil
}

// closed looks at the output as somebody who trusts nobody. Of a policy's rule it only warns: without the policy, the same
// way would be open to more.
func (r *run) closed(output string) error {
	if len(r.changes) == 0 || r.options.PodsOnly {
		return nil
	}
	workloads, objects, err := surveyed([]byte(output), r.options)
	if err != nil {
		return err
	}
	var open []string
	for _, way := range waysOf(workloads, objects) {
		if way.rule {
			r.warn(way.object, way.text)
			continue
		}
		open = append(open, way.String())
	}
	if len(open) > 0 {
		return fmt.Errorf("%w: %s", ErrOpen, strings.Join(open, "; "))
	}
	return nil
}

// read parses every document.
func (r *run) read() error {
	r.pages = make([]*page, len(r.chunks))
	for i, chunk := range r.chunks {
		var err error
		if r.pages[i], err = newPage(chunk); err != nil {
			return fmt.Errorf("document %d: %w", i+1, err)
		}
	}
	return nil
}

func objectsOfAll(pages []*page) []*object {
	var all []*object
	for _, p := range pages {
		all = append(all, objectsOf(p)...)
	}
	return all
}

// refresh takes out of what is selected what an earlier injection put in, so that it can be put in anew, and what only a
// cluster writes.
func (r *run) refresh() error {
	objects := objectsOfAll(r.pages)
	workloads, err := workloadsOf(objects, r.options.Kinds)
	if err != nil {
		return err
	}
	if err := r.choose(workloads); err != nil {
		return err
	}
	r.notes = nil // choose is called again
	var sites []site
	for _, w := range workloads {
		if w.selected {
			sites = append(sites, w.site)
		}
	}
	for _, o := range objects {
		if reached(o, workloads) {
			sites = append(sites, o.site())
		}
	}
	if err := r.restoreSites(sites); err != nil {
		return err
	}
	if r.options.Clean {
		return r.cleanSites(sites)
	}
	return nil
}

// reached tells whether an object is a Service or policy of a selected workload.
func reached(o *object, workloads []*workload) bool {
	for _, s := range servicesOf([]*object{o}) {
		for _, w := range workloads {
			if w.selected && s.reaches(w) {
				return true
			}
		}
	}
	found, _ := policyFor(o, workloads)
	return found != nil
}

// restoreSites undoes earlier injections, and reads the documents again.
func (r *run) restoreSites(sites []site) error {
	edits := map[*page][]edit{}
	for _, s := range sites {
		undo, err := restore(s)
		if err != nil {
			return err
		}
		edits[s.page] = append(edits[s.page], undo...)
	}
	return r.rewrite(edits)
}

func (r *run) rewrite(edits map[*page][]edit) error {
	for i, p := range r.pages {
		if len(edits[p]) == 0 {
			continue
		}
		var err error
		r.chunks[i] = cut(p.text, edits[p])
		if r.pages[i], err = newPage(r.chunks[i]); err != nil {
			return fmt.Errorf("document %d: %w", i+1, err)
		}
	}
	return nil
}

// plan decides what is to be changed: workloads first, whatever their place in the stream.
func (r *run) plan() error {
	objects := objectsOfAll(r.pages)
	workloads, err := workloadsOf(objects, r.options.Kinds)
	if err != nil {
		return err
	}
	if err := r.choose(workloads); err != nil {
		return err
	}
	r.jobs(objects)
	services := servicesOf(objects)
	for _, w := range workloads {
		if !w.selected {
			continue
		}
		if err := w.settle(r.options, targets(services, w)); err != nil {
			return w.object.at(err)
		}
		if err := r.planWorkload(w); err != nil {
			return w.object.at(err)
		}
		r.selected = append(r.selected, w)
	}
	return r.planAround(objects, services, workloads)
}

func (r *run) planAround(objects []*object, services []*service, workloads []*workload) error {
	if r.options.PodsOnly {
		for _, w := range r.selected {
			r.warn(w.object, "pods only: its Services still lead to the application, so nothing is guarded yet")
		}
		return nil
	}
	for _, s := range services {
		changes := len(r.changes)
		if err := r.planService(s, workloads); err != nil {
			return err
		}
		if len(r.changes) > changes {
			r.passersBy(s, objects)
		}
	}
	for _, o := range objects {
		if err := r.planPolicy(o, workloads); err != nil {
			return err
		}
	}
	for _, w := range workloads {
		if w.selected && len(targets(services, w)) == 0 && !r.options.Takeover {
			r.warn(w.object, fmt.Sprintf("no Service in this input reaches it: point yours at port %d by number, or use --takeover", w.listen))
		}
	}
	return nil
}

// jobs notes what never gets deliveries.
func (r *run) jobs(objects []*object) {
	for _, o := range objects {
		if o.kind == "Job" || o.kind == "CronJob" {
			reason := "skipped: nothing is delivered to a job"
			if o.isHook() {
				reason += ", and it is a Helm hook"
			}
			r.note(o, reason)
		}
	}
}

// write splices the changes into the text and proves that each document says what was meant, and that the way back leads
// to the same bytes.
func (r *run) write() ([]string, error) {
	byPage := map[*page][]*change{}
	for _, c := range r.changes {
		byPage[c.site.page] = append(byPage[c.site.page], c)
	}
	out := slices.Clone(r.chunks)
	for i, p := range r.pages {
		if changes := byPage[p]; len(changes) > 0 {
			var err error
			if out[i], err = splice(p, changes); err != nil {
				return nil, fmt.Errorf("document %d: %w", i+1, err)
			}
		}
	}
	return out, nil
}

func splice(p *page, changes []*change) (string, error) {
	var edits []edit
	for _, c := range changes {
		more, err := c.edits(p.shape())
		if err != nil {
			return "", err
		}
		edits = append(edits, more...)
	}
	text := applyEdits(p.text, edits)
	after, err := newPage(text)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errProof, err)
	}
	if err := prove(p, after, changes); err != nil {
		return "", err
	}
	back, err := restoreAll(after, func(s site) bool { return isAmong(s, changes) })
	if err != nil || back != p.text {
		return "", errors.Join(errProof, err)
	}
	return text, nil
}

func isAmong(s site, changes []*change) bool {
	for _, c := range changes {
		if c.site.path.String() == s.path.String() {
			return true
		}
	}
	return false
}
