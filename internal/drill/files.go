package drill

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The integrations of the drill. Accounts A and B are alpha and beta; their payments are alike in everything but the key.
const (
	paymentsA = "alpha/payments"
	paymentsB = "beta/payments"
	ordersA   = "alpha/orders" // the event ID is in a header that the signature does not cover
	waitsA    = "alpha/waits"  // duplicates wait for the running attempt
	queueA    = "alpha/queue"  // accept mode
	queueB    = "beta/queue"   // accept mode
	briefA    = "alpha/brief"  // its receipts live for seconds
)

// maxBody is the limit of every integration, in bytes.
const maxBody = 64 << 10

// Files are the names of the files that sidecars read, below Config.Dir: their SIDECAR_CONFIG.
const Files = "sidecar.yaml"

// Guard is the path prefix of every route: the sidecars' SIDECAR_GUARD.
const Guard = "/hooks"

// keys are the states of A's credentials that change: those of its payments by ID, and the one of its waits.
type keys struct {
	payments map[string]string
	waits    string
}

func keysBefore() keys {
	return keys{map[string]string{"alpha-1": "active"}, "active"}
}

func keysRevoked() keys {
	return keys{map[string]string{"alpha-1": "revoked"}, "active"}
}

func keysRotated() keys {
	return keys{map[string]string{"alpha-1": "revoked", "alpha-2": "active"}, "active"}
}

func keysOverlap() keys {
	return keys{map[string]string{"alpha-1": "revoked", "alpha-2": "retiring", "alpha-3": "active"}, "active"}
}

func keysWaiting() keys {
	revoked := keysOverlap()
	revoked.waits = "revoked"
	return revoked
}

// secret is made up, and no sender knows it.
func secret(id string) string { return "drill-secret-of-" + id + "-0123456789abcdef" }

// configure writes the files as an operator does: each beside its place, then renamed; the integrations last.
func (d *Drill) configure(a keys) error {
	for _, id := range []string{"alpha-1", "alpha-2", "alpha-3", "alpha-orders", "alpha-waits", "alpha-queue", "alpha-brief", "beta-1", "beta-queue"} {
		d.note(secret(id))
		if err := d.replace(id, secret(id)+"\n"); err != nil {
			return err
		}
	}
	return d.replace(Files, integrations(a))
}

func (d *Drill) replace(name, text string) error {
	path := filepath.Join(d.config.Dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func integrations(a keys) string {
	var credentials strings.Builder
	for _, id := range slices.Sorted(maps.Keys(a.payments)) {
		credentials.WriteString(credential(id, a.payments[id]))
	}
	const (
		waits = "    timeout: 2s\n    lease: 4s\n"
		slow  = "    timeout: 60s\n    lease: 70s\n"
		kept  = "    retention: {sender_window: 10m, repair_window: 0s, clock_skew: 0s}\n" // Redis forgets as soon
	)
	return "integrations:\n" +
		integration(paymentsA, "json: /id", credentials.String(), waits+kept) +
		integration(paymentsB, "json: /id", credential("beta-1", "active"), waits+kept) +
		integration(ordersA, "header: X-Event-Id", credential("alpha-orders", "active"), waits+kept) +
		integration(waitsA, "json: /id", credential("alpha-waits", a.waits), slow+kept+"    duplicate_wait: 60s\n") +
		integration(queueA, "json: /id", credential("alpha-queue", "active"), slow+kept+"    mode: accept\n") +
		integration(queueB, "json: /id", credential("beta-queue", "active"), waits+kept+"    mode: accept\n    retry: {initial: 200ms, max: 1s}\n") +
		integration(briefA, "json: /id", credential("alpha-brief", "active"), waits+
			"    retention: {sender_window: 1s, repair_window: 1s, clock_skew: 0s}\n")
}

func credential(id, status string) string {
	return fmt.Sprintf("      - {id: %[1]s, secret: {file: %[1]s}, status: %[2]s}\n", id, status)
}

func integration(scope, id, credentials, more string) string {
	account, name, _ := strings.Cut(scope, "/")
	return fmt.Sprintf(`  - account: %s
    name: %s
    route: %s
    provider: hmac
    hmac: {header: X-Signature, prefix: "sha256=", signed: "{timestamp}.{body}", timestamp: {header: X-Timestamp}}
    event: {id: {%s}, type: {json: /type}}
    max_body: 64KiB
    idempotency: {value: scoped}
    credentials:
%s%s`, account, name, route(scope), id, credentials, more)
}

func route(scope string) string { return Guard + "/" + scope }
