package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// series names one time series: its labels' keys and values in a comparable form. key2 may be empty.
type series struct{ key, value, key2, value2 string }

// labels are the options of a series in the forms that the instruments take, made once: making a set of attributes costs
// more than counting.
type labels struct {
	add     []metric.AddOption
	record  []metric.RecordOption
	observe []metric.ObserveOption
}

func newLabels(s series) *labels {
	pairs := []attribute.KeyValue{attribute.String(s.key, s.value)}
	if s.key2 != "" {
		pairs = append(pairs, attribute.String(s.key2, s.value2))
	}
	option := metric.WithAttributeSet(attribute.NewSet(pairs...))
	return &labels{add: []metric.AddOption{option}, record: []metric.RecordOption{option}, observe: []metric.ObserveOption{option}}
}

// labelSets remembers the labels of every series that there is. Safe for concurrent use.
type labelSets struct{ known lookup[series, *labels] }

func (l *labelSets) of(s series) *labels { return l.known.get(s, newLabels) }
