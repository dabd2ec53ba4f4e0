# Everything a contributor runs; `make` alone lists it.
GOLANGCI_VERSION := v2.15.0
GOLANGCI := .tools/golangci-lint-$(GOLANGCI_VERSION)
VALE_VERSION := v3.21.0
VALE := .tools/vale-$(VALE_VERSION)
# v2.17 needs a module that the module proxy refuses.
GORELEASER_VERSION := v2.16.0
CRANE := go run github.com/google/go-containerregistry/cmd/crane@v0.22.1
GORELEASER := .tools/goreleaser-$(GORELEASER_VERSION)
OAUTH2_PROXY_VERSION := v7.15.6
OAUTH2_PROXY := .tools/oauth2-proxy-$(OAUTH2_PROXY_VERSION)
# Documents in plain English. Of Go comments vale sees phrases and words, not the length of sentences.
PROSE := README.md CHANGELOG.md SECURITY.md .github/CONTRIBUTING.md locking/redlock/PROTOCOL.md dev/model/redlock/README.md \
	dev/model/single/README.md \
	$(wildcard docs/*.md docs/guarantees/*.md docs/coming-from/*.md docs/reference/*.md) deploy/chart/README.md \
	scheduler/scheduler.go jobs/registry.go jobs/run.go jobs/execjob/execjob.go jobs/httpjob/httpjob.go
MODULES := $(shell find . -name go.mod -not -path './.tools/*' -not -path '*/node_modules/*' -exec dirname {} \;)
# What npm installs, by their files of its own.
CLIENT := dev/interop/client/node_modules/.package-lock.json
SITE := docs/.vitepress/node_modules/.package-lock.json
# Most tests wait: for leases, servers, processes. Their programs are linked faster without what only a
# debugger reads.
PARALLEL := -parallel 4 -ldflags=-w
# The race detector makes garbage dear; there is memory to leave some.
GOGC ?= 400
# Empty where the linters run besides, which vet.
VET := go vet ./...

.PHONY: help
help: ## list these commands
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

.PHONY: build
build: ## build bin/quorate
	go build -o bin/quorate ./cmd/quorate

# Packages whose tests run with the race detector here: claims, leases and attempts. It compiles
# everything once more and costs several times the processor time, so the others have it in
# `make race` alone.
RACED := ./locking/... ./jobs/... ./internal/store/quorum/client ./scheduler/internal/...

# What only we need, without dev/faults, where replicas run in the process. In the simulation
# goroutines take turns.
TOOLS = $(filter-out %/dev/faults,$(shell go list ./dev/...))

# What parses has no goroutines, and a detector would make its many cases eight times slower.
PARSERS = $(shell go list ./internal/config/...)

# Packages whose tests run replicas on stores in memory. They run again on one consistent store.
ENGINE := ./scheduler ./scheduler/schedtest

.PHONY: test
test: ## vet and the tests of the module, the long ones shortened; needs redis-server and gcc
	@.ci/deps redis-server gcc
	$(VET)
	go test $(PARALLEL) -short -vet=off -count=1 -timeout 20m $(filter-out $(shell go list $(RACED)),$(shell go list ./...))
	go test $(PARALLEL) -short -vet=off -count=1 -timeout 20m $(ENGINE) -args -store=onestore
	GOGC=$(GOGC) go test $(PARALLEL) -race -short -vet=off -count=1 -timeout 20m $(RACED)

.PHONY: checks
checks: deps modules lint tidy-check vuln stores ## what CI runs besides: linters, vulnerabilities, promtool, databases, a browser, other clients

# The tests that need more than redis-server. Stores are the last of the checks, so that they run where the
# linters have ended.
.PHONY: modules stores
modules: deps ## the tests with promtool, systemd, PostgreSQL, a browser and other clients
	go test -short -vet=off -count=1 -tags promtool ./scheduler/metrics
	go test -short -vet=off -count=1 -tags systemd ./dev/release
	$(call each,$(filter-out . ./stores/%,$(MODULES)))

stores: deps ## the tests of the stores that are modules of their own
	$(call each,$(filter ./stores/%,$(MODULES)))

.PHONY: proof
proof: ## all that speaks for a promise: race, models, simulation, planted bugs, campaigns; writes docs/results
	@.ci/deps git redis-server
	go run ./dev/proof

.PHONY: full
full: ## proof, and what speaks for what is shipped: CI, release, image, chart, site, benchmarks
	@.ci/deps git redis-server
	go run ./dev/proof -full

.PHONY: deps
deps: $(CLIENT)
	@.ci/deps redis-server gcc git postgres pgbouncer etcd zkServer.sh mariadbd promtool chromium systemd-analyze

$(CLIENT) $(SITE): %/node_modules/.package-lock.json: %/package-lock.json
	@.ci/deps node npm
	cd $* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: interop
interop: deps ## foreign Redlock clients and ours exclude each other
	cd dev/interop && go test -count=1 -v .

# oauth2-proxy takes minutes to compile, so CI does without.
.PHONY: signin
signin: build $(OAUTH2_PROXY) ## log in to the dashboard through oauth2-proxy, with the configurations of docs/oauth2-proxy.md
	@.ci/deps redis-server
	cd dev/signin && QUORATE=$(CURDIR)/bin/quorate OAUTH2_PROXY=$(CURDIR)/$(OAUTH2_PROXY) go test -count=1 -v -tags signin .

$(OAUTH2_PROXY):
	@mkdir -p .tools
	GOBIN=$(CURDIR)/.tools go install github.com/oauth2-proxy/oauth2-proxy/v7@$(OAUTH2_PROXY_VERSION)
	@mv .tools/oauth2-proxy $@

.PHONY: browser
browser: ## the dashboard in Chromium, at clusters of real processes on each store
	@.ci/deps redis-server postgres mariadbd chromium
	cd dev/browser && go test -count=1 -v -timeout 30m .

.PHONY: gallery
gallery: ## write the pictures of docs/gallery anew
	@.ci/deps redis-server postgres chromium
	cd dev/browser && go test -count=1 -v -run TestGallery . -args -gallery=$(CURDIR)/docs/gallery

# Races are found by what runs at the same time, not by many rounds, so the detector has short tests, but for locks.
# Without it they run at length. Of our own tools only the kits: the others say nothing about the product.
.PHONY: race race-locks race-product race-engine race-stores at-length
race: ## the tests of the product and its stores with the race detector, shortened except for locks; and at length without it
	@.ci/deps redis-server gcc postgres pgbouncer etcd zkServer.sh mariadbd promtool
	$(MAKE) --keep-going race-locks race-product race-engine race-stores at-length

race-locks:
	GOGC=$(GOGC) go test $(PARALLEL) -race -vet=off -count=1 -timeout 30m ./locking/...

race-product:
	GOGC=$(GOGC) go test $(PARALLEL) -race -short -vet=off -count=1 -timeout 30m -skip '^TestPagesAreBounded$$' $(filter-out $(TOOLS) $(PARSERS) $(shell go list ./locking/...),$(shell go list ./...))

race-engine:
	GOGC=$(GOGC) go test $(PARALLEL) -race -short -vet=off -count=1 -timeout 20m $(ENGINE) -args -store=onestore

race-stores:
	go test -race -short -vet=off -count=1 -tags promtool ./scheduler/metrics
	$(call each,$(filter ./stores/%,$(MODULES)) ./dev/integration,-race)

at-length:
	go test $(PARALLEL) -vet=off -count=1 -timeout 30m ./dev/testkit/... $(PARSERS) ./internal/store/... ./scheduler/... ./replica

# The tests of these modules, all of them also after a failure.
each = @rc=0; for m in $(1); do echo "== $$m"; \
	(cd $$m && GOGC=$(GOGC) go test $(PARALLEL) $(2) -short -vet=off -count=1 -timeout 20m ./...) || rc=1; done; exit $$rc

# In a workspace what several modules import is read once.
.PHONY: lint
lint: $(GOLANGCI) prose ## golangci-lint, and plain English in the documents
	@rm -rf .tools/lint && mkdir .tools/lint && cd .tools/lint && go work init $(MODULES:%=$(CURDIR)/%)
	GOWORK=$(CURDIR)/.tools/lint/go.work nice $(GOLANGCI) run $(MODULES:%=%/...)

.PHONY: linters
linters: $(GOLANGCI)

$(GOLANGCI):
	@mkdir -p .tools
	GOBIN=$(CURDIR)/.tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv .tools/golangci-lint $@

.PHONY: prose
prose: $(VALE) ## plain English in the documents, by the rules in .vale
	$(VALE) $(PROSE)
	@test "$$(wc -w <README.md)" -le 1000 || { echo "README.md has more than 1,000 words: move details to docs/" >&2; exit 1; }

$(VALE):
	@.ci/deps gcc
	@mkdir -p .tools
	GOBIN=$(CURDIR)/.tools go install github.com/vale-cli/vale/v3/cmd/vale@$(VALE_VERSION)
	@mv .tools/vale $@

.PHONY: vuln
vuln: ## known vulnerabilities in what the modules call, where the database can be reached
	.ci/vuln

.PHONY: fmt
fmt: $(GOLANGCI) ## format the code
	$(GOLANGCI) fmt ./...

.PHONY: tidy-check
tidy-check:
	.ci/gomod mod tidy -diff

.PHONY: model
model: ## check the models in every order of steps, those that take minutes (needs spin and gcc)
	@.ci/deps spin gcc
	dev/model/single/check.sh
	dev/model/redlock/check.sh $(if $(WHOLE),,--quick)

.PHONY: models
models: ## check all models, an hour
	$(MAKE) model WHOLE=1

.PHONY: mutants
mutants: ## plant bugs one at a time and see that the tests notice each (CLEAN=no: another part runs them without)
	@.ci/deps redis-server gcc git postgres pgbouncer etcd zkServer.sh mariadbd promtool
	go run ./dev/mutants $(if $(CLEAN),-clean=false)

# Rules of policies that are rarely broken are the engine's, whatever the store: there worlds are fewer.
.PHONY: sim
sim: ## simulate whole clusters, hundreds of worlds a minute, and claims of locks, from FIRST on
	GOGC=400 go test ./dev/sim -count=1 -v -timeout 30m -run 'TestSim(OnStore|OnSQL)?$$' -args -seeds=$(or $(SEEDS),500) -first=$(or $(FIRST),1)
	GOGC=400 go test ./dev/sim -count=1 -v -timeout 30m -run 'TestPolicies$$' -args -seeds=$(or $(SEEDS),3000) -first=$(or $(FIRST),1)
	GOGC=400 go test ./dev/sim -count=1 -v -timeout 30m -run 'TestPoliciesOn(Store|SQL)$$' -args -seeds=$(or $(SEEDS),1000) -first=$(or $(FIRST),1)
	GOGC=400 go test ./dev/sim -count=1 -v -timeout 30m -skip '^Test(Sim|Policies)(OnStore|OnSQL)?$$' -args -claims=$(or $(CLAIMS),150000) -first=$(or $(FIRST),1)

.PHONY: search
search: ## simulate worlds that nobody has seen yet: the first seed is the time
	$(MAKE) sim SEEDS=$(or $(SEEDS),4000) CLAIMS=$(or $(CLAIMS),1000000) FIRST=$(or $(FIRST),$(shell date +%s))

.PHONY: faults
faults: ## hurt real servers and holders in every way of docs/faults.md, and write it
	@.ci/deps redis-server gcc
	QUORATE_CAMPAIGN=full go test ./dev/faults -count=1 -timeout 45m -v -args -page $(CURDIR)/docs/faults.md

.PHONY: differential
differential: ## random operations on the scripts and on the plain model of a node, at length
	@.ci/deps redis-server
	go test -count=1 -v -timeout 30m -run 'Agrees?WithTheModel' ./internal/store/quorum/membership ./internal/store/quorum/ledger -rapid.checks=$(or $(CHECKS),1000) -rapid.seed=0

.PHONY: valkey
valkey: ## the tests of the scripts on valkey-server instead of redis-server
	QUORATE_REDIS_SERVER=$${QUORATE_REDIS_SERVER:-valkey-server} go test -count=1 -timeout 9m ./locking/redlock/... ./internal/store/quorum/ledger ./internal/store/quorum/commands

.PHONY: campaign
campaign: deps ## the demonstrations at full length: real processes killed, frozen, restarted
	QUORATE_CAMPAIGN=full go test -count=1 -timeout 30m -v -run 'Campaign|Stress$$|Orphans|ChangeCutOff' ./cmd/... ./locking/redlock ./internal/store/single/claims
	cd dev/integration && QUORATE_CAMPAIGN=full go test -count=1 -timeout 10m -v -run Campaign .

.PHONY: promotions
promotions: deps ## PostgreSQL and Sentinels at full length: faults, servers that are promoted again and again, all kits
	cd dev/integration && QUORATE_CAMPAIGN=full go test -p 2 -parallel 5 -count=1 -timeout 60m -v -run Campaign ./failover ./pgstore

.PHONY: history
history: deps ## pages, listings and views on PostgreSQL with a million entries cost what they cost with few
	cd dev/integration && QUORATE_CAMPAIGN=full go test -count=1 -timeout 20m -v -run 'TestHistoryAtSize|TestSizeStaysBounded' ./pgstore

.PHONY: etcd
etcd: ## etcd at full length: all kits on three members, members and replicas killed and frozen
	@.ci/deps etcd
	cd stores/etcd && QUORATE_CAMPAIGN=full go test -count=1 -timeout 30m -v -skip '^TestThroughput$$' .

.PHONY: zookeeper
zookeeper: ## ZooKeeper at full length: all kits on three members, members and replicas killed, frozen and cut off
	@.ci/deps zkServer.sh
	cd stores/zookeeper && QUORATE_CAMPAIGN=full go test -count=1 -timeout 40m -v -skip '^TestThroughput$$' .

.PHONY: mysql
mysql: ## MariaDB at full length: all kits, servers and replicas killed, frozen, cut off and promoted
	@.ci/deps mariadbd
	cd stores/mysql && QUORATE_CAMPAIGN=full go test -count=1 -timeout 40m -v -skip '^TestThroughput$$' .

.PHONY: sqlite
sqlite: ## SQLite at full length: all kits, processes killed in the middle of commits, files replaced
	cd stores/sqlite && QUORATE_CAMPAIGN=full go test -count=1 -timeout 30m -v -skip '^TestThroughput$$' .

.PHONY: bench
bench: ## measure this project beside its peers and write docs/performance.md (ARGS="-only claims" shows one row)
	@.ci/deps redis-server postgres mariadbd
	cd dev/bench && go run . $(or $(ARGS),-write ../..)
	$(if $(ARGS),,$(MAKE) bench-stores)

.PHONY: bench-stores
bench-stores: ## print what claims cost on etcd, ZooKeeper, MariaDB and SQLite, beside what each has of its own
	@.ci/deps etcd zkServer.sh mariadbd
	for m in etcd zookeeper mysql sqlite; do (cd stores/$$m && QUORATE_CAMPAIGN=full go test -count=1 -timeout 20m -v -run 'TestThroughput$$' .) || exit 1; done

.PHONY: pages
pages: ## what each page of the dashboard costs with 1,000 jobs and 100,000 records: docs/dashboard.md
	@.ci/deps redis-server
	go test -count=1 -timeout 20m -run 'TestPagesAreBounded$$' ./replica -args -pages $(CURDIR)/docs/dashboard.md

.PHONY: scale
scale: ## what clusters cost that no test machine can hold: docs/scale.md (minutes)
	cd dev/bench && go run ./scale -write ../../docs/scale.md

.PHONY: tutorial
tutorial: ## follow the tutorial on PostgreSQL and on MariaDB
	@.ci/deps postgres mariadbd
	go test -count=1 -timeout 20m -v ./dev/tutorial

.PHONY: upgrade
upgrade: ## run the last release, of .ci/released (or FROM=commit), beside this one, both ways round
	@.ci/deps redis-server gcc git
	.ci/upgrade $(FROM)

.PHONY: release-check
release-check: $(GORELEASER) ## build the release twice, compare, look into archives and packages, and go install its programs; needs no network
	@.ci/deps git dpkg-deb rpm
	$(GORELEASER) check
	GORELEASER=$(CURDIR)/$(GORELEASER) go test -count=1 -timeout 30m -v -tags release ./dev/release

$(GORELEASER):
	@mkdir -p .tools
	GOBIN=$(CURDIR)/.tools go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)
	@mv .tools/goreleaser $@

# The workflow of a release runs these two.
.PHONY: release
release: $(GORELEASER)
	$(GORELEASER) release --clean --release-notes $(NOTES)

.PHONY: release-image
release-image:
	@mkdir -p bin
	cd dev/integration/image && go run . -out $(CURDIR)/dist/image $(CURDIR)/dist/quorate_linux_amd64_v1/quorate $(CURDIR)/dist/quorate_linux_arm64_v8.0/quorate >$(CURDIR)/bin/digest
	printf %s "$$REGISTRY_TOKEN" | $(CRANE) auth login $(firstword $(subst /, ,$(IMAGE))) --username "$$REGISTRY_USER" --password-stdin
	$(CRANE) push --index dist/image $(IMAGE)

.PHONY: image
image: ## write the container image for both platforms to bin/image, as an OCI layout
	@rm -rf bin/image && mkdir -p bin
	@set -e; for arch in amd64 arm64; do CGO_ENABLED=0 GOOS=linux GOARCH=$$arch go build -trimpath -buildvcs=true -ldflags '-s -w' -o bin/quorate-linux-$$arch ./cmd/quorate; done
	cd dev/integration/image && go run . -out $(CURDIR)/bin/image $(CURDIR)/bin/quorate-linux-amd64 $(CURDIR)/bin/quorate-linux-arm64

.PHONY: image-check
image-check: image ## run the image, unpacked, as its user on a read-only root; needs root
	@.ci/deps redis-server
	cd dev/integration/image && go test -count=1 -v -tags image .

# Helm and the types of Kubernetes take minutes to compile, so CI does without.
.PHONY: chart
chart: $(GOLANGCI) ## the Helm chart: lint it, render it with each value, decode the objects strictly
	cd dev/deploy && go vet -tags helm . && $(CURDIR)/$(GOLANGCI) run --build-tags helm . && go test -count=1 -v -tags helm -run 'Chart|Helm|Manifests|Network|Pods' .

.PHONY: manifests
manifests: ## write deploy/kubernetes/quorate.yaml from the chart
	cd dev/deploy && go test -count=1 -tags helm -run 'TestManifests$$' . -args -write

.PHONY: chart-schema
chart-schema: ## write the schema of the configuration into that of the chart
	cd dev/deploy && go test -count=1 -run TestChartSchemaOfConfig . -args -write

.PHONY: exported
exported: ## write the list of what other modules can use, which a test compares
	go test ./dev/exported -count=1 -run TestExported -args -write

.PHONY: reference
reference: ## write docs/reference: commands, keys of the configuration, routes of the API
	go test ./cmd -count=1 -run TestReference -update

.PHONY: site
site: $(SITE) ## build the site of docs in bin/site
	docs/.vitepress/node_modules/.bin/vitepress build docs

.PHONY: site-check
site-check: site ## links, search and accessibility of the site, in Chromium
	@.ci/deps chromium
	cd dev/browser && go test -count=1 -v -timeout 40m -tags site -run 'TestSite$$' .

.PHONY: walk
walk: ## what one tick enters beyond an idle replica: functions, statements, files, packages (ARGS=-v lists the files)
	@.ci/deps redis-server postgres
	cd dev/bench && go run ./walk $(ARGS)

.PHONY: size
size: ## files, lines and exported names of each package; the largest functions and types
	@go run ./dev/size

.PHONY: clean
clean: ## remove what was built
	rm -rf bin .tools
