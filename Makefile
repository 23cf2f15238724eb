# Everything runs in .venv, made on first use. PYTHON=... picks the interpreter (3.11 to 3.13).
.DEFAULT_GOAL := help
.PHONY: .bytecode .for-tests browser help demo demo-live test fuzz lint bench results docs clean

VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
CLASSES := $(VENV)/spark-classes.jsa
SHOWN  := $(VENV)/.for-demo
LIVE   := $(VENV)/.for-demo-live
PYTHON ?=

# Only a small part of what is installed is ever imported: pip compiles nothing to bytecode, Python does so
# at import, unless it is configured not to. --no-user: a pip configured to install for the user alone would
# refuse to install into an environment.
INSTALL = install --no-user --quiet --disable-pip-version-check $(if $(PYTHONDONTWRITEBYTECODE),,--no-compile)

# PySpark is distributed as sources, from which pip builds a wheel of 500 MB: compressing it would take
# longer than everything else.
UNCOMPRESSED = --config-settings=--build-option=--compression=stored

# Whether there is a Java that Spark can use: the demonstration then installs none.
HAS_JAVA := java -XshowSettings:properties -version 2>&1 \
	| grep -Eq '^ *java\.specification\.version = (1[7-9]|[2-9][0-9])$$'

# The compiler of Elsinore's compiled modules: Zig's, from PyPI, where there is none. Builds bring it
# along by themselves; modules that change later are compiled by what is in .venv.
ZIG := $(if $(shell command -v cc || command -v gcc || command -v clang),,ziglang)

# The browser that shows the page of a stream in tests. Who is root on Debian, as in a container, gets
# one; elsewhere these tests are skipped unless there is one. BROWSER= installs none.
HAS_BROWSER := (command -v chromium || command -v chromium-browser || command -v google-chrome) >/dev/null
BROWSER ?= browser

# A process for each core, up to four: each may start a Spark of its own. Neighbours in the order of
# tests stay together, and who has nothing left takes over.
PARALLEL := -n logical --maxprocesses 4 --dist worksteal
WORKLOADS ?= 20000
FILES    ?= 5000
CHECKED  ?= 100
EXAMPLES ?= 200
SECTIONS ?=
QUICK    ?=
CRASHES  ?= 20
SEED     ?= 1
IN       ?= tests

help:  ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' $(firstword $(MAKEFILE_LIST)) \
		| while IFS='|' read -r name text; do printf '  %-16s %s\n' "$$name" "$$text"; done

# Without what development needs, which takes longer to install than the rest. Bytecode is written in
# any case: of what the demonstration imports, which takes a third of compiling all that is installed.
demo: export PYTHONDONTWRITEBYTECODE :=
demo: $(or $(wildcard $(STAMP)),$(SHOWN))  ## run the demonstration
	@$(BIN)/elsinore demo --overwrite

# A broker, a stream of events and a page. Ctrl-C ends it, or SECONDS=.
RATE     ?= 2000
PAGE     ?= 8080
SECONDS  ?=
SHARING  ?= dynamic
demo-live: export PYTHONDONTWRITEBYTECODE :=
demo-live: $(or $(wildcard $(STAMP)),$(LIVE))  ## run a live stream with its page (RATE=2000 PAGE=8080)
	@$(BIN)/python examples/live/demo.py --rate $(RATE) --page $(PAGE) --sharing $(SHARING) \
		$(if $(SECONDS),--seconds $(SECONDS))

# The browser is installed beside the Python packages, and what needs these runs at once, too.
test:  ## run every test, those of the documents included
	@$(MAKE) --no-print-directory -j 3 .for-tests
	@$(BIN)/python -m pytest $(PARALLEL)

.for-tests: $(STAMP) $(CLASSES) $(BROWSER) .bytecode

# Each of the tests' processes would compile the sources where Python is told to write no bytecode.
# pytest compiles test modules by itself.
.bytecode: $(STAMP)
	@$(BIN)/python -m compileall -q -x '/test_[a-z0-9_]*\.py$$' src tests benchmarks

# At low priority. Whole: trend workloads by the thousand, damaged files, workloads in modules that check
# the bounds of arrays (compiling these takes some minutes the first time), then every test that draws
# its cases, and streams that are killed CRASHES times. Less: make fuzz IN= (without these tests), or
# make fuzz WORKLOADS=0 FILES=0 CHECKED=0 CRASHES=0 IN=tests/matches EXAMPLES=500 SEED=7
fuzz: $(STAMP)  ## compare with brute force (WORKLOADS=20000 and EXAMPLES=200 a test, SEED=1 IN=tests)
	@PYTHONPATH=tests nice -n 19 $(BIN)/python -m fuzz --workloads $(WORKLOADS) --seed $(SEED)
	@PYTHONPATH=tests nice -n 19 $(BIN)/python -m fuzz.files --files $(FILES) --seed $(SEED)
	@test $(CHECKED) = 0 || ELSINORE_BOUNDSCHECK=1 PYTHONPATH=tests nice -n 19 \
		$(BIN)/python -m fuzz --workloads $(CHECKED) --spark 0 --seed $(SEED)
	@test $(CHECKED) = 0 || ELSINORE_BOUNDSCHECK=1 NUMBA_BOUNDSCHECK=1 ELSINORE_EXAMPLES=$(CHECKED) nice -n 19 \
		$(BIN)/python -m pytest -q --hypothesis-seed=$(SEED) tests/matches/test_against_brute_force.py
	@test -z "$(IN)" || ELSINORE_EXAMPLES=$(EXAMPLES) nice -n 19 $(BIN)/python -m pytest $(PARALLEL) \
		--hypothesis-seed=$(SEED) $$(grep -rlE 'ELSINORE_EXAMPLES|@given' $(IN) --include='test_*.py')
	@test $(CRASHES) = 0 || ELSINORE_CRASHES=$(CRASHES) nice -n 19 \
		$(BIN)/python -m pytest -q tests/cli/test_stream_crashes.py

# What tests start without Spark's classes in an archive takes longer, no more.
$(CLASSES): $(STAMP)
	@PYTHONPATH=tests $(BIN)/python -m support.spark_classes $(abspath $@) >/dev/null 2>&1 || touch $@

browser:
	@$(HAS_BROWSER) || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { \
		echo 'Installing Chromium, for tests of the page of a stream'; \
		apt-get update -qq >/dev/null 2>&1; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium \
			>/dev/null 2>&1 || echo 'Chromium cannot be installed; these tests are skipped.'; }

lint: $(STAMP)  ## check style, types and layers
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

bench: $(STAMP)  ## run the benchmarks
	@$(BIN)/python -m benchmarks

# Hours, all in all. Ctrl-C ends it; called again on the same day it continues with what is missing.
# QUICK=--quick takes fewer events.
results: $(STAMP)  ## measure benchmarks/RESULTS.md anew (SECTIONS="matches sase-fig5")
	@$(BIN)/python -m benchmarks results $(QUICK) $(SECTIONS)

docs: $(STAMP)  ## run the examples in the documents and the docstrings
	@$(BIN)/python -m pytest src $(wildcard tests/docs)

clean:  ## remove the environment, what was compiled, and all caches
	rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis demo-output

# These have nothing that compiles: a changed module is compiled by installing anew.
$(SHOWN) $(LIVE): $(shell grep -rlx 'import cython' src/elsinore; find src/elsinore -name '*.pxd') building/compiling.py

# A candidate counts only if it runs: version managers leave commands on PATH that fail when called.
# The pip that comes with a Python may be older than 25.1: it may not know --group, and takes twice as
# long. That Python's own pip brings a new one, where it has one; else the one that comes with it does.
$(STAMP) $(SHOWN) $(LIVE): pyproject.toml
	@found=; usable='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; \
	for python in $(if $(PYTHON),"$(PYTHON)",python3.13 python3.12 python3.11 python3); do \
		if "$$python" -c "$$usable" >/dev/null 2>&1; then found="$$python"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "Elsinore needs Python 3.11, 3.12 or 3.13;" \
			"$(if $(PYTHON),'$(PYTHON)' is none of them or does not run,none of python3.13 python3.12 python3.11 python3 runs)." >&2; \
		echo "Name one with: make PYTHON=/path/to/python3.11" >&2; \
		exit 1; \
	fi; \
	if ! "$(BIN)/python" -c "$$usable" >/dev/null 2>&1 || [ -n "$(PYTHON)" ]; then \
		echo "Making $(VENV) with $$("$$found" --version)"; \
		"$$found" -m venv --clear --without-pip $(VENV) || exit 1; \
	fi; \
	"$$found" -m pip --python $(BIN)/python $(INSTALL) 'pip>=25.1' 2>/dev/null || { \
		"$$found" -m venv $(VENV) && $(BIN)/python -m pip $(INSTALL) 'pip>=25.1'; }
	@echo 'Installing what Elsinore needs into $(VENV) (the first time takes a minute or two)'
	@case $@ in $(LIVE)) extras=spark,kafka,monitor;; *) extras=spark,demo;; esac; \
	$(if $(filter $(STAMP),$@),,$(HAS_JAVA) ||) extras=$$extras,java; \
	$(BIN)/python -m pip $(INSTALL) $(UNCOMPRESSED) pyspark --editable ".[$$extras]" \
		$(if $(filter $(STAMP),$@),$(ZIG) --group dev)
	@touch $@
