package inject_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/webhook-sidecar/webhook-sidecar/internal/inject"
)

// writer writes data as YAML in whatever form rapid chooses: blocks or braces, quotes, comments, empty lines, indentation.
type writer struct {
	t       *rapid.T
	out     strings.Builder
	indent  int
	compact bool
}

func (w *writer) flip(label string) bool { return rapid.Bool().Draw(w.t, label) }

func (w *writer) rare(label string) bool { return rapid.IntRange(0, 5).Draw(w.t, label) == 0 }

// entry is one key of a mapping whose order matters.
type entry struct {
	key   string
	value any
}

// aside writes a comment or an empty line where nothing else stands.
func (w *writer) aside(column int) {
	if w.rare("aside") {
		w.out.WriteString(rapid.SampledFrom([]string{
			"\n", "# a: comment\n", strings.Repeat(" ", column) + "# - item 'of \"none\n", strings.Repeat(" ", column+3) + "# deep\n", "   \n",
		}).Draw(w.t, "aside text"))
	}
}

func (w *writer) lineEnd() {
	if w.rare("trailing") {
		w.out.WriteString(rapid.SampledFrom([]string{" # trailing", "  ", " # it's: {[", "\t# tab"}).Draw(w.t, "trailing text"))
	}
	w.out.WriteString("\n")
}

func (w *writer) scalar(value any) string {
	if value == nil {
		return rapid.SampledFrom([]string{"null", "~"}).Draw(w.t, "null text")
	}
	text := fmt.Sprint(value)
	if _, is := value.(string); !is {
		return text
	}
	switch rapid.IntRange(0, 2).Draw(w.t, "quotes") {
	case 0:
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case 1:
		return quote(text)
	}
	if plain := strings.Trim(text, "abcdefghijklmnopqrstuvwxyz/-") == "" && !strings.HasPrefix(text, "-") && text != ""; plain {
		return text
	}
	return quote(text)
}

func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(quoted)
}

func (w *writer) flow(value any) string {
	space := func() string {
		return rapid.SampledFrom([]string{"", " ", "  ", "\n  ", " # in braces, it's ]}\n   "}).Draw(w.t, "space")
	}
	switch value := value.(type) {
	case []entry:
		var parts []string
		for _, e := range value {
			parts = append(parts, space()+w.scalar(e.key)+": "+w.flow(e.value)+space())
		}
		return "{" + w.join(parts) + "}"
	case []any:
		var parts []string
		for _, item := range value {
			parts = append(parts, space()+w.flow(item)+space())
		}
		return "[" + w.join(parts) + "]"
	}
	return w.scalar(value)
}

func (w *writer) join(parts []string) string {
	text := strings.Join(parts, ",")
	if len(parts) > 0 && w.rare("comma") {
		text += ","
	}
	return text
}

func (w *writer) mapping(entries []entry, column int, first bool) {
	for i, e := range entries {
		if i > 0 || !first {
			w.aside(column)
			w.out.WriteString(strings.Repeat(" ", column))
		}
		w.out.WriteString(e.key + ":")
		w.value(e.value, column, w.compact)
	}
}

func (w *writer) value(value any, column int, compact bool) {
	switch value := value.(type) {
	case []entry:
		if len(value) > 0 && !w.rare("flow") {
			w.lineEnd()
			w.mapping(value, column+w.indent, false)
			return
		}
	case []any:
		if len(value) > 0 && !w.rare("flow") {
			w.lineEnd()
			below := column + w.indent
			if compact {
				below = column
			}
			w.list(value, below)
			return
		}
	case string:
		if strings.Contains(value, "\n") {
			w.literal(value, column)
			return
		}
	case nil:
		if w.flip("null") {
			w.out.WriteString(rapid.SampledFrom([]string{" null", " ~"}).Draw(w.t, "null text"))
		}
		w.lineEnd()
		return
	}
	w.out.WriteString(" " + w.flow(value))
	w.lineEnd()
}

func (w *writer) literal(text string, column int) {
	w.out.WriteString(rapid.SampledFrom([]string{" |", " |+", " >-", " |-"}).Draw(w.t, "literal") + "\n")
	for line := range strings.Lines(text) {
		w.out.WriteString(strings.Repeat(" ", column+w.indent+1) + line)
	}
	if w.rare("blank") {
		w.out.WriteString("\n\n")
	}
}

func (w *writer) list(items []any, column int) {
	for _, item := range items {
		w.aside(column)
		w.out.WriteString(strings.Repeat(" ", column) + "-")
		gap := rapid.IntRange(1, 3).Draw(w.t, "gap")
		if fields, is := item.([]entry); is && len(fields) > 0 && !w.rare("flow item") {
			w.out.WriteString(strings.Repeat(" ", gap))
			w.mapping(fields, column+1+gap, true)
			continue
		}
		w.value(item, column, false)
	}
}

// shuffled is entries in any order, some of the optional ones left out.
func shuffled(t *rapid.T, entries ...entry) []entry {
	kept := entries[:0:0]
	for _, e := range entries {
		if o, is := e.value.(optional); is {
			choice := rapid.IntRange(0, 2).Draw(t, "optional "+e.key)
			if choice == 0 {
				continue
			}
			e.value = o.value
			if choice == 1 {
				e.value = o.empty
			}
		}
		kept = append(kept, e)
	}
	return rapid.Permutation(kept).Draw(t, "order")
}

// optional is left out, empty in some way, or there.
type optional struct{ value, empty any }

func deployment(t *rapid.T, name string) []entry {
	empty := func(label string, values ...any) any { return rapid.SampledFrom(values).Draw(t, label) }
	script := []any{"sh", "-c", "# kind: Service\n\n  echo 'it''s'\n"}
	container := shuffled(t, entry{"name", "app"}, entry{"image", "shop/app:1"},
		entry{"ports", []any{shuffled(t, entry{"name", "http"}, entry{"containerPort", 8080})}},
		entry{"command", optional{script, []any{}}}, entry{"readinessProbe", optional{[]entry{{"httpGet", []entry{{"port", "http"}}}}, nil}})
	other := []entry{{"name", "prepare"}, {"image", "shop/tools:1"}}
	spec := shuffled(t, entry{"containers", []any{container}},
		entry{"initContainers", optional{[]any{other}, empty("init", nil, []any{})}},
		entry{"volumes", optional{[]any{[]entry{{"name", "tmp"}, {"emptyDir", []entry{}}}}, empty("volumes", nil, []any{})}},
		entry{"nodeSelector", optional{[]entry{{"disk", "ssd"}}, []entry{}}})
	template := shuffled(t,
		entry{"metadata", shuffled(t, entry{"labels", []entry{{"app", name}, {"tier", "é☃ web"}}},
			entry{"annotations", optional{[]entry{{"note", "line\nof text\n"}}, empty("notes", nil, []entry{})}})},
		entry{"spec", spec})
	return shuffled(t, entry{"apiVersion", "apps/v1"}, entry{"kind", "Deployment"}, entry{"metadata", []entry{{"name", name}}},
		entry{"spec", shuffled(t, entry{"selector", []entry{{"matchLabels", []entry{{"app", name}}}}}, entry{"template", template})})
}

func service(t *rapid.T, name string) []entry {
	target := rapid.SampledFrom([]any{"http", 8080, "8080"}).Draw(t, "target")
	port := shuffled(t, entry{"port", 8080}, entry{"targetPort", optional{target, nil}})
	return shuffled(t, entry{"apiVersion", "v1"}, entry{"kind", "Service"},
		entry{"metadata", shuffled(t, entry{"name", name}, entry{"annotations", optional{[]entry{{"a", "b"}}, []entry{}}})},
		entry{"spec", shuffled(t, entry{"selector", []entry{{"app", name}}}, entry{"ports", []any{port}})})
}

// stream is a few documents, the deployment and its Service among them.
func stream(t *rapid.T) []byte {
	documents := [][]entry{deployment(t, "web"), service(t, "web")}
	if rapid.Bool().Draw(t, "other") {
		documents = append(documents, service(t, "other"))
	}
	documents = rapid.Permutation(documents).Draw(t, "documents")
	if rapid.IntRange(0, 4).Draw(t, "list") == 0 {
		var items []any
		for _, one := range documents {
			items = append(items, one)
		}
		documents = [][]entry{{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}}
	}
	w := &writer{t: t, indent: rapid.IntRange(2, 4).Draw(t, "indent"), compact: rapid.Bool().Draw(t, "compact")}
	for i, document := range documents {
		if i > 0 || w.flip("first marker") {
			w.out.WriteString(rapid.SampledFrom([]string{"---\n", "--- # next\n", "...\n---\n", "---\n# only a comment\n---\n\n"}).Draw(t, "marker"))
		}
		w.mapping(document, 0, false)
	}
	text := w.out.String()
	if w.rare("crlf") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	// Lines cannot be added behind a literal text that nothing ends without changing it; that is refused.
	if cut := strings.TrimRight(text, " \r\n"); w.rare("no line end") && !strings.HasSuffix(cut, "of text") && !strings.HasSuffix(cut, "s'") {
		text = cut
	}
	return []byte(text)
}

// documents decodes a stream, to compare what it says.
func documents(t *rapid.T, text []byte) []any {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var all []any
	for {
		var one any
		if err := decoder.Decode(&one); err != nil {
			if err.Error() == "EOF" {
				return all
			}
			t.Skip("the generator wrote something that is not YAML")
		}
		all = append(all, one)
	}
}

func TestTheWayBackIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := stream(t)
		before := documents(t, input)
		options := inject.Defaults()
		options.Workloads = []string{"deploy/web"}
		options.Native = rapid.SampledFrom([]string{"auto", "never"}).Draw(t, "native")
		options.Takeover = rapid.Bool().Draw(t, "takeover")
		options.NetworkPolicy = rapid.Bool().Draw(t, "policy")
		result, err := inject.Inject(input, options)
		if err != nil {
			t.Fatalf("refused: %v\n%s", err, input)
		}
		thereAndBack(t, input, result.Output, options)
		if after := documents(t, result.Output); len(after) < len(before) || reflect.DeepEqual(before, after) {
			t.Errorf("nothing happened to\n%s", input)
		}
	})
}

// A cluster or another tool may have written the manifests anew since. Then the way back leads to what they said.
func TestTheWayBackAfterAnotherToolWroteIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := stream(t)
		before := documents(t, input)
		options := inject.Defaults()
		options.Workloads = []string{"deploy/web"}
		options.Takeover = rapid.Bool().Draw(t, "takeover")
		result, err := inject.Inject(input, options)
		if err != nil {
			t.Fatalf("refused: %v\n%s", err, input)
		}
		asJSON := rapid.Bool().Draw(t, "json")
		var rewritten bytes.Buffer
		for _, one := range documents(t, result.Output) {
			rewritten.WriteString("---\n")
			if text, err := json.MarshalIndent(one, "", "    "); asJSON && err == nil {
				rewritten.Write(append(text, '\n'))
				continue
			}
			text, err := yaml.Marshal(one)
			if err != nil {
				t.Fatal(err)
			}
			rewritten.Write(text)
		}
		back, err := inject.Uninject(rewritten.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if after := documents(t, back.Output); !reflect.DeepEqual(before, after) {
			t.Errorf("got\n%s\nfrom\n%s\nwant\n%s", back.Output, rewritten.Bytes(), input)
		}
	})
}
