package main

import (
	"fmt"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// markdownProviders writes the presets as a table for the documentation.
func (p *program) markdownProviders(presets []verify.Preset) error {
	fmt.Fprint(p.out, "| provider | sender | secret | what is signed | event ID | ID signed | tolerance | retries for |\n"+
		"| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, preset := range presets {
		shown := newProviderShown(preset)
		cells := []string{
			"`" + shown.Name + "`", shown.Title, shown.Secret, shown.Signed, or(shown.EventID, "-"),
			either(shown.IDSigned, "yes", "no"), or(shown.Tolerance, "-"), or(shown.SenderWindow, "-"),
		}
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "|", "\\|")
		}
		if _, err := fmt.Fprintf(p.out, "| %s |\n", strings.Join(cells, " | ")); err != nil {
			return err
		}
	}
	return nil
}
