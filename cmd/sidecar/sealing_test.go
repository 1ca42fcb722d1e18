package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// sealKey is a line of a key file, another one for each name.
func sealKey(name string) string {
	sum := sha256.Sum256([]byte("canary seal key " + name))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// sealKeyID is what the key is called.
func sealKeyID(t *testing.T, name string) string {
	t.Helper()
	keys, err := seal.ParseKeys([]byte(sealKey(name)))
	if err != nil {
		t.Fatal(err)
	}
	return keys.IDs()[0].String()
}

// sealKeyFile is a file with one key.
func sealKeyFile(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "seal-keys")
	if err := os.WriteFile(path, []byte(sealKey(name)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sealed is a rig whose sidecars seal with the named keys; "off" is the word.
func (r *rig) sealed(names ...string) {
	r.t.Helper()
	lines := make([]string, len(names))
	for i, name := range names {
		if lines[i] = sealKey(name); name == "off" {
			lines[i] = name
		}
	}
	r.write("seal-keys", strings.Join(lines, "\n")+"\n")
	r.env[sealKeyVariable] = r.path("seal-keys")
}

// sealing waits until the running sidecar seals with a key and has no complaint, or has one.
func (p *process) sealing(by string, valid bool) sealStatus {
	p.r.t.Helper()
	var got sealStatus
	p.eventually("the seal keys", func() error {
		_, body := p.admin("/api/v1/status")
		var report statusReport
		if err := json.Unmarshal([]byte(body), &report); err != nil || report.Seal == nil {
			return fmt.Errorf("%w: %s", err, body)
		}
		if got = *report.Seal; got.Sealing != by || got.Valid != valid {
			return fmt.Errorf("they are %+v", got)
		}
		return nil
	})
	return got
}

// noKeys fails where a text has a part of a key.
func noKeys(t *testing.T, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		if key := sealKey(name); strings.Contains(text, key) || strings.Contains(text, key[:16]) {
			t.Errorf("key %s is told:\n%s", name, text)
		}
	}
}

func TestWrongKeyFilesAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"malformed":  {sealKey("a") + "\n" + sealKey("b") + "!\n", "seal-keys:2: SIDECAR_SEAL_KEY_FILE: neither base64 nor 64 hex digits"},
		"short":      {"c2hvcnQgY2FuYXJ5IGtleQ==\n", "seal-keys:1: SIDECAR_SEAL_KEY_FILE: the key has 16 bytes, want 32"},
		"duplicated": {sealKey("a") + "\n\n" + sealKey("a"), "seal-keys:3: SIDECAR_SEAL_KEY_FILE: the same key as in line 1"},
		"empty":      {"", "SIDECAR_SEAL_KEY_FILE: there is no key in it"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.sealed("a")
			r.write("seal-keys", c.file)
			for _, command := range []string{"check", "run"} {
				status, out := r.command("", command)
				if status != exitUsage || !strings.Contains(out, c.want) {
					t.Errorf("%s: exit %d: %s", command, status, out)
				}
				noKeys(t, out, "a", "b")
				if strings.Contains(out, "c2hvcnQ") {
					t.Errorf("the key is told: %s", out)
				}
			}
		})
	}
	r := newRig(t)
	r.env[sealKeyVariable] = r.path("nowhere")
	if status, out := r.command("", "check"); status != exitUsage || !strings.Contains(out, "SIDECAR_SEAL_KEY_FILE: "+r.path("nowhere")+" cannot be read: no such file") {
		t.Errorf("a missing file: exit %d: %s", status, out)
	}
	r.configure("integrations: []")
	for _, command := range []string{"check", "run"} {
		if status, out := r.command("", command); status != exitUsage || strings.Count(out, "error: ") != 2 {
			t.Errorf("two wrong files, %s: exit %d: %s", command, status, out)
		}
	}
}

func TestCheckNamesTheKeys(t *testing.T) {
	r := newRig(t)
	r.sealed("new", "old")
	out := r.must("check")
	if !strings.Contains(out, sealKeyID(t, "new")+"           seals, and opens") || !strings.Contains(out, sealKeyID(t, "old")+"           opens\n") {
		t.Errorf("check says\n%s", out)
	}
	noKeys(t, out, "new", "old")
	r.sealed("off", "old")
	if out := r.must("check"); !strings.Contains(out, "off") || strings.Contains(out, "seals, and opens") {
		t.Errorf("check says\n%s", out)
	}
}

// A key file that becomes invalid, empty or vanishes leaves the keys in force, and is an alarm until it is good again.
func TestAnInvalidKeyFileKeepsTheKeys(t *testing.T) {
	r := newRig(t)
	r.sealed("a")
	p := r.run()
	a, b := sealKeyID(t, "a"), sealKeyID(t, "b")
	p.sealing(a, true)
	if got := p.deliver("evt-1", firstKey); got != "200 applied" {
		t.Fatal(got)
	}
	for name, spoil := range map[string]func(){
		"malformed": func() { r.write("seal-keys", sealKey("b")+"\nnonsense\n") },
		"empty":     func() { r.write("seal-keys", "") },
		"gone":      func() { _ = os.Remove(r.path("seal-keys")) },
	} {
		spoil()
		got := p.sealing(a, false)
		if got.InvalidSince == nil || len(got.Problems) == 0 {
			t.Errorf("%s: the status does not say what is wrong: %+v", name, got)
		}
		if _, page := p.admin("/metrics"); strings.Contains(page, "webhook_seal_invalid_seconds 0\n") {
			t.Errorf("%s: the metric says that all is well", name)
		}
		if got := p.deliver("evt-1", firstKey); got != "200 replayed" {
			t.Errorf("%s: %s", name, got)
		}
		r.sealed("b", "a")
		p.sealing(b, true)
		r.sealed("a")
		p.sealing(a, true)
	}
	if count := strings.Count(p.log.String(), "the new seal keys are invalid"); count != 3 {
		t.Errorf("three contents, %d alarms", count)
	}
	noKeys(t, p.log.String(), "a", "b")
}

// Kubernetes replaces the folder under the file.
func TestKeysInASwappedVolume(t *testing.T) {
	r := newRig(t)
	swap := func(number int, name string) {
		dir := r.path(fmt.Sprint("..data-", number))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "keys"), []byte(sealKey(name)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(dir, r.path("..data-next")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(r.path("..data-next"), r.path("..data")); err != nil {
			t.Fatal(err)
		}
	}
	swap(1, "a")
	if err := os.Symlink(filepath.Join("..data", "keys"), r.path("keys")); err != nil {
		t.Fatal(err)
	}
	r.env[sealKeyVariable] = r.path("keys")
	p := r.run()
	p.sealing(sealKeyID(t, "a"), true)
	swap(2, "b")
	p.sealing(sealKeyID(t, "b"), true)
}

// Keys of an embedded ledger are rotated while its sidecar is stopped, and sealing may be turned off again.
func TestRotateAnEmbeddedLedger(t *testing.T) {
	r := newRig(t)
	p := r.run()
	if got := p.deliver("evt-1", firstKey); got != "200 applied" {
		t.Fatal(got)
	}
	if status, out := r.command("", "seal", "status"); status != exitFailed || !strings.Contains(out, "stop it first") {
		t.Errorf("beside the running sidecar: exit %d: %s", status, out)
	}
	p.stop()
	act := []string{"--actor", "ana", "--reason", "drill of may"}
	if status, out := r.command("", append([]string{"seal", "rotate"}, act...)...); status != exitUsage || !strings.Contains(out, sealKeyVariable) {
		t.Errorf("without keys: exit %d: %s", status, out)
	}
	r.sealed("a")
	if out := r.must("seal", "status", "--json"); !strings.Contains(out, `"unsealed": 1`) || !strings.Contains(out, `"due": 1`) {
		t.Errorf("status is %s", out)
	}
	if status, out := r.command("", "seal", "rotate"); status != exitUsage || !strings.Contains(out, "actor") {
		t.Errorf("by nobody: exit %d: %s", status, out)
	}
	out := r.must(append([]string{"seal", "rotate"}, act...)...)
	if !strings.Contains(out, "1 rewritten") || !strings.Contains(out, ` by "ana": "drill of may"`) {
		t.Errorf("rotated: %s", out)
	}
	noKeys(t, out, "a")
	r.sealed("b")
	status, out := r.command("", append([]string{"seal", "rotate", "--json"}, act...)...)
	if status != exitFailed || !strings.Contains(out, `"`+sealKeyID(t, "a")+`": 1`) || !strings.Contains(out, `"rewritten": 0`) {
		t.Errorf("without the old key: exit %d: %s", status, out)
	}
	if out := r.must("receipts", "list"); !strings.Contains(out, "sealed with key "+sealKeyID(t, "a")) {
		t.Errorf("listed: %s", out)
	}
	status, out = r.command("", "seal", "status", "--json")
	var report rotationReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || status != exitFailed || len(report.Rotations) != 2 ||
		report.Rotations[0].Sealing != sealKeyID(t, "a") || report.Rotations[1].Actor != "ana" || !report.DryRun {
		t.Errorf("status: exit %d, %v: %s", status, err, out)
	}
	if out := r.must("audit", "export"); strings.Count(out, `"kind":"rotation"`) != 2 || !strings.Contains(out, `"reason":"drill of may"`) {
		t.Errorf("exported: %s", out)
	}
	r.sealed("off", "a")
	r.must(append([]string{"seal", "rotate"}, act...)...)
	delete(r.env, sealKeyVariable)
	p = r.run()
	if got := p.post("evt-1", firstKey); got.String() != "200 replayed" || got.body != "done" {
		t.Errorf("unsealed: %s %q", got, got.body)
	}
}

// Whoever gives the secret where the name of its file should stand is told so, and nothing tells the secret.
func TestASecretInThePlaceOfItsFile(t *testing.T) {
	secret := sealKey("mistaken")
	for name, mistake := range map[string]func(r *rig){
		"a seal key":        func(r *rig) { r.env[sealKeyVariable] = secret },
		"a file of them":    func(r *rig) { r.env[sealKeyVariable] = secret + "\n" + sealKey("b") + "\n" },
		"an admin token":    func(r *rig) { r.env["SIDECAR_ADMIN_TOKEN_FILE"] = "ana:operate:" + secret },
		"a sender's secret": func(r *rig) { r.configure(orders("{id: k1, secret: {file: " + secret + "}}")) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			mistake(r)
			for _, command := range [][]string{{"check"}, {"run"}, {"seal", "status"}, {"receipts", "list"}, {"capacity"}} {
				status, out := r.command("", command...)
				if (command[0] == "check" || command[0] == "run") && (status != exitUsage || !strings.Contains(out, "what should name a file names none")) {
					t.Errorf("%v: exit %d: %s", command, status, out)
				}
				noKeys(t, out, "mistaken", "b")
			}
		})
	}
}

// A file whose contents end never, or do not come, is refused at once, also by a sidecar that runs.
func TestKeyFilesThatAreNoFiles(t *testing.T) {
	r := newRig(t)
	noFiles := r.noFiles()
	r.sealed("a")
	p := r.run()
	for path, want := range noFiles {
		r.env[sealKeyVariable] = path
		for _, command := range []string{"check", "run"} {
			if status, out := r.command("", command); status != exitUsage || !strings.Contains(out, sealKeyVariable+": "+path+" cannot be read: "+want) {
				t.Errorf("%s, %s: exit %d: %s", command, path, status, out)
			}
		}
		if err := os.Symlink(path, r.path("next")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(r.path("next"), r.path("seal-keys")); err != nil {
			t.Fatal(err)
		}
		if got := p.sealing(sealKeyID(t, "a"), false); !strings.Contains(strings.Join(got.Problems, "\n"), want) {
			t.Errorf("%s: the status says %v", path, got.Problems)
		}
		if err := os.Remove(r.path("seal-keys")); err != nil { // and not what it leads to
			t.Fatal(err)
		}
		r.sealed("a")
		p.sealing(sealKeyID(t, "a"), true)
	}
}

// noFiles are paths that lead to what nobody should wait for or hold, and why each is refused.
func (r *rig) noFiles() map[string]string {
	r.t.Helper()
	if err := syscall.Mkfifo(r.path("fifo"), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Truncate(touch(r.t, r.path("huge")), 1<<30); err != nil {
		r.t.Fatal(err)
	}
	return map[string]string{
		r.path("fifo"): "no regular file", "/dev/zero": "no regular file", r.path("huge"): "more than 16 MiB", r.path("."): "is a directory",
	}
}

// touch makes an empty file.
func touch(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file that is written in several steps lacks keys for a moment, and takes none out of force.
func TestAHalfWrittenKeyFileTakesNoKeyAway(t *testing.T) {
	r := newRig(t)
	r.sealed("b", "a")
	s, _, err := newSealing(t.Context(), r.env[sealKeyVariable], slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		steps [][]string // what the file says after each wait
		want  []string
	}{
		"a new first key before the old ones": {[][]string{{"c", "b"}, {"c", "b", "a"}}, []string{"c", "b", "a"}},
		"taken back":                          {[][]string{{"b", "a"}}, []string{"b", "a"}},
		"meant so":                            {[][]string{{"c"}, {"c"}}, []string{"c"}},
	} {
		r.sealed("b", "a")
		if _, err := s.apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.wait = func(context.Context) {
			if got := len(s.ring.Keys().IDs()); got != 2 {
				t.Errorf("%s: meanwhile there are %d keys", name, got)
			}
			if len(c.steps) > 0 {
				r.sealed(c.steps[0]...)
				c.steps = c.steps[1:]
			}
		}
		r.sealed("c")
		if _, err := s.apply(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var want []string
		for _, key := range c.want {
			want = append(want, sealKeyID(t, key))
		}
		if got := keyNames(s.ring.Keys(), nil); !slices.Equal(got, want) {
			t.Errorf("%s: the keys are %v, want %v", name, got, want)
		}
		s.wait = func(context.Context) {}
	}
}

// A key that goes is said, whether anything needs it or not; what only comes, or changes its place, is not.
func TestKeysThatGoAreSaid(t *testing.T) {
	r := newRig(t)
	r.sealed("b", "a")
	p := r.run()
	a, b := sealKeyID(t, "a"), sealKeyID(t, "b")
	p.sealing(b, true)
	const gone = "seal keys are gone"
	for _, step := range []struct {
		names []string
		gone  []string
	}{{[]string{"a", "b"}, nil}, {[]string{"a"}, []string{b}}, {[]string{"off", "a"}, nil}, {[]string{"c"}, []string{a}}} {
		told := strings.Count(p.log.String(), gone)
		r.sealed(step.names...)
		by := "off"
		if step.names[0] != "off" {
			by = sealKeyID(t, step.names[0])
		}
		p.sealing(by, true)
		p.eventually("the record", func() error {
			if got := strings.Count(p.log.String(), gone) - told; got != len(step.gone) {
				return fmt.Errorf("after %v it is said %d times", step.names, got)
			}
			return nil
		})
		for _, id := range step.gone {
			if !strings.Contains(p.log.String(), `"gone":["`+id+`"]`) {
				t.Errorf("after %v the log does not name %s", step.names, id)
			}
		}
	}
	noKeys(t, p.log.String(), "a", "b", "c")
}

// Whoever only looks makes no ledger where none is.
func TestSealStatusChangesNothing(t *testing.T) {
	r := newRig(t)
	r.sealed("a")
	r.env["DATABASE_URL"] = testenv.Postgres(t)
	for _, args := range [][]string{{"seal", "status"}, {"seal", "rotate", "--dry-run"}} {
		if status, out := r.command("", args...); status != exitFailed || !strings.Contains(out, "schema") {
			t.Errorf("%v of an empty database: exit %d: %s", args, status, out)
		}
	}
	if status, out := r.command("", "capacity"); status != exitFailed || !strings.Contains(out, "schema") {
		t.Errorf("there is a ledger now: exit %d: %s", status, out)
	}
	p := r.run()
	if got := p.deliver("evt-1", firstKey); got != "200 applied" {
		t.Fatal(got)
	}
	if out := r.must("seal", "status"); !strings.Contains(out, sealKeyID(t, "a")) {
		t.Errorf("status is %s", out)
	}
}

// Nothing is sealed that the sidecar could not open.
func TestRotatingDoesNotLockTheSidecarOut(t *testing.T) {
	act := []string{"seal", "rotate", "--actor", "ana", "--reason", "yearly"}
	t.Run("a key that it does not have", func(t *testing.T) {
		r := newRig(t)
		r.sealed("a")
		r.env["DATABASE_URL"] = testenv.Postgres(t)
		p := r.run()
		if got := p.deliver("evt-1", firstKey); got != "200 applied" {
			t.Fatal(got)
		}
		r.write("other-keys", sealKey("b")+"\n"+sealKey("a")+"\n")
		r.env[sealKeyVariable] = r.path("other-keys")
		if status, out := r.command("", act...); status != exitFailed || !strings.Contains(out, "does not have the key "+sealKeyID(t, "b")) {
			t.Errorf("exit %d: %s", status, out)
		}
		r.write("seal-keys", sealKey("a")+"\n"+sealKey("b")+"\n")
		p.eventually("the key", func() error {
			if got := p.sealing(sealKeyID(t, "a"), true); len(got.Keys) != 2 {
				return fmt.Errorf("they are %v", got.Keys)
			}
			return nil
		})
		if out := r.must(act...); !strings.Contains(out, "1 rewritten") || strings.Count(out, "Rotated ") != 1 {
			t.Errorf("rotated: %s", out)
		}
		if got := p.deliver("evt-1", firstKey); got != "200 replayed" {
			t.Error(got)
		}
	})
	t.Run("another namespace", func(t *testing.T) {
		r := newRig(t)
		r.env["SIDECAR_NAMESPACE"] = "shop"
		p := r.run()
		if got := p.deliver("plain", firstKey); got != "200 applied" {
			t.Fatal(got)
		}
		p.stop()
		r.sealed("a")
		p = r.run()
		if got := p.deliver("sealed", firstKey); got != "200 applied" {
			t.Fatal(got)
		}
		p.stop()
		delete(r.env, "SIDECAR_NAMESPACE")
		if status, out := r.command("", act...); status != exitFailed || !strings.Contains(out, `namespace "default"`) {
			t.Errorf("exit %d: %s", status, out)
		}
		r.env["SIDECAR_NAMESPACE"] = "shop"
		if out := r.must(act...); !strings.Contains(out, "1 rewritten") || strings.Count(out, "Rotated ") != 1 {
			t.Errorf("rotated: %s", out)
		}
	})
}
