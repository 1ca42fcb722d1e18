// Package reload notices when the contents of files change and reads them so that they belong together, also where
// Kubernetes swaps a whole directory under the reader. It knows nothing about what is in the files.
package reload
