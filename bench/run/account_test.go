package main

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// What a child used is its family's, while it runs and after it was waited for.
func TestAccountOfAFamily(t *testing.T) {
	before, err := readAccount()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("/bin/sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	after, err := readAccount()
	if err != nil {
		t.Fatal(err)
	}
	self := os.Getpid()
	if used := after.family(self) - before.family(self); used < tick || used > time.Minute {
		t.Errorf("the family used %v", used)
	}
	if after.busy-before.busy < after.family(self)-before.family(self)-2*tick {
		t.Error("the machine was less busy than the family")
	}
}

func TestResidentMemory(t *testing.T) {
	m, err := readMemory(os.Getpid())
	if err != nil || m.Resident < m.Anonymous || m.Anonymous < 100 {
		t.Fatalf("%+v, %v", m, err)
	}
}
