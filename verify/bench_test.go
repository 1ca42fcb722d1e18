package verify

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// kilobyte is a 1 KiB delivery for ordersConfig.
func kilobyte() string {
	body := `{"id":"evt-1","type":"order.paid","data":{"id":"ord_1","lines":["`
	return body + strings.Repeat("x", 1024-len(body)-4) + `"]}}`
}

// credentials makes n live ones, the last of which signs.
func credentials(n int) []Credential {
	var out []Credential
	for i := range n - 1 {
		out = append(out, Credential{ID: "other-" + strconv.Itoa(i), Secret: []byte("another-secret-" + strconv.Itoa(i))})
	}
	return append(out, Credential{ID: "orders-1", Secret: []byte(ordersSecret)})
}

func BenchmarkAuthenticate(b *testing.B) {
	for _, live := range []int{1, 2, 5} {
		b.Run(strconv.Itoa(live)+" credentials", func(b *testing.B) {
			cfg := ordersConfig()
			cfg.Credentials = credentials(live)
			v, d := mustNew(b, cfg), order(kilobyte())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Authenticate(d, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSenders is one genuine delivery of every sender with a shared secret.
func BenchmarkSenders(b *testing.B) {
	for _, p := range symmetricPresets() {
		b.Run(p.Name, func(b *testing.B) {
			v := mustNew(b, sampleConfig(p, []byte("0123456789abcdef0123456789abcdef")))
			d := sampleDelivery(b, v, p, sampleBody(p, strings.Repeat("x", 900)))
			b.ReportAllocs()
			for b.Loop() {
				if !v.accepts(d) {
					b.Fatal("rejected")
				}
			}
		})
	}
}

func TestNoAllocationPerCredential(t *testing.T) {
	var counts []float64
	for _, live := range []int{1, 6} {
		cfg := ordersConfig()
		cfg.Credentials = credentials(live)
		v, d := mustNew(t, cfg), order(kilobyte())
		counts = append(counts, testing.AllocsPerRun(200, func() {
			if _, err := v.Authenticate(d, noon); err != nil {
				t.Fatal(err)
			}
		}))
	}
	if !raceEnabled && counts[1] > counts[0] {
		t.Errorf("%v allocations with one credential, %v with six", counts[0], counts[1])
	}
}

func TestPresentedLooksAtHeadersOnly(t *testing.T) {
	v := mustNew(t, ordersConfig())
	for _, c := range []struct {
		header http.Header
		want   bool
	}{
		{http.Header{}, false},
		{http.Header{"X-Signature": {"x"}}, false},
		{http.Header{"X-Timestamp": {"x"}}, false},
		{http.Header{"X-Signature": {""}, "X-Timestamp": {"1"}}, false},
		{http.Header{"X-Signature": {"x"}, "X-Timestamp": {"1"}}, true},
	} {
		if v.Presented("POST", "/in", c.header) != c.want {
			t.Errorf("%v: presented is not %v", c.header, c.want)
		}
	}
}
