# The two commands are `make test` and `make bench`; `make help` lists the rest.

CARGO     ?= cargo
FEATURES  ?= all
# Budgets in seconds for all cells together, compilation and set-up not counted.
# They are shared out among the cells, so more backends do not take longer.
BUDGET_FULL  ?= 720
BUDGET_QUICK ?= 40

.DEFAULT_GOAL := help
.PHONY: help setup libclang test bench quick report guests guests-check check fmt lint doc clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## say what is missing, in a sentence each
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust 1.95 or newer from https://rustup.rs"; exit 2; }
	@command -v cc >/dev/null || { echo "a C compiler is missing: install gcc or clang (Debian: apt-get install build-essential)"; exit 2; }

# The bindings of Wasm3 are made with libclang. Prepared once, before the first
# target that builds them: those over the whole workspace, and with the feature.
LIBCLANG := .toolchain/libclang.toml
WITH_WASM3 := $(if $(filter all wasm3,$(shell echo "$(FEATURES)" | tr ',' ' ')),$(LIBCLANG))

libclang: ## find libclang for the bindings of Wasm3, or fetch it into .toolchain, and try it
	runtimes/wasm3/libclang/prepare.sh
	@$(CARGO) check --quiet --locked -p touchstone-wasm3-libclang

$(LIBCLANG):
	@$(MAKE) --no-print-directory libclang

# In release, so that tests and benches share one build of the runtimes; the
# executor's own tests once more with overflow checks and debug assertions.
test: setup $(LIBCLANG) ## all tests, over every backend of FEATURES
	$(CARGO) test --locked -p touchstone-executor
	$(CARGO) test --release --workspace --locked --features=$(FEATURES)

bench: setup $(WITH_WASM3) ## the full matrix, then BENCHMARK.md and image/ (under 20 minutes on two cores)
	TOUCHSTONE_BUDGET=$(BUDGET_FULL) $(CARGO) bench --locked --features=$(FEATURES) --bench matrix -- --sampling full --noplot
	@$(MAKE) --no-print-directory report

quick: setup $(WITH_WASM3) ## the same with short sampling (under 3 minutes)
	TOUCHSTONE_BUDGET=$(BUDGET_QUICK) $(CARGO) bench --locked --features=$(FEATURES) --bench matrix -- --sampling quick --noplot
	@$(MAKE) --no-print-directory report

report: setup $(WITH_WASM3) ## BENCHMARK.md and image/ from the stored records alone
	$(CARGO) run --locked --release --quiet --features=$(FEATURES) -- report

guests: setup ## rebuild the guests byte for byte
	test-runtime/build.sh

guests-check: setup ## rebuild the guests and compare with the checked-in digests
	test-runtime/build.sh --check

check: fmt lint doc ## format, clippy, documentation

fmt:
	$(CARGO) fmt --all --check
	cd test-runtime && $(CARGO) fmt --all --check

lint: $(LIBCLANG)
	$(CARGO) clippy --workspace --all-targets --locked --features=$(FEATURES) -- -D warnings
	$(CARGO) clippy --all-targets --locked -- -D warnings

doc: $(LIBCLANG)
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --features=$(FEATURES)

clean: ## what was built; records, page and charts stay
	$(CARGO) clean
	rm -rf test-runtime/target
