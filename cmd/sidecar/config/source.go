package config

// Source is where the loader finds files and environment variables. A reload hands in one that remembers what it read.
type Source struct {
	ReadFile  func(path string) ([]byte, error)
	LookupEnv func(name string) (string, bool)
}
