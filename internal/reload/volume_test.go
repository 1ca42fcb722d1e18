package reload_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// volume is a folder as Kubernetes mounts a Secret: every file a link into ..data, which is swapped as a whole.
type volume struct {
	t     *testing.T
	dir   string
	swaps int
}

func newVolume(t *testing.T, contents map[string]string) *volume {
	t.Helper()
	v := &volume{t: t, dir: t.TempDir()}
	v.swap(contents)
	return v
}

func (v *volume) path(name string) string { return filepath.Join(v.dir, name) }

// swap puts new contents in force with one rename, as the kubelet does, and removes the old ones.
func (v *volume) swap(contents map[string]string) {
	v.t.Helper()
	v.swaps++
	fresh := "..2026_11_30_" + strconv.Itoa(v.swaps)
	v.must(os.Mkdir(v.path(fresh), 0o700))
	for name, text := range contents {
		v.must(os.WriteFile(filepath.Join(v.dir, fresh, name), []byte(text), 0o600))
	}
	old, _ := os.Readlink(v.path("..data"))
	v.must(os.Symlink(fresh, v.path("..data_tmp")))
	v.must(os.Rename(v.path("..data_tmp"), v.path("..data")))
	for name := range contents {
		if _, err := os.Lstat(v.path(name)); err != nil {
			v.must(os.Symlink(filepath.Join("..data", name), v.path(name)))
		}
	}
	if old != "" {
		v.must(os.RemoveAll(v.path(old)))
	}
}

func (v *volume) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}
