package proxy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

// Whatever letter some comparison without regard to case takes for one of a route's is ambiguous in its place: such
// comparisons go by the upper case, by the lower case, or by both.
func TestEveryLetterThatIsAnotherCaseIsAmbiguous(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	guard, found := NewGuard([]string{"/" + letters}, nil, nil, true), 0
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		for _, other := range []rune{unicode.ToUpper(r), unicode.ToLower(r), unicode.SimpleFold(r)} {
			letter := unicode.ToLower(other)
			if letter < 'a' || letter > 'z' {
				continue
			}
			found++
			for _, spelled := range []string{string(r), fmt.Sprintf("%%%x", []byte(string(r))[0]) + string(r)[1:]} {
				target := "/" + strings.Replace(letters, string(letter), spelled, 1)
				if got := guard.Decide(target); got.Kind != VerdictAmbiguous {
					t.Errorf("%q for %c: %+v", r, letter, got)
				}
			}
		}
	}
	if found < 4 {
		t.Errorf("%d letters", found)
	}
}

// spellings of /hooks/orders, by kind. For some application each of them is that path.
var spellings = map[string][]string{
	"percent-encoded":       {"/hooks%2Forders", "/hooks%2forders", "/%68ooks/orders", "%2Fhooks%2Forders", "/hooks/order%73", "/%68%6f%6f%6b%73/%6f%72%64%65%72%73"},
	"percent-encoded twice": {"/hooks%252Forders", "/%2568ooks/orders", "/hooks/%256frders", "/hooks%25%32%46orders", "/hooks%%32%46orders"},
	"percent-encoded more":  {"/hooks%25252Forders", "/%252568ooks/orders", "/hooks%2525252525252Forders"},
	"dot segments":          {"/x/../hooks/orders", "/hooks/./orders", "/./hooks/orders", "/hooks/orders/.", "/hooks/orders/x/..", "/../hooks/orders", "/hooks/x/y/../../orders", "/hooks/orders/./"},
	"encoded dot segments":  {"/x/%2e%2e/hooks/orders", "/x/.%2e/hooks/orders", "/x/%2E./hooks/orders", "/hooks/%2e/orders", "/x/%252e%252e/hooks/orders", "/x%2f..%2fhooks/orders"},
	"slashes":               {"//hooks/orders", "/hooks//orders", "/hooks/orders/", "/hooks/orders//", "///hooks///orders///", "/hooks/%2Forders"},
	"letter case":           {"/HOOKS/ORDERS", "/Hooks/orders", "/hooks/orderS", "/%48ooks/orders", "/hoo%e2%84%aas/orders", "/hooks/order%c5%bf"},
	"parameters":            {"/hooks/orders;a=b", "/hooks;a=b/orders", "/;x/hooks/orders", "/hooks/orders;", "/hooks/orders;a=b;c", "/hooks/orders%3Ba=b", "/hooks;a%2Fb/orders", "/x/..;/hooks/orders", "/x/..;v=1/hooks;/orders"},
	"backslashes":           {`/hooks\orders`, `\hooks\orders`, `/hooks%5Corders`, `/hooks%255corders`, `/x\..\hooks/orders`, `/hooks/\orders\`},
	"control bytes":         {"/hooks/orders%00", "/hooks%00/orders", "/hooks/orders%00.png", "/hooks/ord%01ers", "/hooks/orders%0d%0a", "/hooks/orders%0d%0aX: y", "/hooks/orders%09", "/hooks/orders%7f", "/hooks/orders\x00", "/hooks/ord%01ers%00.js", "/hooks/orders%2500"},
	"spaces":                {"/hooks/orders%20", "/hooks%20/orders", "/hooks/orders%2520"},
	"fragments":             {"/hooks/orders#", "/hooks/orders#/public", "/hooks/orders%23", "/hooks/orders%2523x"},
	"encoded query":         {"/hooks/orders%3F", "/hooks/orders%3fa=b", "/hooks/orders%253fa/../.."},
	"absolute form":         {"http://host/hooks/orders", "HTTP://host:80/hooks/orders", "https://user@host/hooks/orders", "http:/hooks/orders", "http:hooks/orders", "//host/hooks/orders", "http://host/x/../hooks/orders", "1http://host/hooks/orders", "/http://host/hooks/orders", "/x/http://host/hooks//orders", "/x/http:%2f%2fhost/hooks/orders", "://host/hooks/orders"},
	"space in the query":    {"/hooks/orders?a b", "/hooks/orders? HTTP/1.1"},
	"no leading slash":      {"hooks/orders", "./hooks/orders"},
	"overlong UTF-8":        {"/hooks%c0%aforders", "/x/%c0%ae%c0%ae/hooks/orders", "/hooks%e0%80%aforders", "/hooks%f0%80%80%aforders", "/hooks%c1%9corders", "/%c1%a8ooks/orders"},
	"full width":            {"/hooks%ef%bc%8forders", "/x/%ef%bc%8e%ef%bc%8e/hooks/orders", "/hooks%ef%bc%bcorders", "/hooks%e2%88%95orders", "/hooks%e2%81%84orders", "/hooks/orders%ef%bc%9ba=b"},
	"%u escapes":            {"/hooks%u002forders", "/hooks%U002Forders", "/hooks%uff0forders", "/x/%u002e%u002e/hooks/orders"},
	"kept encoded slashes":  {"/hooks/a%2fb/../orders", "/hooks/a%2fb/%2e%2e/orders", "/hooks/a%252fb/%252e%252e/orders", `/hooks/a%5cb/../orders`, "/hooks/a//../orders"},
	"mixtures":              {"//HOOKS/./orders;v=1/", "/%48OOKS//orders%2F", "/x/%2e%2e;a/%68OOKS%5corders%00;b#c", "http://h//x/..//hooks%252forders%3b"},
}

// nearMisses are as odd, and read as another path. Where an application routes them is its own affair: see docs/adr/0013.
var nearMisses = []string{
	"/", "*", "/hooks", "/hooks/", "/hooks/orders2", "/hooks/orders/1", "/orders", "/api/hooks/orders", "/files/a%2Fb", "/a//b", "//a",
	"/hooksorders", "/hooks/orders.json", "/hooks-orders", "/hooks/order", "/hooks/orders%2F1", "/hooks/orders%2e", "/hooks/xorders",
	"/hooks/orders/../payments", "/hooks/orders;a/b", "/orders/hooks", "/hooks%2Fpayments", "/caf%C3%A9", "/.well-known/acme", "/a/./b",
	"/a/../b", "/..", "/.", "/%61", "/a%00b", "/a%252Fb", "/a:b@c", "/a!$&'()*,=~", "/x?/hooks/orders", "/q?a=%2Fhooks%2Forders#/hooks/orders",
	"/ho%2Foks/orders", "/hooks/or%2Fders", "/#/hooks/orders", "/x%3F/hooks/orders", "/%zz/hooks/orders2", "/%", "/%2", "/hooks/orders%252", "",
	"host.test:443", "http://host/", "http://host/orders", "/hooks/orders%c3%a9",
}

func TestOtherSpellingsOfARouteAreAmbiguous(t *testing.T) {
	for name, guard := range map[string]*Guard{
		"alone":           NewGuard([]string{"/hooks/orders"}, nil, nil, true),
		"under a prefix":  NewGuard([]string{"/other", "/hooks/orders"}, []string{"/hooks", "/x"}, nil, true),
		"no pass-through": NewGuard([]string{"/hooks/orders"}, nil, []string{"/hooks"}, false),
	} {
		for kind, targets := range spellings {
			for _, target := range targets {
				for _, query := range []string{"", "?", "?a=b", "?/../x"} {
					if got := guard.Decide(target + query); got.Kind != VerdictAmbiguous || got.Path != "" {
						t.Errorf("%s: %s: %q is %+v, want ambiguous", name, kind, target+query, got)
					}
				}
			}
		}
	}
}

func TestTheExactRouteIsTheRouteWhateverTheQuery(t *testing.T) {
	guard := NewGuard([]string{"/hooks/orders", "/Hooks/Upper", "/slash/", "/esc%2Faped", "/"}, []string{"/"}, []string{"/hooks/orders"}, false)
	for _, path := range []string{"/hooks/orders", "/Hooks/Upper", "/slash/", "/esc%2Faped", "/"} {
		for _, query := range []string{"", "?", "?a=1;b=2&c=%zz", "?/../..//%00#\\", "??"} {
			if got := guard.Decide(path + query); got != (Verdict{VerdictRoute, path}) {
				t.Errorf("%q is %+v", path+query, got)
			}
		}
	}
	for _, target := range []string{"/hooks/upper", "/Hooks/upper", "/slash", "/SLASH/", "/esc/aped", "/esc%2faped", "/esc%252Faped", "//", "/."} {
		if got := guard.Decide(target); got.Kind != VerdictAmbiguous {
			t.Errorf("%q is %+v, want ambiguous", target, got)
		}
	}
}

func TestNearMissesPass(t *testing.T) {
	guard := NewGuard([]string{"/hooks/orders"}, nil, nil, true)
	for _, target := range nearMisses {
		if got := guard.Decide(target); got.Kind != VerdictPass {
			t.Errorf("%q is %+v, want pass", target, got)
		}
	}
	closed := NewGuard([]string{"/hooks/orders"}, nil, nil, false)
	for _, target := range nearMisses {
		if got := closed.Decide(target); got.Kind != VerdictUnknown {
			t.Errorf("without pass-through %q is %+v, want unknown", target, got)
		}
	}
}

func TestWhatMayLieUnderAPrefixIsUnknown(t *testing.T) {
	for _, prefix := range []string{"/hooks", "/hooks/", "hooks", "/Hooks"} {
		guard := NewGuard([]string{"/hooks/orders"}, []string{prefix, "/admin/area"}, nil, true)
		for _, target := range []string{
			"/hooks", "/hooks/", "/hooks/x", "/HOOKS/x", "/hooks/x/y?z", "//hooks/x", "/hooks%2Fx", "/%68ooks", "/hooks%252fx", "/x/../hooks/y",
			"/hooks/../x", "/hooks;a/b", `\hooks\x`, "/hooks%00", "/hooks%00/x", "http://h/hooks/x", "/hooks/orders/1", "/hooks#x", "/a/%2e%2e/hooks",
			"/admin/area", "/admin//area/51", "/hooks%c0%afx", "/admin/x/../area/",
		} {
			if got := guard.Decide(target); got.Kind != VerdictUnknown {
				t.Errorf("prefix %q: %q is %+v, want unknown", prefix, target, got)
			}
		}
		for _, target := range []string{"/", "/hook", "/hooksx", "/hooks2/x", "/x/hooks", "/admin", "/admin/areas", "/x%2Fhooks", "/x//hooks"} {
			if got := guard.Decide(target); got.Kind != VerdictPass {
				t.Errorf("prefix %q: %q is %+v, want pass", prefix, target, got)
			}
		}
	}
	everything := NewGuard(nil, []string{"/"}, nil, true)
	for _, target := range []string{"/", "*", "/a", "//", "/%2F", ""} {
		if got := everything.Decide(target); got.Kind != VerdictUnknown {
			t.Errorf("prefix /: %q is %+v, want unknown", target, got)
		}
	}
}

func TestAClosedRouteIsUnknownInEverySpelling(t *testing.T) {
	guard := NewGuard([]string{"/hooks/payments"}, nil, []string{"/hooks/orders"}, true)
	if got := guard.Decide("/hooks/orders?x"); got.Kind != VerdictUnknown {
		t.Errorf("the closed route itself is %+v", got)
	}
	for kind, targets := range spellings {
		for _, target := range targets {
			if got := guard.Decide(target); got.Kind != VerdictUnknown {
				t.Errorf("%s: %q is %+v, want unknown", kind, target, got)
			}
		}
	}
	again := NewGuard([]string{"/hooks/orders"}, nil, []string{"/hooks/orders"}, true)
	if got := again.Decide("/hooks/orders"); got.Kind != VerdictRoute {
		t.Errorf("a route that came back is %+v", got)
	}
	if got := again.Decide("/hooks/Orders"); got.Kind != VerdictAmbiguous {
		t.Errorf("another spelling of a route that came back is %+v", got)
	}
}

func TestAHostilePathIsDecidedQuickly(t *testing.T) {
	guard := NewGuard([]string{"/hooks/orders"}, nil, nil, true)
	for name, target := range map[string]string{
		"all kinds":       strings.Repeat(`/a%2f..\;b%00%01//.%252e#%3f%c0%af%u002f `, 2000) + "/hooks/orders",
		"deep encoding":   "/hooks/orders" + strings.Repeat("%", 1) + strings.Repeat("25", 200_000) + "2f",
		"many dots":       strings.Repeat("/../a", 200_000) + "/hooks/orders",
		"many percents":   strings.Repeat("%25", 300_000) + "/hooks/orders",
		"many controls":   "/hooks/orders" + strings.Repeat("%00%01", 100_000),
		"many parameters": strings.Repeat(";/", 300_000) + "hooks/orders",
	} {
		started := time.Now()
		guard.Decide(target)
		t.Logf("%s: %v", name, time.Since(started))
		if took := time.Since(started); took > 10*time.Second { // what is not linear takes minutes
			t.Errorf("%s: %d bytes took %v", name, len(target), took)
		}
	}
}

// obfuscations turn a path into one that some application reads as the same.
var obfuscations = map[string]func(t *rapid.T, path string) string{
	"encode a byte": func(t *rapid.T, path string) string {
		at := rapid.IntRange(0, len(path)-1).Draw(t, "at")
		return fmt.Sprintf("%s%%%02x%s", path[:at], path[at], path[at+1:])
	},
	"double a slash":  atSlash("//"),
	"dot segment":     atSlash("/./"),
	"up and down":     atSlash("/up/../"),
	"parameter":       atSlash(";p=1/"),
	"backslash":       atSlash(`\`),
	"trailing slash":  func(_ *rapid.T, path string) string { return path + "/" },
	"trailing param":  func(_ *rapid.T, path string) string { return path + ";p" },
	"fragment":        func(_ *rapid.T, path string) string { return path + "#f" },
	"NUL and more":    func(_ *rapid.T, path string) string { return path + "%00.gif" },
	"upper case":      func(_ *rapid.T, path string) string { return strings.ToUpper(path) },
	"control byte":    func(_ *rapid.T, path string) string { return path[:len(path)/2] + "\x01" + path[len(path)/2:] },
	"encoded percent": func(_ *rapid.T, path string) string { return strings.ReplaceAll(path, "%", "%25") },
}

// atSlash puts other text in the place of one slash.
func atSlash(text string) func(*rapid.T, string) string {
	return func(t *rapid.T, path string) string {
		var slashes []int
		for i := range len(path) {
			if path[i] == '/' {
				slashes = append(slashes, i)
			}
		}
		if len(slashes) == 0 {
			return path
		}
		at := rapid.SampledFrom(slashes).Draw(t, "slash")
		return path[:at] + text + path[at+1:]
	}
}

// Several disguises one over the other, of any kinds, do not get past the guard.
func TestDisguisesDoNotPass(t *testing.T) {
	guard := NewGuard([]string{"/hooks/acme/orders"}, nil, nil, true)
	kinds := slices.Sorted(maps.Keys(obfuscations))
	rapid.Check(t, func(t *rapid.T) {
		path := "/hooks/acme/orders"
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 3).Draw(t, "disguises") {
			path = obfuscations[name](t, path)
		}
		if got := guard.Decide(path); path != "/hooks/acme/orders" && got.Kind != VerdictAmbiguous {
			t.Fatalf("%q is %+v, want ambiguous", path, got)
		}
	})
}

// The search for names may only spare work, and the fast way must agree with the slow one.
func FuzzGuard(f *testing.F) {
	for _, targets := range spellings {
		for _, target := range targets {
			f.Add(target)
		}
	}
	for _, target := range nearMisses {
		f.Add(target)
	}
	guard := NewGuard([]string{"/hooks/orders", "/Café/%2f;x"}, []string{"/admin/area"}, []string{"/old"}, true)
	f.Fuzz(func(t *testing.T, target string) {
		if len(target) > 300 {
			return
		}
		got := guard.Decide(target)
		path, _, _ := strings.Cut(target, "?")
		if got.Kind == VerdictRoute {
			if _, exact := guard.routes[path]; !exact || got.Path != path {
				t.Fatalf("%q is the route %q", target, got.Path)
			}
			return
		}
		if want := guard.judgeReadings(path); want != got.Kind && !exhausted(path) {
			t.Fatalf("%q is %v, its readings say %v", target, got.Kind, want)
		}
		if forgiving(path) == "/hooks/orders" && got.Kind != VerdictAmbiguous {
			t.Fatalf("%q is %v, an application may read it as the route", target, got.Kind)
		}
	})
}

func exhausted(path string) bool {
	return !eachReading(path, readingBudget, func(string) bool { return true })
}

// forgiving is how one lenient application might read a path, written without the guard's steps.
func forgiving(path string) string {
	path, _, _ = strings.Cut(path, "#")
	for range 2 {
		var out strings.Builder
		for i := 0; i < len(path); i++ {
			var code byte
			if path[i] == '%' && i+2 < len(path) {
				if n, err := fmt.Sscanf(path[i+1:i+3], "%02x", &code); n == 1 && err == nil && isHex(path[i+1]) && isHex(path[i+2]) {
					out.WriteByte(code)
					i += 2
					continue
				}
			}
			out.WriteByte(path[i])
		}
		path = out.String()
	}
	var kept []string
	for _, segment := range strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' }) {
		segment, _, _ = strings.Cut(segment, ";")
		segment = strings.Map(func(c rune) rune {
			if c < ' ' || c == 0x7f {
				return -1
			}
			return c
		}, segment)
		if segment == ".." {
			kept = kept[:max(0, len(kept)-1)]
		} else if segment != "" && segment != "." {
			kept = append(kept, strings.ToLower(segment))
		}
	}
	return "/" + strings.Join(kept, "/")
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

func BenchmarkGuard(b *testing.B) {
	routes := make([]string, 0, 200)
	for i := range 200 {
		routes = append(routes, fmt.Sprintf("/webhooks/account-%d/stripe", i))
	}
	guard := NewGuard(routes, []string{"/webhooks"}, nil, true)
	for name, target := range map[string]string{
		"route":     "/webhooks/account-7/stripe?x=y",
		"plain":     "/api/v1/customers/42/orders?page=2",
		"upper":     "/api/V1/Customers/42/Orders?page=2",
		"odd":       "/files/caf%C3%A9/a%2Fb",
		"ambiguous": "/webhooks%2Faccount-7/stripe",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				guard.Decide(target)
			}
		})
	}
}
