package reload_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/internal/reload"
)

func readBoth(v *volume) func(*reload.Reading) (string, error) {
	return func(r *reload.Reading) (string, error) {
		first, _ := r.ReadFile(v.path("a"))
		second, err := r.ReadFile(v.path("b"))
		return string(first) + string(second), err
	}
}

func TestASwapIsSeen(t *testing.T) {
	v := newVolume(t, map[string]string{"a": "1", "b": "1"})
	reading, got, err := reload.Settled(t.Context(), readBoth(v))
	if got != "11" || err != nil {
		t.Fatalf("read %q, %v", got, err)
	}
	if !reading.Same(reading.Again()) {
		t.Error("nothing has changed, and it is not the same")
	}
	v.swap(map[string]string{"a": "2", "b": "2"})
	if reading.Same(reading.Again()) {
		t.Error("the swap is not seen")
	}
}

func TestASwapOfTheSameContentsIsNoChange(t *testing.T) {
	v := newVolume(t, map[string]string{"a": "1", "b": "1"})
	reading, _, _ := reload.Settled(t.Context(), readBoth(v))
	v.swap(map[string]string{"a": "1", "b": "1"})
	if !reading.Same(reading.Again()) {
		t.Error("contents decide, not links")
	}
}

func TestFilesThatAreSwappedWhileTheyAreReadAreReadAgain(t *testing.T) {
	v := newVolume(t, map[string]string{"a": "1", "b": "1"})
	swapped := false
	_, got, err := reload.Settled(t.Context(), func(r *reload.Reading) (string, error) {
		first, _ := r.ReadFile(v.path("a"))
		if !swapped {
			swapped = true
			v.swap(map[string]string{"a": "2", "b": "2"})
		}
		second, err := r.ReadFile(v.path("b"))
		return string(first) + string(second), err
	})
	if got != "22" || err != nil {
		t.Errorf("read %q, %v: files of two revisions", got, err)
	}
}

func TestAFileIsReadOncePerPass(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	reading := reload.NewReading()
	first, _ := reading.ReadFile(path)
	if err := os.WriteFile(path, []byte("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	second, _ := reading.ReadFile(path)
	if string(first) != "1" || string(second) != "1" {
		t.Errorf("read %q and %q in one pass", first, second)
	}
}

func TestAnAbsentFileIsAContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	reading := reload.NewReading()
	if _, err := reading.ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
	if !reading.Same(reading.Again()) {
		t.Error("it is as absent as before")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if reading.Same(reading.Again()) {
		t.Error("an empty file is not an absent one")
	}
}

func TestSettlingEndsWithItsContext(t *testing.T) {
	v := newVolume(t, map[string]string{"a": "0", "b": "0"})
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := reload.Settled(ctx, func(r *reload.Reading) (string, error) {
		got, err := readBoth(v)(r)
		v.swap(map[string]string{"a": got, "b": got})
		cancel()
		return got, err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
