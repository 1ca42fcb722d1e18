package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// finite is a connection on which nothing more comes.
type finite struct {
	rest   string
	waited bool // somebody has asked for more
}

func (f *finite) Read(p []byte) (int, error) {
	if f.rest == "" {
		f.waited = true
		return 0, io.ErrNoProgress
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// early tells that a stream's first request, or the rest of one behind whole ones, counts as arrived although net/http
// waits for more of its body.
func early(stream string) bool {
	conn := &finite{rest: stream}
	reader := bufio.NewReader(conn)
	var f framing
	for read := 0; ; {
		// The handler of a request is asked when net/http has its header section, which it reads up to 4096 bytes ahead.
		r, err := http.ReadRequest(reader)
		if err != nil {
			return false
		}
		if seen := len(stream) - len(conn.rest); seen > read {
			if _, ok := f.follow([]byte(stream[read:seen])); !ok {
				return false
			}
			read = seen
		}
		whole := f.whole()
		_, err = io.Copy(io.Discard, r.Body)
		if conn.waited && r.ContentLength != 0 && whole {
			return true
		}
		if err != nil || conn.waited {
			return false
		}
	}
}

// Whatever the line ends are, whole is only what net/http reads to its end without waiting for the sender.
func TestNothingHasArrivedThatIsWaitedFor(t *testing.T) {
	ends := []string{"\r\n", "\n", "\r\r\n", ""}
	for _, before := range []string{"", sizedRequest, chunkedRequest} {
		for _, trailer := range []string{"", "X-T: 1", "X-T: 1\nX-U: 2", "X-T: 1\r\n folded"} {
			for _, next := range []string{"", "G", "GET / HTTP/1.1\nHost: x\n\n", plainRequest, sizedRequest, "\n", "\r\n"} {
				for i := range len(ends) * len(ends) * len(ends) * len(ends) {
					end := func() string {
						chosen := ends[i%len(ends)]
						i /= len(ends)
						return chosen
					}
					stream := before + "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello" + end() + "0" + end()
					if trailer != "" {
						stream += trailer + end()
					}
					if stream += end() + next; early(stream) {
						t.Errorf("waits for more of %q", strings.TrimPrefix(stream, before))
					}
				}
			}
		}
	}
}

// newFollowed is a server like the public one, whose handler answers with what it was told and what it read.
func newFollowed(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here := r.ContentLength != 0 && arrived(r)
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%v %s %v", here, body, err)
	}))
	server.Listener = StrictListener(server.Listener)
	server.Config.ConnContext = ConnContext
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// However the requests on a connection are cut into pieces, each is read whole, and nobody else reads while one is asked about.
func TestPipelinedRequestsAreToldApart(t *testing.T) {
	address := newFollowed(t)
	continued := strings.Replace(sizedRequest, "Host: x", "Host: x\r\nExpect: 100-continue", 1)
	round := []string{sizedRequest, plainRequest, chunkedRequest, continued, "\r\n" + sizedRequest, plainRequest, chunkedRequest}
	stream := strings.Repeat(strings.Join(round, ""), 20)
	for _, pieces := range []int{1, 5, 64, 1000, len(stream)} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		var sending sync.WaitGroup
		sending.Go(func() {
			for rest := stream; rest != ""; rest = rest[min(pieces, len(rest)):] {
				io.WriteString(conn, rest[:min(pieces, len(rest))])
			}
		})
		answers, told := bufio.NewReader(conn), 0
		for i := range 20 * len(round) {
			answer, err := http.ReadResponse(answers, nil)
			for err == nil && answer.StatusCode == http.StatusContinue {
				answer, err = http.ReadResponse(answers, nil)
			}
			if err != nil {
				t.Fatalf("pieces of %d: answer %d: %v", pieces, i, err)
			}
			text, _ := io.ReadAll(answer.Body)
			want := " hello <nil>"
			if request := round[i%len(round)]; request == plainRequest {
				want = "false  <nil>"
			}
			if !strings.HasSuffix(string(text), want) {
				t.Errorf("pieces of %d: answer %d is %q", pieces, i, text)
			}
			if strings.HasPrefix(string(text), "true") {
				told++
			}
		}
		sending.Wait()
		conn.Close()
		if pieces == len(stream) && told == 0 {
			t.Error("none had arrived")
		}
	}
}

// The last request of HTTP/1.0 is one like any other.
func TestARequestOfHTTP10Arrives(t *testing.T) {
	conn, err := net.Dial("tcp", newFollowed(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, strings.Replace(sizedRequest, "/1.1", "/1.0", 1))
	if all, err := io.ReadAll(conn); !strings.HasSuffix(string(all), "true hello <nil>") || err != nil {
		t.Errorf("%q, %v", all, err)
	}
}

// Of HTTP/2 nothing is known: its bodies have their deadline, and its reader is on while a handler asks.
func TestNothingOfHTTP2IsKnownToHaveArrived(t *testing.T) {
	address := newFollowed(t)
	client := &http.Transport{Protocols: new(http.Protocols)}
	client.Protocols.SetUnencryptedHTTP2(true)
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address, strings.NewReader("hello"))
			answer, err := client.RoundTrip(request)
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			if text, err := io.ReadAll(answer.Body); answer.ProtoMajor != 2 || string(text) != "false hello <nil>" || err != nil {
				t.Errorf("%s: %q, %v", answer.Proto, text, err)
			}
		})
	}
	all.Wait()
}

func FuzzNothingHasArrivedThatIsWaitedFor(f *testing.F) {
	for _, seed := range []string{sizedRequest, chunkedRequest, sizedRequest + plainRequest, strings.ReplaceAll(chunkedRequest, "\r\n", "\n")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		if early(stream) {
			t.Errorf("waits for more of %q", stream)
		}
	})
}
