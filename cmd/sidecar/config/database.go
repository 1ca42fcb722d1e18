package config

import (
	"errors"
	"net/url"
	"strings"
)

// EmbeddedPath is where the ledger is when nobody said anything else.
const EmbeddedPath = "./sidecar.db"

// Database is where the ledger is: exactly one of SQLite and PostgresURL is set.
type Database struct {
	SQLite      string // path of the embedded ledger
	PostgresURL string
	Default     bool // nobody chose it
}

// ParseDatabase reads DATABASE_URL. Without one the ledger is embedded, which is for trying out: only where the public
// listener is loopback. The error never carries the URL, which may hold a password.
func ParseDatabase(text string, loopback bool) (Database, error) {
	if text == "" {
		if !loopback {
			return Database{}, errors.New("must be set (postgres://… or sqlite:PATH) unless SIDECAR_LISTEN is a loopback address")
		}
		return Database{SQLite: EmbeddedPath, Default: true}, nil
	}
	if path, found := strings.CutPrefix(text, "sqlite:"); found {
		if path = strings.TrimPrefix(path, "//"); path == "" || strings.ContainsAny(path, "?\x00") {
			return Database{}, errors.New("want sqlite:PATH, the path of a file")
		}
		return Database{SQLite: path}, nil
	}
	if strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") {
		return Database{PostgresURL: text}, nil
	}
	return Database{}, errors.New("want postgres://… or sqlite:PATH")
}

// String names the ledger without a password.
func (d Database) String() string {
	if d.PostgresURL == "" {
		return "embedded SQLite at " + d.SQLite
	}
	parsed, err := url.Parse(d.PostgresURL)
	if err != nil { // several hosts with ports are beyond net/url
		_, rest, _ := strings.Cut(d.PostgresURL, "://")
		rest = rest[strings.LastIndexByte(rest, '@')+1:]
		rest, _, _ = strings.Cut(rest, "?")
		return "PostgreSQL at " + rest
	}
	return "PostgreSQL at " + parsed.Host + parsed.Path
}
