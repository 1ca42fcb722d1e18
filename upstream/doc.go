// Package upstream talks to the application.
//
// Upstream makes attempts at guarded deliveries: one attempt is at most one request on the wire, and its result tells
// whether the application may have received it. Passthrough hands every other request on untouched. Both speak HTTP/1.1
// with a small client of their own, because net/http's Transport sends a request again by itself, cannot write every
// request target as it came, and costs two goroutines a connection. HTTP/2 is passed through net/http.
package upstream
