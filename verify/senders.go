package verify

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// WriteSenders writes docs/senders.md: every preset in Markdown. The text depends on the presets alone.
func WriteSenders(w io.Writer) error {
	var out bytes.Buffer
	out.WriteString(sendersHead)
	for _, p := range Presets() {
		fmt.Fprintf(&out, "| [%s](#%s) | %s | %s | %s | %s |\n", p.Name, anchor(p.Name), p.Title, idColumn(p), yes(p.IDSigned), p.toleranceText())
	}
	for _, p := range Presets() {
		p.write(&out)
	}
	_, err := w.Write(out.Bytes())
	return err
}

const sendersHead = `# Senders

This page is made from the presets by ` + "`sidecar providers --markdown`" + `; do not edit it. A preset fills in whatever the
integration does not write. What stays weak is repeated by ` + "`sidecar check`" + ` for the integrations that use the preset.

An event ID that the signature does not cover is bound to the signed content under ` + "`unsigned_id: bind`" + `: the same content
under another ID and of the same type is the same event. A type that is not signed can be made up: ` + "`event.types`" + ` lists those
that count. Where a sender has no event ID, the preset makes one of what is signed, or refuses to guess and says what to
choose. The request is the unit where a sender delivers batches.

| provider | sender | event ID | signed | tolerance |
| --- | --- | --- | --- | --- |
`

func anchor(name string) string { return strings.ReplaceAll(name, ".", "") }

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func idColumn(p Preset) string {
	switch {
	case p.Choose != "":
		return "must be chosen"
	case p.identify != nil:
		return "made of the signed content"
	}
	return p.EventID.String()
}

func (p Preset) toleranceText() string {
	if p.Tolerance == 0 {
		return "none"
	}
	return brief(p.Tolerance)
}

// String names the place as the configuration does.
func (s Source) String() string {
	switch {
	case s.Header != "":
		return "{header: " + s.Header + "}"
	case s.JSON != "":
		return "{json: " + s.JSON + "}"
	case s.Form != "":
		return "{form: " + s.Form + "}"
	case s.Hash != "":
		return "{hash: " + s.Hash + "}"
	case len(s.Join) == 0:
		return "none"
	}
	var parts []string
	for _, part := range s.Join {
		parts = append(parts, part.String())
	}
	return "{join: [" + strings.Join(parts, ", ") + "]}"
}

func (p Preset) write(out *bytes.Buffer) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "- %s: %s\n", name, value)
		}
	}
	fmt.Fprintf(out, "\n## %s\n\n%s.\n\n", p.Name, p.Title)
	row("signed", p.Signed)
	row("secret", p.Secret)
	row("methods", strings.Join(p.Methods, ", "))
	row("event ID", code(p.idText()))
	row("choose", p.Choose)
	row("event type", code(places(p.kinds())))
	row("object", code(places([]Source{p.Object})))
	row("signed time", tolerance(p))
	row("`unsigned_id`", unsignedText(p))
	row("`fingerprint`", code(p.Fingerprint.String()))
	row("`require`", requireText(p))
	row("`public_url`", needed(p.NeedsPublicURL))
	row("control messages", controlsText(p))
	row("`max_body`", fmt.Sprintf("%d KiB", p.MaxBody>>10))
	row("delivers for", length(p.SenderWindow, "not known; the general default stands"))
	row("waits for an answer", length(p.AckDeadline, "not known"))
	row("retries by itself", yes(p.Retries))
	row("`in_flight_status`", fmt.Sprint(p.InFlightStatus))
	list(out, "What stays weak", p.Weak)
	list(out, "Advice", p.Advice)
	list(out, "Sources, read on "+p.Reviewed, p.Sources)
}

func (p Preset) idText() string {
	if p.Choose != "" || p.identify != nil {
		return idColumn(p)
	}
	return places(p.ids())
}

func places(sources []Source) string {
	var out []string
	for _, s := range sources {
		if !s.empty() {
			out = append(out, s.String())
		}
	}
	return strings.Join(out, ", else ")
}

// code sets configuration in code, and leaves prose alone.
func code(text string) string {
	if !strings.HasPrefix(text, "{") && text != "body" {
		return text
	}
	return "`" + strings.ReplaceAll(text, ", else ", "`, else `") + "`"
}

func tolerance(p Preset) string {
	if p.Tolerance == 0 {
		return "any, or none is signed"
	}
	return "within " + brief(p.Tolerance) + " on both sides"
}

func unsignedText(p Preset) string {
	if p.IDSigned {
		return ""
	}
	return string(p.UnsignedID)
}

func requireText(p Preset) string {
	if len(p.Require) == 0 {
		return ""
	}
	return "mandatory, with `" + strings.Join(p.Require, "` or `") + "`"
}

func needed(is bool) string {
	if is {
		return "mandatory"
	}
	return ""
}

func controlsText(p Preset) string {
	if len(p.Controls) == 0 {
		return ""
	}
	names := slices.Clone(p.Controls)
	return "`" + strings.Join(names, "`, `") + "`; `handshake: " + string(p.Handshake) + "` unless written"
}

// String is the fingerprint as the configuration writes it.
func (f Fingerprint) String() string {
	switch {
	case len(f.Include) > 0:
		return "{include: [" + strings.Join(f.Include, ", ") + "]}"
	case len(f.Exclude) > 0:
		return "{exclude: [" + strings.Join(f.Exclude, ", ") + "]}"
	}
	return "body"
}

func length(d time.Duration, unknown string) string {
	if d == 0 {
		return unknown
	}
	if days := d / (24 * time.Hour); days > 1 && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", days)
	}
	return brief(d)
}

// brief is a duration without the zeros that Go writes behind it.
func brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func list(out *bytes.Buffer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s:\n\n", title)
	for _, item := range items {
		fmt.Fprintf(out, "- %s\n", item)
	}
}
