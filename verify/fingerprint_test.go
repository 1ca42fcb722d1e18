package verify

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// What is left out does not depend on what else is looked for in the same pass.
func TestCutsInTheDocumentsOwnTree(t *testing.T) {
	pointers := rapid.SampledFrom([]string{"/id", "/data", "/data/id", "/data/0", "/data/0/id", "/retry", "/data/retry", "/a~1b"})
	rapid.Check(t, func(t *rapid.T) {
		wanted := rapid.SliceOfN(pointers, 0, 4).Draw(t, "wanted")
		left := rapid.SliceOfN(pointers, 1, 4).Draw(t, "left out")
		id, retry := rapid.IntRange(0, 9).Draw(t, "id"), rapid.IntRange(0, 9).Draw(t, "retry")
		body := rapid.SampledFrom([]string{
			`{"id":%d,"retry":%d,"data":{"id":1,"retry":2},"a/b":3}`,
			`{"data":[{"id":%d},{"id":%d}],"retry":1}`,
			`{"id":%d,"id":2,"retry":%d,"retry":4}`,
			`[%d, %d]`, `{"id":%d,"retry":%d`, `%d%d,`,
		}).Draw(t, "body")
		one := &delivery.Delivery{Body: fmt.Appendf(nil, body, id, retry)}
		shared, apart := &pointerTree{}, &pointerTree{}
		for _, pointer := range wanted {
			if _, err := shared.add(pointer); err != nil {
				t.Fatal(err)
			}
		}
		rule, err := newFingerprint(Fingerprint{Exclude: left}, shared)
		if err != nil || rule.exclude != shared {
			t.Fatalf("not in one pass: %v", err)
		}
		for _, pointer := range left {
			if err := apart.cut(pointer); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := rule.sum(&document{delivery: one, tree: shared})
		want, _ := fingerprint{exclude: apart}.sum(&document{delivery: one, tree: shared})
		if got != want {
			t.Fatalf("%s without %v, looking for %v, differs", one.Body, left, wanted)
		}
	})
}
