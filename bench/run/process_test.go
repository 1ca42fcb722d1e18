package main

import (
	"os"
	"strings"
	"testing"
)

func TestWhatIsMeasuredIsBuiltLikeWhatShips(t *testing.T) {
	for _, recipe := range []string{"Makefile", "Dockerfile", ".goreleaser.yaml"} {
		text, err := os.ReadFile("../../" + recipe)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{shippedTags, shippedProfile, "-trimpath", "-s -w", "CGO_ENABLED=0"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s builds without %s", recipe, part)
			}
		}
	}
}
