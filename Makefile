# One command per task; `make help` lists them. Everything runs in .venv, which `make venv` builds.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help venv model proto stubs readme lint typecheck unit property kernel integration e2e test demo serve verify-lossless verify-parity bench-overhead bench-attention bench-step bench-accept clean

# The first Python that is new enough; name another with PYTHON=...
IS_NEW := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for each in python3.11 python3 python3.12 python3.13; do \
	"$$each" -c '$(IS_NEW)' 2>/dev/null && { echo "$$each"; break; }; done)
PY := .venv/bin/python
PYTEST := $(PY) -m pytest
LAYERS := unit property kernel integration e2e
export OMP_NUM_THREADS ?= 2
# Spinning barriers of OpenMP come to a crawl as soon as another process wants a core.
export OMP_WAIT_POLICY ?= PASSIVE
export TOKENIZERS_PARALLELISM ?= false

help:  ## show this list
	@awk -F':.*## ' '/^[a-z0-9 -]+:.*## /{printf "  %-40s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv:  ## build or update .venv (the packages go into a cache outside the clone)
	@test -n "$(PYTHON)" || { echo "venv: Python 3.11 or newer is needed; install it or set PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -m scripts.setup_venv

model: venv  ## prepare the small target model and the draft in the cache
	@$(PY) -m dspark_sglang.demo.model

proto: venv  ## regenerate the committed stubs from proto/
	@$(PY) -m scripts.stubs write

stubs: venv  ## check that the committed stubs match proto/
	@$(PY) -m scripts.stubs check

readme: venv  ## renew the README's configuration table
	@$(PY) -m scripts.readme write

lint: venv stubs  ## ruff, buf lint, stubs, README table
	@$(PY) -m scripts.readme check
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/buf lint

typecheck: venv  ## mypy --strict
	@$(PY) -m mypy --strict dspark_sglang control/dspark_control kernels/dspark_kernels scripts

unit property kernel integration e2e: venv  ## one layer of the tests
	@$(PYTEST) tests/$@

test: venv lint typecheck model  ## everything: lint, types and all layers, cheap ones first
	@$(PYTEST) $(addprefix tests/,$(LAYERS))

demo: venv  ## the main job end to end, with a report (minutes the first time)
	@$(PY) -m dspark_sglang.demo

serve: venv  ## control service and SGLang server, up until Ctrl-C
	@$(PY) -m dspark_sglang.demo.serve

verify-lossless: venv  ## compare DSPARK's output with plain decoding (PROMPTS=file.jsonl)
	@$(PY) -m dspark_sglang.demo.lossless $(if $(PROMPTS),--prompts $(PROMPTS))

verify-parity: venv  ## compare drafts, confidences, accept lengths with the reference (PROMPTS=file.jsonl)
	@$(PY) -m dspark_sglang.demo.parity $(if $(PROMPTS),--prompts $(PROMPTS))

bench-overhead: venv  ## our worker against SGLang's own
	@$(PY) -m dspark_sglang.demo.overhead

bench-attention: venv  ## our attention backend for CPUs against SGLang's torch_native (minutes)
	@$(PY) -m dspark_sglang.demo.attention

bench-step: venv  ## where the time of a decoding step goes, plain and with DSPARK
	@$(PY) -m dspark_sglang.demo.step_profile

bench-accept: venv  ## drafters compared (PROMPTS=file.jsonl, DRAFTS=folder of trained ones; else trains them, 1-2 hours)
	@$(PY) -m dspark_sglang.demo.accept $(if $(PROMPTS),--prompts $(PROMPTS)) $(if $(DRAFTS),--drafts $(DRAFTS)) $(ARGS)

clean:  ## remove what was built in this clone (the cache outside it stays)
	@rm -rf .venv build dist runs .mypy_cache .pytest_cache .ruff_cache .hypothesis demo-report.json lossless-report.json parity-report.json
