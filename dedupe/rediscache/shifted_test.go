package rediscache

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// A server (or a proxy) that answers every GET with what the GET before it should have got.
func TestRepliesShiftedByOneAreMisses(t *testing.T) {
	ledger := newLedger(t)
	noLeaks(t)
	c := connected(t, ledger, "redis://"+startShifted(t, &mapServer{behind: true}))
	for i := range 40 {
		apply(t, ledger, request(fmt.Sprint("evt_", i), "a"), answer(200, fmt.Sprint("done ", i)))
	}
	for range 3 {
		for i := range 40 {
			d := claim(t, c, request(fmt.Sprint("evt_", i), "a"))
			if d.Kind != dedupe.Replay || string(d.Response.Body) != fmt.Sprint("done ", i) {
				t.Fatalf("event %d: %+v", i, d)
			}
		}
		c.clock.forward(localLife)
	}
	if s := c.Stats(); s.Foreign == 0 || s.Shared != 0 {
		t.Errorf("the test tests nothing: %+v", s)
	}
}

// A reply that nobody asked for shifts all that follow on its connection by one, be it in one piece with the last reply or
// later, when the connection is not in use. Whatever comes of it is a miss, and Redis is used again.
func TestStrayRepliesAreMisses(t *testing.T) {
	for name, apart := range map[string]bool{"in one piece": false, "apart": true} {
		t.Run(name, func(t *testing.T) {
			const events = 40
			ledger := newLedger(t)
			noLeaks(t)
			server := &mapServer{apart: apart}
			address := "redis://" + startShifted(t, server)
			c := connected(t, ledger, address)
			for i := range events {
				apply(t, c, request(fmt.Sprint("evt_", i), "a"), answer(200, fmt.Sprint("done ", i)))
			}
			eventually(t, "the results reach Redis", func() bool { return c.Stats().Stored == events })
			for n := range 5 * events {
				i := n % events
				if i == 0 {
					c.clock.forward(localLife)
				}
				if n%7 == 3 {
					server.stray.Store(true)
				}
				d := claim(t, c, request(fmt.Sprint("evt_", i), "a"))
				if d.Kind != dedupe.Replay || string(d.Response.Body) != fmt.Sprint("done ", i) {
					t.Fatalf("event %d: %+v", i, d)
				}
			}
			if server.strays.Load() == 0 || c.Stats().Shared == 0 {
				t.Fatalf("the test tests nothing: %d strays, %+v", server.strays.Load(), c.Stats())
			}
			server.stray.Store(false)
			eventually(t, "Redis is used again", func() bool {
				before := c.Stats().Shared
				c.clock.forward(localLife)
				claim(t, c, request("evt_1", "a"))
				return c.Stats().Shared > before
			})
		})
	}
}

// startShifted serves AUTH, SET NX and GET like Redis, with what is wrong with the server.
func startShifted(t testing.TB, store *mapServer) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	store.turn = make(chan map[string]string, 1)
	store.turn <- map[string]string{}
	conns := make(chan net.Conn, 100)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns <- conn
			go store.serve(conn)
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-served
		close(conns)
		for conn := range conns {
			conn.Close()
		}
	})
	return listener.Addr().String()
}

// mapServer is the shifted server's memory.
type mapServer struct {
	turn   chan map[string]string
	behind bool        // each GET gets what the one before it should have got
	apart  bool        // stray replies are pieces of their own
	stray  atomic.Bool // the next GET's reply is sent twice
	strays atomic.Int64
}

func (s *mapServer) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	last := "$-1\r\n"
	for {
		words, err := readCommand(in)
		if err != nil {
			return
		}
		values, stray := <-s.turn, ""
		reply := "-ERR unknown command\r\n"
		switch strings.ToUpper(words[0]) {
		case "GET":
			reply = "$-1\r\n"
			if value, found := values[words[1]]; found {
				reply = fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
			}
			if s.behind && !strings.HasSuffix(words[1], ":probe") {
				reply, last = last, reply
			}
			if !s.behind && s.stray.CompareAndSwap(true, false) {
				s.strays.Add(1)
				stray = reply
			}
		case "SET":
			values[words[1]], reply = words[2], "+OK\r\n"
		}
		s.turn <- values
		if stray != "" && !s.apart {
			reply, stray = reply+stray, ""
		}
		if _, err := conn.Write([]byte(reply)); err != nil {
			return
		}
		if _, err := conn.Write([]byte(stray)); err != nil {
			return
		}
	}
}

func readCommand(in *bufio.Reader) ([]string, error) {
	count, err := readNumber(in, '*')
	words := make([]string, 0, max(count, 0))
	for i := 0; i < count && err == nil; i++ {
		var size int
		if size, err = readNumber(in, '$'); err != nil {
			break
		}
		word := make([]byte, size+2)
		for read := 0; read < len(word) && err == nil; {
			var n int
			n, err = in.Read(word[read:])
			read += n
		}
		words = append(words, string(word[:size]))
	}
	return words, err
}

func readNumber(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("not RESP: %q", line)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
