package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	otelruntime "go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scopeName names our instrumentation in what is exported.
const scopeName = "github.com/webhook-sidecar/webhook-sidecar"

// Providers are the sources of tracers and meters of this process, and the page that Prometheus scrapes. What is exported
// besides that page is for the OTEL_* variables to say; without them nothing leaves the process.
type Providers struct {
	Tracer trace.Tracer
	Meter  metric.Meter

	traces   *sdktrace.TracerProvider
	meters   *sdkmetric.MeterProvider
	registry *prometheus.Registry
}

// Identity says who this process is in what it exports.
type Identity struct {
	Version   string
	Namespace string
	Replica   string
}

// NewProviders reads the OTEL_* variables. An exporter that cannot be made is an error; a collector that is away is not.
func NewProviders(ctx context.Context, id Identity) (*Providers, error) {
	described, err := describe(ctx, id)
	if err != nil {
		return nil, err
	}
	traces, err := newTraces(ctx, described)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	meters, err := newMeters(ctx, described, registry)
	if err != nil {
		return nil, errors.Join(err, traces.Shutdown(ctx))
	}
	if err := otelruntime.Start(otelruntime.WithMeterProvider(meters)); err != nil {
		return nil, fmt.Errorf("runtime metrics: %w", err)
	}
	return &Providers{
		Tracer:   traces.Tracer(scopeName, trace.WithInstrumentationVersion(id.Version)),
		Meter:    meters.Meter(scopeName, metric.WithInstrumentationVersion(id.Version)),
		traces:   traces,
		meters:   meters,
		registry: registry,
	}, nil
}

func describe(ctx context.Context, id Identity) (*resource.Resource, error) {
	described, err := resource.New(ctx,
		resource.WithAttributes(
			attribute.String("service.name", "webhook-sidecar"),
			attribute.String("service.version", id.Version),
			attribute.String("service.namespace", id.Namespace),
			attribute.String("service.instance.id", id.Replica),
		),
		resource.WithFromEnv(), // wins over ours
		resource.WithTelemetrySDK(),
	)
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return described, nil
}

// newTraces makes spans always, because the application is promised a traceparent, and records them only for an exporter.
func newTraces(ctx context.Context, described *resource.Resource) (*sdktrace.TracerProvider, error) {
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(described)}
	if !wanted("TRACES") {
		return sdktrace.NewTracerProvider(append(options, sdktrace.WithSampler(sdktrace.NeverSample()))...), nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("trace exporter: %w", err)
	}
	return sdktrace.NewTracerProvider(append(options, sdktrace.WithBatcher(exporter))...), nil
}

func newMeters(ctx context.Context, described *resource.Resource, registry *prometheus.Registry) (*sdkmetric.MeterProvider, error) {
	page, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("metrics page: %w", err)
	}
	options := []sdkmetric.Option{
		sdkmetric.WithResource(described), sdkmetric.WithReader(page), sdkmetric.WithView(exemplarViews()...),
		// The series are bounded already, by integrations and closed sets. The SDK's own limit of 2000 would be reached by 200
		// integrations, and lump others together at each reading.
		sdkmetric.WithCardinalityLimit(0),
	}
	// The page is ours already: the exporter of that name would open a listener of its own.
	if wanted("METRICS") && os.Getenv("OTEL_METRICS_EXPORTER") != "prometheus" {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return nil, fmt.Errorf("metrics exporter: %w", err)
		}
		options = append(options, sdkmetric.WithReader(reader))
	}
	return sdkmetric.NewMeterProvider(options...), nil
}

// wanted tells whether the environment asks for an export of a signal. The standard's own default, a collector on
// localhost, would fill the logs of everybody who has none.
func wanted(signal string) bool {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return false
	}
	if exporter, set := os.LookupEnv("OTEL_" + signal + "_EXPORTER"); set && exporter != "" {
		return exporter != "none"
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
		os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// Page serves /metrics, with exemplars for scrapers that ask for OpenMetrics.
func (p *Providers) Page() http.Handler {
	return promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Shutdown exports what is left.
func (p *Providers) Shutdown(ctx context.Context) error {
	return errors.Join(p.traces.Shutdown(ctx), p.meters.Shutdown(ctx))
}
