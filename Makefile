# make demo     builds, then compares the remedies on one roam: a table, and out/demo/report.html
# make build    leaves a working .venv/bin/handfast, and target/release/handfastd, the daemon for real networks (and what sdn-11 sends it)
# make test     cargo test and pytest; the reason for everything skipped is printed
# make lint     rustfmt, clippy, import circles, ruff, mypy, stubtest
# make bench    the speed comparison; writes out/bench.json
# make bench-campus  a thousand roaming stations: time and memory
# make bench-controller  what the daemon costs, beside os-ken; writes out/bench-controller.json
# make bench-sdtp  what a packet costs at nodes of SDTP; as root with real interfaces; writes out/bench-sdtp.json
# make bench-session  as root: what sessions cost without a roam, beside plain TCP and two bare relays; 10,000 of them
# make bench-roaming  as root: a download and a terminal while the client's address changes, by sessions and by their rivals; 40 minutes; writes out/bench-roaming/
# make bench-roaming-long  as root: 1 GB by each of ssh, rsync, iperf3, psql, curl and a static program, beside TCP, MPTCP and QUIC, with another address every 10 s; 15 minutes; writes out/bench-roaming-long/
# make bench-false-alarm  as root: what a false report does to a call and to QUIC; writes out/bench-false-alarm.json
# make packetdrill SCRIPTS=folder  what packetdrill's scripts say of our TCP; PACKETDRILL=path of the tool
# make picture  draws README's picture of one roam again
# make common   the common table: README's first picture and table, and docs/reference/common.md's
# make docs     the documentation as a site: out/docs/site/index.html; works offline, search included
# make package  the operator's package: handfastd as .deb and as a tarball, into out/dist
# make notebook runs the tutorial's notebook again and keeps what it prints
# make metrics  what follows from the table of metrics: Python types, docs/reference/results.md
# make wheels   wheels for pip and uvx, which need no compiler, into out/dist
# make clean    removes what the others made

PYTHON ?= python3
# How the extension and the daemon are compiled: `wheel` builds fast, `release` (fat LTO) runs fastest.
PROFILE ?= wheel

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
MATURIN := PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile $(PROFILE)
# maturin has much to say; it matters when it fails.
QUIETLY := > $(VENV)/build.log 2>&1 || { cat $(VENV)/build.log; exit 1; }
RUST := Cargo.toml Cargo.lock $(shell find crates bpf -name '*.rs' -o -name Cargo.toml -o -name '*.[ch]')
# eBPF, where this machine can compile it; the daemon without it says what is missing.
FEATURES := $(shell tools/features)

SHELL := /bin/bash
.SHELLFLAGS := -e -o pipefail -c
.DEFAULT_GOAL := demo
.PHONY: demo packetdrill package metrics notebook wheels build test test-rust test-rust-compiled test-python lint lint-rust lint-python bench bench-controller bench-false-alarm bench-sdtp bench-session bench-roaming bench-roaming-long bench-campus picture common docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/.built
	$(BIN)/handfast compare scenarios/wifi-roam.toml --out out/demo --force

build: $(VENV)/.built target/release/handfastd

test: test-rust test-python

test-rust:
	cargo test $(FEATURES) 2>&1 | { grep --line-buffered -v -e ' \.\.\. ok$$' -e '^$$' -e '^running ' || true; }

# After the lint: cargo does one thing at a time in a folder.
test-rust-compiled: lint-rust
	cargo test $(FEATURES) --quiet --no-run

test-python: $(VENV)/.dev
	$(BIN)/pytest

lint: lint-rust lint-python

lint-rust:
	$(PYTHON) tools/check-circles
	cargo fmt --all --check
	cargo clippy $(FEATURES) --quiet --workspace --all-targets -- -D warnings

lint-python: $(VENV)/.dev
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --quiet --check
	$(BIN)/mypy python tests/python papers $(wildcard bench) tools/docs_site tools/packetdrill
	$(BIN)/stubtest handfast._handfast

bench:
	$(PYTHON) bench/bench.py

bench-controller:
	$(PYTHON) bench/controller.py

bench-false-alarm: $(VENV)/.built
	$(BIN)/python bench/false_alarm.py

bench-session: $(VENV)/.dev target/release/handfastd
	cargo build --quiet --release -p handfast-daemon --example relay
	$(BIN)/python bench/session.py target/release/handfastd target/release/examples/relay
	$(BIN)/python bench/session_memory.py target/release/handfastd
	$(BIN)/python bench/session_memory.py target/release/handfastd --below udp
	cargo build --quiet --release -p handfast-lab --example wire
	HANDFASTD=target/release/handfastd PYTHONPATH=tests/python:bench $(BIN)/python bench/session_setup.py

bench-roaming: $(VENV)/.dev target/release/handfastd
	export HANDFASTD=target/release/handfastd PYTHONPATH=tests/python:bench; \
	$(BIN)/python bench/roaming/compare.py; \
	$(BIN)/python bench/roaming/terminal.py

bench-roaming-long: $(VENV)/.dev target/release/handfastd
	HANDFASTD=target/release/handfastd PYTHONPATH=tests/python:bench $(BIN)/python bench/roaming/compare.py \
		--programs --size 1000 --every 10 --delay 20 --out out/bench-roaming-long

bench-sdtp: $(VENV)/.built
	$(BIN)/python bench/sdtp_nodes.py

bench-campus:
	$(PYTHON) bench/campus.py

# Scripts in the layout of packetdrill's source; the tool is not ours, and says here how to get it if it is missing.
packetdrill:
	cargo build --quiet -p handfast-packetdrill
	$(PYTHON) tools/packetdrill $(or $(SCRIPTS),tests/packetdrill) $(if $(PACKETDRILL),--tool $(PACKETDRILL))

# The picture in README.md.
picture: $(VENV)/.built
	$(BIN)/handfast compare scenarios/wifi-roam.toml --schemes bare,rto-max,spurious --out out/picture --force --figures out/picture/figures
	cp out/picture/figures/overview.svg docs/img/roam.svg

package: target/release/handfastd
	tools/make-package out/dist

notebook: $(VENV)/.dev
	$(BIN)/python tools/make-notebook

metrics: $(VENV)/.built
	$(BIN)/python tools/make-metrics

wheels: $(VENV)/.made
	tools/make-wheels out/dist

# Every scheme in every situation: some minutes.
common: $(VENV)/.built
	$(BIN)/handfast common --out out/common
	cp out/common/common.svg docs/img/common.svg
	$(PYTHON) tools/put-between README.md 'handfast common' out/common/short.md
	$(PYTHON) tools/put-between docs/reference/common.md 'handfast common' out/common/whole.md

# The pages of the daemon's commands are made from this one's help.
HANDFASTD ?= target/release/handfastd

docs: $(VENV)/.docs $(HANDFASTD)
	@PYTHONPATH=tools $(BIN)/python -m docs_site out/docs/source $(HANDFASTD)
	@$(BIN)/zensical build --clean --strict --config-file out/docs/zensical.toml
	@PYTHONPATH=tools $(BIN)/python -m docs_site.check out/docs/site
	@echo "open out/docs/site/index.html"

clean:
	rm -rf $(VENV) out target python/handfast/*.so

$(VENV)/.made: tools/make-venv
	@PYTHON="$(PYTHON)" tools/make-venv $(VENV)
	$(PIP) install 'maturin>=1.9,<2'
	@touch $@

# An editable install: changes to the Python files need no rebuild.
$(VENV)/.built: $(VENV)/.made pyproject.toml $(RUST)
	@echo "compiling; the first time takes a minute or two"
	@$(MATURIN) $(QUIETLY)
	@touch $@

# Not with fat LTO, unless PROFILE says so: it takes minutes, and the daemon waits for its sockets most of the time.
target/release/handfastd: $(RUST)
	@cargo build $(FEATURES) --quiet --profile $(PROFILE) --target-dir target --package handfast-daemon --bin handfastd --example switches
	@mkdir -p $(@D)/examples
	@[ $(PROFILE) = release ] || cp target/$(PROFILE)/examples/switches $(@D)/examples/
	@[ $(PROFILE) = release ] || cp target/$(PROFILE)/handfastd $@

# With the tools of `make test` and `make lint`.
$(VENV)/.dev: $(VENV)/.built
	@$(MATURIN) --extras dev $(QUIETLY)
	@touch $@

# With the generator of `make docs`. By pip alone: the extension stays as it is, for tests may be using it.
$(VENV)/.docs: pyproject.toml | $(VENV)/.built
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' \
		| $(PIP) install --requirement /dev/stdin
	@touch $@
