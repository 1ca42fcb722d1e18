package main

import "testing"

const top = `File: sidecar
Showing nodes accounting for 100%
      flat  flat%   sum%        cum   cum%
     0.01s  0.12%  0.12%      6.26s 73.56%  net/http.(*conn).serve
         0     0%  0.12%      0.80s  8.00%  github.com/webhook-sidecar/webhook-sidecar/proxy.(*exchange).read
     1.92s 22.56% 22.80%      1.92s 22.56%  internal/runtime/syscall/linux.Syscall6 (inline)
     0.10s  9.00% 22.80%      0.10s  9.00%  github.com/webhook-sidecar/webhook-sidecar/other.read
`

func TestPlaces(t *testing.T) {
	want := map[string]float64{
		"connections of senders, all of net/http": 73.56, "– – read the body": 8, "system calls": 22.56,
	}
	for _, p := range places(top, 100) {
		if difference := p.share - want[p.title]; difference > 0.001 || difference < -0.001 {
			t.Errorf("%s took %.2f µs, want %.2f", p.title, p.share, want[p.title])
		}
	}
}
