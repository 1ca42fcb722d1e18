package delivery

import (
	"net/http"
	"time"
)

// Delivery is one inbound HTTP request on a guarded route, read whole within the route's limit.
type Delivery struct {
	Method   string      // as sent, case included
	Target   string      // request target byte for byte: path and query
	Host     string      // the request's Host
	Peer     string      // the remote IP address, without its port
	Header   http.Header // as received, without Host; names are in Go's canonical form, values are untouched
	Body     []byte      // the bytes on the wire after transfer decoding; still content-encoded
	Received time.Time   // when its header section was complete
}

// Response is what the application answered, or what the ledger kept of it.
type Response struct {
	Status  int         // 100 < status < 600
	Header  http.Header // never nil in a recorded response; hop-by-hop fields are removed
	Body    []byte
	Omitted bool // the body was too large to keep: Body is empty although the application sent one
}
