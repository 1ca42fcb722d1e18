package telemetry

import (
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
)

// faultsEvery is how often a failing export is told. A collector that is away for a night is one fact, not thousands.
const faultsEvery = 10 * time.Minute

// TellFaults makes OpenTelemetry's own errors log records, at most one every ten minutes. It is for the whole process.
func TellFaults(log *slog.Logger) {
	otel.SetErrorHandler(&faults{log: log})
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
