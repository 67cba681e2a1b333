GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := .bin/golangci-lint-$(GOLANGCI_LINT_VERSION)

# The race detector needs cgo, and that a C compiler and the C library. It watches all but the C code of
# SQLite that was translated to Go, which has locks that it does not know and is ten times slower with it.
RACE := $(shell [ "$$(go env CGO_ENABLED)" = 1 ] && \
	echo 'int main(void) { return 0; }' | $$(go env CC) -x c -o /dev/null - 2>/dev/null && \
	echo -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false)

.PHONY: help
help: ## Show this list (default)
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-16s %s\n", $$1, $$2}'

CHECKS := tidy vet check-generate lint check-document breaking mutate test test-race check-bench check-foreign

.PHONY: check
check: ## Run every check, as CI does (15 minutes)
	@for check in $(CHECKS); do \
		printf '\n== make %s\n' "$$check"; began=$$(date +%s); \
		$(MAKE) --no-print-directory "$$check" || exit; \
		printf '== make %s: %d s\n' "$$check" "$$(($$(date +%s) - began))"; \
	done

.PHONY: build
build: ## Build the daemon, its renderer and the client into .bin
	go build -o .bin/ ./server/cmd/studiod ./server/cmd/studio-render ./client/cmd/studio

# What a release is built for, and its name: a tag, or the hash of the commit.
RELEASES := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
RELEASE := $(shell git describe --tags --always --dirty 2>/dev/null)

.PHONY: release
release: ## Build archives for every platform into .release, with checksums and an SBOM of each program (10 minutes)
	@rm -rf .release && mkdir .release && at=$$(git log -1 --format=%ct) && for target in $(RELEASES); do \
		name=avatarstudio_$(RELEASE)_$$(echo $$target | tr / _) && echo "$$name" && \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} go build -trimpath -buildvcs=true -ldflags='-s -w' \
			-o .release/$$name/ ./server/cmd/studiod ./server/cmd/studio-render ./client/cmd/studio && \
		for program in .release/$$name/*; do go version -m -json "$$program" | jq -f server/cmd/studiod/deploy/sbom.jq > "$$program.cdx.json" || exit; done && \
		cp README.md server/cmd/studiod/deploy/studiod.service .release/$$name/ && \
		tar -C .release --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$$at -cf - $$name | gzip -9n > .release/$$name.tar.gz && \
		rm -r .release/$$name || exit; \
	done && cd .release && sha256sum *.tar.gz > SHA256SUMS && cat SHA256SUMS

.PHONY: run
run: build ## Serve the demo on 127.0.0.1:8080
	@exec .bin/studiod serve --demo

.PHONY: generate
generate: ## Generate every *.gen.go from api/openapi.yaml
	go generate ./...

.PHONY: check-generate
check-generate: ## Fail when a *.gen.go is not what the document gives (it is afterwards)
	@sums() { find . -name '*.gen.go' -exec cksum {} + | sort -k 3; } && \
	before=$$(sums) && $(MAKE) --no-print-directory generate && after=$$(sums) && \
	{ [ "$$before" = "$$after" ] || { echo "this is not what the document gives:"; git status --short -- '*.gen.go'; exit 1; }; }

SWAGGER_UI_VERSION := 5.35.0

.PHONY: swagger-ui
swagger-ui: ## Take the page of server/docs from the npm package swagger-ui-dist
	@new=$$(mktemp -d) && trap 'rm -rf "$$new"' EXIT && to=server/docs/swagger-ui && \
	npm install --silent --no-save --ignore-scripts --prefix "$$new" swagger-ui-dist@$(SWAGGER_UI_VERSION) && \
	from=$$new/node_modules/swagger-ui-dist && \
	for file in swagger-ui-bundle.js swagger-ui.css; do gzip -9nc "$$from/$$file" > "$$to/$$file.gz" || exit 1; done && \
	cp "$$from/LICENSE" "$$from/NOTICE" "$$from/swagger-ui-bundle.js.LICENSE.txt" "$$to/"

HTMX_VERSION := 2.0.8
HTMX_SSE_VERSION := 2.2.4

.PHONY: console-assets
console-assets: ## Take htmx of server/internal/console from the npm packages htmx.org and htmx-ext-sse
	@new=$$(mktemp -d) && trap 'rm -rf "$$new"' EXIT && to=server/internal/console/assets && \
	npm install --silent --no-save --ignore-scripts --prefix "$$new" htmx.org@$(HTMX_VERSION) htmx-ext-sse@$(HTMX_SSE_VERSION) && \
	for name in htmx.org/dist/htmx htmx-ext-sse/dist/sse; do \
		gzip -9nc "$$new/node_modules/$$name.min.js" > "$$to/$$(basename $$name).min.js.gz" || exit 1; \
	done && \
	cp "$$new/node_modules/htmx.org/LICENSE" "$$to/LICENSE-htmx.txt" && cp "$$new/node_modules/htmx-ext-sse/LICENSE" "$$to/LICENSE-htmx-ext-sse.txt"

AXE_VERSION := 4.11.0

.PHONY: axe
axe: ## Take what checks pages in tests from the npm package axe-core
	@new=$$(mktemp -d) && trap 'rm -rf "$$new"' EXIT && to=server/internal/browsertest/axe && \
	npm install --silent --no-save --ignore-scripts --prefix "$$new" axe-core@$(AXE_VERSION) && from=$$new/node_modules/axe-core && \
	gzip -9nc "$$from/axe.min.js" > "$$to/axe.min.js.gz" && cp "$$from/LICENSE" "$$from/LICENSE-3RD-PARTY.txt" "$$to/"

.PHONY: test
test: ## Run every test
	go test -shuffle=on ./...

# Packages in which nothing of ours runs at once; their tests build programs, open browsers and render.
UNRACED := /api$$|/api/generate$$|/server/docs$$|/server/internal/console$$|/server/cmd/studio-render$$|/server/internal/talkinghead$$

.PHONY: test-race
test-race: ## Run the tests with the race detector, which needs a C compiler
	@[ -n "$(RACE)" ] || echo "no C compiler: the tests run without the race detector"
	go test $(RACE) -shuffle=on $$(go list ./... | grep -vE '$(UNRACED)')

# How many times larger the faults and the load are than in the tests.
SOAK := 10

.PHONY: soak
soak: ## Kill daemons and take databases away under load, SOAK=10 times more than the tests do (5 minutes)
	go test -count=1 -timeout 1h -v ./server/internal/soak -soak.scale $(SOAK)

.PHONY: bench-packages
bench-packages: ## Run the benchmarks of the packages
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: bench
bench: ## Compare with other validators and write server/bench/RESULTS.md (2 minutes)
	cd server/bench && go generate ./... && go run .

.PHONY: bench-delivery
bench-delivery: ## Measure webhook delivery and write server/bench/DELIVERY.md (15 minutes)
	cd server/bench/delivery && go run .

.PHONY: bench-render
bench-render: ## Measure rendering beside a plain ffmpeg and write server/bench/RENDER.md (5 minutes)
	cd server/bench && go run ./render

.PHONY: check-bench
check-bench: ## Test both comparisons, which are modules of their own, with short runs
	cd server/bench && go mod tidy -diff && go vet ./... && go test ./...
	cd server/bench/delivery && go mod tidy -diff && go vet ./... && go test -count=1 ./...

.PHONY: check-document
check-document: api/lint/node_modules ## Lint api/openapi.yaml with Redocly, Spectral and vacuum, and compile its types in TypeScript
	cd api/lint && npx redocly lint --config rules.redocly.yaml ../openapi.yaml
	cd api/lint && npx spectral lint --fail-severity=hint -r rules.spectral.yaml ../openapi.yaml
	cd api/lint && go tool vacuum lint -d -q -b --no-clip -n warn -r rules.vacuum.yaml ../openapi.yaml
	cd api/lint && npx openapi-typescript ../openapi.yaml -o typescript/openapi.d.ts && npx tsc -p typescript

api/lint/node_modules: api/lint/package-lock.json
	cd api/lint && npm ci && touch node_modules

# The commit whose document users have: the last tag, or the first parent.
BASE := $(shell git describe --tags --abbrev=0 2>/dev/null || echo HEAD^)

.PHONY: mutate
mutate: ## Make one wrong edit at a time to the contract, and fail when no test notices
	go run ./api/mutate

.PHONY: breaking
breaking: ## Fail when the document breaks users of BASE=COMMIT and api/CHANGES.md has no line for it
	cd api/breaking && go mod tidy -diff && go vet ./... && go test ./... && go run . -base "$(BASE)"

.PHONY: check-foreign
check-foreign: ## Sign and verify webhooks with other libraries, of npm too where there is Node.js
	cd api/standardwebhooks/testdata/foreign && go mod tidy -diff && go vet ./... && go test -v -count=1 ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for 20 seconds
	@grep -rnoE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' . | while IFS=: read -r file _ target; do \
		go test -run '^$$' -fuzz "^$${target#func }$$" -fuzztime 20s "$$(dirname "$$file")" || exit 1; \
	done

.PHONY: vet
vet: ## Run go vet
	go vet ./...

.PHONY: tidy
tidy: ## Fail when go.mod or go.sum is not tidy
	go mod tidy -diff

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run golangci-lint
	$(GOLANGCI_LINT) run ./...

$(GOLANGCI_LINT):
	GOBIN=$(CURDIR)/.bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv .bin/golangci-lint $@
