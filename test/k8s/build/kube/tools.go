//go:build tools

// Package kube pins the parts of Kubernetes that the tests start. It is never compiled.
package kube

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
)
