package testenv

import (
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// SharedPostgres names the environment variable with the address of a running server (a postgres:// URL of a user who
// may create databases) that the tests of several packages share. Unset, each test process starts its own.
const SharedPostgres = "SIDECAR_TEST_POSTGRES"

// process-wide: one server for all tests of a package, because starting one takes about a second.
var shared struct {
	sync.Mutex
	cluster *Cluster
	names   atomic.Int64
}

// Postgres returns the address of a fresh database on a server that the tests of this process share.
func Postgres(t testing.TB) string {
	t.Helper()
	if dsn := os.Getenv(SharedPostgres); dsn != "" {
		return databaseOn(t, dsn)
	}
	return sharedCluster(t).Database(t)
}

func sharedCluster(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		shared.cluster = makeCluster(t, ClusterConfig{})
	}
	return shared.cluster
}

func databaseOn(t testing.TB, dsn string) string {
	t.Helper()
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("%s is no URL", SharedPostgres)
	}
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), shared.names.Add(1))
	if err := execOn(dsn, "CREATE DATABASE "+name); err != nil {
		t.Fatalf("a fresh database: %v", err)
	}
	t.Cleanup(func() { _ = execOn(dsn, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	address.Path = "/" + name
	return address.String()
}
