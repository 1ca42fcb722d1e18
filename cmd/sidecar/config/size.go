package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes in the environment: what ParseSize reads.
type Size int64

// UnmarshalText reads what ParseSize reads.
func (s *Size) UnmarshalText(text []byte) error {
	parsed, err := ParseSize(string(text))
	*s = Size(parsed)
	return err
}

type sizeUnit struct {
	suffix string
	bytes  int64
}

// sizeUnits are tried in order; the short forms are those of Kubernetes. Powers of ten are left out: KB means both.
func sizeUnits() []sizeUnit {
	return []sizeUnit{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
		{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"B", 1},
	}
}

// ParseSize reads a number of bytes: 512, 512B, 4KiB, 1MiB, 2GiB, or Ki, Mi and Gi as in Kubernetes.
func ParseSize(text string) (int64, error) {
	digits, factor := text, int64(1)
	for _, unit := range sizeUnits() {
		if rest, found := strings.CutSuffix(text, unit.suffix); found {
			digits, factor = rest, unit.bytes
			break
		}
	}
	count, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || int64(count) > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is no size such as 512, 4KiB or 1MiB", text)
	}
	return int64(count) * factor, nil
}

// FormatSize writes bytes in the largest unit that divides them.
func FormatSize(bytes int64) string {
	for _, unit := range []sizeUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if bytes >= unit.bytes && bytes%unit.bytes == 0 {
			return strconv.FormatInt(bytes/unit.bytes, 10) + unit.suffix
		}
	}
	return strconv.FormatInt(bytes, 10) + "B"
}
