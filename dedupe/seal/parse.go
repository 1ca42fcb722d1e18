package seal

import (
	"bytes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

const (
	maxFile     = 64 << 10
	maxProblems = 20
	// off, as the first entry, leaves what is written unsealed.
	off = "off"
	how = "make one with: openssl rand -base64 32"
)

// Problem is one thing that is wrong with a key file. It never carries a part of a key.
type Problem struct {
	Line int // 0: of the file as a whole
	Text string
}

// Problems is an error that lists everything that is wrong with a key file.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Text
		if problem.Line > 0 {
			lines[i] = fmt.Sprintf("line %d: %s", problem.Line, problem.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// ParseKeys reads a key file: a key a line, 32 bytes as base64 (either alphabet, padded or not) or as 64 hex digits. Empty
// lines and lines that begin with # count for nothing. The word off as the first entry says that nothing is sealed, and the
// keys behind it only open. The error is a Problems with all that is wrong.
func ParseKeys(text []byte) (*Keys, error) {
	if why := noText(text); why != "" {
		return nil, Problems{{Text: why}}
	}
	p := parser{keys: &Keys{ciphs: map[dedupe.KeyID]cipher.AEAD{}}, lines: map[dedupe.KeyID]int{}}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			p.entry(number, string(line))
		}
	}
	if !p.some {
		p.wrong(0, "there is no key in it: "+how)
	}
	if more := len(p.problems) - maxProblems; more > 0 {
		p.problems = append(p.problems[:maxProblems], Problem{0, fmt.Sprintf("and %d more lines", more)})
	}
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return p.keys, nil
}

// noText is what keeps a file from being read line by line; empty: nothing does. Remarks may be in any encoding.
func noText(text []byte) string {
	switch {
	case len(text) > maxFile:
		return fmt.Sprintf("it has more than %d bytes", maxFile)
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return "it begins with a byte-order mark, which an editor put there: remove it"
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		return "it is encoded as UTF-16: save it as UTF-8"
	case len(text) == KeySize && !utf8.Valid(text), bytes.IndexByte(text, 0) >= 0:
		return "it is no text: a key stands in it as base64 or as 64 hex digits, not as its bytes"
	}
	return ""
}

// parser reads entries one by one.
type parser struct {
	keys     *Keys
	lines    map[dedupe.KeyID]int // where each key was first
	some     bool                 // there was an entry
	problems Problems
}

func (p *parser) wrong(line int, text string) { p.problems = append(p.problems, Problem{line, text}) }

func (p *parser) entry(line int, text string) {
	first := !p.some
	p.some = true
	if text == off {
		if p.keys.off = first; !first {
			p.wrong(line, off+" must be the first entry")
		}
		return
	}
	key, err := decodeKey(text)
	if err != nil {
		p.wrong(line, err.Error())
		return
	}
	id := idOf(key)
	if before, known := p.lines[id]; known {
		p.wrong(line, fmt.Sprintf("the same key as in line %d", before))
		return
	}
	p.lines[id] = line
	if err := p.keys.add(key); err != nil {
		p.wrong(line, err.Error())
	}
}

// decodeKey reads one key. Its errors do not quote it.
func decodeKey(text string) ([]byte, error) {
	if strings.ContainsAny(text, " \t\r") {
		return nil, errors.New("more than a key: a remark has a line of its own, which begins with #")
	}
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != KeySize { // hex digits may be base64, too
		based, wrong := decodeBase64(text)
		switch {
		case wrong == nil && (err != nil || len(based) == KeySize):
			key = based
		case err != nil:
			return nil, wrong
		}
	}
	if len(key) != KeySize {
		return nil, fmt.Errorf("the key has %d bytes, want %d: %s", len(key), KeySize, how)
	}
	if bytes.Count(key, key[:1]) == KeySize {
		return nil, errors.New("every byte of the key is the same: " + how)
	}
	return key, nil
}

func decodeBase64(text string) ([]byte, error) {
	bare := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	key, err := base64.RawStdEncoding.Strict().DecodeString(bare)
	if err != nil {
		return nil, errors.New("neither base64 nor 64 hex digits: " + how)
	}
	return key, nil
}
