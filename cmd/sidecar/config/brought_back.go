package config

import "fmt"

// BroughtBack complains about credentials that count again although they were revoked: a name that leaked once stays
// revoked, so that nobody brings it back by an old file. It names them, too; there are none without an error.
func (s *Set) BroughtBack(was func(Revocation) bool) ([]Revocation, error) {
	var problems Problems
	var names []Revocation
	for _, i := range s.Integrations {
		for _, c := range i.Credentials {
			name := Revocation{i.Scope, c.ID}
			if c.Status == revoked || !was(name) {
				continue
			}
			names = append(names, name)
			problems = append(problems, Problem{
				File: s.file, Line: c.line, Key: fmt.Sprintf("%s: credentials.%s", i.Scope, c.ID),
				Text: "was revoked and stays revoked: give a replacement a new id",
			})
		}
	}
	return names, problems.err()
}

// Revoked are the credentials that the set marks revoked.
func (s *Set) Revoked() []Revocation {
	var found []Revocation
	for _, i := range s.Integrations {
		for _, c := range i.Credentials {
			if c.Status == revoked {
				found = append(found, Revocation{i.Scope, c.ID})
			}
		}
	}
	return found
}
