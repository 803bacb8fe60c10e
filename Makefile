# What a person runs here; `make help` lists it. A fresh machine needs Python 3.11 or later, git and make.
# Each target first installs what it needs, pinned and checksummed, under .venv/ and .tools/; nothing runs twice.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# Compiled modules make each later start faster; some machines switch them off for everything.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
# Every package that ships says so by its type marker.
PACKAGES := $(patsubst %/py.typed,%,$(wildcard */py.typed))
SOURCES := $(wildcard $(addsuffix /*.py,$(PACKAGES)) $(addsuffix /adapters/*.py,$(PACKAGES)) benchmarks/*.py)
# Two, because the machines that check changes have two cores and an in-process ClickHouse takes 0.4 GiB a worker.
TEST_WORKERS ?= 2
# The benchmarks score recorded reclamations where the folder beside the checkout holds them.
SHARED_TRACES := $(abspath $(wildcard ../shared/traces))

.PHONY: help demo test test-interop fuzz lint lock setup clean slurm

help: ## list the targets
	@awk -F ':.*## ' '/^[a-zA-Z-]+(-NAME)?:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  make bench-NAME     run one benchmark; its last line is one JSON object. There are:"
	@for f in benchmarks/*.py; do n=$${f##*/}; n=$${n%.py}; [[ $$n = __init__ || $$n = fuzz* || $$n = passing ]] || \
	  ! grep -q "__main__" $$f || echo "                        bench-$${n//_/-}"; done

setup: .venv/.compiled .tools/bin/cue ## install everything the other targets need, and nothing else

demo: setup ## the main job: a day of one region through a reclaim wave, a screen and a report
	@$(BIN)/ebbtide demo

test: slurm lint .tools/bin/cue .tools/bin/kubernetes ## lint, types, import order and every test but the rare peers
	@echo "==> tests, $(TEST_WORKERS) at a time"
	@$(BIN)/python -m pytest -q -n $(TEST_WORKERS) --dist loadfile $(PYTEST_ARGS)

test-interop: setup .tools/yaml-language-server/pin .tools/bin/kubernetes .tools/bin/kyverno ## tests against the rare peers that take long to build
	@echo "==> tests against rare peers, one after another: each takes a gigabyte"
	@$(BIN)/python -m pytest -q -m interop $(PYTEST_ARGS)

lint: .venv/.compiled ## ruff, mypy and import-linter
	@echo "==> ruff"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@echo "==> mypy (a minute when nothing is cached)"
	@$(BIN)/mypy
	@echo "==> import order"
	@$(BIN)/lint-imports > .venv/lint-imports.log || { cat .venv/lint-imports.log; exit 1; }
	@tail -n 2 .venv/lint-imports.log

fuzz: setup .tools/fuzz/pin ## fuzz what reads foreign bytes, guided by coverage, two minutes a target
	@PYTHONPATH="$$(realpath .venv/lib/python3*/site-packages):." .tools/fuzz/environment/bin/python -m benchmarks.fuzz $(FUZZ_ARGS)

bench-admission: .tools/bin/kubernetes

bench-%: setup
	@module=$(subst -,_,$*); [ -f benchmarks/$$module.py ] || { \
	  echo "error: there is no benchmark '$*'; make help lists them" >&2; exit 2; }; \
	export EBBTIDE_TRACES="$${EBBTIDE_TRACES:-$(SHARED_TRACES)}"; [ -n "$$EBBTIDE_TRACES" ] || unset EBBTIDE_TRACES; \
	$(BIN)/python -m benchmarks.$$module $(BENCH_ARGS)

# Debian's packages, which tests and one benchmark start a cluster of; EBBTIDE_WITHOUT_SLURM=1 goes without.
bench-admission-slurm: slurm
slurm:
	@tools/slurm.sh

# Versions already locked stay; `make lock UPGRADE=1` takes the newest that pyproject.toml allows.
lock: .tools/uv/.ready ## resolve pyproject.toml anew into requirements.lock, and the pins under tools/
	@echo "==> resolving"
	@env -u VIRTUAL_ENV .tools/uv/bin/uv pip compile --quiet pyproject.toml --all-extras --group dev \
	  --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url $(if $(UPGRADE),--upgrade) \
	  --output-file requirements.lock
	@for tool in uv go node fuzz; do pin=$$(grep -oE '^[a-z-]+==[^ ]+' tools/$$tool.txt); \
	  tools/pin.sh .tools/uv/bin/uv "$$pin" > .tools/$$tool.new; \
	  cmp -s .tools/$$tool.new tools/$$tool.txt || cp .tools/$$tool.new tools/$$tool.txt; rm .tools/$$tool.new; done

clean: ## remove everything that make installed, built or cached in this checkout
	rm -rf .venv .tools .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

test-interop: .tools/bin/cosign
.tools/bin/cosign: .tools/uv/.ready tools/cosign/go.mod tools/cosign/go.sum tools/cosign.sh tools/go.sh tools/go.txt
	@tools/cosign.sh
	@touch $@

test-interop: .tools/bin/keyless.pin
.tools/bin/keyless.pin: .tools/uv/.ready tools/keyless/go.mod tools/keyless/go.sum tools/keyless.sh tools/go.sh tools/go.txt
	@tools/keyless.sh
	@touch $@

.tools/uv/.ready: tools/uv.txt tools/uv.sh
	@tools/uv.sh
	@touch $@

.venv/.ready: .tools/uv/.ready requirements.lock pyproject.toml tools/environment.sh
	@tools/environment.sh
	@touch $@

.venv/.compiled: .venv/.ready $(SOURCES)
	@$(BIN)/python -m compileall -q $(PACKAGES) benchmarks
	@touch $@

.tools/bin/cue: .tools/uv/.ready tools/cue/go.mod tools/cue/go.sum tools/cue.sh tools/go.sh tools/go.txt
	@tools/cue.sh
	@touch $@

.tools/yaml-language-server/pin: .tools/uv/.ready tools/yaml_language_server/package.json \
  tools/yaml_language_server/package-lock.json tools/yaml_language_server.sh tools/node.txt
	@tools/yaml_language_server.sh
	@touch $@

.tools/fuzz/pin: .venv/.ready tools/fuzz.txt tools/fuzz.sh
	@tools/fuzz.sh
	@touch $@

.tools/bin/kubernetes: .tools/uv/.ready tools/kubernetes/go.mod tools/kubernetes/go.sum tools/kubernetes/main.go \
  tools/kubernetes.sh tools/go.sh tools/go.txt
	@tools/kubernetes.sh
	@touch $@

.tools/bin/kyverno: .tools/uv/.ready tools/kyverno/go.mod tools/kyverno/go.sum tools/kyverno.sh tools/go.sh tools/go.txt
	@tools/kyverno.sh
	@touch $@
