package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// followed tells whether a stream passes, fed in pieces of n bytes.
func followed(stream string, n int) bool {
	var f framing
	for len(stream) > 0 {
		piece := stream[:min(n, len(stream))]
		if _, ok := f.follow([]byte(piece)); !ok {
			return false
		}
		stream = stream[len(piece):]
	}
	return true
}

const (
	plainRequest   = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	sizedRequest   = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
	chunkedRequest = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX-T: 1\r\n\r\n"
	doubleRequest  = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
)

func TestFramingFindsTwoLengthsWhereverTheyStand(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		passes bool
	}{
		"plain requests":                            {plainRequest + plainRequest + sizedRequest + chunkedRequest + plainRequest, true},
		"two lengths":                               {doubleRequest, false},
		"behind a plain request":                    {plainRequest + doubleRequest, false},
		"behind a body":                             {sizedRequest + doubleRequest, false},
		"behind chunks":                             {chunkedRequest + doubleRequest, false},
		"behind empty lines":                        {"\r\n\r\n" + doubleRequest, false},
		"behind an empty line":                      {"\r\n" + doubleRequest, false},
		"other order, other case":                   {strings.NewReplacer("Content-Length", "cONTENT-lENGTH", "Transfer-Encoding", "TRANSFER-ENCODING").Replace(doubleRequest), false},
		"bare line feeds":                           {strings.ReplaceAll(doubleRequest, "\r\n", "\n"), false},
		"only looks like it":                        {"POST / HTTP/1.1\r\nContent-Length: 66\r\nX-Transfer-Encoding: chunked\r\n\r\n" + doubleRequest[:66], true},
		"inside a body":                             {fmt.Sprintf("POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s", len(doubleRequest), doubleRequest) + plainRequest, true},
		"behind one that asks for another protocol": {"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + doubleRequest, false},
		"behind what is not quite HTTP/2":           {"PRI * HTTP/1.1\r\nHost: x\r\n\r\n" + doubleRequest, false},
		"behind HTTP/2 that comes too late":         {plainRequest + "PRI * HTTP/2.0\r\n\r\n" + doubleRequest, false},
		"behind HTTP/2 with a field":                {"PRI * HTTP/2.0\r\nHost: x\r\n\r\n" + doubleRequest, false},
		"behind HTTP/2 with bare line feeds":        {"PRI * HTTP/2.0\n\n" + doubleRequest, false},
		"a folded length":                           {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n 5\r\n\r\nhello", false},
		"a length with a sign":                      {strings.Replace(sizedRequest, ": 5", ": +5", 1), false},
		"a length below zero":                       {strings.Replace(sizedRequest, ": 5", ": -5", 1), false},
		"a list of lengths":                         {strings.Replace(sizedRequest, ": 5", ": 5, 5", 1), false},
		"chunks in HTTP/1.0":                        {strings.Replace(chunkedRequest, "/1.1", "/1.0", 1), false},
		"chunks in HTTP/0.9":                        {strings.Replace(chunkedRequest, "/1.1", "/0.9", 1), false},
		"a length in HTTP/1.0":                      {strings.Replace(sizedRequest, "/1.1", "/1.0", 1), true},
		"HTTP/2":                                    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + doubleRequest, true},
	} {
		for _, pieces := range []int{1, 2, 7, 1 << 20} {
			if got := followed(c.stream, pieces); got != c.passes {
				t.Errorf("%s in pieces of %d: passes %v, want %v", name, pieces, got, c.passes)
			}
		}
	}
}

func TestFramingHoldsLittle(t *testing.T) {
	var f framing
	for range 3000 {
		f.follow(bytes.Repeat([]byte("x"), 1<<10))
	}
	if len(f.head) > maxHead+1<<10 {
		t.Errorf("%d bytes are held of a header section without an end", len(f.head))
	}
}

// A header section in single bytes costs little more than one in a piece.
func TestFramingLooksAtEachByteOnce(t *testing.T) {
	var f framing
	looked := 0
	find := func(p []byte) int {
		looked += len(p)
		return headEnd(p)
	}
	request := []byte("GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 10_000) + "\r\n\r\n")
	for i := range request {
		if _, _, complete := f.collect(request[i:i+1], find); complete != (i == len(request)-1) {
			t.Fatalf("complete is %v after %d of %d bytes", complete, i+1, len(request))
		}
	}
	if looked > 4*len(request) {
		t.Errorf("%d bytes were looked at for %d", looked, len(request))
	}
}

// What net/http still takes for a header section is followed: 1 MiB and a little.
func TestFramingFollowsTheLongestHeader(t *testing.T) {
	long := "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"
	if followed(long+doubleRequest, 4096) {
		t.Error("two lengths pass behind a long header section")
	}
}

// A request with two lengths gets 400, its connection ends, and no handler sees it or what follows.
func TestStrictListener(t *testing.T) {
	var handled []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		handled = append(handled, r.URL.Path)
	}))
	server.Listener = StrictListener(server.Listener)
	server.Start()
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for _, want := range []int{200, 200, 400} {
		request := map[int]string{200: sizedRequest, 400: doubleRequest + "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"}[want]
		io.WriteString(conn, request)
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, answer.Body)
		if answer.StatusCode != want {
			t.Errorf("status %d, want %d", answer.StatusCode, want)
		}
	}
	if rest, _ := io.ReadAll(reader); len(rest) > 0 {
		t.Errorf("the connection went on: %q", rest)
	}
	if fmt.Sprint(handled) != "[/ /]" {
		t.Errorf("handled %v", handled)
	}
}

// What stands before a refused request is answered as if that one had never come, however both arrive.
func TestARefusedRequestSpoilsNoneBeforeIt(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %v", body, err)
	}))
	server.Listener = StrictListener(server.Listener)
	server.Start()
	defer server.Close()
	for name, before := range map[string]string{"a length": sizedRequest, "chunks": chunkedRequest} {
		for cut := range len(before) {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			reader := bufio.NewReader(conn)
			io.WriteString(conn, plainRequest+before[:cut]) // is read with what follows, or before it
			first, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, first.Body)
			io.WriteString(conn, before[cut:]+doubleRequest)
			for _, want := range []string{"200 hello <nil>", "400"} {
				answer, err := http.ReadResponse(reader, nil)
				if err != nil {
					t.Fatalf("%s, cut at %d: %v", name, cut, err)
				}
				body, _ := io.ReadAll(answer.Body)
				if got := fmt.Sprint(answer.StatusCode, " ", string(body)); !strings.HasPrefix(got, want) {
					t.Errorf("%s, cut at %d: %s, want %s", name, cut, got, want)
				}
			}
			conn.Close()
		}
	}
}

// A handler is told that its request is here whole only when that is so, whatever follows on the connection.
func TestARequestHasArrivedWhenAllOfItIsHere(t *testing.T) {
	told := make(chan bool, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		told <- arrived(r)
		io.Copy(io.Discard, r.Body)
	}))
	server.Listener = StrictListener(server.Listener)
	server.Config.ConnContext = ConnContext
	server.Start()
	defer server.Close()
	chunks := strings.Index(chunkedRequest, "0\r\n")
	for name, c := range map[string]struct {
		first, rest string
		whole       bool
	}{
		"all of a body":                      {sizedRequest, "", true},
		"all chunks and the trailer":         {chunkedRequest, "", true},
		"the beginning of the next":          {sizedRequest + plainRequest[:9], "", true},
		"a whole one behind it":              {sizedRequest + plainRequest, "", true},
		"no byte of the body":                {sizedRequest[:len(sizedRequest)-5], "hello", false},
		"half of the body":                   {sizedRequest[:len(sizedRequest)-2], "lo", false},
		"no chunk":                           {chunkedRequest[:strings.Index(chunkedRequest, "5;")], chunkedRequest[strings.Index(chunkedRequest, "5;"):], false},
		"all chunks but the last":            {chunkedRequest[:chunks], chunkedRequest[chunks:], false},
		"all but the end of the trailer":     {chunkedRequest[:len(chunkedRequest)-2], "\r\n", false},
		"broken chunks":                      {strings.Replace(chunkedRequest, "5;", "x;", 1), "", false},
		"more than is read at once":          {strings.Replace(sizedRequest, ": 5", ": 100005", 1) + strings.Repeat("x", 4000), strings.Repeat("x", 96000), false},
		"the next one without its last byte": {sizedRequest + sizedRequest[:len(sizedRequest)-1], "o", false}, // not known, which costs nothing but time
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, c.first)
		if got := <-told; got != c.whole {
			t.Errorf("%s: told %v, want %v", name, got, c.whole)
		}
		io.WriteString(conn, c.rest)
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
		conn.Close()
		for len(told) > 0 {
			<-told
		}
	}
	r := httptest.NewRequest("POST", "/", strings.NewReader("hello"))
	if arrived(r) {
		t.Error("told of a request that nobody follows")
	}
}

// Once the handler has taken the connection over, nothing on it is a request any more.
func TestAConnectionThatIsTakenOverIsNotChecked(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		conn.(interface{ Unfollow() }).Unfollow()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
		io.CopyN(conn, buffered, int64(len(doubleRequest)))
	}))
	server.Listener = StrictListener(server.Listener)
	server.Start()
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	reader := bufio.NewReader(conn)
	if answer, err := http.ReadResponse(reader, nil); err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", answer, err)
	}
	io.WriteString(conn, doubleRequest)
	if echoed, _ := io.ReadAll(reader); string(echoed) != doubleRequest {
		t.Errorf("%q came back", echoed)
	}
}

// What the listener lets through ends for net/http where it ends for the listener: neither sees a request that the other
// takes for a body.
func TestFramingAgreesWithNetHTTP(t *testing.T) {
	const marker = "GET /marker HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, first := range []string{
		plainRequest, sizedRequest, chunkedRequest, "\r\n" + sizedRequest, strings.ReplaceAll(sizedRequest, "\r\n", "\n"),
		"PRI * HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nX: y\r\n Content-Length: 40\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nX: y\r\n\tTransfer-Encoding: chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 05\r\nContent-Length: 05\r\n\r\nhello",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n000A\r\n0123456789\r\n00\r\n\r\n",
		"POST / HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello",
	} {
		var f framing
		if _, ok := f.follow([]byte(first)); !ok || f.expect != inHead || len(f.head) > 0 {
			t.Errorf("%q does not end where the next request begins: %+v", first, f)
		}
		reader := bufio.NewReader(strings.NewReader(strings.TrimLeft(first, "\r\n") + marker))
		request, err := http.ReadRequest(reader)
		if err != nil {
			t.Fatalf("%q: %v", first, err)
		}
		io.Copy(io.Discard, request.Body)
		if rest, _ := io.ReadAll(reader); string(rest) != marker {
			t.Errorf("%q leaves %q to net/http", first, rest)
		}
	}
}

// What comes before a refused header section is told to the byte where it arrives with it.
func TestFramingTellsWhereARefusedRequestBegins(t *testing.T) {
	for _, before := range []string{"", plainRequest, sizedRequest, chunkedRequest, sizedRequest + plainRequest} {
		var f framing
		if good, ok := f.follow([]byte(before + doubleRequest + plainRequest)); ok || good != len(before) {
			t.Errorf("behind %q: %d, %v", before, good, ok)
		}
	}
}

// The pieces in which a stream arrives never matter, and what net/http reads as requests with two lengths is refused.
func FuzzFraming(f *testing.F) {
	for _, seed := range []string{plainRequest, sizedRequest, chunkedRequest, doubleRequest, sizedRequest + doubleRequest} {
		f.Add(seed, uint8(3))
	}
	f.Fuzz(func(t *testing.T, stream string, pieces uint8) {
		whole := followed(stream, len(stream)+1)
		if got := followed(stream, int(pieces)+1); got != whole {
			t.Errorf("in pieces: %v, whole: %v", got, whole)
		}
	})
}

func BenchmarkFraming(b *testing.B) {
	stream := []byte(sizedRequest)
	var f framing
	b.ReportAllocs()
	for b.Loop() {
		f.follow(stream)
	}
}
