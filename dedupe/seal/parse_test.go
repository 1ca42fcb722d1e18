package seal

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

func TestKeysAreWhatOpensslMakes(t *testing.T) {
	raw, err := base64.StdEncoding.DecodeString(keyText("a"))
	if err != nil {
		t.Fatal(err)
	}
	want := keyID(t, "a")
	for how, text := range map[string]string{
		"base64":                 keyText("a"),
		"a line of openssl":      keyText("a") + "\n",
		"with a carriage return": keyText("a") + "\r\n",
		"not padded":             base64.RawStdEncoding.EncodeToString(raw),
		"URL alphabet":           base64.URLEncoding.EncodeToString(raw),
		"hex":                    hex.EncodeToString(raw),
		"upper hex":              strings.ToUpper(hex.EncodeToString(raw)),
		"a remark in Latin-1":    "# Schl\xfcssel\n" + keyText("a"),
		"with remarks":           "\n# of 2026\n\n  " + keyText("a") + "  \n# end\n",
	} {
		keys, err := ParseKeys([]byte(text))
		if err != nil || len(keys.IDs()) != 1 || keys.IDs()[0] != want {
			t.Errorf("%s: %v, %v", how, keys.IDs(), err)
		}
	}
}

func TestTheFirstKeySeals(t *testing.T) {
	keys := keysOf(t, "a", "b", "c")
	if by, sealing := keys.Sealing(); !sealing || by != keyID(t, "a") {
		t.Errorf("%s, %t", by, sealing)
	}
	for _, name := range []string{"a", "b", "c"} {
		if !keys.Has(keyID(t, name)) {
			t.Errorf("%s does not open", name)
		}
	}
	if keys.Has(keyID(t, "d")) {
		t.Error("a key that is not there opens")
	}
	for _, names := range [][]string{{off}, {off, "a"}} {
		keys := keysOf(t, names...)
		if _, sealing := keys.Sealing(); sealing || len(keys.IDs()) != len(names)-1 {
			t.Errorf("%v seals", names)
		}
	}
	var none *Keys
	if _, sealing := none.Sealing(); sealing || none.Has(dedupe.KeyID{}) || none.IDs() != nil {
		t.Error("no keys are some")
	}
}

func TestProblemsOfKeyFilesAreToldAllAtOnce(t *testing.T) {
	short := base64.StdEncoding.EncodeToString([]byte("canary-short-secret"))
	text := strings.Join([]string{
		keyText("a"), "# remark", "canary secret, not base64!", short, keyText("a"), off,
		strings.Repeat("ab", 31), base64.StdEncoding.EncodeToString(make([]byte, 32)),
	}, "\n")
	_, err := ParseKeys([]byte(text))
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got %v", err)
	}
	want := []string{
		"line 3: more than a key", "line 4: the key has 19 bytes, want 32", "line 5: the same key as in line 1",
		"line 6: off must be the first entry", "line 7: the key has 31 bytes, want 32", "line 8: every byte of the key is the same",
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("got\n%s", err)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("got %q, want %q", line, want[i])
		}
	}
	for _, part := range []string{"canary", short, keyText("a")} {
		if strings.Contains(err.Error(), part) {
			t.Errorf("the error tells %q", part)
		}
	}
}

func TestFilesThatAreNoKeyFiles(t *testing.T) {
	raw, _ := base64.StdEncoding.DecodeString(keyText("a"))
	for how, c := range map[string]struct{ text, want string }{
		"empty":             {"", "no key in it"},
		"white":             {" \n\t\n", "no key in it"},
		"remarks":           {"# nothing\n", "no key in it"},
		"huge":              {strings.Repeat("# x\n", 20_000), "more than 65536 bytes"},
		"a byte-order mark": {"\xef\xbb\xbf" + keyText("a"), "byte-order mark"},
		"UTF-16":            {"\xff\xfeA\x00", "UTF-16"},
		"UTF-16, big end":   {"\xfe\xff\x00A", "UTF-16"},
		"UTF-16, no mark":   {strings.Join(strings.Split(keyText("a"), ""), "\x00"), "no text"},
		"bytes of a key":    {string(raw), "no text"},
		"two keys a line":   {keyText("b") + "\n" + keyText("a") + " " + keyText("b"), "line 2: more than a key"},
		"two with a tab":    {keyText("a") + "\t" + keyText("b"), "line 1: more than a key"},
		"a remark behind":   {keyText("a") + " # old", "line 1: more than a key"},
		"old line ends":     {keyText("a") + "\r" + keyText("b") + "\r", "line 1: more than a key"},
		"a sloppy end":      {keyText("a")[:42] + "/=", "line 1: neither"},
		"off twice":         {off + "\n" + off, "line 2: off must be"},
		"a name":            {"new:" + keyText("a"), "line 1: neither"},
		"a quoted key":      {strconv.Quote(keyText("a")), "line 1: neither"},
		"half a key":        {keyText("a") + "\n" + keyText("b")[:24], "line 2: the key has 18 bytes"},
		"the same in hex":   {keyText("a") + "\n" + hex.EncodeToString(raw), "line 2: the same key as in line 1"},
		"a certificate":     {strings.Repeat(strings.Repeat("A", 64)+"\n", 900), "and 880 more lines"},
	} {
		keys, err := ParseKeys([]byte(c.text))
		if err == nil || keys != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", how, keys, err)
		}
		if err != nil && (strings.Contains(err.Error(), keyText("a")[:12]) || strings.Count(err.Error(), "\n") > maxProblems) {
			t.Errorf("%s: the complaint is %v", how, err)
		}
	}
}

// Whatever a file says, it is keys or a complaint that quotes nothing of it.
func FuzzParseKeys(f *testing.F) {
	f.Add([]byte(keyText("a") + "\n" + keyText("b")))
	f.Add([]byte("off\n" + keyText("a") + "\n#x\n"))
	f.Add([]byte(strings.Repeat("0f", 32)))
	f.Add([]byte("canary=="))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := ParseKeys(text)
		if (keys == nil) == (err == nil) {
			t.Fatalf("%v and %v", keys, err)
		}
		if err == nil {
			if _, sealing := keys.Sealing(); sealing && len(keys.IDs()) == 0 {
				t.Fatal("seals without a key")
			}
			return
		}
		for word := range strings.FieldsSeq(string(text)) {
			if len(word) > 12 && strings.Contains(err.Error(), word) && !strings.Contains(how, word) {
				t.Fatalf("the complaint quotes %q", word)
			}
		}
	})
}
