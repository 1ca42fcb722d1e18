package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// listeners are open before anything runs. Probe is nil where its default port is taken by somebody else.
type listeners struct {
	public net.Listener
	admin  net.Listener
	probe  net.Listener
}

func openListeners(ctx context.Context, settings config.Settings, log *slog.Logger) (*listeners, error) {
	l := &listeners{}
	public, err := listen(ctx, "SIDECAR_LISTEN", settings.Listen)
	if err != nil {
		return nil, err
	}
	l.public = proxy.StrictListener(public)
	if l.admin, err = listen(ctx, "SIDECAR_ADMIN_LISTEN", settings.AdminListen); err != nil {
		l.close()
		return nil, err
	}
	l.probe, err = listen(ctx, "SIDECAR_PROBE_LISTEN", settings.ProbeListen)
	if err != nil && settings.ProbeExplicit {
		l.close()
		return nil, err
	}
	if err != nil {
		log.WarnContext(ctx, "no probe listener: its default port is taken, and the probes stay on the admin listener",
			"address", settings.ProbeListen)
	}
	return l, nil
}

func listen(ctx context.Context, name, address string) (net.Listener, error) {
	opened, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is in use by another process", name, address)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return opened, nil
}

func (l *listeners) close() {
	for _, one := range []net.Listener{l.public, l.admin, l.probe} {
		if one != nil {
			_ = one.Close()
		}
	}
}

// idleTimeout is longer than balancers keep connections (Google's, the longest known, 10 minutes), so that they close first:
// a request on a connection that we are closing would be lost.
const idleTimeout = 11 * time.Minute

// newPublicServer has no read or write timeout: it would end long calls and event streams. Bodies of deliveries have
// their own deadline.
func newPublicServer(handler http.Handler, log *slog.Logger) *http.Server {
	server := newServer(handler, log)
	server.Protocols.SetUnencryptedHTTP2(true)
	server.DisableGeneralOptionsHandler = true
	server.ConnContext = proxy.ConnContext
	server.IdleTimeout = idleTimeout
	return server
}

// newAdminServer serves small answers to few.
func newAdminServer(handler http.Handler, log *slog.Logger) *http.Server {
	server := newServer(handler, log)
	server.ReadTimeout = 30 * time.Second
	server.WriteTimeout = time.Minute
	server.IdleTimeout = time.Minute
	return server
}

func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           brokenOff(handler, log),
		Protocols:         protocols,
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    1 << 20,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
