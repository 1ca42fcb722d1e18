package config

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"20s": 20 * time.Second, "250ms": 250 * time.Millisecond, "1h30m": 90 * time.Minute, "72h": 72 * time.Hour,
		"30d": 30 * day, "1d12h": 36 * time.Hour, "0s": 0, "0": 0, "0d": 0,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "20", "d", "-1s", "-1d", "1.5d", "1d2d", "999999999999d", "106752d", "1d-1s", "1d 2h", "s", "+1d", "1 d"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "512": 512, "512B": 512, "4KiB": 4096, "1MiB": 1 << 20, "2GiB": 2 << 30, "256Mi": 256 << 20, "1Ki": 1024,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5MiB", "1MB", "1 MiB", "9223372036854775807KiB", "+1", "0x10", "1_000"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

func TestParseStatuses(t *testing.T) {
	parsed, err := ParseStatuses([]string{"2xx", "410"})
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[int]bool{199: false, 200: true, 299: true, 300: false, 410: true, 411: false, -1: false, 1000: false} {
		if parsed.Has(status) != want {
			t.Errorf("%d: %v", status, !want)
		}
	}
	for _, text := range []string{"", "1xx", "6xx", "100", "600", "20", "2000", "0x1", "2x", "+20", "-20"} {
		if _, err := ParseStatuses([]string{text}); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestParseMemoryLimit(t *testing.T) {
	for text, want := range map[string]int64{
		"max\n": 0, "536870912\n": 512 << 20, "9223372036854771712\n": 0, "": 0, "0": 0, "-1": 0, "junk": 0,
	} {
		if got := parseMemoryLimit([]byte(text)); got != want {
			t.Errorf("%q is %d", text, got)
		}
	}
	for limit, want := range map[int64]int64{0: 256 << 20, 128 << 20: 64 << 20, 512 << 20: 256 << 20, 64 << 30: 256 << 20} {
		if got := defaultInflight(limit); got != want {
			t.Errorf("with a limit of %d the budget is %d", limit, got)
		}
		if limit > 0 && softLimit(limit) <= defaultInflight(limit) {
			t.Errorf("with a limit of %d the budget for bodies is more than the collector would leave", limit)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, text := range []string{"30d", "1d12h", "20s", "-1d", "99999999d", "1h30m"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := ParseDuration(text)
		if err != nil {
			return
		}
		if parsed < 0 {
			t.Fatalf("%q is negative", text)
		}
		if again, err := ParseDuration(FormatDuration(parsed)); err != nil || again != parsed {
			t.Fatalf("%q is written %q and read as %v, %v", text, FormatDuration(parsed), again, err)
		}
	})
}

func FuzzParseSize(f *testing.F) {
	for _, text := range []string{"1MiB", "512", "4Ki", "-1", "99999999999999999999GiB"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := ParseSize(text)
		if err != nil {
			return
		}
		if parsed < 0 {
			t.Fatalf("%q is negative", text)
		}
		if again, err := ParseSize(FormatSize(parsed)); err != nil || again != parsed {
			t.Fatalf("%q is written %q and read as %v, %v", text, FormatSize(parsed), again, err)
		}
	})
}
