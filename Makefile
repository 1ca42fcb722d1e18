# The two commands of the README are `go run ./cmd/sidecar demo` and `make test`. `make` alone explains the rest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Packages and flags can be set on the command line: make test PACKAGES=./dedupe/... TEST_FLAGS='-run Claim -v'
PACKAGES ?= ./...
TEST_FLAGS ?=
# Two packages at a time: each may start a PostgreSQL of its own, and the tests are written for two cores.
TEST_PARALLEL ?= 2
TEST_TIMEOUT ?= 40m
FUZZTIME ?= 5s

LINT := go tool -modfile=tools/go.mod golangci-lint
# The version that a binary reports is stamped by the go command from the repository, where there is one.
BUILDVCS := $(shell git rev-parse --git-dir >/dev/null 2>&1 && echo true || echo false)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: test
test: services ## install what is missing, then run every test under the race detector
	go test -race -p $(TEST_PARALLEL) -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) $(PACKAGES)
ifeq ($(PACKAGES),./...)
	@$(MAKE) test-charts test-oracle test-otel
endif

# Without cached results: what these three test is outside their modules, where the go command does not see it change.
.PHONY: test-charts
test-charts: ## render the charts with Helm as a library and decode them strictly (the first run builds Helm, about a minute)
	go -C test/charts test -count=1 ./...

.PHONY: test-oracle
test-oracle: ## compare the verifier with the libraries of Stripe, Standard Webhooks and Slack
	go -C test/oracle test -count=1 ./...

.PHONY: test-otel
test-otel: ## deliver to a real OpenTelemetry collector (the first run builds it, about a minute)
	go -C test/otel test -count=1 ./...

.PHONY: services
services: ## install PostgreSQL, Redis, PgBouncer, promtool and a C compiler where they are missing (the tests start their own)
	@scripts/install-services

# What ships is compiled with a profile of itself under load, which takes two minutes more and saves a twentieth of its time.
PROFILE := bench/profile/sidecar.pgo
BUILD_FLAGS ?=
# Without its page of traces gRPC needs no templates; with them the linker has to keep every method of everything, which
# makes a quarter of the binary.
TAGS := grpcnotrace

.PHONY: build
build: ## build bin/sidecar: static, reproducible
	CGO_ENABLED=0 go build $(BUILD_FLAGS) -tags=$(TAGS) -trimpath -buildvcs=$(BUILDVCS) -ldflags='-s -w' -o bin/sidecar ./cmd/sidecar

.PHONY: image
image: BUILD_FLAGS = -pgo=$(PROFILE)
image: build ## pack bin/sidecar into an image with buildah, without a base image, and check it
	@command -v buildah >/dev/null || (apt-get update -qq && apt-get install -qq -y buildah)
	@scripts/check-image webhook-sidecar:latest

.PHONY: snapshot
snapshot: ## build a release without publishing it: dist (the first run builds goreleaser, some minutes)
	@scripts/snapshot

.PHONY: k8s
k8s: build ## try manifests and charts on a real control plane (the first run builds it, 10 to 20 minutes)
	@scripts/control-plane
	go -C test/k8s test -count=1 -v ./...

.PHONY: demo
demo: ## show what the product does, in one process
	go run ./cmd/sidecar demo

.PHONY: lint
lint: ## check the house rules (the first run builds the linter, about a minute)
	$(LINT) run ./...
	@scripts/check-names

.PHONY: fmt
fmt: ## format the code
	$(LINT) fmt ./...

.PHONY: fmt-check
fmt-check: ## fail when a file is not formatted
	@unformatted=$$(gofmt -l .); \
	  if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi

.PHONY: vet
vet: ## run go vet
	go vet ./...

# Which events, which behaviour of the application, and which faults in which order: the same for the same seed.
CHAOS_EVENTS ?= 20000
CHAOS_SEED ?= 1

.PHONY: chaos
chaos: services ## kill replicas and PostgreSQL under load and check that nothing acknowledged is lost (about a minute)
	go test ./internal/e2e -run 'TestChaos$$' -count=1 -v -timeout 30m -chaos.events $(CHAOS_EVENTS) -chaos.seed $(CHAOS_SEED)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (5s)
	@scripts/fuzz $(FUZZTIME) $(PACKAGES)

.PHONY: cover
cover: services ## measure how much of the code the tests run
	@mkdir -p .cache
	go test -p $(TEST_PARALLEL) -timeout $(TEST_TIMEOUT) -coverpkg=./... -coverprofile=.cache/cover.out $(TEST_FLAGS) $(PACKAGES)
	go tool cover -html=.cache/cover.out -o .cache/cover.html
	@go tool cover -func=.cache/cover.out | tail -n 1

# Flags of bench/run can be set on the command line: make bench BENCH_FLAGS='-rounds 1 -only plain,new -report ""'
BENCH_FLAGS ?=

.PHONY: bench
bench: services ## measure the sidecar beside a plain proxy, nginx and a naive one (5 to 8 minutes), write bench/RESULTS.md
	go run ./bench/run -report bench/RESULTS.md $(BENCH_FLAGS)

# How long the worker is measured behind one long-running transaction, and how many receipts are forgotten under load.
BEHIND ?= 30m
RETENTION ?= 1000000

.PHONY: bench-scale
bench-scale: services ## measure large ledgers, long queues and a large sweep beside small ones (75 minutes; BEHIND=2m: 45), write bench/SCALE.md, BACKLOG.md and RETENTION.md
	go run ./bench/run -scale -rounds 9 -connections 1,64 -report bench/SCALE.md $(BENCH_FLAGS)
	go run ./bench/run -backlog 1000000 -behind $(BEHIND) -report bench/BACKLOG.md
	go run ./bench/run -retention $(RETENTION) -connections 16,64 -window 4s -report bench/RETENTION.md

.PHONY: bench-profile
bench-profile: services ## profile the sidecar under load: .cache/profile, a summary in bench/PROFILE.md, and the compiler's profile
	go run ./bench/run -profile .cache/profile -connections 64,256 -window 10s -report bench/PROFILE.md $(BENCH_FLAGS)

.PHONY: tidy-check
tidy-check: ## fail when go.mod or go.sum would change under go mod tidy
	go mod tidy -diff
	go -C tools mod tidy -diff
	go -C test/charts mod tidy -diff
	go -C test/k8s mod tidy -diff
	go -C test/oracle mod tidy -diff
	go -C test/otel mod tidy -diff

.PHONY: docs
docs: ## regenerate the generated pages; fails when one changed or a link leads nowhere
	@scripts/check-docs

.PHONY: clean
clean: ## remove what the targets above leave behind
	rm -rf bin .cache dist
