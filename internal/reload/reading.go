package reload

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Reading is one pass over some files. Every file is read once, however often it is asked for. It is not safe for
// concurrent use.
type Reading struct {
	entries map[string]entry
}

type entry struct {
	text     []byte
	err      error
	resolved string // where the path leads when every link is followed
	modified time.Time
}

// NewReading starts a pass.
func NewReading() *Reading { return &Reading{entries: map[string]entry{}} }

// ReadFile returns a file's contents, or the error of the first time it was asked for.
func (r *Reading) ReadFile(path string) ([]byte, error) {
	found, known := r.entries[path]
	if !known {
		found = read(path)
		r.entries[path] = found
	}
	return found.text, found.err
}

// maxFile is more than any file has that is read here.
const maxFile = 16 << 20

var (
	errNoFile = errors.New("no regular file")
	errHuge   = errors.New("more than 16 MiB")
)

func read(path string) entry {
	resolved, _ := filepath.EvalSymlinks(path)
	found := entry{resolved: resolved}
	info, err := os.Stat(path)
	if err == nil {
		found.modified, err = info.ModTime(), readable(path, info)
	}
	if err == nil {
		found.text, err = os.ReadFile(path)
	}
	found.err = err
	return found
}

// readable refuses what would keep its reader waiting, or never end. A folder is refused by whoever reads it.
func readable(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case !mode.IsRegular() && !mode.IsDir():
		return &fs.PathError{Op: "read", Path: path, Err: errNoFile}
	case info.Size() > maxFile:
		return &fs.PathError{Op: "read", Path: path, Err: errHuge}
	}
	return nil
}

// Again reads the same files anew.
func (r *Reading) Again() *Reading {
	again := NewReading()
	for path := range r.entries {
		again.entries[path] = read(path)
	}
	return again
}

// Same tells whether two passes saw the same contents, wherever they were.
func (r *Reading) Same(other *Reading) bool { return r.Digest() == other.Digest() }

// moved tells whether two passes saw different contents or came to them by other links.
func (r *Reading) moved(other *Reading) bool {
	return !maps.EqualFunc(r.entries, other.entries, func(a, b entry) bool {
		return a.resolved == b.resolved && errorKind(a.err) == errorKind(b.err) && bytes.Equal(a.text, b.text)
	})
}

// changed is when the first of what differs from another pass was written, but not before a time at which it was surely
// as in the other pass: a file that was moved into its place may be older.
func (r *Reading) changed(other *Reading, since time.Time) time.Time {
	first := time.Now()
	for path, now := range r.entries {
		was, known := other.entries[path]
		if known && errorKind(was.err) == errorKind(now.err) && bytes.Equal(was.text, now.text) {
			continue
		}
		if now.modified.Before(first) {
			first = now.modified
		}
	}
	if first.Before(since) {
		return since
	}
	return first
}

// Digest is SHA-256 over the paths and contents. It tells nothing about a secret in them that is not guessed whole.
func (r *Reading) Digest() [sha256.Size]byte {
	digest := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(r.entries)) {
		found := r.entries[path]
		part(digest, []byte(path))
		part(digest, []byte(errorKind(found.err)))
		part(digest, found.text)
	}
	var sum [sha256.Size]byte
	digest.Sum(sum[:0])
	return sum
}

func part(digest hash.Hash, text []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(text)))
	digest.Write(length[:])
	digest.Write(text)
}

// errorKind is what matters of an error: two passes that fail alike saw the same.
func errorKind(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "absent"
	case errors.Is(err, fs.ErrPermission):
		return "forbidden"
	default:
		return "unreadable"
	}
}
