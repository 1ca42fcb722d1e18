package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Anchor is a checkpoint as it was seen outside the ledger.
type Anchor struct {
	Scope  delivery.Scope
	Number int64
	Sum    dedupe.Sum
}

// LogMessage is what a log record of a new checkpoint says. The record has scope, number and sum.
const LogMessage = "checkpoint"

// maxAnchorLine bounds a line about a checkpoint. A longer record is about something else: an event with many transitions.
const maxAnchorLine = 1 << 16

var (
	errAnchor     = errors.New("want SCOPE:NUMBER:SUM")
	errAnchorLine = errors.New("the line is too long")
)

// ParseAnchor reads SCOPE:NUMBER:SUM.
func ParseAnchor(text string) (Anchor, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return Anchor{}, errAnchor
	}
	return newAnchor(parts[0], parts[1], parts[2])
}

func newAnchor(scope, number, sum string) (a Anchor, err error) {
	if a.Scope, err = delivery.ParseScope(scope); err != nil {
		return Anchor{}, fmt.Errorf("anchor: %w", err)
	}
	if a.Number, err = strconv.ParseInt(number, 10, 64); err != nil || a.Number < 1 {
		return Anchor{}, fmt.Errorf("anchor: %q is no number of a checkpoint", number)
	}
	if a.Sum, err = dedupe.ParseSum(sum); err != nil {
		return Anchor{}, fmt.Errorf("anchor: %w", err)
	}
	return a, nil
}

// ReadAnchors reads a log, an export, or lines of SCOPE:NUMBER:SUM. Lines about anything else are passed over; one that is
// about a checkpoint and cannot be read is an error.
func ReadAnchors(from io.Reader) ([]Anchor, error) {
	var anchors []Anchor
	lines := bufio.NewReaderSize(from, maxAnchorLine)
	for number := 1; ; number++ {
		line, more, err := readLine(lines)
		var a Anchor
		is := false
		if err == nil {
			a, is, err = readAnchor(strings.TrimSpace(line))
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", number, err)
		case is:
			anchors = append(anchors, a)
		}
		if !more {
			return anchors, nil
		}
	}
}

// readLine passes over a record that is too long, and tells whether there is another line.
func readLine(from *bufio.Reader) (line string, more bool, err error) {
	slice, err := from.ReadSlice('\n')
	line = string(slice)
	if errors.Is(err, bufio.ErrBufferFull) && line[0] != '{' {
		return "", false, errAnchorLine
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		line = ""
		_, err = from.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) {
		return line, false, nil
	}
	return line, err == nil, err
}

func readAnchor(line string) (Anchor, bool, error) {
	if line == "" || line[0] == '#' {
		return Anchor{}, false, nil
	}
	if line[0] != '{' {
		a, err := ParseAnchor(line)
		return a, err == nil, err
	}
	var record struct {
		Kind, Msg, Scope, Sum string
		Number                json.Number
	}
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		return Anchor{}, false, nil //nolint:nilerr // whatever it is, it is not about a checkpoint
	}
	if record.Kind != LogMessage && record.Msg != LogMessage {
		return Anchor{}, false, nil
	}
	a, err := newAnchor(record.Scope, record.Number.String(), record.Sum)
	return a, err == nil, err
}
