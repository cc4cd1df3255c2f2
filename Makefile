# Everything here needs Go and git and nothing else; Go fetches what it is missing.

# All programs and tests are compiled in one way, so that they share what is compiled. Kustomize imports package plugin: with cgo, the linker
# then keeps every function of every package, a quarter of the program.
export CGO_ENABLED = 0
export GOFLAGS += -trimpath

.DEFAULT_GOAL := help
.PHONY: help build sample test lint generate bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Go stamps the version into the program: the tag, or the commit it is built from.
build: ## build the programs in bin/
	go build -buildvcs=auto -ldflags "-s -w" -o bin/ ./cmd/kalypso ./cmd/kalypso-agent ./cmd/kalypso-operator

sample: build ## build, and run the tutorial on this machine
	bin/kalypso sample up

# Tests write many small files, half of whose cost is the disk's.
in_memory = $$(tools/memory)

# Many tests wait more than they work: with one for each processor, processors would wait, too. The slowest packages come first.
# "make lint" vets. The time is for tests that hang, and long enough for a slow machine.
test: ## run every test
	$(in_memory) go test -vet=off -timeout 60m -parallel 6 ./internal/serve/wiring ./cmd/kalypso ./...
	go -C tools/release test ./...
	go -C tools/mutants test ./...
	go -C tools/corpus test ./...

.PHONY: test-all
test-all: export KALYPSO_SWEEP = all
test-all: test ## run every test, and all cases of those that try a sample

.PHONY: small
small: ## build the programs, and check that they are small enough
	tools/small

# The agent runs on small machines. 386 stands for armv7 in tests, because it has 32 bits, too, and runs here.
.PHONY: cross
cross: ## build the agent for arm64 and armv7, and test it with 32 bits
	GOOS=linux GOARCH=arm64 go build -o /dev/null ./cmd/kalypso-agent
	GOOS=linux GOARCH=arm GOARM=7 go build -o /dev/null ./cmd/kalypso-agent
	GOOS=linux GOARCH=386 go test -vet=off ./cmd/kalypso-agent ./internal/agent/... ./internal/hub/client ./api/hub/...

# The packages in which goroutines share memory.
concurrent = ./internal/agent ./internal/agent/direct ./internal/deliver ./internal/forge/local ./internal/git ./internal/hub/... ./internal/ledger/sqlite \
	./internal/promote ./internal/pullrequest ./internal/schedule ./internal/serve ./internal/serve/access ./internal/serve/api \
	./internal/serve/session ./internal/serve/web/... ./internal/solution/registry/embedded

.PHONY: race
race: ## run the tests of concurrent packages with the race detector, without long simulations; needs a C compiler
	CGO_ENABLED=1 $(in_memory) go test -race -short -vet=off -timeout 60m $(concurrent)

.PHONY: fuzz
fuzz: ## run each fuzz target with some thousand inputs
	tools/fuzz

# make test explores smaller fleets in some seconds.
.PHONY: check-model
check-model: ## explore promotion in larger fleets, with every order of events, which takes some minutes
	KALYPSO_EXPLORE=large go test -vet=off -count=1 -timeout 60m -v -run 'TestExplore$$' ./internal/promote/decide/model

.PHONY: mutants
mutants: ## break each invariant of ARCHITECTURE.md in three ways, and see that its tests fail
	go -C tools/mutants run .

# Each judge is a module of its own with the code of those who define what is right.
.PHONY: judges
judges: ## compare with the programs that define what is right, such as kstatus
	for judge in judges/*/; do go -C $$judge test -count=1 -vet=off . || exit 1; done

# It needs Linux, and Git. It sends every third input of each kind; with ALL=yes all of them, and with INPUT="chart: replace" those whose name
# contains that.
.PHONY: hostile
hostile: build ## send hostile inputs to a server, and fail if one takes more memory or time than it may
	go -C tools/hostile run . --kalypso ../../bin/kalypso $(if $(ALL),--all) $(if $(INPUT),"$(INPUT)")

# CORPUS is a folder with charts, whose dependencies are in their folders charts; HELM is Helm 4. It prints each chart that is not rendered as
# Helm renders it, and counts.
.PHONY: corpus
corpus: build ## compare what public charts render to with Helm: make corpus CORPUS=FOLDER HELM=PROGRAM
	go -C tools/corpus run . --kalypso $(CURDIR)/bin/kalypso --helm "$(or $(HELM),helm)" $(abspath $(CORPUS))

.PHONY: vuln
vuln: ## look for known vulnerabilities, where their database can be reached
	tools/vuln

# The first run builds Kubernetes, Flux, Argo CD, Gitea and KWOK, which takes some minutes; e2e/README.md says more.
.PHONY: e2e
e2e: ## run the tests on real clusters, a real forge and a real database
	e2e/tools/packages
	go -C e2e/tools run ./build
	go test -count=1 ./internal/ledger/postgres
	go -C e2e test -count=1 -timeout 58m -parallel 4 -v .

# It needs a throw-away account: FORGE_KIND, FORGE_URL, FORGE_TOKEN, and FORGE_REPOSITORY, beside which it creates repositories and
# deletes them. CONTRIBUTING.md says more.
.PHONY: record-forge
record-forge: ## run the rules of forges against a real one, and record what it answers
	go test -count=1 -timeout 60m -v -run TestRecord$$ ./internal/forge/connect -record

.PHONY: sample-real
sample-real: ## play the tutorial on a real Gitea and real clusters
	go -C e2e build -o ../bin/sample-real ./sample
	cd e2e && exec ../bin/sample-real

# The e2e tests say what it needs; of those, only Chromium.
.PHONY: recording
recording: build ## play the guided tour in Chromium, and record it for the README
	go -C e2e run ./recording --kalypso ../bin/kalypso --out ../docs/images/tour.gif

# The linters are pinned in a module of their own, so that their dependencies are not the program's.
lint: ## check the code with golangci-lint
	go tool -modfile=tools/go.mod golangci-lint run ./...

.PHONY: fresh
fresh: ## generate all files again, and fail if one changes
	tools/fresh

generate: ## write all generated files: deep copies, CRDs, editor schemas
	go generate ./...

.PHONY: schemas
schemas: ## write the schemas of Kubernetes, in the version of the e2e tests
	go -C e2e/tools run ./schemas ../../internal/check/kubernetes.json.gz

bench: ## run the benchmarks
	go test -run '^$$' -bench . -benchmem -timeout 30m ./...

# Without KEY, a file with an Ed25519 key, the release is not signed. The same commit gives the same bytes.
.PHONY: release
release: ## build a release of this commit in dist/: archives, images, the chart, the documentation, checksums
	rm -rf dist
	go -C tools/release run . --root ../.. --out ../../dist $(if $(KEY),--key $(abspath $(KEY)))

.PHONY: site
site: ## write the documentation site to dist-site/; it needs no network, and opens from the disk
	rm -rf dist-site
	go -C tools/release run . site --root ../.. --out ../../dist-site

clean: ## remove what was built
	rm -rf bin dist dist-site
