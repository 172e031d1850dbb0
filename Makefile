# Everything runs from a clean clone: each target makes the environment it needs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The first interpreter that really is Python 3.11 or newer; PYTHON=... chooses another one.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null \
	&& { echo $$python; break; }; done)

VENV := .venv
PEERS := .venv-peers
TORCH := .venv-torch
SPARK := .venv-spark
RELEASE := .venv-release
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
WORKERS ?= 2
MINUTES ?= 10
PYTEST := python -m pytest -n $(WORKERS)
# The inner loop: what is offered, the layers, and three estimators without searches for neighbors.
SMOKE := tests/test_contracts.py tests/test_layers.py tests/test_no_luck.py tests/test_parameters.py \
	tests/test_pickles.py tests/test_public_api.py tests/test_root_pages.py tests/testing/test_mutants.py
IN_SMOKE := not sensitivity and not examples_run and not scikit and not healthy and (smoke or not test_privacy)
# What another version of a library can break. The rest asks nothing of libraries that differs: exact
# noise, accounting, ledgers, texts, documents and metadata.
OF_VERSIONS := tests/peers tests/test_contracts.py tests/test_datasets.py tests/estimators/face \
	tests/estimators/test_cluster_faults.py tests/estimators/test_on_a_cluster.py tests/geometry tests/interop \
	tests/metrics tests/model_selection tests/plotting tests/privacy/test_calibration.py tests/schema \
	tests/rows tests/desk tests/queries tests/testing/test_small_worlds.py tests/transformers tests/transport
DOCTESTS := --doctest-glob='*.rst' README.rst $(wildcard doc/*.rst $(addprefix doc/,$(addsuffix /*.rst,tour howto explanation reference)))

# Tests and benchmarks use processes, not threads, to fill the cores.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MPLBACKEND := Agg
# Tests are compiled with their assertions rewritten: half a minute a worker where that is not kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo smoke test coverage test-slow test-peers test-torch test-spark postgres lint format docs examples bench attack image figures release-check release clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

demo: $(VENV)/.installed ## Run every estimator on generated data; writes demo_output/index.html
	$(VENV)/bin/python examples/demo.py demo_output

smoke: $(VENV)/.installed ## Run the inner loop: half a minute of tests, those that failed last first
	$(VENV)/bin/$(PYTEST) -q --failed-first -k "$(IN_SMOKE)" $(SMOKE)

test: $(VENV)/.installed ## Run the fast tests and the examples of the documentation; AT=place: its mirror
	$(VENV)/bin/$(PYTEST) -m "not slow" $(if $(AT),$$(.ci/tests-at $(AT)),tests $(DOCTESTS))

coverage: $(VENV)/.installed ## Run the fast tests, print what they cover and write it to htmlcov/
	$(VENV)/bin/$(PYTEST) -m "not slow" --cov --cov-report=term --cov-report=html tests $(DOCTESTS)
	@echo "Open htmlcov/index.html"

test-slow: $(VENV)/.installed ## Run the long statistical and fault-injection tests
	$(VENV)/bin/$(PYTEST) -m slow tests

test-peers: $(PEERS)/.installed ## Run what versions can break beside diffprivlib, with the oldest versions
	@echo "Left out, no version of a library breaks them:" $(filter-out $(OF_VERSIONS),$(wildcard tests/test_*.py \
		$(patsubst %/,%,$(wildcard tests/*/))))
	$(PEERS)/bin/$(PYTEST) -m "not slow" $(OF_VERSIONS)

test-torch: $(TORCH)/.installed ## Run the tests of networks trained on releases, with torch
	$(TORCH)/bin/$(PYTEST) -m "not slow" -k "not examples_run or papers" tests/papers tests/test_public_api.py

test-spark: $(SPARK)/.installed ## Run the tests on a local Spark, which needs Java 17 or newer
	@java -version 2> /dev/null || { echo "Spark needs Java 17 or newer:" \
		"on Debian and Ubuntu apt-get install openjdk-17-jre-headless" >&2; exit 1; }
	PYSPARK_PYTHON=$(CURDIR)/$(SPARK)/bin/python $(SPARK)/bin/python -m pytest -x tests/spark

postgres: ## Make sure that there is a PostgreSQL server for the tests of shared budgets
	@.ci/find-postgres

lint: $(VENV)/.installed ## Check style, formatting, words and the types of the public surface
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/codespell README.rst SECURITY.rst CONTRIBUTING.rst doc skdp_bary examples benchmarks tests
	$(VENV)/bin/sphinx-lint --disable line-too-long --enable default-role --ignore doc/_build --ignore doc/auto_examples --ignore doc/reference/generated README.rst SECURITY.rst doc
	$(VENV)/bin/python -m tests.wording

format: $(VENV)/.installed ## Put the formatting right
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

docs: $(VENV)/.installed ## Build the documentation into doc/_build/html; a warning is an error
	$(VENV)/bin/python -m sphinx -W --keep-going -q -b html doc doc/_build/html
	@echo "Open doc/_build/html/index.html"

examples: $(VENV)/.installed ## Run every example of the gallery
	for script in examples/*/plot_*.py; do echo "$$script"; $(VENV)/bin/python $$script; done

bench: $(VENV)/.installed ## Run the benchmarks of FAMILY=kmeans, or all; results are kept in benchmarks/results/
	for script in benchmarks/$(or $(FAMILY),*)/*.py; do \
		module=$${script%.py}; echo "$$script"; $(VENV)/bin/python -m $${module//\//.}; done

figures: $(VENV)/.installed ## Draw the figures of PAPER=kmeans again, DATA=folder QUICK=1, and fail if a number moved
	$(VENV)/bin/python -m benchmarks.papers $(or $(PAPER),--help) $(if $(DATA),--data $(DATA)) $(if $(QUICK),--quick)

attack: $(VENV)/.installed ## Attack what the package promises for MINUTES=10, and print what was found
	$(VENV)/bin/python -m tests.attack --minutes $(MINUTES) --workers $(WORKERS) $(if $(RECORD),--record $(RECORD))

image: $(VENV)/.installed ## Draw the picture of the README again
	$(VENV)/bin/python doc/figures/draw_readme_image.py

release-check: $(RELEASE)/.installed ## Build sdist and wheel into dist/, and try the wheel alone
	rm -rf build dist
	$(RELEASE)/bin/python -m build --quiet --outdir dist .
	$(RELEASE)/bin/python -m twine check --strict dist/*
	$(RELEASE)/bin/python .ci/check-sdist dist/*.tar.gz
	$(call try_wheel,$(abspath dist),$(CURDIR))

release: release-check ## Build, check and sign dist/ of a tagged commit, and print how to upload it
	.ci/sign-release

clean: ## Remove what was built; the environments stay
	rm -rf doc/_build doc/auto_examples doc/reference/generated doc/reference/examples
	rm -rf doc/sg_execution_times.rst demo_output
	rm -rf build dist .pytest_cache .ruff_cache .hypothesis .coverage htmlcov

$(VENV)/.installed: setup.cfg pyproject.toml
	$(call make_environment,$(VENV))
	$(VENV)/bin/python -m pip install --quiet --editable ".[cli,postgres,plot,dask,accounting,test,lint,docs]"
	touch $@

$(PEERS)/.installed: setup.cfg pyproject.toml .ci/oldest.txt
	$(call make_environment,$(PEERS))
	$(PEERS)/bin/python -m pip install --quiet --constraint .ci/oldest.txt \
		--editable ".[cli,postgres,plot,dask,accounting,test,peers]"
	touch $@

# Torch for the processor alone is a tenth of the size of what the package index gives on Linux.
$(TORCH)/.installed: setup.cfg pyproject.toml
	$(call make_environment,$(TORCH))
	$(TORCH)/bin/python -c 'import torch' 2> /dev/null \
		|| $(TORCH)/bin/python -m pip install --quiet --retries 0 --timeout 10 torch --index-url $(TORCH_INDEX) \
		|| echo "No torch at $(TORCH_INDEX): taking the one of the package index."
	$(TORCH)/bin/python -m pip install --quiet --editable ".[accounting,plot,test,torch]"
	touch $@

$(SPARK)/.installed: setup.cfg pyproject.toml
	$(call make_environment,$(SPARK))
	$(SPARK)/bin/python -m pip install --quiet --editable ".[test,spark]"
	touch $@

$(RELEASE)/.installed: pyproject.toml
	$(call make_environment,$(RELEASE))
	$(RELEASE)/bin/python -m pip install --quiet "build>=1.2" "twine>=6"
	touch $@

# In a fresh folder with an environment that holds the wheel and what the wheel asks for.
define try_wheel
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && cd "$$folder" \
		&& $(2)/$(RELEASE)/bin/python -m venv alone \
		&& alone/bin/python -m pip install --quiet $(1)/*.whl \
		&& alone/bin/python -m pip check \
		&& alone/bin/skdp-bary --version \
		&& alone/bin/python -I $(2)/.ci/check-wheel $(2)
endef

define make_environment
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed and was not found." \
		"Install it, or name it: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(1)/bin/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(1) || { echo "$(PYTHON) cannot make virtual" \
		"environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@$(1)/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(1) was" \
		"made with a Python older than 3.11: remove it and run make again." >&2; exit 1; }
	@echo "Installing into $(1), this takes a minute or two ..."
endef
