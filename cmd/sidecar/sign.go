package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

func (p *program) sign(_ context.Context, args []string) error {
	flags := p.newFlags("sign --integration ACCOUNT/NAME --body FILE [--event-id ID] [--event-type TYPE] [--curl]")
	scope := flags.String("integration", "", "the integration that receives the delivery, as `account/name`")
	file := flags.String("body", "", "`file` with the body; - is standard input")
	id := flags.String("event-id", "", "event ID, where the sender puts it into a header")
	kind := flags.String("event-type", "", "event type, where the sender puts it into a header")
	curl := flags.Bool("curl", false, "print a command that delivers it")
	if _, err := flags.parse(args, 0, 0); err != nil {
		return err
	}
	if *scope == "" || *file == "" {
		return usagef("sidecar %s", flags.usage)
	}
	settings, i, verifier, err := p.integration(*scope)
	if err != nil {
		return err
	}
	body, err := p.readInput(*file)
	if err != nil {
		return err
	}
	header, err := signed(i, verifier, body, *id, *kind)
	if errors.Is(err, verify.ErrSignedInBody) {
		return p.printSignedBody(verifier, i, body)
	}
	if err != nil {
		return err
	}
	if *curl {
		return p.printCurl(settings, i, header, *file)
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			fmt.Fprintf(p.out, "%s: %s\n", name, value)
		}
	}
	return nil
}

// printSignedBody prints the whole body of a sender that puts its signature there: there is no header to print.
func (p *program) printSignedBody(verifier *verify.Verifier, i *config.Integration, body []byte) error {
	d := &delivery.Delivery{Method: i.Methods[0], Target: i.Route, Header: http.Header{}, Body: body, Received: time.Now()}
	signed, err := verifier.SignBody(d, time.Now())
	if err != nil {
		return fmt.Errorf("sign for %s: %w", i.Scope, err)
	}
	fmt.Fprintln(p.err, "this sender signs inside the body; what follows is the body to send")
	_, err = p.out.Write(signed)
	return err
}

// integration loads everything about one scope.
func (p *program) integration(name string) (config.Settings, *config.Integration, *verify.Verifier, error) {
	scope, err := delivery.ParseScope(name)
	if err != nil {
		return config.Settings{}, nil, nil, usagef("%v", err)
	}
	settings, err := p.settings()
	if err != nil {
		return settings, nil, nil, err
	}
	set, err := p.integrations(settings)
	if err != nil {
		return settings, nil, nil, err
	}
	i, err := set.Find(scope)
	if err != nil {
		return settings, nil, nil, usagef("%v", err)
	}
	return settings, i, set.Verifier(scope), nil
}

// readInput reads a whole file; - is standard input.
func (p *program) readInput(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(p.in)
	}
	return os.ReadFile(file)
}

// signed is the header of a genuine delivery of a body, sent to the integration's route now.
func signed(i *config.Integration, verifier *verify.Verifier, body []byte, id, kind string) (http.Header, error) {
	d := &delivery.Delivery{
		Method: i.Methods[0], Target: i.Route, Header: http.Header{}, Body: body, Received: time.Now(),
	}
	preset, _ := verify.LookupPreset(i.Provider)
	setSource(d.Header, id, i.Event.ID, preset.EventID)
	setSource(d.Header, kind, i.Event.Type, preset.EventType)
	header, err := verifier.Sign(d, time.Now())
	if err != nil {
		return nil, fmt.Errorf("sign for %s: %w", i.Scope, err)
	}
	for name, values := range d.Header {
		if len(header[name]) == 0 {
			header[name] = values
		}
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	return header, nil
}

// setSource puts a value into the header that the first source names, where one does.
func setSource(header http.Header, value string, sources ...verify.Source) {
	if value == "" {
		return
	}
	for _, source := range sources {
		if source.Header != "" {
			header.Set(source.Header, value)
			return
		}
	}
}

func (p *program) printCurl(settings config.Settings, i *config.Integration, header http.Header, file string) error {
	parts := append(curlHead(i.Methods[0], header),
		"--data-binary @"+quoteShell(file), quoteShell("http://"+reachable(settings.Listen)+i.Route))
	_, err := fmt.Fprintln(p.out, strings.Join(parts, " \\\n  "))
	return err
}

// reachable is a listener's address as somebody on this machine would call it.
func reachable(address string) string {
	host, port, found := strings.Cut(address, ":")
	if found && !strings.Contains(port, ":") && (host == "" || host == "0.0.0.0") {
		return "127.0.0.1:" + port
	}
	return address
}
