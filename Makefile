# The two commands are `make test` and `make bench`; `make help` lists the rest.

CARGO     ?= cargo
# The peer of `make peers` is not in `all`: see ARCHITECTURE.md.
comma     := ,
space     := $(subst ,, )
FEATURES  ?= all$(if $(filter peers,$(MAKECMDGOALS)),$(comma)substrate)
# Seconds that the differential tests go on for (the parsers half as long, the memories a
# quarter), and where their numbers start.
FUZZ_SECONDS ?= 600
FUZZ_SEED    ?= 1
# Swaps after which memory must not have grown, and the rungs that make them.
SWAPS        ?= 100000
SOAK         ?= ^wasmtime/(load_artifact|instantiate|two_live_instances|pool)
# Each compiles a Cranelift of its own: only where it is asked for.
CRATES  := --workspace $(foreach name,substrate wasmer,$(if $(findstring $(name),$(FEATURES)),,--exclude touchstone-$(name)))
# What some backends need beside crates, prepared once in .toolchain/; targets over
# the whole workspace build all backends.
TOOLS   := .toolchain/libclang.toml .toolchain/wasmedge.toml
# What a build with FEATURES needs of it.
with     = $(filter all $(1),$(shell echo "$(FEATURES)" | tr ',' ' '))
NEEDED  := $(if $(call with,wasm3),.toolchain/libclang.toml) $(if $(call with,wasmedge),.toolchain/wasmedge.toml)

.DEFAULT_GOAL := help
.PHONY: help setup libclang wasmedge test fuzz bench quick peers swap density resets costs gate checks report guests guests-check check sanitize audit fmt lint doc clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## say what is missing, in a sentence each
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust 1.95 or newer from https://rustup.rs"; exit 2; }
	@command -v cc >/dev/null || { echo "a C compiler is missing: install gcc or clang (Debian: apt-get install build-essential)"; exit 2; }

libclang: ## find libclang for the bindings of Wasm3, or fetch it into .toolchain, and try it
	@runtimes/wasm3/libclang/prepare.sh
	@$(CARGO) check --quiet --locked -p touchstone-wasm3-libclang

.toolchain/libclang.toml:
	@$(MAKE) --no-print-directory libclang

wasmedge: ## prepare libwasmedge in .toolchain (the system's, the release's or Debian's), or check it
	@runtimes/wasmedge/library/prepare.sh

.toolchain/wasmedge.toml:
	@runtimes/wasmedge/library/prepare.sh

# In release, so that tests and benches share one build of the runtimes; the
# executor's own tests once more with overflow checks and debug assertions.
test: setup $(TOOLS) ## all tests, over every backend of FEATURES
	$(CARGO) test --locked -p touchstone-executor
	$(CARGO) test --release $(CRATES) --locked --features=$(FEATURES)

fuzz: setup $(NEEDED) ## random files, memories and modules for FUZZ_SECONDS from FUZZ_SEED on, or the one module FUZZ_INDEX
	$(if $(FUZZ_INDEX),,FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) $(CARGO) test --release --locked -p touchstone-fuzz-targets \
	  fuzz -- --ignored --nocapture)
	$(if $(FUZZ_INDEX),,FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) $(CARGO) test --release --locked -p touchstone-executor \
	  --lib memory::model::fuzz -- --ignored --nocapture)
	FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) FUZZ_INDEX=$(FUZZ_INDEX) $(CARGO) test --release --locked \
	  --features=$(FEATURES) --test differential fuzz -- --ignored --nocapture

RUN      = $(CARGO) run --locked --release --quiet --features=$(FEATURES) --

QUICK    = target/quick

quick: setup $(NEEDED) ## measure the overview on every engine: page and charts in target/quick
	$(RUN) bench --overview --sampling quick --replace --records $(QUICK)/records.jsonl
	$(RUN) report --draft --records $(QUICK)/records.jsonl --page $(QUICK)/BENCHMARK.md

bench: setup $(NEEDED) ## measure everything anew, then BENCHMARK.md and image/
	$(RUN) bench --replace
	$(RUN) report

# On the standard output are the rows alone.
peers: setup $(NEEDED) ## compare executors with Substrate's, in turns: a line with tabs for each row
	@$(RUN) peers

# SOAK is a filter over <engine>/<method>; each method that it matches makes SWAPS swaps.
swap: setup $(NEEDED) ## replace modules while messages arrive: time, memory, and latency under load
	$(RUN) swap --swaps $(SWAPS) --soak '$(SOAK)'

density: setup $(NEEDED) ## measure many live instances in one process: memory, mappings, calls on random ones
	$(RUN) density

resets: setup $(NEEDED) ## measure clean calls that write more and more pages: from where on dropping is faster
	$(RUN) resets

costs: setup $(NEEDED) ## count operators, page faults, system calls and code sizes, and store them
	$(CHECKS) costs --store

gate: setup $(NEEDED) ## count again and compare with what is stored
	$(CHECKS) gate

CHECKS   = $(CARGO) run --locked --release --quiet -p touchstone-checks --features=$(subst $(space),$(comma),$(addprefix touchstone/,$(subst $(comma),$(space),$(FEATURES)))) --

checks: setup $(NEEDED) ## conformance, isolation, hostile guests and survival on every executor; store the findings
	$(CHECKS) conformance --store
	$(CHECKS) isolation --store
	$(CHECKS) hostile --store
	$(CHECKS) survival --store

report: setup $(NEEDED) ## BENCHMARK.md and image/ from the stored records alone
	$(RUN) report

guests: setup ## rebuild the guests byte for byte
	test-runtime/build.sh

guests-check: setup ## rebuild the guests and compare with the checked-in digests
	test-runtime/build.sh --check

check: fmt lint doc ## format, clippy, documentation

# Miri runs what needs no mappings, protection or signals, and tries many orders of
# threads for what signal handlers read without a lock. The sanitizers leave the fault
# handler alone and three tests out: two use up what the sanitizer needs itself, one
# counts page faults. rustix goes through libc for ThreadSanitizer, which does not see
# its own system calls: a memory at the address of an unmapped one then looks like the
# same memory, used by two threads.
NIGHTLY   := $(CARGO) +nightly
MIRI      := MIRIFLAGS="-Zmiri-disable-isolation" $(NIGHTLY) miri test --locked -p touchstone-executor --lib
SANITIZED  = --locked -p touchstone-executor --target $$(rustc -vV | sed -n 's/^host: //p') -- \
	--skip a_process_without_mappings --skip a_refusal_of_the_kernel --skip pages_written_with_their_clean

sanitize: setup ## the executor's tests under Miri, AddressSanitizer and ThreadSanitizer (a nightly compiler; 15 minutes)
	@$(NIGHTLY) miri --version >/dev/null 2>&1 && test -d "$$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" || { \
	  echo "Miri or the library's sources are missing: rustup toolchain install nightly --component miri,rust-src"; exit 2; }
	$(MIRI)
	$(if $(filter x86_64,$(shell uname -m)),RUSTFLAGS=-Ctarget-feature=+avx2 $(MIRI) -- compare::)
	$(subst isolation,isolation -Zmiri-many-seeds=0..16,$(MIRI)) -- registry:: tracked::
	RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=handle_segv=0 $(NIGHTLY) test --target-dir target/sanitize-address $(SANITIZED)
	RUSTFLAGS="-Zsanitizer=thread --cfg=rustix_use_libc" TSAN_OPTIONS=handle_segv=0 $(NIGHTLY) test -Zbuild-std --target-dir target/sanitize-thread $(SANITIZED)

audit: setup ## the locked dependencies against the advisories, with cargo-deny (network)
	@$(CARGO) deny --version >/dev/null 2>&1 || { echo "cargo-deny is missing: cargo install --locked cargo-deny"; exit 2; }
	$(CARGO) deny --locked check

fmt:
	$(CARGO) fmt --all --check
	cd test-runtime && $(CARGO) fmt --all --check
	cd test-runtime/componentize && $(CARGO) fmt --check
	cd test-runtime/javascript && $(CARGO) fmt --check

lint: $(TOOLS)
	$(CARGO) clippy $(CRATES) --all-targets --locked --features=$(FEATURES) -- -D warnings
	$(CARGO) clippy --all-targets --locked -- -D warnings

doc: $(TOOLS)
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(CRATES) --no-deps --locked --features=$(FEATURES)

clean: ## what was built; records, page, charts and .toolchain stay
	$(CARGO) clean
	rm -rf test-runtime/target
