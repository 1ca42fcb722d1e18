package sqlite

import (
	"encoding/binary"
	"io"
	"os"
)

// Where a database's header has what tells a ledger, and that it has more than its first page.
const (
	headerSize    = 100
	headerMagic   = "SQLite format 3\x00"
	writeVersion  = 18 // 1: a rollback journal, which no ledger has
	pageCount     = 28
	headerApplies = 68
)

// theirs tells that a file is surely the database of something else. To open it would change it already, since that begins
// the write-ahead log; what cannot be told so is asked of the database.
func theirs(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // it was only read
	var header [headerSize]byte
	if _, err := io.ReadFull(file, header[:]); err != nil || string(header[:len(headerMagic)]) != headerMagic {
		return false
	}
	return header[writeVersion] == 1 && binary.BigEndian.Uint32(header[pageCount:]) != 1 &&
		binary.BigEndian.Uint32(header[headerApplies:]) != applicationID
}
