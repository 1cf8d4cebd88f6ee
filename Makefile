# Needs Python 3.11 or later, make, and a C++20 compiler if there is one. `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
CORE := $(shell find core build_backend -type f -not -path '*/__pycache__/*') CMakeLists.txt pyproject.toml
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
# Many tests start Python: they load the package faster from bytecode, even where somebody has switched it off.
PYTEST := $(ONE_THREAD) PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

.PHONY: help dev demo test lint stub soak endurance coverage bench accuracy compare paper docs dist sanitize clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

dev: $(VENV)/test-tools ## set up .venv: the package in place, the test tools; run it again after editing C++

demo: $(VENV)/core ## learn real rows beside a linear model and gradient boosting, print a table and draw demo.png
	@$(BIN)/nolana demo --out demo.png

test: lint ## all checks that must pass: lint, types and every test but the long ones
	$(PYTEST) -n 2 --dist worksteal -m "not soak" --durations=20

lint: $(VENV)/test-tools ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

stub: $(VENV)/test-tools ## the types of the compiled core, src/nolana/_core.pyi; after a change of its Python interface
	$(BIN)/python -m nanobind.stubgen -q -p core/bind/stub.txt -o src/nolana/_core.pyi \
		-m "$$($(BIN)/python -c 'import nolana.backend as b; print(b.PREFIX + b.core_builds()[0])')"

soak: $(VENV)/soak-tools ## the long tests in their short form, and more examples of the others: kills, fuzzing, Spark, browser, installs
	NOLANA_EFFORT=thorough $(PYTEST) -v -n 2 --dist worksteal -m "soak or hypothesis"

endurance: $(VENV)/soak-tools ## every test at full length, on every build of the core; hours, for nights and releases
	PATH="$(CURDIR)/$(BIN):$$PATH" NOLANA_BUILDS=all $(BIN)/python build_backend/nolana_build.py
	NOLANA_EFFORT=endurance $(PYTEST) -v -n 2 --dist worksteal
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python build_backend/nolana_build.py

coverage: $(VENV)/dev-tools ## line coverage of the Python code and of the C++ core
	PYTHON=$(BIN)/python sh tests/support/coverage.sh

sanitize: $(VENV)/test-tools ## the core under AddressSanitizer and UBSan
	PYTHON=$(BIN)/python sh tests/support/sanitize.sh endurance

bench: $(VENV)/bench-tools ## speed and memory, compared with other libraries
	$(ONE_THREAD) $(BIN)/python benchmarks/speed.py
	$(ONE_THREAD) $(BIN)/python benchmarks/default_speed.py
	$(ONE_THREAD) $(BIN)/python benchmarks/rivals.py
	$(ONE_THREAD) $(BIN)/python benchmarks/readers.py
	$(ONE_THREAD) $(BIN)/python benchmarks/tool.py
	$(ONE_THREAD) $(BIN)/python benchmarks/memory.py
	$(ONE_THREAD) $(BIN)/python benchmarks/peers.py
	$(ONE_THREAD) $(BIN)/python benchmarks/river_models.py
	$(ONE_THREAD) $(BIN)/python benchmarks/serve.py

accuracy: $(VENV)/test-tools ## the accuracy table of the README; set NOLANA_DATA
	$(ONE_THREAD) $(BIN)/python benchmarks/accuracy.py
	$(ONE_THREAD) $(BIN)/python benchmarks/bsgd.py

compare: $(VENV)/bench-tools ## the default learners beside other libraries (takes hours); set NOLANA_DATA
	$(ONE_THREAD) $(BIN)/python benchmarks/default.py
	$(ONE_THREAD) $(BIN)/python benchmarks/scoreboard.py --picture docs/scoreboard.svg

paper: $(VENV)/core ## the report in docs/paper, resumed if it was interrupted; set NOLANA_DATA
	$(ONE_THREAD) $(BIN)/nolana paper all --out docs/paper

docs: $(VENV)/docs-tools ## the documentation as pages in build/docs; warnings are errors
	$(ONE_THREAD) $(BIN)/python -m sphinx -q -n -W --keep-going -b html docs build/docs
	@echo "build/docs/index.html"

dist: $(VENV)/soak-tools ## source distribution and wheel in dist, checked
	rm -rf dist
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/twine check --strict dist/*

clean: ## delete everything that the other targets made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis .coverage demo.png src/nolana/_c*.so

# The stamps in .venv. Python files are used in place, so that only a change of C++ or of pyproject.toml installs again;
# CMake then recompiles only what changed, because neither its build directory nor its tools move.
$(BIN)/python:
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/build-tools: $(BIN)/python pyproject.toml
	@echo "Installing the build tools"
	@$(PIP) "scikit-build-core>=0.11" "nanobind>=2.4"
	@$(PIP) pip $$(PYTHONPATH=build_backend $(BIN)/python -c "import nolana_build as b; print(*b.get_requires_for_build_editable())")
	@touch $@

$(VENV)/core: $(VENV)/build-tools $(CORE)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python build_backend/nolana_build.py
	@echo "Installing nolana and what the command needs"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --no-build-isolation -e ".[cli]"
	@touch $@

$(VENV)/test-tools: $(VENV)/core
	$(PIP) "nolana[test]"
	touch $@

$(VENV)/soak-tools: $(VENV)/test-tools
	$(PIP) "nolana[soak]"
	touch $@

$(VENV)/docs-tools: $(VENV)/core
	$(PIP) "nolana[docs]"
	touch $@

$(VENV)/dev-tools: $(VENV)/core
	$(PIP) "nolana[dev]"
	touch $@

$(VENV)/bench-tools: $(VENV)/core
	$(PIP) "nolana[test,bench]"
	touch $@
