package inject

import (
	"errors"
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// change is what is to be done at one site.
type change struct {
	site       site
	record     record
	operations []operation
	extra      []named // annotations beside the record
}

// errProof tells that the text could not be edited so that it says what was meant. Nothing is written then.
var errProof = errors.New("cannot be edited in the way it is written; write this document in a plainer form")

// edits turns a change into edits of its document's text, the record among them.
func (c *change) edits(s shape) ([]edit, error) {
	if err := c.remember(s); err != nil {
		return nil, c.site.at(err)
	}
	splicer := splicer{c.site.page, s, c.site.root}
	var edits []edit
	for _, o := range c.operations {
		one, err := splicer.edit(o)
		if err != nil {
			return nil, c.site.at(err)
		}
		edits = append(edits, one)
	}
	return edits, nil
}

// remember adds the operation that writes the record, as the last one.
func (c *change) remember(s shape) error {
	splicer := splicer{c.site.page, s, c.site.root}
	c.record.Version = recordVersion
	plan := planner{root: c.site.root, operations: c.operations}
	annotations := pointer{"metadata", "annotations"}
	placeholder := &yaml.Node{}
	own := append(c.extra, named{recordKey, placeholder, true})
	if err := plan.insert(annotations, own...); err != nil {
		return err
	}
	for _, o := range plan.operations {
		if o.add {
			c.record.Add = append(c.record.Add, o.at.String())
			continue
		}
		from, to, err := splicer.valueExtent(o.at)
		if err != nil {
			return err
		}
		if c.record.Was == nil {
			c.record.Was = map[string]string{}
		}
		c.record.Was[o.at.String()] = c.site.page.text[from:to]
	}
	text, err := c.record.encode()
	placeholder.SetString(text)
	c.operations = plan.operations
	return err
}

// prove compares what an edited document says with what the operations say about the document before.
func prove(before, after *page, changes []*change) error {
	var want, got any
	if err := before.root.Decode(&want); err != nil {
		return fmt.Errorf("%w: %w", errProof, err)
	}
	if err := after.root.Decode(&got); err != nil {
		return fmt.Errorf("%w: %w", errProof, err)
	}
	for _, c := range changes {
		for _, o := range c.operations {
			var value any
			if err := o.value.Decode(&value); err != nil {
				return fmt.Errorf("%w: %w", errProof, err)
			}
			want = graft(want, c.site.path.to(o.at...), o.add, value)
		}
	}
	if !reflect.DeepEqual(want, got) {
		return errProof
	}
	return nil
}

// graft makes an operation on decoded data.
func graft(data any, at pointer, add bool, value any) any {
	if len(at) == 0 {
		return value
	}
	switch data := data.(type) {
	case map[string]any:
		data[at[0]] = graft(data[at[0]], at[1:], add, value)
	case []any:
		if len(at) == 1 && add {
			return append(data, value)
		}
		if i := indexOf(data, at[0]); i >= 0 {
			data[i] = graft(data[i], at[1:], add, value)
		}
	}
	return data
}

// indexOf is stepInto for decoded data.
func indexOf(list []any, step string) int {
	for i, item := range list {
		if fields, is := item.(map[string]any); is && fields["name"] == any(step) {
			return i
		}
	}
	var i int
	if n, err := fmt.Sscanf(step, "%d", &i); n == 1 && err == nil && i < len(list) {
		return i
	}
	return -1
}
