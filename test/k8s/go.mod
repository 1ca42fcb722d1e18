module github.com/webhook-sidecar/webhook-sidecar/test/k8s

go 1.26.0

require go.yaml.in/yaml/v3 v3.0.6
