//go:build unix

package upstream

import "syscall"

// wouldBlock tells whether a non-blocking socket is open and has nothing to read. A byte that it takes away does not
// matter: nothing was asked, so the connection is of no use any more.
func wouldBlock(fd uintptr) bool {
	var one [1]byte
	_, err := syscall.Read(int(fd), one[:])
	return err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
}
