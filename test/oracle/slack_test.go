package oracle

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slack-go/slack"
	"pgregory.net/rapid"
)

func slackRequest(r *rapid.T) (sent, http.Header, []byte) {
	s := drawSent(r)
	stamp := strconv.FormatInt(s.at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(s.secret))
	fmt.Fprintf(mac, "v0:%s:%s", stamp, s.body)
	header := http.Header{"X-Slack-Request-Timestamp": {stamp}, "X-Slack-Signature": {"v0=" + hex.EncodeToString(mac.Sum(nil))}}
	return s, header, spoil(r, header, s.body, "X-Slack-Signature")
}

// TestSlack compares with the common library for Go; Slack itself publishes none for it.
func TestSlack(t *testing.T) {
	check(t, func(r *rapid.T) {
		s, header, body := slackRequest(r)
		theirs := false
		if library, err := slack.NewSecretsVerifier(header, s.secret); err == nil {
			library.Write(body)
			theirs = library.Ensure() == nil
		}
		if ours := accepts(verifier(r, "slack", s.secret), header, body, s.now); ours != theirs {
			r.Fatalf("%v: the verifier says %v, the library %v", header, ours, theirs)
		}
	})
}

// judge is a program for Bolt, Slack's own library for JavaScript: it reads requests and writes one verdict a line.
const judge = `
const { isValidSlackRequest } = require("@slack/bolt");
for (const line of require("fs").readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const r = JSON.parse(line);
  console.log(isValidSlackRequest({
    signingSecret: r.secret, body: r.body, nowMilliseconds: r.now * 1000,
    headers: { "x-slack-request-timestamp": r.timestamp, "x-slack-signature": r.signature },
  }) ? "yes" : "no");
}
`

// TestBolt compares with Slack's own library where Node finds it, in NODE_PATH or beside this file. Bolt compares texts, so
// it takes hex in lower case only; it reads bodies as text; and it lets times in the future pass.
func TestBolt(t *testing.T) {
	if err := exec.Command("node", "-e", `require("@slack/bolt")`).Run(); err != nil {
		t.Skip("node with @slack/bolt is not here")
	}
	var input strings.Builder
	var verdicts []bool
	check(t, func(r *rapid.T) {
		s, header, body := slackRequest(r)
		signature := header.Get("X-Slack-Signature")
		if signature != strings.ToLower(signature) || !utf8.Valid(body) || s.at.After(s.now.Add(5*time.Minute)) {
			return
		}
		line, err := json.Marshal(map[string]any{
			"secret": s.secret, "now": s.now.Unix(), "body": string(body), "signature": signature,
			"timestamp": header.Get("X-Slack-Request-Timestamp"),
		})
		if err != nil {
			r.Fatal(err)
		}
		input.Write(append(line, '\n'))
		verdicts = append(verdicts, accepts(verifier(r, "slack", s.secret), header, body, s.now))
	})
	command := exec.Command("node", "-e", judge)
	command.Stdin = strings.NewReader(input.String())
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(output))
	if len(lines) != len(verdicts) || len(lines) == 0 {
		t.Fatalf("%d verdicts, want %d", len(lines), len(verdicts))
	}
	for i, line := range strings.Split(strings.TrimSpace(input.String()), "\n") {
		if (lines[i] == "yes") != verdicts[i] {
			t.Errorf("the verifier says %v, the library %s: %s", verdicts[i], lines[i], line)
		}
	}
}
