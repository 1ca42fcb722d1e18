// Command app is the application of the benchmark: it reads what it is sent and answers 11 bytes, of one path as slowly as
// it is told to.
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// pacePath is where one tells how slow to be: ?delay=80ms.
const pacePath = "/pace"

type app struct {
	slow  string       // the path that is answered slowly
	delay atomic.Int64 // in ns
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen on")
	slow := flag.String("slow", "", "`path` whose answers take as long as "+pacePath+"?delay=… said last")
	flag.Parse()
	server := &http.Server{Addr: *listen, Handler: &app{slow: *slow}, ReadHeaderTimeout: time.Minute}
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, "the body is incomplete", http.StatusBadRequest)
		return
	}
	switch r.URL.Path {
	case pacePath:
		delay, err := time.ParseDuration(r.URL.Query().Get("delay"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a.delay.Store(int64(delay))
	case a.slow:
		time.Sleep(time.Duration(a.delay.Load()))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"ok":true}`)
}
