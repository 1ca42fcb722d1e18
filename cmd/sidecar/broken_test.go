package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// What ends a request that should not have is told, without what the request said, and its sender gets no answer.
func TestAFaultOfOursIsToldAndBreaksTheRequestOff(t *testing.T) {
	for name, fault := range map[string]struct {
		thrown func()
		told   string
	}{
		"of the runtime":  {func() { _ = strings.Repeat("secret", 2)[len(os.Args)+100:] }, "slice bounds out of range"},
		"a text":          {func() { panic("secret") }, `"fault":"string"`},
		"an error":        {func() { panic(errors.New("secret")) }, `"fault":"*errors.errorString"`},
		"a sender's exit": {func() { panic(http.ErrAbortHandler) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var written bytes.Buffer
			log := slog.New(slog.NewJSONHandler(&written, nil))
			server := newPublicServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "half")
				fault.thrown()
			}), log)
			ended := make(chan error, 1)
			go func() { ended <- server.Serve(listener) }()
			response, err := http.Post("http://"+listener.Addr().String(), "text/plain", strings.NewReader("secret"))
			if err == nil {
				response.Body.Close()
				t.Errorf("answered with %d", response.StatusCode)
			}
			server.Shutdown(t.Context())
			<-ended
			switch told := written.String(); {
			case fault.told == "" && told != "":
				t.Errorf("told: %s", told)
			case !strings.Contains(told, fault.told) || strings.Contains(told, "secret"):
				t.Errorf("told: %s", told)
			case told != "" && !strings.Contains(told, "broken_test.go"):
				t.Errorf("the stack does not tell where: %s", told)
			}
		})
	}
}
