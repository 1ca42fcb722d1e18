// Command plain is a reverse proxy from Go's standard library as everybody writes it, with as many idle connections to
// the application as there are clients. The benchmark's other numbers are read as ratios to it.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httputil" //nolint:depguard // it is what the product is measured against
	"net/url"
	"os"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8081", "`address` to listen on")
	upstream := flag.String("upstream", "http://127.0.0.1:8080", "`URL` of the application")
	idle := flag.Int("idle", 256, "idle `connections` kept to the application")
	flag.Parse()
	fmt.Fprintln(os.Stderr, serve(*listen, *upstream, *idle))
}

func serve(listen, upstream string, idle int) error {
	target, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{MaxIdleConns: idle, MaxIdleConnsPerHost: idle, IdleConnTimeout: time.Minute},
	}
	server := &http.Server{Addr: listen, Handler: proxy, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}
