package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// binary finds a service's program: in pg_config's directory, on PATH, then where distributions hide it.
func binary(t testing.TB, name string) string {
	t.Helper()
	for _, candidate := range candidates(name) {
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return candidate
		}
	}
	t.Fatalf("%s is not installed, and no test is skipped for want of a service: `make test` installs it "+
		"(apt-get install postgresql redis-server pgbouncer)", name)
	return ""
}

func candidates(name string) []string {
	var paths []string
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		paths = append(paths, filepath.Join(strings.TrimSpace(string(out)), name))
	}
	if path, err := exec.LookPath(name); err == nil {
		paths = append(paths, path)
	}
	hidden, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	sort.Sort(sort.Reverse(sort.StringSlice(hidden)))
	return append(append(paths, hidden...), "/usr/sbin/"+name, "/usr/local/sbin/"+name)
}
