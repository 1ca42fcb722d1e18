package upstream

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Config says where the application is and how connections to it are kept. Only URL has no default.
type Config struct {
	URL         string        // http://host:port; host localhost means both loopback addresses
	MaxResponse int64         // bytes of an answer's body kept by Forward; 0: 32 MiB. A larger one is read and omitted
	IdleConns   int           // unused connections kept; 0: 256, negative: none
	IdleTimeout time.Duration // how long one is kept; 0: 1.5 s, below the keep-alive of common servers, so as not to race it
	DialTimeout time.Duration // of one connection attempt; 0: 10 s. An attempt's own Timeout counts too
	// OnError answers for an application that a passed request did not reach or that gave no answer: err is or wraps
	// ErrUnreachable, ErrIncomplete or ErrTimedOut. Nothing has been written to w. Passthrough only; nil: an empty 502.
	OnError func(w http.ResponseWriter, r *http.Request, err error)
}

// The defaults of Config, and what needs no setting.
const (
	defaultMaxResponse = 32 << 20
	defaultIdleConns   = 256
	defaultIdleTimeout = 1500 * time.Millisecond
	defaultDialTimeout = 10 * time.Second
	defaultTimeout     = 20 * time.Second

	maxHeaderBytes = 1 << 20 // of an answer's header section
	maxInterim     = 32      // 1xx answers to one request
)

func (c Config) withDefaults() Config {
	if c.MaxResponse == 0 {
		c.MaxResponse = defaultMaxResponse
	}
	if c.IdleConns == 0 {
		c.IdleConns = defaultIdleConns
	}
	if c.IdleTimeout == 0 {
		c.IdleTimeout = defaultIdleTimeout
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = defaultDialTimeout
	}
	if c.OnError == nil {
		c.OnError = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	}
	return c
}

// endpoint reads the application's URL. The error says what is wrong with it.
func (c Config) endpoint() (host, port string, err error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("upstream URL is not a URL")
	case u.Scheme != "http":
		return "", "", fmt.Errorf("upstream URL %q must begin with http://", u.Redacted())
	case u.User != nil:
		return "", "", fmt.Errorf("upstream URL %q must not hold a user", u.Redacted())
	case u.Hostname() == "":
		return "", "", fmt.Errorf("upstream URL %q names no host", u.Redacted())
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return "", "", fmt.Errorf("upstream URL %q must end after the port: paths are the sender's", u.Redacted())
	}
	port = u.Port()
	if port == "" {
		port = "80"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", fmt.Errorf("upstream URL %q has no port from 1 to 65535", u.Redacted())
	}
	return u.Hostname(), port, nil
}

// addresses are tried in turn. A resolver may know one family of localhost only, and the application the other.
func addresses(host, port string) []string {
	if host == "localhost" {
		return []string{net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("::1", port)}
	}
	return []string{net.JoinHostPort(host, port)}
}
