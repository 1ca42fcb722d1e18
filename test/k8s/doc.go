// Package k8s tries the manifests and charts of this repository on a real control plane: etcd, kube-apiserver and
// kube-controller-manager, without a kubelet. `make k8s` builds them once and runs the tests; nothing else does.
package k8s
