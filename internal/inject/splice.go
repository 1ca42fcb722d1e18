package inject

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// edit replaces a part of a text.
type edit struct {
	from, to int
	text     string
	depth    int // of lines that are added, see depth
}

// applyEdits makes all edits at once. Where several begin at one place, what is indented more belongs to what stands
// before it, and comes first; else they stay in their order.
func applyEdits(text string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int {
		return cmp.Or(a.from-b.from, b.depth-a.depth)
	})
	var out strings.Builder
	at := 0
	for _, one := range edits {
		out.WriteString(text[at:max(at, one.from)])
		out.WriteString(one.text)
		at = max(at, one.to)
	}
	out.WriteString(text[at:])
	return out.String()
}

// splicer turns operations on one object of a page into edits of its text.
type splicer struct {
	*page
	shape
	root *yaml.Node // of the object
}

func (s *splicer) edit(o operation) (edit, error) {
	if !o.add {
		return s.replace(o)
	}
	parent := s.root
	if len(o.at) > 1 {
		found, err := locate(s.root, o.at[:len(o.at)-1])
		if err != nil {
			return edit{}, err
		}
		parent = found.value()
	}
	if isFlow(parent) {
		return s.joinFlow(parent, o)
	}
	return s.joinBlock(parent, o)
}

// joinBlock adds lines behind the last entry or item of a block.
func (s *splicer) joinBlock(parent *yaml.Node, o operation) (edit, error) {
	if len(parent.Content) == 0 {
		return edit{}, s.lost(parent)
	}
	column := parent.Content[0].Column - 1
	member := &yaml.Node{Kind: parent.Kind}
	if parent.Kind == yaml.MappingNode {
		member.Content = []*yaml.Node{stringNode(o.at.last()), o.value}
	} else {
		member.Content = []*yaml.Node{o.value}
		dash, err := s.dash(parent, 0)
		if err != nil {
			return edit{}, err
		}
		column = dash - s.lineOf(dash)
	}
	end, err := s.end(parent, 0)
	if err != nil {
		return edit{}, err
	}
	text, err := s.block(member, column)
	at := s.behind(end, column)
	if at == len(s.text) && s.lineOf(at) != at { // the last line has no end: ours gets none, either
		text = s.ending + strings.TrimSuffix(text, s.ending)
	}
	return edit{at, at, text, depth(parent, column)}, err
}

// depth orders what is added at one place: by column, and an item of a list, whose dash may stand in the column of the
// list's key, before the next key.
func depth(parent *yaml.Node, column int) int {
	if parent.Kind == yaml.SequenceNode {
		return 2*column + 1
	}
	return 2 * column
}

// behind is the beginning of the line behind an end, and behind the comments that belong to what ends there.
func (s *splicer) behind(end, column int) int {
	if end > 0 && s.lineOf(end) == end && breakBefore(s.text, end) { // a literal text: its end is a line's beginning
		return end
	}
	at := s.nextLine(end)
	for at < len(s.text) {
		indent := s.indentAt(at)
		if indent < column || !strings.HasPrefix(s.text[at+indent:], "#") {
			break
		}
		next := s.nextLine(at)
		if next == len(s.text) && s.lineOf(next) != next { // a comment that nothing ends
			break
		}
		at = next
	}
	return at
}

func breakBefore(text string, at int) bool { return at > 0 && lastLine(text[:at]) == at }

// joinFlow adds a member to a collection in braces or brackets that has some already.
func (s *splicer) joinFlow(parent *yaml.Node, o operation) (edit, error) {
	if len(parent.Content) == 0 {
		return edit{}, s.lost(parent)
	}
	at, err := s.lastInFlow(parent, len(parent.Content)-1)
	if err != nil {
		return edit{}, err
	}
	first := parent.Content[len(parent.Content)-1]
	if parent.Kind == yaml.MappingNode {
		first = parent.Content[len(parent.Content)-2]
	}
	prefix, indent, err := s.spread(first)
	if err != nil {
		return edit{}, err
	}
	text, err := jsonOf(o.value, prefix, indent)
	if parent.Kind == yaml.MappingNode {
		key, keyErr := jsonOf(stringNode(o.at.last()), "", "")
		if keyErr != nil {
			return edit{}, keyErr
		}
		text = key + ": " + text
	}
	separator := ", "
	if indent != "" {
		separator = "," + s.ending + prefix
	}
	return edit{from: at, to: at, text: separator + text}, err
}

// spread tells how members of a collection in braces are laid out: each on a line of its own, indented by prefix, or all
// on one line, then indent is empty.
func (s *splicer) spread(member *yaml.Node) (prefix, indent string, err error) {
	at, err := s.offset(member)
	if err != nil {
		return "", "", err
	}
	lead := s.text[s.lineOf(at):at]
	if strings.Trim(lead, " \t") != "" {
		return "", "", nil
	}
	switch {
	case strings.Contains(lead, "\t"):
		return lead, "\t", nil
	case len(lead) > 0 && len(lead)%2 == 1:
		return lead, " ", nil
	}
	return lead, "  ", nil
}

// replace puts another value behind a key, or in the place of an item.
func (s *splicer) replace(o operation) (edit, error) {
	from, to, err := s.valueExtent(o.at)
	if err != nil {
		return edit{}, err
	}
	found, err := locate(s.root, o.at)
	if err != nil {
		return edit{}, err
	}
	text, err := s.valueText(o, found, from)
	return edit{from: from, to: to, text: text}, err
}

// valueExtent is what lies between the colon of a key and the end of its value.
func (s *splicer) valueExtent(at pointer) (from, to int, err error) {
	found, err := locate(s.root, at)
	if err != nil {
		return 0, 0, err
	}
	key := found.parent.Content[found.at]
	if found.parent.Kind != yaml.MappingNode {
		return 0, 0, s.lost(key)
	}
	if from, err = s.colon(key); err != nil {
		return 0, 0, err
	}
	to, err = s.entryEnd(key, found.value(), key.Column-1)
	return from, max(from, to), err
}

// valueText is what a value looks like behind its colon.
func (s *splicer) valueText(o operation, found place, from int) (string, error) {
	key := found.parent.Content[found.at]
	if o.value.Kind != yaml.ScalarNode && !isFlow(found.parent) {
		column := key.Column - 1
		if o.value.Kind == yaml.MappingNode || !s.compact {
			column += 2
		}
		text, err := s.block(o.value, column)
		return s.ending + strings.TrimSuffix(text, s.ending), err
	}
	if !isFlow(found.parent) {
		text, err := s.block(o.value, 0)
		return " " + strings.TrimSuffix(text, s.ending), err
	}
	lead := " "
	if !strings.HasPrefix(s.text[from:], " ") && s.isJSON() {
		lead = ""
	}
	prefix, indent := "", ""
	if o.value.Kind != yaml.ScalarNode {
		var err error
		if prefix, indent, err = s.spread(key); err != nil {
			return "", err
		}
	}
	text, err := jsonOf(o.value, prefix, indent)
	return lead + text, err
}
