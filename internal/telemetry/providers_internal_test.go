package telemetry

import "testing"

// Nothing is exported unless somebody asks for it, signal by signal; the standard's own default would export to localhost.
func TestNothingIsExportedUnlessAsked(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, c := range map[string]struct {
		env             map[string]string
		traces, metrics bool
	}{
		"nothing":             {nil, false, false},
		"names and sampling":  {map[string]string{"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_SAMPLER": "always_on", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, false},
		"an endpoint":         {map[string]string{endpoint: "http://127.0.0.1:1"}, true, true},
		"of traces":           {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}, true, false},
		"of metrics":          {map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"}, false, true},
		"an exporter":         {map[string]string{"OTEL_TRACES_EXPORTER": "console"}, true, false},
		"none":                {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_METRICS_EXPORTER": "none"}, true, false},
		"an empty exporter":   {map[string]string{"OTEL_TRACES_EXPORTER": ""}, false, false},
		"disabled as a whole": {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, false, false},
		"otlp by name":        {map[string]string{"OTEL_METRICS_EXPORTER": "otlp"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{
				endpoint, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_TRACES_EXPORTER",
				"OTEL_METRICS_EXPORTER", "OTEL_SDK_DISABLED",
			} {
				t.Setenv(variable, "")
			}
			for variable, value := range c.env {
				t.Setenv(variable, value)
			}
			if traces, metrics := wanted("TRACES"), wanted("METRICS"); traces != c.traces || metrics != c.metrics {
				t.Errorf("traces %t, metrics %t", traces, metrics)
			}
		})
	}
	t.Setenv(endpoint, "")
	providers, err := NewProviders(t.Context(), Identity{})
	if err != nil {
		t.Fatal(err)
	}
	defer providers.Shutdown(t.Context())
	_, span := providers.Tracer.Start(t.Context(), "x")
	defer span.End()
	if span.IsRecording() || !span.SpanContext().IsValid() {
		t.Error("a span is recorded for nobody, or has no context for the application")
	}
}
