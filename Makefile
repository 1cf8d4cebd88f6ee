# Set-up and everything else: make demo, make test. Python 3.11 or later, make, and a C++20 compiler if there is one.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src core build_backend -type f -not -name '*.so' -not -path '*/__pycache__/*') pyproject.toml CMakeLists.txt README.md LICENSE
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test lint soak bench accuracy paper sanitize clean

demo: $(VENV)/installed
	$(BIN)/nolana demo --out demo.png

test: $(VENV)/tested lint
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m "not soak"

lint: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

soak: $(VENV)/tested
	$(ONE_THREAD) $(BIN)/python -m pytest -m soak

bench: $(VENV)/benched
	$(ONE_THREAD) $(BIN)/python benchmarks/speed.py
	$(ONE_THREAD) $(BIN)/python benchmarks/rivals.py
	$(ONE_THREAD) $(BIN)/python benchmarks/readers.py
	$(ONE_THREAD) $(BIN)/python benchmarks/tool.py
	$(ONE_THREAD) $(BIN)/python benchmarks/memory.py
	$(ONE_THREAD) $(BIN)/python benchmarks/peers.py

# The accuracy table of the README; needs the data of benchmarks/streams.py.
accuracy: $(VENV)/tested
	$(ONE_THREAD) $(BIN)/python benchmarks/accuracy.py
	$(ONE_THREAD) $(BIN)/python benchmarks/bsgd.py

# The report of docs/paper; an interrupted run goes on where it stopped. NOLANA_DATA says where the data sets are.
paper: $(VENV)/installed
	NOLANA_DATA="$${NOLANA_DATA:-$(wildcard ../shared/data)}" $(ONE_THREAD) $(BIN)/nolana paper all --out docs/paper

# The core under AddressSanitizer and UBSan.
sanitize: $(VENV)/tested
	PYTHON=$(BIN)/python sh tests/sanitize.sh

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip

$(VENV)/installed: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install -q ".[cli]"
	touch $@

$(VENV)/tested: $(VENV)/installed
	$(BIN)/python -m pip install -q ".[test]"
	touch $@

$(VENV)/benched: $(VENV)/tested
	$(BIN)/python -m pip install -q ".[bench]"
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis demo.png
