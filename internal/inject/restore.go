package inject

import (
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// restoring takes out of one site what its record says was put in.
type restoring struct {
	*page
	site   site
	record record
	edits  []edit
}

// restore is the edits that undo what the record of a site tells; none where there is no record.
func restore(s site) ([]edit, error) {
	record, found, err := recordOf(s)
	if err != nil || !found {
		return nil, err
	}
	r := restoring{page: s.page, site: s, record: record}
	for _, at := range record.Add {
		if err := r.remove(parsePointer(at)); err != nil && !isAbsentError(err) {
			return nil, s.at(err)
		}
	}
	for at, was := range record.Was {
		if err := r.putBack(parsePointer(at), was); err != nil && !isAbsentError(err) {
			return nil, s.at(err)
		}
	}
	return r.edits, nil
}

// remove takes out what was added. From a collection that others have joined since, only what is ours.
func (r *restoring) remove(at pointer) error {
	found, err := locate(r.site.root, at)
	if err != nil {
		return err
	}
	members := r.foreign(at, found.value())
	if members == nil {
		return r.delete(found)
	}
	return r.deleteAll(found.value(), members)
}

// putBack restores a value as it was written, unless somebody has changed ours since.
func (r *restoring) putBack(at pointer, was string) error {
	found, err := locate(r.site.root, at)
	if err != nil {
		return err
	}
	if members := r.foreign(at, found.value()); members != nil {
		return r.deleteAll(found.value(), members)
	}
	splicer := splicer{r.page, shape{}, r.site.root}
	from, to, err := splicer.valueExtent(at)
	if err != nil {
		return err
	}
	r.edits = append(r.edits, edit{from: from, to: to, text: r.spell(was)})
	return nil
}

// spell writes a value that was plain YAML so that JSON allows it, where the document has become JSON.
func (r *restoring) spell(was string) string {
	text := strings.TrimSpace(was)
	if !r.isJSON() || !json.Valid([]byte(r.text)) || json.Valid([]byte(text)) {
		return was
	}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil || len(node.Content) == 0 {
		return " null"
	}
	spelled, err := jsonOf(node.Content[0], "", "")
	if err != nil {
		return " null"
	}
	return " " + spelled
}

// foreign is nil where a collection that we made, or filled, still holds only what is ours; else the indices of what is.
func (r *restoring) foreign(at pointer, n *yaml.Node) []int {
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	mine := slices.IndexFunc([]string{"annotations", "initContainers", "containers", "volumes"},
		func(name string) bool { return at.last() == name }) >= 0
	if !mine || n.Kind == yaml.ScalarNode {
		return nil
	}
	ours := []int{}
	for i := 0; i < len(n.Content); i += step {
		if r.isOurs(at.last(), n.Content[i]) {
			ours = append(ours, i)
		}
	}
	if len(ours)*step == len(n.Content) {
		return nil
	}
	return ours
}

func (r *restoring) isOurs(collection string, n *yaml.Node) bool {
	name := textOf(child(n, "name"))
	switch collection {
	case "annotations":
		_, filled := r.record.Was[annotationsAt]
		return n.Value == recordKey || n.Value == defaultKey && (filled || slices.Contains(r.record.Add, annotationsAt))
	case "volumes":
		return strings.HasPrefix(name, r.record.Name+"-")
	}
	return name == r.record.Name
}

const annotationsAt = "/metadata/annotations"

func (r *restoring) deleteAll(parent *yaml.Node, members []int) error {
	for _, i := range members {
		if err := r.delete(place{parent, i}); err != nil {
			return err
		}
	}
	return nil
}

// delete takes out a member of a collection.
func (p *page) deletion(at place) (edit, error) {
	if isFlow(at.parent) {
		return p.flowDeletion(at)
	}
	return p.blockDeletion(at)
}

func (r *restoring) delete(at place) error {
	one, err := r.deletion(at)
	r.edits = append(r.edits, one)
	return err
}

// blockDeletion takes out whole lines; what stands behind the dash of an item makes room for the next key.
func (p *page) blockDeletion(at place) (edit, error) {
	start, end, err := p.memberExtent(at)
	if err != nil {
		return edit{}, err
	}
	line := p.lineOf(start)
	if strings.Trim(p.text[line:start], " ") == "" {
		if p.lineOf(end) != end {
			end = p.nextLine(end)
		}
		return edit{from: line, to: end}, nil
	}
	if next := at.at + 2; at.parent.Kind == yaml.MappingNode && next < len(at.parent.Content) {
		end, err = p.offset(at.parent.Content[next])
		return edit{from: start, to: end}, err
	}
	return edit{}, p.lost(at.value())
}

// memberExtent is where an item with its dash, or an entry, begins and ends.
func (p *page) memberExtent(at place) (start, end int, err error) {
	if at.parent.Kind == yaml.SequenceNode {
		if start, err = p.dash(at.parent, at.at); err == nil {
			end, err = p.itemEnd(at.parent, at.at)
		}
		return start, end, err
	}
	key := at.parent.Content[at.at]
	if start, err = p.offset(key); err == nil {
		end, err = p.entryEnd(key, at.value(), key.Column-1)
	}
	return start, end, err
}

// flowDeletion takes out a member and the comma before it, or behind it where it is the first.
func (p *page) flowDeletion(at place) (edit, error) {
	step := 1
	if at.parent.Kind == yaml.MappingNode {
		step = 2
	}
	end, err := p.lastInFlow(at.parent, at.at+step-1)
	if err != nil {
		return edit{}, err
	}
	if at.at > 0 {
		before, err := p.lastInFlow(at.parent, at.at-1)
		return edit{from: before, to: end}, err
	}
	start, err := p.offset(at.parent.Content[0])
	if err != nil {
		return edit{}, err
	}
	if next := at.at + step; next < len(at.parent.Content) {
		end, err = p.offset(at.parent.Content[next])
	}
	return edit{from: start, to: end}, err
}

// cut makes the edits of a restoration. Lines that are taken from the end of a text without a last line break take the
// line break before them along: it came with them.
func cut(text string, edits []edit) string {
	out := applyEdits(text, edits)
	if len(edits) == 0 || text == "" || breakBefore(text, len(text)) {
		return out
	}
	last := slices.MaxFunc(edits, func(a, b edit) int { return a.to - b.to })
	if last.to == len(text) && last.text == "" && breakBefore(out, len(out)) {
		return strings.TrimSuffix(strings.TrimSuffix(out, "\n"), "\r")
	}
	return out
}
