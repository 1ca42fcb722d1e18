package testenv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Below the ports that the kernel hands out by itself, to whoever listens on port 0 or connects, and with room above for
// what a node of a Redis cluster adds to its port.
const firstPort, ports = 10_000, 10_000

// held are the ports of this process, each by a name that no other test process can have at the same time.
var held struct {
	sync.Mutex
	names []net.Listener
}

// Address is an address of 127.0.0.1 where nobody listens and nobody else will, as long as this process lives: a test may
// listen there, stop, and find it free again, or rely on it that a connection is refused.
func Address(t testing.TB) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// freePort is the port of an Address. One that the kernel chose could be anybody's as soon as it is closed.
func freePort() (int, error) {
	for range ports {
		port := firstPort + rand.IntN(ports)
		name, err := net.Listen("unix", fmt.Sprintf("@webhook-sidecar-test-port-%d", port))
		if err != nil {
			continue // another test's
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			_ = name.Close()
			continue // a stranger's
		}
		held.Lock()
		held.names = append(held.names, name)
		held.Unlock()
		return port, listener.Close()
	}
	return 0, errors.New("no port is free")
}
