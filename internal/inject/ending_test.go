package inject_test

import (
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/internal/inject"
)

// What has to fit into terminationGracePeriodSeconds: a plain sidecar drains beside the application, a native one after it.
func TestAnEndThatDoesNotFitIsWarnedOf(t *testing.T) {
	const (
		sleep = "        lifecycle: {preStop: {sleep: {seconds: 5}}}\n"
		exec  = "        lifecycle: {preStop: {exec: {command: [sleep, \"5\"]}}}\n"
		shell = "        lifecycle: {preStop: {exec: {command: [/bin/sh, -c, \"sleep 5 && bye\"]}}}\n"
	)
	for name, test := range map[string]struct {
		grace, preStop string // of the pod, of the application
		env            []string
		plain, native  bool // is warned of
	}{
		"as Kubernetes has it":       {},
		"nothing is left":            {grace: "28", native: true},
		"a second is left":           {grace: "29"},
		"less than the sidecar's":    {grace: "27", plain: true, native: true},
		"a hook":                     {preStop: sleep, native: true},
		"a hook that runs sleep":     {preStop: exec, native: true},
		"a hook that runs a shell":   {preStop: shell, native: true},
		"a hook, and time for it":    {preStop: sleep, grace: "34"},
		"less for what is in flight": {preStop: sleep, env: []string{"SIDECAR_SHUTDOWN_TIMEOUT=20s"}},
		"more for what is in flight": {env: []string{"SIDECAR_SHUTDOWN_TIMEOUT=1m"}, plain: true, native: true},
		"a longer delay":             {env: []string{"SIDECAR_DRAIN_DELAY=6s"}, plain: true, native: true},
		"both":                       {grace: "90", env: []string{"SIDECAR_DRAIN_DELAY=10s", "SIDECAR_SHUTDOWN_TIMEOUT=1m"}},
	} {
		t.Run(name, func(t *testing.T) {
			grace := ""
			if test.grace != "" {
				grace = "      terminationGracePeriodSeconds: " + test.grace + "\n"
			}
			for native, want := range map[string]bool{"never": test.plain, "always": test.native} {
				result, err := inject.Inject([]byte(app("Deployment", "app", grace)+test.preStop), options(func(o *inject.Options) {
					o.Native, o.Env = native, test.env
				}))
				if report := lines(result.Notes); err != nil || strings.Contains(report, "terminationGracePeriodSeconds") != want {
					t.Errorf("native %s: got %v, %s", native, err, report)
				}
			}
		})
	}
}

func TestAnEndThatDoesNotFitIsAddedUp(t *testing.T) {
	input := app("Deployment", "app", "") + "        lifecycle: {preStop: {sleep: {seconds: 5}}}\n"
	result, err := inject.Inject([]byte(input), options(nil))
	want := "warning: deployment/app: terminationGracePeriodSeconds 30 is too short for preStop 5s + the application's own time + " +
		"drain delay 3s + shutdown timeout 25s; raise it, or lower SIDECAR_SHUTDOWN_TIMEOUT with --env\n"
	if err != nil || !strings.Contains(lines(result.Notes), want) {
		t.Errorf("got %v, %s", err, lines(result.Notes))
	}
}
