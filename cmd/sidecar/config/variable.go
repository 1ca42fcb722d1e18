package config

import (
	"regexp"
	"slices"
	"strings"
)

// serviceLink matches what Kubernetes puts into every container for a Service whose name begins with "sidecar". Nobody
// wrote it, so it is no mistake.
const serviceLink = `^SIDECAR_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`

func unknownVariables(environ Environment) Problems {
	known := variables()
	link := regexp.MustCompile(serviceLink)
	var names []string
	for name := range environ {
		if strings.HasPrefix(name, "SIDECAR_") && !slices.Contains(known, name) && !(insideKubernetes(environ) && link.MatchString(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var problems Problems
	for _, name := range names {
		problems = append(problems, Problem{Key: name, Text: "unknown variable" + hint(name, known)})
	}
	return problems
}

func insideKubernetes(environ Environment) bool { return environ["KUBERNETES_SERVICE_HOST"] != "" }
