package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// providerShown is a preset as JSON.
type providerShown struct {
	Name         string   `json:"name"`
	Title        string   `json:"title"`
	Methods      []string `json:"methods"`
	Secret       string   `json:"secret"`
	Signed       string   `json:"signed"`
	EventID      string   `json:"event_id,omitempty"`
	IDSigned     bool     `json:"event_id_signed"`
	EventType    string   `json:"event_type,omitempty"`
	Tolerance    string   `json:"tolerance,omitempty"`
	SenderWindow string   `json:"sender_window,omitempty"`
	AckDeadline  string   `json:"ack_deadline,omitempty"`
	Retries      bool     `json:"retries"`
	MaxBody      int64    `json:"max_body"`
	InFlight     int      `json:"in_flight_status"`
	UnsignedID   string   `json:"unsigned_id"`
	Handshake    string   `json:"handshake"`
	Controls     []string `json:"control_messages,omitempty"`
	PublicURL    bool     `json:"needs_public_url"`
	Require      []string `json:"require,omitempty"`
	Choose       string   `json:"choose,omitempty"`
	Weak         []string `json:"weak,omitempty"`
	Advice       []string `json:"advice,omitempty"`
	Sources      []string `json:"sources"`
	Reviewed     string   `json:"reviewed"`
}

func (p *program) providers(_ context.Context, args []string) error {
	flags := p.newFlags("providers [NAME] [--json | --markdown]")
	asJSON := flags.Bool("json", false, "as JSON")
	markdown := flags.Bool("markdown", false, "as the page of the documentation")
	names, err := flags.parse(args, 0, 1)
	if err != nil {
		return err
	}
	presets := verify.Presets()
	if len(names) == 1 {
		preset, known := verify.LookupPreset(names[0])
		if !known {
			return usagef("%q is no provider", names[0])
		}
		presets = []verify.Preset{preset}
	}
	switch {
	case *markdown:
		return verify.WriteSenders(p.out)
	case *asJSON:
		shown := make([]providerShown, 0, len(presets))
		for _, preset := range presets {
			shown = append(shown, newProviderShown(preset))
		}
		return p.json(shown)
	case len(names) == 1:
		p.printProvider(newProviderShown(presets[0]))
		return nil
	}
	return p.listProviders(presets)
}

func newProviderShown(preset verify.Preset) providerShown {
	shown := providerShown{
		Name: preset.Name, Title: preset.Title, Methods: preset.Methods, Secret: preset.Secret, Signed: preset.Signed,
		EventID: sourceText(preset.EventID), IDSigned: preset.IDSigned, EventType: sourceText(preset.EventType),
		Retries: preset.Retries, MaxBody: preset.MaxBody, InFlight: preset.InFlightStatus,
		UnsignedID: string(preset.UnsignedID), Handshake: string(preset.Handshake), Controls: preset.Controls,
		PublicURL: preset.NeedsPublicURL, Require: preset.Require, Choose: preset.Choose,
		Weak: preset.Weak, Advice: preset.Advice, Sources: preset.Sources, Reviewed: preset.Reviewed,
	}
	if preset.Tolerance > 0 {
		shown.Tolerance = config.FormatDuration(preset.Tolerance)
	}
	if preset.SenderWindow > 0 {
		shown.SenderWindow = config.FormatDuration(preset.SenderWindow)
	}
	if preset.AckDeadline > 0 {
		shown.AckDeadline = config.FormatDuration(preset.AckDeadline)
	}
	return shown
}

// sourceText says where a part of an event is.
func sourceText(source verify.Source) string {
	switch {
	case source.Header != "":
		return "header " + source.Header
	case source.JSON != "":
		return "JSON " + source.JSON
	case source.Form != "":
		return "form field " + source.Form
	case source.Hash != "":
		return "hash of the " + source.Hash
	case len(source.Join) > 0:
		parts := make([]string, len(source.Join))
		for i, part := range source.Join {
			parts[i] = sourceText(part)
		}
		return strings.Join(parts, " + ")
	}
	return ""
}

func (p *program) listProviders(presets []verify.Preset) error {
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PROVIDER\tSENDER\tEVENT ID\tID SIGNED\tTOLERANCE\tRETRIES FOR\tNEEDS")
	for _, preset := range presets {
		shown := newProviderShown(preset)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", shown.Name, shown.Title, or(shown.EventID, "see event.id"),
			either(shown.IDSigned, "yes", "no"), or(shown.Tolerance, "-"), or(shown.SenderWindow, "-"), or(needs(shown), "-"))
	}
	return table.Flush()
}

// needs is what an operator must write besides the secret.
func needs(shown providerShown) string {
	var parts []string
	if shown.PublicURL {
		parts = append(parts, "public_url")
	}
	if len(shown.Require) > 0 {
		parts = append(parts, "require")
	}
	if shown.Choose != "" {
		parts = append(parts, "event.id")
	}
	return strings.Join(parts, ", ")
}

func (p *program) printProvider(shown providerShown) {
	fmt.Fprintf(p.out, "%s (provider: %s)\n", shown.Title, shown.Name)
	show := func(name string, values ...string) {
		for _, value := range values {
			if value != "" {
				p.row(2, name, "%s", value)
				name = ""
			}
		}
	}
	show("methods", strings.Join(shown.Methods, ", "))
	show("secret", shown.Secret)
	show("signed", shown.Signed)
	show("event ID", shown.EventID, either(shown.IDSigned, "signed", "not signed: unsigned_id is "+shown.UnsignedID))
	show("event type", shown.EventType)
	show("choose", shown.Choose)
	show("tolerance", shown.Tolerance)
	show("sender window", shown.SenderWindow)
	show("answers within", shown.AckDeadline)
	show("max_body", config.FormatSize(shown.MaxBody))
	show("in_flight_status", fmt.Sprint(shown.InFlight))
	show("handshake", shown.Handshake+either(len(shown.Controls) > 0, ": "+strings.Join(shown.Controls, ", "), ""))
	show("needs", needs(shown))
	show("weak", shown.Weak...)
	show("advice", shown.Advice...)
	show("sources", shown.Sources...)
	show("read on", shown.Reviewed)
}
