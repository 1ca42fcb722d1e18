package rediscache

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// limits are how long Redis may take, beside a delivery's budget. A test that is not about them may give it more.
type limits struct {
	dial  time.Duration // to connect
	io    time.Duration // to read or write, where a command has not less
	probe time.Duration // to connect and answer a first time
	mark  time.Duration // to take one attempt at a mark
	write time.Duration // to take a batch of notes
}

func usualLimits() limits {
	return limits{
		dial: 2 * time.Second, io: time.Second, probe: time.Second, mark: 300 * time.Millisecond, write: 500 * time.Millisecond,
	}
}

// What a client may take.
const (
	poolSize      = readers + 2 // the writer, and the probe or a person
	connLife      = 30 * time.Minute
	connLifeDrift = 5 * time.Minute
	bufferSize    = 16 << 10
)

// newClient makes a client, which connects when it is first used.
//
// Nothing is sent but AUTH, SELECT and the commands asked for, so that a user who may GET, SET, DEL and PING suffices (a
// cluster needs CLUSTER SLOTS too). HELLO is tried, as it is part of authenticating, and may be refused. The protocol is
// RESP2: in it no reply comes unasked, so that a connection with anything left to read is out of step and is closed.
// Nothing is tried again on its own: a late answer is worth nothing here.
func newClient(a address, config *tls.Config, within limits) redis.UniversalClient {
	if !a.tls {
		config = nil
	} else if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	switch a.topology {
	case cluster:
		return redis.NewClusterClient(clusterOptions(a, config, within))
	case sentinel:
		return redis.NewFailoverClient(failoverOptions(a, config, within))
	default:
		return redis.NewClient(singleOptions(a, config, within))
	}
}

func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func singleOptions(a address, config *tls.Config, within limits) *redis.Options {
	return &redis.Options{
		Addr: a.hosts[0], Username: a.user, Password: a.password, DB: a.db, TLSConfig: config,
		Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: quiet(),
		MaxRetries: -1, DialerRetries: 1, DialTimeout: within.dial,
		ReadTimeout: within.io, WriteTimeout: within.io, ContextTimeoutEnabled: true,
		PoolSize: poolSize, PoolTimeout: within.io, PipelinePoolSize: -1,
		ConnMaxLifetime: connLife, ConnMaxLifetimeJitter: connLifeDrift,
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize,
	}
}

func clusterOptions(a address, config *tls.Config, within limits) *redis.ClusterOptions {
	return &redis.ClusterOptions{
		Addrs: a.hosts, Username: a.user, Password: a.password, TLSConfig: config,
		Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: quiet(), DisableRoutingPolicies: true,
		MaxRedirects: 2, MaxRetries: -1, DialerRetries: 1, DialTimeout: within.dial,
		ReadTimeout: within.io, WriteTimeout: within.io, ContextTimeoutEnabled: true,
		PoolSize: poolSize, PoolTimeout: within.io, PipelinePoolSize: -1,
		ConnMaxLifetime: connLife, ConnMaxLifetimeJitter: connLifeDrift,
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize,
	}
}

func failoverOptions(a address, config *tls.Config, within limits) *redis.FailoverOptions {
	return &redis.FailoverOptions{
		MasterName: a.master, SentinelAddrs: a.hosts,
		SentinelUsername: a.sentinelUser, SentinelPassword: a.sentinelPassword,
		Username: a.user, Password: a.password, DB: a.db, TLSConfig: config,
		Protocol: 2, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: within.dial,
		ReadTimeout: within.io, WriteTimeout: within.io, ContextTimeoutEnabled: true,
		PoolSize: poolSize, PoolTimeout: within.io, PipelinePoolSize: -1,
		ConnMaxLifetime: connLife, ConnMaxLifetimeJitter: connLifeDrift,
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize,
	}
}

// silence is the driver's own log. It would write to stderr, in its own format, for every failed attempt; Stats says it.
type silence struct{}

// Printf implements the driver's logging.
func (silence) Printf(context.Context, string, ...any) {}
