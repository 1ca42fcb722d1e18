package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/rediscache"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/telemetry"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// everything lets each instrument and each span be seen once.
func everything(t *testing.T) *watched {
	t.Helper()
	w := newWatched(t)
	if err := telemetry.ObserveCache(w.providers.Meter, func() rediscache.Stats { return rediscache.Stats{} }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	attention, err := telemetry.NewAttention(w.providers.Meter, &scriptedOpen{done: cancel, open: []dedupe.Attention{{Scope: "a/b", State: dedupe.Dead}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := attention.ObserveForeign(w.providers.Meter, func(delivery.Scope) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if err := attention.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if err := telemetry.ObserveEvidence(w.providers.Meter, time.Now); err != nil {
		t.Fatal(err)
	}
	attempt(t, w, worker.OutcomeQueued)
	if _, err := telemetry.NewSeal(slog.New(slog.DiscardHandler), w.providers.Meter, func() (time.Time, bool) { return time.Time{}, false }); err != nil {
		t.Fatal(err)
	}
	database, err := telemetry.NewDatabase(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans)).Tracer("test"), w.providers.Meter)
	if err != nil {
		t.Fatal(err)
	}
	trip := database.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{})
	database.TraceQueryEnd(trip, nil, pgx.TraceQueryEndData{CommandTag: pgconn.NewCommandTag("INSERT 0 1")})
	trip = database.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{})
	database.TraceQueryEnd(trip, nil, pgx.TraceQueryEndData{Err: errors.New("away")})
	delivered := w.Begin(request())
	claim, claimed := w.Stage(delivered, proxy.StageClaim)
	w.Answered(claim, rediscache.Shared, time.Millisecond)
	claimed()
	for _, stage := range []proxy.Stage{proxy.StageRead, proxy.StageVerify, proxy.StageClaim, proxy.StageForward, proxy.StageSettle} {
		_, end := w.Stage(delivered, stage)
		end()
	}
	record := applied()
	record.Route, record.Reason, record.Duplicate = "/hooks/orders", "stale", true
	record.Trace = "00-33333333333333333333333333333333-4444444444444444-00"
	for stage := range record.Stages {
		record.Stages[stage] = time.Millisecond
	}
	w.Done(delivered, record)
	w.Done(w.Begin(request()), proxy.Record{Outcome: proxy.OutcomeRejected, Reason: "stale"})
	return w
}

// The page of metrics and docs/telemetry.md name the same metrics with the same labels, but for those of the configuration,
// which are the program's own: their names are in its source.
func TestDocumentedMetricsAreTheMetrics(t *testing.T) {
	page, doc := everything(t).page(t), document(t)
	documented := map[string][]string{}
	for _, row := range rows(doc, "## Metrics") {
		documented[row[0][0]] = row[1]
	}
	shown := map[string][]string{}
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (webhook_\w+) (\w+)`).FindAllStringSubmatch(page, -1) {
		shown[found[1]] = labelsOf(page, found[1])
	}
	for name, labels := range shown {
		if want, there := documented[name]; !there || !slices.Equal(labels, want) {
			t.Errorf("%s has the labels %q, and docs/telemetry.md says %q (%t)", name, labels, want, there)
		}
	}
	program := readText(t, "../../cmd/sidecar/config_metric.go")
	for name := range documented {
		dotted := `"` + strings.ReplaceAll(strings.TrimSuffix(name, "_seconds"), "_", ".") + `"`
		if shown[name] == nil && !strings.Contains(program, dotted) {
			t.Errorf("docs/telemetry.md has %s, and the page does not", name)
		}
	}
}

// labelsOf is every label that a series of a metric has.
func labelsOf(page, metric string) []string {
	labels := []string{}
	for _, series := range regexp.MustCompile(`(?m)^`+metric+`(?:_bucket|_sum|_count)?\{([^}]*)\}`).FindAllStringSubmatch(page, -1) {
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(series[1], -1) {
			if label[1] != "le" && !slices.Contains(labels, label[1]) {
				labels = append(labels, label[1])
			}
		}
	}
	slices.Sort(labels)
	return labels
}

// rows are the rows of the tables in a section: each column's words in backquotes; in the first two columns all others, too.
func rows(doc, section string) [][2][]string {
	_, doc, _ = strings.Cut(doc, "\n"+section+"\n")
	doc, _, _ = strings.Cut(doc, "\n## ")
	var all [][2][]string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|([^|]*)\\|").FindAllStringSubmatch(doc, -1) {
		all = append(all, [2][]string{list(row[1]), list(row[2])})
	}
	return all
}

func list(cell string) []string {
	words := []string{}
	for word := range strings.SplitSeq(cell, ",") {
		if word = strings.Trim(word, " `"); word != "" {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return words
}

// The spans and docs/telemetry.md have the same names, kinds and attributes, each on the same spans.
func TestDocumentedSpansAreTheSpans(t *testing.T) {
	documented, used := map[string]bool{}, map[string]bool{}
	for _, row := range rows(document(t), "## Traces") {
		for _, name := range row[0] {
			for _, on := range row[1] {
				documented[name+" on "+strings.TrimPrefix(on, "links of ")] = true
			}
		}
	}
	for _, span := range everything(t).spans.Ended() {
		used[span.Name()+" on "+span.SpanKind().String()] = true
		on := strings.TrimPrefix(span.Name(), "webhook ")
		for _, attribute := range span.Attributes() {
			used[string(attribute.Key)+" on "+on] = true
		}
		for _, link := range span.Links() {
			used[string(link.Attributes[0].Key)+" on "+on] = true
		}
	}
	for name := range used {
		if !documented[name] {
			t.Errorf("docs/telemetry.md lacks %s", name)
		}
	}
	for name := range documented {
		if !used[name] {
			t.Errorf("docs/telemetry.md has %s, and no span does", name)
		}
	}
}

// Whatever the code names is documented, whether or not a test has seen it: each key of an attribute and each instrument.
func TestNothingIsNamedThatIsNotDocumented(t *testing.T) {
	doc := document(t)
	names := regexp.MustCompile(`attribute\.\w+\("([^"]+)"|"((?:webhook|http|db|error|service)\.[a-z_.]+)"`)
	found := 0
	for _, dir := range []string{".", "../../cmd/sidecar"} {
		for path, text := range sources(t, dir) {
			for _, name := range names.FindAllStringSubmatch(text, -1) {
				found++
				key := name[1] + name[2]
				if !strings.Contains(doc, "`"+key+"`") && !strings.Contains(doc, "| `"+strings.ReplaceAll(key, ".", "_")) {
					t.Errorf("%s names %s, and docs/telemetry.md does not", path, key)
				}
			}
		}
	}
	if found < 60 {
		t.Errorf("only %d names were found", found)
	}
}

// Every field that a log record of a delivery or an attempt may have is documented.
func TestDocumentedLogFieldsAreTheFields(t *testing.T) {
	_, doc, _ := strings.Cut(document(t), "\n## Logs\n")
	doc, _, _ = strings.Cut(doc, "\n## ")
	fields := regexp.MustCompile(`(?:slog\.\w+\(|appendText\(attrs, )"(\w+)"|"(\w+_us)"`)
	found := 0
	for _, file := range []string{"record.go", "attempts.go"} {
		for _, field := range fields.FindAllStringSubmatch(readText(t, file), -1) {
			found++
			if name := field[1] + field[2]; !strings.Contains(doc, "`"+name+"`") {
				t.Errorf("%s writes %s, and docs/telemetry.md does not tell", file, name)
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d fields were found", found)
	}
}

// sources are the texts of a folder's Go files that are no tests.
func sources(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.go") {
			texts[path] = readText(t, path)
		}
	}
	return texts
}

func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
