// Package inject puts the sidecar into Kubernetes manifests and takes it out again, as text.
//
// A stream is cut into documents. Documents that are not touched are copied byte for byte; in the others a few lines are
// spliced in, and what surrounds them stays as it was, comments and quoting included. What is to be done is planned first,
// as operations on paths (see operation). Three readers use them: the splicer turns them into edits of the text, the proof
// applies them to the decoded document and compares, and the emitters print them for kustomize. What was there before is
// recorded in an annotation of the object, so that Restore gives back the same bytes.
package inject
