// Sbom writes the bill of materials of a Go binary as CycloneDX JSON: what the linker recorded in it, nothing guessed.
//
//	sbom BINARY OUTPUT
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
)

type document struct {
	Format     string      `json:"bomFormat"`
	Version    string      `json:"specVersion"`
	Serial     int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref,omitempty"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Package    string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: sbom BINARY OUTPUT")
	}
	bill, err := read(args[0])
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(bill, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], append(text, '\n'), 0o644)
}

// read lists the modules of a binary, the standard library among them.
func read(path string) (document, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return document{}, err
	}
	sum, err := digest(path)
	if err != nil {
		return document{}, err
	}
	main := component{Type: "application", Ref: "main", Name: filepath.Base(path), Version: info.Main.Version,
		Package: "pkg:golang/" + info.Main.Path + "@" + info.Main.Version, Hashes: []hash{{"SHA-256", sum}}}
	for _, setting := range info.Settings {
		main.Properties = append(main.Properties, property{"go:build:" + setting.Key, setting.Value})
	}
	bill := document{Format: "CycloneDX", Version: "1.6", Serial: 1, Metadata: metadata{main}}
	bill.Components = append(bill.Components, component{Type: "library", Name: "stdlib", Version: info.GoVersion,
		Package: "pkg:golang/std@" + info.GoVersion})
	for _, module := range info.Deps {
		bill.Components = append(bill.Components, library(module))
	}
	return bill, nil
}

func library(module *debug.Module) component {
	if module.Replace != nil {
		module = module.Replace
	}
	return component{Type: "library", Ref: module.Path + "@" + module.Version, Name: module.Path, Version: module.Version,
		Package: "pkg:golang/" + module.Path + "@" + module.Version, Properties: []property{{"go:sum", module.Sum}}}
}

func digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
