package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// demoPage is what a person sees of the demo. Safe for concurrent use.
type demoPage struct {
	mu    sync.Mutex
	out   io.Writer
	color bool
	rows  []demoRow
}

// demoRow is one line of the table at the end.
type demoRow struct {
	title  string
	shown  string
	proven bool
}

// styles of a terminal.
const (
	bold  = "1"
	dim   = "2"
	green = "32"
	red   = "31"
	cyan  = "36"
)

func newDemoPage(p *program) *demoPage {
	page := &demoPage{out: p.out}
	if file, is := p.out.(*os.File); is && p.environ["NO_COLOR"] == "" && p.environ["TERM"] != "dumb" {
		info, err := file.Stat()
		page.color = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return page
}

func (p *demoPage) style(code, text string) string {
	if !p.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *demoPage) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format+"\n", args...)
}

func (p *demoPage) opening(base, app, ledger string) {
	p.line("%s\n", p.style(bold, "webhook-sidecar: webhook retries made safe for an application nobody changed"))
	p.line("  senders ──▶ sidecar %s ──▶ application %s", strings.TrimPrefix(base, "http://"), strings.TrimPrefix(app, "http://"))
	p.line("                 │")
	p.line("                 └─▶ ledger: one receipt per event, %s\n", ledger)
	p.line("%s", p.style(dim, "  Everything is real: listeners, signatures, the ledger, and at the end a crash. Nothing leaves this machine."))
}

// step begins one part of the story; what it shows is in the table at the end.
func (p *demoPage) step(title, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows = append(p.rows, demoRow{title: title, proven: true})
	fmt.Fprintf(p.out, "\n%s\n", p.style(bold, fmt.Sprintf("%d. %s", len(p.rows), title)))
	fmt.Fprintf(p.out, "   %s\n", p.style(dim, why))
}

// app is a line of the application's own.
func (p *demoPage) app(format string, args ...any) {
	p.line("   %s", p.style(cyan, "application  "+fmt.Sprintf(format, args...)))
}

// sender is a line about what a sender did.
func (p *demoPage) sender(format string, args ...any) {
	p.line("   sender       %s", fmt.Sprintf(format, args...))
}

// operator is a line about what a person or the machine did.
func (p *demoPage) operator(format string, args ...any) {
	p.line("   operator     %s", fmt.Sprintf(format, args...))
}

// check tells whether something is as it should be.
func (p *demoPage) check(good bool, format string, args ...any) {
	mark := p.style(green, "✓")
	if !good {
		mark = p.style(red, "✗ surprise:")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	row := &p.rows[len(p.rows)-1]
	row.proven = row.proven && good
	fmt.Fprintf(p.out, "   %s %s\n", mark, fmt.Sprintf(format, args...))
}

// shows is what the table says about the step.
func (p *demoPage) shows(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows[len(p.rows)-1].shown = fmt.Sprintf(format, args...)
}

// table sums the steps up and tells whether all went as they should.
func (p *demoPage) table() bool {
	p.line("\n%s\n", p.style(bold, "What was seen"))
	good := true
	for i, row := range p.rows {
		mark := p.style(green, "✓")
		if !row.proven {
			good, mark = false, p.style(red, "✗")
		}
		p.line("  %s %d. %-42s %s", mark, i+1, row.title, row.shown)
	}
	if good {
		p.line("\n  One recorded result per event, however often it is sent. The application did nothing for it.")
	} else {
		p.line("\n  %s", p.style(red, "Not everything went as it should."))
	}
	p.line("  Next: sidecar demo --serve stays up to try requests; README.md tells how to attach it.")
	return good
}

// invitation prints requests to try.
func (p *demoPage) invitation(d *demo) {
	p.line("\n%s\n", p.style(bold, "It stays up until Ctrl-C. Requests to try in another terminal:"))
	for _, sender := range d.senders[:len(d.senders)-1] {
		event := sender.event("try-" + sender.integration.Provider)
		header, err := sender.sign(event)
		if err != nil {
			continue
		}
		limit := ""
		if sender.verifierTolerates() {
			limit = ", valid for five minutes"
		}
		p.line("# %s%s; again, and it is a duplicate; change the body, and it is 401", sender.name, limit)
		p.line("%s\n", curlCommand("POST", d.base+sender.integration.Route, header, event.body))
	}
	p.line("# what the ledger knows of it, and how the sidecar is")
	p.line("curl -s http://%s/api/v1/receipts/acme/github/try-github", d.server.listeners.admin.Addr())
	p.line("curl -s http://%s/api/v1/status\n", d.server.listeners.admin.Addr())
}
