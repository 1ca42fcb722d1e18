package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxFileBytes bounds the integrations file, and maxSecretBytes each secret.
const (
	maxFileBytes   = 8 << 20
	maxSecretBytes = 64 << 10
)

// errEmpty tells that the file has nothing in it. It is never taken for "no integrations".
var errEmpty = errors.New("the file is empty")

// parseDocument reads exactly one YAML document and returns its root, or a problem with the line where it breaks.
func parseDocument(file string, text []byte) (root *yaml.Node, problem *Problem) {
	if len(text) > maxFileBytes {
		return nil, &Problem{File: file, Text: fmt.Sprintf("the file has more than %s", FormatSize(maxFileBytes))}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	if err := decode(decoder, &document); errors.Is(err, io.EOF) || (err == nil && isNothing(&document)) {
		return nil, &Problem{File: file, Text: errEmpty.Error()}
	} else if err != nil {
		return nil, syntaxProblem(file, err)
	}
	if err := decode(decoder, &second); err == nil {
		return nil, &Problem{File: file, Line: second.Line, Text: "a second document: only one is allowed"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxProblem(file, err)
	}
	return document.Content[0], nil
}

// decode turns a panic of the YAML library over malformed text into an error.
func decode(decoder *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the YAML cannot be read")
		}
	}()
	return decoder.Decode(into)
}

func isNothing(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].Tag == "!!null"
}

// syntaxProblem takes the line out of the YAML library's text, which is the only place where it is.
func syntaxProblem(file string, err error) *Problem {
	text := regexp.MustCompile(`^yaml: (line (\d+): )?`).FindStringSubmatch(err.Error())
	if text == nil {
		return &Problem{File: file, Text: "not YAML: " + err.Error()}
	}
	line, _ := strconv.Atoi(text[2])
	return &Problem{File: file, Line: line, Text: "not YAML: " + err.Error()[len(text[0]):]}
}
