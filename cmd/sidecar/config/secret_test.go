package config

import (
	"strings"
	"testing"
)

func secretOf(t *testing.T, content string) (string, string, error) {
	t.Helper()
	set, err := load("integrations:\n"+integration(), files{"/run/good": content})
	if err != nil {
		return "", "", err
	}
	notes := ""
	for _, note := range append(set.Notes, set.Warnings...) {
		notes += note.String() + "\n"
	}
	return string(set.Integrations[0].Credentials[0].Secret), notes, nil
}

func TestExactlyOneFinalLineEndIsStripped(t *testing.T) {
	for content, want := range map[string]string{
		testSecret:            testSecret,
		testSecret + "\n":     testSecret,
		testSecret + "\r\n":   testSecret,
		testSecret + "\n\n":   testSecret + "\n",
		testSecret + " \n":    testSecret + " ",
		" " + testSecret:      " " + testSecret,
		testSecret + "\r":     testSecret + "\r",
		testSecret + "\nmore": testSecret + "\nmore",
	} {
		got, notes, err := secretOf(t, content)
		if err != nil || got != want {
			t.Errorf("%q is read as %q, %v", content, got, err)
		}
		if strings.HasSuffix(content, "\n") != strings.Contains(notes, "not taken as a part of the secret") {
			t.Errorf("%q: the notes say %q", content, notes)
		}
		if strings.Contains(notes, "0123456789abcdef") {
			t.Errorf("the notes tell the secret: %s", notes)
		}
	}
}

func TestWhatIsNoSecretIsRefused(t *testing.T) {
	for content, want := range map[string]string{
		"":                            "is empty",
		"\n":                          "is empty",
		"\r\n":                        "is empty",
		" \t\n":                       "is only white space",
		"  \r\n\t":                    "is only white space",
		"\xef\xbb\xbf" + testSecret:   "byte-order mark",
		"\xff\xfes\x00e\x00":          "UTF-16",
		"a\x00b" + testSecret:         "NUL",
		strings.Repeat("x", 64<<10+1): "has more than 64KiB",
	} {
		_, _, err := secretOf(t, content)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: want %q, got %v", content, want, err)
		}
		if err != nil && strings.Contains(err.Error(), "0123456789abcdef") {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
}

func TestSecretsFromTheEnvironment(t *testing.T) {
	text := strings.Replace("integrations:\n"+integration(), "{file: /run/good}", "{env: STRIPE}", 1)
	set := mustLoad(t, text, files{"$STRIPE": testSecret})
	if got := string(set.Integrations[0].Credentials[0].Secret); got != testSecret {
		t.Errorf("got %q", got)
	}
	for value, want := range map[string]string{"": "is empty", " ": "only white space"} {
		if _, err := load(text, files{"$STRIPE": value}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", value, err)
		}
	}
	if _, err := load(text, nil); err == nil || !strings.Contains(err.Error(), "STRIPE is not set") {
		t.Errorf("unset: %v", err)
	}
}

func TestSecretsAreRelativeToTheFile(t *testing.T) {
	text := strings.Replace("integrations:\n"+integration(), "/run/good", "beside", 1)
	set := mustLoad(t, text, files{"/etc/s/beside": testSecret})
	if got := string(set.Integrations[0].Credentials[0].Secret); got != testSecret {
		t.Errorf("got %q", got)
	}
}

func TestSecretsHaveExactlyOneOrigin(t *testing.T) {
	for _, written := range []string{"{}", "{file: /run/good, env: X}", "{fetch: anybody}", "{vault: x}", "text", "{file: ''}"} {
		text := strings.Replace("integrations:\n"+integration(), "{file: /run/good}", written, 1)
		if _, err := load(text, nil); err == nil || !strings.Contains(err.Error(), "credentials[0].secret") {
			t.Errorf("%s: %v", written, err)
		}
	}
}

func TestTheSecretOfARevokedCredentialMayBeGone(t *testing.T) {
	text := strings.Replace("integrations:\n"+integration(), "[{id", "[{id: old, status: revoked, secret: {file: /run/gone}}, {id", 1)
	set := mustLoad(t, text, nil)
	if len(set.Verifier("acme/payments").Credentials()) != 2 {
		t.Error("the revoked credential is forgotten, and a delivery signed with it looks like a stranger's")
	}
}

func TestUnreadableSecretNamesThePath(t *testing.T) {
	text := strings.Replace("integrations:\n"+integration(), "/run/good", "/run/gone", 1)
	_, err := load(text, nil)
	if err == nil || !strings.Contains(err.Error(), "sidecar.yaml:6: integrations[0].credentials[0].secret: the secret cannot be read: /run/gone") {
		t.Errorf("got %v", err)
	}
}
