package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// The made-up event of a self-test.
const (
	sampleID   = "evt-selftest"
	sampleType = "selftest.event"
)

// sampleEvent makes up an event where the integration looks for its parts. It is not what every sender's body looks like.
func sampleEvent(i *config.Integration, preset verify.Preset) (http.Header, []byte) {
	kind := sampleType
	if len(i.Event.Types) > 0 {
		kind = i.Event.Types[0]
	}
	header, fields, form := http.Header{}, map[string]any{}, url.Values{}
	place := func(source verify.Source, value string) {
		switch {
		case source.Header != "":
			header.Set(source.Header, value)
		case source.JSON != "":
			setPointer(fields, source.JSON, value)
		case source.Form != "":
			form.Set(source.Form, value)
		}
	}
	place(eitherSource(i.Event.ID, preset.EventID), sampleID)
	place(eitherSource(i.Event.Type, preset.EventType), kind)
	for pointer, allowed := range i.Require {
		if len(allowed) > 0 {
			setPointer(fields, pointer, allowed[0])
		}
	}
	if len(form) > 0 {
		header.Set("Content-Type", "application/x-www-form-urlencoded")
		return header, []byte(form.Encode())
	}
	header.Set("Content-Type", "application/json")
	body, err := json.Marshal(fields)
	if err != nil {
		body = []byte("{}") // strings in maps always encode
	}
	return header, body
}

func eitherSource(configured, preset verify.Source) verify.Source {
	if configured.Header != "" || configured.JSON != "" || configured.Form != "" || configured.Hash != "" || len(configured.Join) > 0 {
		return configured
	}
	return preset
}

// setPointer puts a value where a JSON pointer leads, through objects only.
func setPointer(object map[string]any, pointer, value string) {
	names := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, name := range names[:len(names)-1] {
		next, is := object[unescape.Replace(name)].(map[string]any)
		if !is {
			next = map[string]any{}
			object[unescape.Replace(name)] = next
		}
		object = next
	}
	object[unescape.Replace(names[len(names)-1])] = value
}
