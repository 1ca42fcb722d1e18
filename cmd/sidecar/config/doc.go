// Package config reads what operators write: the process settings in the environment, and the integrations file with the
// secrets it names. It is strict, finds everything that is wrong at once, and translates the result into the configuration
// of each room. Only cmd/sidecar imports it.
package config
