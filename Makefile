# Needs Go and git; a C compiler lets the tests run under the race detector.
GO      ?= go
BIN     := bin/openclaw
export CGO_ENABLED ?= 0

# The race detector needs cgo; without a C compiler the tests run without it.
RACE := $(if $(shell command -v $${CC:-cc} 2>/dev/null),yes,)

GOLANGCI    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: all build test fmt vet lint gen check demo bench interop kill clean

all: fmt vet build test

build:
	$(GO) build -trimpath -ldflags "-s -w" -o $(BIN) ./cmd/openclaw
	$(GO) build -trimpath -ldflags "-s -w" -o bin/stagewhisper ./cmd/stagewhisper

# Everything, shuffled, with the race detector where it can run.
test:
ifeq ($(RACE),yes)
	GORACE=atexit_sleep_ms=0 CGO_ENABLED=1 $(GO) test -race -shuffle=on -timeout 8m ./...
else
	@echo "no C compiler found: testing without the race detector" >&2
	$(GO) test -shuffle=on -timeout 8m ./...
endif

# Fails when a file is not formatted.
fmt:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "not gofmt-ed:"; echo "$$out"; exit 1; fi

vet:
	$(GO) vet ./...
	$(GO) vet -tags interop ./interop

# Slow the first time: the linters are built from source, outside this module.
lint:
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(GOLANGCI) run ./...

# Writes every generated file (the protocol schema, …).
gen:
	$(GO) generate ./...

# Fails when a generated file is stale.
check: gen
	git diff --exit-code

# One agent turn against a throw-away gateway with the built-in offline model, then a
# call on all three sides of StageWhisper.
demo: build
	$(BIN) demo
	bin/stagewhisper demo

# Start time, memory, requests a second and the cost of a run, of the real binary.
bench: build
	$(GO) run ./bench -bin $(BIN)

# The gateway killed 300 times under load; the tests do it 40 times.
kill:
	KILLS=$${KILLS:-300} $(GO) test -count=1 -timeout 30m -v ./killtest

# Programs of others against ours: the official client against the gateway, the
# published StageWhisper plugins against relay and desktop. Downloads about
# 1.5 GB once, into $OPENCLAW_INTEROP_DIR or the user's cache folder.
interop: build
	OPENCLAW_BIN=$(abspath $(BIN)) $(GO) test -tags interop -count=1 -v -timeout 30m ./interop

clean:
	rm -rf bin
