//go:build !unix

package upstream

// wouldBlock cannot look at a socket without waiting here, so that no connection is used again.
func wouldBlock(uintptr) bool { return false }
