package rediscache

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// topology is how the servers behind a URL belong together.
type topology uint8

const (
	single topology = iota
	cluster
	sentinel
)

// address is what a REDIS_URL says.
type address struct {
	topology         topology
	tls              bool
	hosts            []string // host:port
	user, password   string
	db               int
	master           string // Sentinel: the name of the monitored master
	sentinelUser     string
	sentinelPassword string
}

// CheckURL tells what is wrong with a REDIS_URL. Its errors carry no part of the URL, any of which may be a password.
//
//	redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]                 rediss:// is the same over TLS
//	redis://[[USER]:PASSWORD@]HOST[:PORT],HOST[:PORT],…        a cluster; every item may repeat the scheme
//	redis+sentinel://[[USER]:PASSWORD@]HOST[:PORT],…/MASTER[/DB][?sentinel_username=U&sentinel_password=P]
//
// The default ports are 6379 and 26379. User, password and the master's name are percent-encoded. rediss+sentinel:// is
// Sentinel over TLS.
func CheckURL(text string) error {
	_, err := parseAddress(text)
	return err
}

func parseAddress(text string) (address, error) {
	a, err := readAddress(strings.TrimSpace(text))
	if err != nil {
		return address{}, fmt.Errorf("the Redis URL %w", err)
	}
	return a, nil
}

func readAddress(text string) (address, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return address{}, errors.New("has no scheme: want redis, rediss or redis+sentinel")
	}
	var a address
	port := "6379"
	switch scheme {
	case "redis", "rediss":
	case "redis+sentinel", "rediss+sentinel":
		a.topology, port = sentinel, "26379"
	default:
		return address{}, errors.New("has an unknown scheme: want redis, rediss or redis+sentinel")
	}
	a.tls = strings.HasPrefix(scheme, "rediss")
	rest, query, _ := strings.Cut(rest, "?")
	hosts, path := splitPath(rest, scheme)
	if err := a.readHosts(hosts, scheme, port); err != nil {
		return address{}, err
	}
	return a, errors.Join(a.readPath(path), a.readQuery(query))
}

// splitPath cuts off what follows the last item's host.
func splitPath(text, scheme string) (hosts, path string) {
	item := strings.TrimLeft(text[strings.LastIndexByte(text, ',')+1:], " ")
	item = strings.TrimPrefix(item, scheme+"://")
	last := len(text) - len(item)
	if slash := strings.IndexByte(text[last:], '/'); slash >= 0 {
		return text[:last+slash], text[last+slash+1:]
	}
	return text, ""
}

// readHosts reads the items of a list. The credentials stand in the first, or alike in several.
func (a *address) readHosts(text, scheme, port string) error {
	for i, item := range strings.Split(text, ",") {
		item = strings.TrimPrefix(strings.TrimSpace(item), scheme+"://")
		if at := strings.LastIndexByte(item, '@'); at >= 0 {
			if err := a.readUser(item[:at], i); err != nil {
				return err
			}
			item = item[at+1:]
		}
		host, err := hostPort(item, port)
		if err != nil {
			return fmt.Errorf("has a server (number %d) %w", i+1, err)
		}
		a.hosts = append(a.hosts, host)
	}
	if len(a.hosts) > 1 && a.topology == single {
		a.topology = cluster
	}
	return nil
}

func (a *address) readUser(text string, item int) error {
	name, secret, found := strings.Cut(text, ":")
	if !found {
		return errors.New("has a user name without a password: a password alone is written :PASSWORD@")
	}
	user, err1 := url.PathUnescape(name)
	password, err2 := url.PathUnescape(secret)
	if err1 != nil || err2 != nil {
		return errors.New("has a user name or password with a bad percent-encoding")
	}
	if password == "" {
		return errors.New("has an empty password")
	}
	if item > 0 && (user != a.user || password != a.password) {
		return errors.New("has other credentials for its later servers than for its first")
	}
	a.user, a.password = user, password
	return nil
}

func hostPort(text, port string) (string, error) {
	host := text
	if at := strings.LastIndexByte(text, ':'); at >= 0 && !strings.HasSuffix(text, "]") {
		host, port = text[:at], text[at+1:]
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return "", errors.New("whose port is not a number from 1 to 65535")
	}
	bare, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		host = strings.TrimSuffix(bare, "]")
		if net.ParseIP(host) == nil || host == bare {
			return "", errors.New("whose brackets do not hold an IP address")
		}
	} else if !hostName(host) {
		return "", errors.New("whose host is missing or has a character that no host has; in credentials these are percent-encoded")
	}
	return net.JoinHostPort(host, port), nil
}

func hostName(host string) bool {
	for i := range len(host) {
		c := host[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return host != ""
}

// readPath reads the database's number, for Sentinel the master's name before it.
func (a *address) readPath(path string) error {
	if a.topology == sentinel {
		name, rest, _ := strings.Cut(path, "/")
		master, err := url.PathUnescape(name)
		if err != nil || master == "" {
			return errors.New("names no master: redis+sentinel://HOST,…/MASTER")
		}
		a.master, path = master, rest
	}
	if path == "" {
		return nil
	}
	db, err := strconv.ParseUint(path, 10, 16)
	if err != nil {
		return errors.New("has a path that is not a database's number")
	}
	if a.topology == cluster && db != 0 {
		return errors.New("names a database: a cluster has only number 0")
	}
	a.db = int(db)
	return nil
}

// readQuery reads the Sentinels' own credentials.
func (a *address) readQuery(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("has a malformed query")
	}
	a.sentinelUser, a.sentinelPassword = values.Get("sentinel_username"), values.Get("sentinel_password")
	for name, list := range values {
		known := name == "sentinel_username" || name == "sentinel_password"
		if !known || a.topology != sentinel || len(list) != 1 {
			return errors.New("has a parameter that is unknown, not for Sentinel, or there twice: " +
				"known are sentinel_username and sentinel_password")
		}
	}
	if a.sentinelUser != "" && a.sentinelPassword == "" {
		return errors.New("has a sentinel_username without sentinel_password")
	}
	return nil
}
