package testenv

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// Standby starts a second server that follows this one by streaming replication, and is ended with the test. From then on
// this one commits only what the standby has written.
func (c *Cluster) Standby(t testing.TB) *Cluster {
	t.Helper()
	dir, err := workDir(c.owner)
	if err != nil {
		t.Fatalf("the standby's directory: %v", err)
	}
	standby := &Cluster{owner: c.owner, dir: dir, data: filepath.Join(dir, "data"), server: c.server, config: ClusterConfig{Fsync: c.config.Fsync}}
	copying := as(exec.Command(binary(t, "pg_basebackup"), "--no-sync", "--checkpoint=fast", "--write-recovery-conf", "--wal-method=stream",
		"--pgdata="+standby.data, fmt.Sprintf("--dbname=host=127.0.0.1 port=%d user=postgres application_name=standby", c.Port)), c.owner, dir)
	if out, err := copying.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	if standby.Port, err = freePort(); err != nil {
		t.Fatalf("a port for the standby: %v", err)
	}
	standby.Start(t)
	t.Cleanup(standby.Stop)
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := c.exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return standby
}

// Promote makes a standby a server that takes writes, and waits until it does.
func (c *Cluster) Promote(t testing.TB) {
	t.Helper()
	if err := c.exec("SELECT pg_promote(true, 60)"); err != nil {
		t.Fatalf("promoting the standby: %v", err)
	}
}
