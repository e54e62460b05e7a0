# Every target sets up what it needs: Python 3.11 or newer, make and a package registry are enough.
# The environment is .venv, built from the locks alone; no activated environment is needed or used. The demo needs what
# program.lock names, a third of all packages; everything else needs requirements.lock, which names them all.

PYTHON ?= python3
BIN := .venv/bin
PROGRAM := .venv/program
INSTALLED := .venv/installed
READY := .venv/ready
# Bytecode is made when a module is first imported: for the demo, most modules never are.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes
# Tests of packages, and packages that nothing of ours imports or that are compiled to machine code: without bytecode.
UNUSED := /tests?/|/site-packages/(apprise|fontTools|mypy|mypyc|pip|pydantic|setuptools|pygments/lexers|twisted/(conch|mail|names|words))/
SECONDS ?= 120
# In these folders lie the tests of kernels over arrays, which run with the bounds of arrays checked (make test-bounds);
# in the files after them no kernel is tested.
BOUNDED := tests/parse tests/store tests/frontier tests/refresh tests/graphs
PLAIN := tests/parse/test_css.py tests/store/versions tests/store/test_upgrade.py tests/store/archives
TESTS := $(filter-out $(BOUNDED),$(filter %.py $(patsubst %/,%,$(wildcard tests/*/)),$(wildcard tests/*))) $(PLAIN)
# The files that have tests that take long: no process need import the others for them.
LONG := $(shell grep -rlE --include='test_*.py' 'mark\.long' tests)
# The tests of a file stay together, so that what they share is made once. Half as many processes again as cores, because
# some tests wait.
PYTEST := $(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder
# What mypy has found out is kept for other clones too: it compares digests of files, and a fresh clone takes 7 instead
# of 110 seconds of CPU for its types.
TYPES := $(if $(HOME),$(HOME)/.cache/centime/mypy)
GRAPH ?= $(wildcard ../shared/data/cnr-2000.graph)

# Bytecode is kept, that of tests with their rewritten assertions above all: every process would make it again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test tests test-bounds test-long test-kernels test-fast fuzz check lint docs faults bench bench-rank bench-crawl bench-replay bench-refresh bench-changes bench-warehouse bench-cluster bench-serve package lock clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## set up, crawl a simulated web, compare the result with the truth
	$(BIN)/centime demo --out demo

# At once: together they take less time.
test: $(READY) ## set up, run the checks and all tests except those of make test-bounds and test-long
	@$(MAKE) --no-print-directory --jobs 2 lint tests

tests: $(READY)
	$(PYTEST) -m "not long" $(TESTS)

test-long: $(READY) ## more simulated faults, real kills, experiments: every night
	$(PYTEST) -m long $(LONG)

test-bounds: $(READY) ## the tests of array kernels, with array bounds checked: the second step of CI
	NUMBA_BOUNDSCHECK=1 $(PYTEST) -m "not long" $(BOUNDED) $(addprefix --ignore=,$(PLAIN))

test-kernels: $(READY) ## the tests of kernels again, not compiled, with coverage: every night
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder -m "not compiled" --cov --cov-report=term tests/ledger tests/model

test-fast: $(READY) ## the quick tests, for the working loop: no processes, no long compilation
	$(BIN)/pytest --quiet --numprocesses auto --dist loadfile --no-loadscope-reorder -m "not slow and not long"

fuzz: $(READY) ## run all parsers on mutated inputs, then property tests with new examples, for SECONDS=120
	$(BIN)/python -m bench.fuzz --seconds $(SECONDS)

check: lint ## lint, format, types, layers, documents
	$(BIN)/pytest --quiet tests/test_documents.py

lint: $(READY) ## the same as check, without the tests of documents
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@test -z "$(TYPES)" || test -e .mypy_cache || ! cp -r "$(TYPES)" .mypy_cache.new 2>/dev/null || mv .mypy_cache.new .mypy_cache
	$(BIN)/mypy
	@test -z "$(TYPES)" || { mkdir -p "$(TYPES)" && cp -r .mypy_cache "$(TYPES).$$$$" && rm -rf "$(TYPES)" && mv "$(TYPES).$$$$" "$(TYPES)"; } || true
	$(BIN)/lint-imports --no-logo --no-cache
	@$(MAKE) --no-print-directory docs

# Not --quiet, which would also silence the warnings that --strict counts.
docs: $(READY) ## build the documentation as a website in site/; a broken link is an error
	@said=$$(NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict 2>&1) || { echo "$$said"; exit 1; }
	@echo "The documentation is in site/index.html"

faults: $(READY) ## simulate 100 000 faults of disks, for an hour, resumable; WORLDS=N for fewer, REAL=N kills real crawls
	$(BIN)/python -m bench.faults $(if $(WORLDS),--worlds $(WORLDS)) $(if $(REAL),--real $(REAL))

bench: $(READY) ## measure speed, memory and error on this machine
	$(BIN)/python -m bench $(if $(GRAPH),--graph $(GRAPH))

bench-rank: $(READY) ## compare ranking with its peers, which it installs first
	@$(INSTALL) -r bench/peers.lock
	$(BIN)/python -m bench rank $(if $(GRAPH),--graph $(GRAPH))
	$(BIN)/python -m bench.suite $(if $(GRAPH),--graph $(GRAPH))

bench-crawl: $(READY) ## compare the crawler with its peers on real pages, both of which it fetches first
	@$(INSTALL) -r bench/peers.lock
	$(BIN)/python -m bench.crawl
	$(BIN)/python -m bench.isolation

bench-replay: $(READY) ## prove that an archive has all files that Chromium requests, and that pywb replays it; fetches both first
	$(BIN)/python -m bench.replay

bench-refresh: $(READY) ## measure how fresh the copy is kept, compared with other policies and an oracle
	$(BIN)/python -m bench.refresh

bench-changes: $(READY) ## measure which changes of pages are detected and how much noise is reported, on pages that it fetches first
	$(BIN)/python -m bench.changes

bench-warehouse: $(READY) ## compare versions, diffs and search of real documents with their peers, both of which it fetches first
	@$(INSTALL) -r bench/peers.lock
	$(BIN)/python -m bench.warehouse
	$(BIN)/python -m bench.search
	$(BIN)/python -m bench.paths

bench-cluster: $(READY) ## measure a ledger that is divided among partitions, simulate 10 000 crashes of clusters, kill real ones
	$(BIN)/python -m bench.cluster $(if $(GRAPH),--graph $(GRAPH))

bench-serve: $(READY) ## measure the window over a crawl of a million pages: latency, clients, slowdown of the crawl
	$(BIN)/python -m bench.serve

package: $(READY) ## build the wheel and the source distribution in build/package, and try both in clean environments
	@$(INSTALL) -r bench/peers.lock
	$(BIN)/python -m bench.package

COMPILE := $(BIN)/pip-compile $(UPGRADE) --generate-hashes --allow-unsafe --no-strip-extras --no-header \
    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --quiet
lock: $(READY) ## pin new dependencies, with hashes; UPGRADE=--upgrade updates all pins
	$(COMPILE) --extra dev --extra all --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra plots --build-deps-for editable --constraint requirements.lock --output-file program.lock pyproject.toml
	$(COMPILE) --constraint requirements.lock --output-file bench/peers.lock bench/peers.in

clean: ## remove the environment and everything generated
	rm -rf .venv .mypy_cache .mypy_cache.new .ruff_cache .pytest_cache .hypothesis .coverage build demo fuzz lab site src/centime.egg-info
	find bench src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(PROGRAM): program.lock requirements.lock
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Centime needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	@echo "Setting up .venv from program.lock, once ..."
	@$(PYTHON) -m venv --clear .venv
	@$(INSTALL) -r program.lock
	@touch $@

$(INSTALLED): $(PROGRAM) pyproject.toml
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src/centime
	@touch $@

$(READY): $(INSTALLED)
	@echo "Adding what tests and checks need, from requirements.lock ..."
	@$(INSTALL) -r requirements.lock
	@$(BIN)/python -m compileall -q --workers 0 -x '$(UNUSED)' .venv/lib
	@touch $@
