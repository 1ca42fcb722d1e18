package telemetry

import (
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// faultsEvery is how often a failing export is told. A collector that is away for a night is one fact, not thousands.
const faultsEvery = 10 * time.Minute

// TellFaults makes OpenTelemetry's own errors log records, of exports at most one every ten minutes. It is for the whole
// process.
func TellFaults(log *slog.Logger) {
	otel.SetErrorHandler(&faults{log: log})
	otel.SetLogger(logr.New(mute{log: log}))
}

// mute is what OpenTelemetry logs to. Only what it says is kept, not what it says it of: that may be a header with a token
// in it, which somebody has written wrong.
type mute struct{ log *slog.Logger }

func (mute) Init(logr.RuntimeInfo)            {}
func (mute) Enabled(int) bool                 { return false }
func (mute) Info(int, string, ...any)         {}
func (m mute) WithValues(...any) logr.LogSink { return m }
func (m mute) WithName(string) logr.LogSink   { return m }

// Error implements logr.LogSink.
func (m mute) Error(_ error, message string, _ ...any) {
	m.log.Warn("OpenTelemetry complains about its settings or itself", "complaint", message)
}

type faults struct {
	log *slog.Logger

	mu     sync.Mutex
	last   time.Time
	silent int
}

// Handle implements otel.ErrorHandler.
func (f *faults) Handle(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.last) >= faultsEvery {
		f.log.Warn("telemetry could not be exported", "error", err, "untold", f.silent)
		f.last, f.silent = now, 0
		return
	}
	f.silent++
}
