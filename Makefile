# The two commands are `make test` and `make bench`; `make help` lists the rest.

CARGO     ?= cargo
# The peer of `make peers` is not in `all`: see ARCHITECTURE.md.
comma     := ,
space     := $(subst ,, )
FEATURES  ?= all$(if $(filter peers publish,$(MAKECMDGOALS)),$(comma)substrate)
# Duration of the differential tests in seconds (eight tenths of it for the parsers, a
# quarter for the memories), and their seed.
FUZZ_SECONDS ?= 600
FUZZ_SEED    ?= 1
# The engine of the examples of `make embedder`.
ENGINE       ?= wasmtime
# Number of swaps after which memory must not have grown.
SWAPS        ?= 100000
# Two compile another Cranelift, the third Substrate's crates: excluded unless FEATURES names them.
CRATES  := --workspace $(foreach name,substrate wasmer,$(if $(findstring $(name),$(FEATURES)),,--exclude touchstone-$(name))) \
           $(if $(findstring chain,$(FEATURES)),,--exclude touchstone-substrate-host)
# Requirements of some backends beside crates: runtimes/NAME/tools lists them. Each is prepared once in
# .toolchain/, by the prepare.sh in a folder of its name. Targets over the whole workspace build all
# backends.
names    = $(subst $(comma), ,$(FEATURES))
tools    = $(sort $(foreach name,$(1),$(patsubst %,.toolchain/%.toml,$(shell cat runtimes/$(name)/tools 2>/dev/null))))
TOOLS   := $(call tools,$(patsubst runtimes/%/tools,%,$(wildcard runtimes/*/tools)))
# The subset that a build with FEATURES needs.
NEEDED  := $(if $(filter all,$(names)),$(TOOLS),$(call tools,$(names)))

.DEFAULT_GOAL := help
.PHONY: help setup libclang tools wasmedge runtime runtime-check canary test fuzz bench quick install dist peers swap density resets redis cluster-test embedder systems systems-full chain chain-test chain-turns chain-blocks chain-runtime relay relay-runtime costs gate checks report pictures publish guests guests-check check sanitize mutants audit package fmt lint doc clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## check for cargo and a C compiler
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust 1.95 or newer from https://rustup.rs"; exit 2; }
	@command -v cc >/dev/null || { echo "a C compiler is missing: install gcc or clang (Debian: apt-get install build-essential)"; exit 2; }

libclang: ## find libclang for the bindings of Wasm3, or fetch it into .toolchain, and test it
	@runtimes/wasm3/libclang/prepare.sh
	@$(CARGO) check --quiet --locked -p touchstone-wasm3-libclang

.toolchain/libclang.toml:
	@$(MAKE) --no-print-directory libclang

tools: $(TOOLS) ## prepare what the backends need beside crates, in .toolchain

.toolchain/%.toml:
	@$(wildcard runtimes/*/$*/prepare.sh)
	@for file in $(notdir $(TOOLS)); do grep -q "/$$file" .cargo/config.toml || echo "$$file"; done | \
	  sed -e 's/.*/  { path = "&", optional = true },/; 1i include = [' -e '$$a ]' >.toolchain/tools.toml

wasmedge: ## find libwasmedge, or fetch it into .toolchain (from the release or Debian), and test it
	@runtimes/wasmedge/library/prepare.sh

.toolchain/wasmedge.toml:
	@runtimes/wasmedge/library/prepare.sh

# In release, so that tests and benches share one build of the runtimes.
test: setup $(TOOLS) ## run all tests on every backend of FEATURES
	$(CARGO) test --release $(CRATES) --locked --features=$(FEATURES),systems

# A package outside the workspace, with the versions of this one. Results are compared, not times, so
# it is built without optimisations, which is quicker. Its test is also one of this workspace.
EMBEDDED = --release --no-default-features --features=$(FEATURES) --target-dir ../../target/embedder
embedder: export CARGO_PROFILE_RELEASE_OPT_LEVEL = 0
embedder: setup $(NEEDED) ## build and test the host outside the project, on the engines of FEATURES; examples on ENGINE
	cp Cargo.lock examples/embedder/Cargo.lock
	cd examples/embedder && $(CARGO) test $(EMBEDDED)
	cd examples/embedder && ENGINE=$(ENGINE) $(CARGO) run $(EMBEDDED) --example plugin_host
	cd examples/embedder && $(CARGO) run $(EMBEDDED) --example node $(ENGINE) instance_reuse_tracked 3

runtime: setup ## begin the backend runtimes/NAME for the runtime of CRATE, from runtimes/template
	@runtimes/template/new.sh "$(NAME)" "$(CRATE)"

runtime-check: setup ## check that `make runtime` makes a backend that works, on a copy
	@runtimes/template/check.sh

# RUNTIMES are some of wasmi, tinywasm, wasmtime, wasmer.
canary: setup ## build and test with the newest runtimes of the registry (RUNTIMES), and print what passes
	@checks/canary/run.sh $(RUNTIMES)

fuzz: setup $(NEEDED) ## run the fuzz tests for FUZZ_SECONDS from FUZZ_SEED on, or only on module FUZZ_INDEX
	$(if $(FUZZ_INDEX),,FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) $(CARGO) test --release --locked -p touchstone-fuzz-targets \
	  fuzz -- --ignored --nocapture)
	$(if $(FUZZ_INDEX),,FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) $(CARGO) test --release --locked -p touchstone-memory \
	  --lib model::fuzz -- --ignored --nocapture)
	FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) FUZZ_INDEX=$(FUZZ_INDEX) $(CARGO) test --release --locked \
	  --features=$(FEATURES) --test differential fuzz -- --ignored --nocapture

# Builds a program, with cargo's progress on the standard error, and then runs it: the standard
# output is the program's alone.
define built
@$(CARGO) build $(1)
@$(CARGO) run --quiet $(1) --
endef

RUN      = $(call built,--locked --release --features=$(FEATURES))

QUICK    = target/quick

# `bench --report` writes the page also where cells failed, and exits with 0 if there is a result.
quick: setup $(NEEDED) ## measure the overview on every engine; write page and charts to target/quick
	$(RUN) bench --overview --sampling quick --replace --records $(QUICK)/records.jsonl --report

bench: setup $(NEEDED) ## measure the full matrix, and write BENCHMARK.md, benchmark/ and image/
	$(RUN) bench --replace --report

# A folder that has `bin` on the PATH.
PREFIX   ?= $(HOME)/.local

install: setup $(NEEDED) ## install the command with all engines, their libraries and manual pages to PREFIX (~/.local)
	$(CARGO) build --locked --release --features=$(FEATURES)
	@cli/install.sh "$(PREFIX)"

DIST      = target/dist/touchstone-$(shell sed -n '/workspace.package/,/^version/s/^version = "\(.*\)"/\1/p' Cargo.toml)-$(shell uname -m)

dist: setup $(NEEDED) ## make an archive of that, which runs on another machine, in target/dist
	$(CARGO) build --locked --release --features=$(FEATURES)
	@rm -rf $(DIST) && cli/install.sh $(DIST)
	tar -C target/dist -czf $(DIST).tar.gz $(notdir $(DIST))
	@ls -l $(DIST).tar.gz

peers: setup $(NEEDED) ## compare executors with their peers, in turns; print tab-separated lines
	$(RUN) peers

swap: setup $(NEEDED) ## measure replacing modules while messages arrive: time, memory, latency under load
	$(RUN) swap --swaps $(SWAPS)

density: setup $(NEEDED) ## measure many live instances in one process: memory, mappings, calls on random ones
	$(RUN) density

resets: setup $(NEEDED) ## measure clean calls that write more and more pages: from where on dropping is faster
	$(RUN) resets

redis: ## find redis-server, or fetch Debian's package into .toolchain, and test it
	@systems/redis/prepare.sh

.toolchain/redis.toml:
	@systems/redis/prepare.sh

# `make cluster-test RECIPES=parallel` tries one of them.
RECIPES ?= parallel slurm

cluster-test: setup $(NEEDED) ## divide a run over two nodes (sshd, slurmd) on this machine, kill a worker, merge, compare with one run
	@$(CARGO) build --locked --release --features=$(FEATURES)
	@for recipe in $(RECIPES); do checks/cluster/$$recipe.sh || exit; done

# SYSTEMS are arguments, such as a system's name.
RUN_SYSTEMS = $(call built,--locked --release --features=$(FEATURES)$(comma)systems) systems $(SYSTEMS)

systems: setup $(NEEDED) .toolchain/redis.toml ## run a host over HTTP, a node, shared memory and a pipeline once, small
	$(RUN_SYSTEMS) --small

systems-full: setup $(NEEDED) .toolchain/redis.toml ## measure all of that and replace the stored records, 7 to 10 minutes
	$(RUN_SYSTEMS)

# CHAIN are arguments: `--small`, a filter of executors.
chain: setup $(NEEDED) ## build and execute a Substrate block on every engine, and compare and time it
	$(call built,--locked --release --features=$(FEATURES)$(comma)chain) systems chain $(CHAIN)

# Engines and strategies of the crate for a node's patch.
NODES       = wasmtime_instance_reuse_tracked wasmtime_pooling_cow wasmi_instance_reuse_tracked wasm3_instance_reuse_tracked wasmedge_aot_instance_reuse_tracked
NODE_ENGINES = sc-executor-wasmtime/wasm3,sc-executor-wasmtime/wasmedge

chain-test: setup $(NEEDED) ## test Substrate's runtimes on every engine, and the crate for a node's patch
	$(CARGO) test --locked --release --features=$(FEATURES),chain --test substrate
	cp Cargo.lock systems/substrate/Cargo.lock
	cd systems/substrate && for name in $(NODES); do \
	  TOUCHSTONE_EXECUTOR=$$name $(CARGO) test --release --features=$(NODE_ENGINES) --target-dir ../../target/substrate || exit; done

chain-turns: setup $(NEEDED) ## execute a block in a program with Substrate's executor, with the patch and without, in turns
	@systems/substrate/turns.sh

chain-blocks: setup ## replace the stored Substrate blocks
	$(CARGO) test --locked --release --features=wasmi,chain --test substrate -- --ignored store_the_blocks

chain-runtime: ## build the runtime of the Substrate blocks
	@systems/substrate/build.sh

relay-runtime: ## build the runtime of Westend (GPL-3.0) into target/relay
	@systems/substrate/build.sh --relay

target/relay/relay-runtime.wasm:
	@systems/substrate/build.sh --relay

# RELAY are arguments: `--small`, a filter of executors.
relay: setup $(NEEDED) target/relay/relay-runtime.wasm ## boot Westend's runtime on every engine, build its genesis, and compare and time it
	$(call built,--locked --release --features=$(FEATURES)$(comma)chain) systems relay --runtime target/relay/relay-runtime.wasm $(RELAY)

costs: setup $(NEEDED) ## count operators, page faults, system calls and code sizes, and store them
	$(CHECKS) costs --store

gate: setup $(NEEDED) ## count again and compare with the stored counts
	$(CHECKS) gate

CHECKS   = $(call built,--locked --release -p touchstone-checks --features=$(subst $(space),$(comma),$(patsubst %/all,all,$(addprefix touchstone-runtimes/,$(subst $(comma),$(space),$(FEATURES))))))

checks: setup $(NEEDED) ## check conformance, features, isolation, hostile guests and survival, and store the findings
	$(CHECKS) conformance --store
	$(CHECKS) features --store
	$(CHECKS) isolation --store
	$(CHECKS) hostile --store
	$(CHECKS) survival --store

report: setup $(NEEDED) ## generate BENCHMARK.md, benchmark/ and image/ from the stored records
	$(RUN) report

# With the peer, which `peers` compares with. The checks are built without it: it makes calls of one
# convention, and the checks make others.
publish: setup $(NEEDED) .toolchain/redis.toml ## measure and check everything at this commit, and write the page (resumable)
	$(CARGO) build --locked --release --features=$(FEATURES),systems,chain
	$(CARGO) build --locked --release -p touchstone-checks --features=all
	benches/layouts.sh --locked --release --features=$(FEATURES)$(comma)systems$(comma)chain
	FEATURES=$(FEATURES),systems,chain benches/publish.sh

guests: setup ## rebuild the guests byte for byte
	test-runtime/build.sh

guests-check: setup ## rebuild the guests and compare with the checked-in digests
	test-runtime/build.sh --check

pictures: setup ## take pictures of the interactive page, image/page-*.png (needs Chromium)
	TOUCHSTONE_REQUIRE_CHROMIUM=1 TOUCHSTONE_LOOK=$(CURDIR)/image $(CARGO) test --release --locked --features=$(FEATURES) --test html -- --ignored pictures

check: fmt lint doc ## check format, clippy and documentation

# Miri runs the tests without mappings, protection or signals, and tries many orders of
# threads for data that signal handlers read without a lock. The sanitizers run debug builds, with
# overflow checks and assertions, and do not touch the fault handler. They leave out doctests, which
# rustdoc links without them, and three tests: two exhaust resources that the sanitizer needs, one
# counts page faults. For ThreadSanitizer rustix uses libc, because the sanitizer does not see
# direct system calls: a memory at the address of an unmapped one would look like the same memory,
# used by two threads.
NIGHTLY   := $(CARGO) +nightly
MIRI      := MIRIFLAGS="-Zmiri-disable-isolation" $(NIGHTLY) miri test --locked -p touchstone-executor -p touchstone-memory --lib
SANITIZED  = --locked --tests -p touchstone-executor -p touchstone-guest -p touchstone-memory --target $$(rustc -vV | sed -n 's/^host: //p') -- \
	--skip a_process_without_mappings --skip a_refusal_of_the_kernel --skip pages_written_with_their_clean

sanitize: setup ## run the executor's tests under Miri and, with overflow checks, the sanitizers (nightly compiler; 15 minutes)
	@$(NIGHTLY) miri --version >/dev/null 2>&1 && test -d "$$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" || { \
	  echo "Miri or the library's sources are missing: rustup toolchain install nightly --component miri,rust-src"; exit 2; }
	$(MIRI)
	$(if $(filter x86_64,$(shell uname -m)),RUSTFLAGS=-Ctarget-feature=+avx2 $(MIRI) -- compare::)
	$(subst isolation,isolation -Zmiri-many-seeds=0..16,$(MIRI)) -- registry:: tracked::
	RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=handle_segv=0 $(NIGHTLY) test --target-dir target/sanitize-address $(SANITIZED)
	RUSTFLAGS="-Zsanitizer=thread --cfg=rustix_use_libc" TSAN_OPTIONS=handle_segv=0 $(NIGHTLY) test -Zbuild-std --target-dir target/sanitize-thread $(SANITIZED)

# cargo-mutants leaves out unsafe functions, so it gets a copy in which no function is one.
mutants: setup ## try which mutations of the memory engine its tests notice, with cargo-mutants (hours)
	@$(CARGO) mutants --version >/dev/null 2>&1 || { echo "cargo-mutants is missing: cargo install --locked cargo-mutants"; exit 2; }
	rm -rf target/mutants && mkdir -p target/mutants
	git ls-files -z | tar --null -T - -cf - | tar -xf - -C target/mutants
	find target/mutants/executor/memory/src -name '*.rs' -exec sed -i 's/unsafe fn /fn        /' {} +
	cd target/mutants && CARGO_PROFILE_DEV_DEBUG=0 TOUCHSTONE_TEST_ALL_KINDS=1 \
		$(CARGO) mutants -p touchstone-memory --gitignore=false --jobs 2 --output ..

audit: setup ## check the locked dependencies for advisories, with cargo-deny (network)
	@$(CARGO) deny --version >/dev/null 2>&1 || { echo "cargo-deny is missing: cargo install --locked cargo-deny"; exit 2; }
	$(CARGO) deny --locked check

# Crates that an embedder gets from a registry. The others need libraries, guests or the clone.
PUBLISHED := memory guest executor wasmtime-memory wasmtime wasmi tinywasm

package: ## make the packages of the published crates, without building them
	$(CARGO) package --locked --no-verify --allow-dirty $(foreach name,$(PUBLISHED),-p touchstone-$(name))

# The build script lists the workloads of experiments, so cargo does not find them.
fmt:
	$(CARGO) fmt --all --check
	rustfmt --edition 2024 --check $$(find src/experiment -name '*.rs')
	cd test-runtime && $(CARGO) fmt --all --check
	cd systems/substrate && $(CARGO) fmt --all --check
	cd systems/substrate/runtime && $(CARGO) fmt --check
	cd test-runtime/componentize && $(CARGO) fmt --check
	cd test-runtime/javascript && $(CARGO) fmt --check
	cd test-runtime/programs && $(CARGO) fmt --check

# In release, as the tests: they share procedural macros, build scripts and C code.
lint: $(TOOLS)
	$(CARGO) clippy --release $(CRATES) --all-targets --locked --features=$(FEATURES),systems -- -D warnings
	$(CARGO) clippy --release $(CRATES) --all-targets --locked -- -D warnings

doc: $(TOOLS)
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release $(CRATES) --no-deps --locked --features=$(FEATURES),systems

clean: ## delete build outputs; keep records, page, charts and .toolchain
	$(CARGO) clean
	rm -rf test-runtime/target
