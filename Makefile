# The commands of daily work; each builds what it needs first. Needs python3 with venv and headers
# (Debian: python3-venv, python3-dev) and g++.
PYTHON ?= python3
JOBS ?= $(shell nproc)
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
STAMP := $(VENV)/stamp
CMAKE_ARGS ?=
PYTEST_ARGS ?=
ASAN_LIBS = $(shell g++ -print-file-name=libasan.so) $(shell g++ -print-file-name=libstdc++.so)
CPP_FILES = $(shell find csrc tests -name '*.h' -o -name '*.cpp')

.PHONY: build demo test test-ecosystem bench lint format docs wheel asan conformance clean

build: build/build.ninja
	@$(BIN)/cmake --build build -j $(JOBS)

# A .pth file makes the source tree importable in the environment.
$(STAMP): pyproject.toml tools/requirements.py
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) tools/requirements.py | $(PY) -m pip install --quiet --disable-pip-version-check -r /dev/stdin
	@$(PY) -c 'import sysconfig, pathlib; \
	  pathlib.Path(sysconfig.get_path("purelib"), "flambeau.pth").write_text("$(CURDIR)/python\n")'
	@touch $@

build/build.ninja: $(STAMP) CMakeLists.txt
	$(BIN)/cmake -S . -B build -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DPython_EXECUTABLE=$(CURDIR)/$(PY) $(CMAKE_ARGS)
	@touch $@

demo: build
	$(PY) examples/digits.py

test: build
	$(PY) -m pytest -n $(JOBS) $(PYTEST_ARGS)

# Packages from PyPI under `flambeau run`; their environment is apart, and PyTorch is not in it.
ECOSYSTEM := .venv-ecosystem
CASES ?=

$(ECOSYSTEM)/stamp: $(wildcard tests/ecosystem/*.txt)
	test -x $(ECOSYSTEM)/bin/python || $(PYTHON) -m venv $(ECOSYSTEM)
	$(ECOSYSTEM)/bin/python -m pip install --quiet --disable-pip-version-check \
	  -r tests/ecosystem/requirements.txt
	$(ECOSYSTEM)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  -r tests/ecosystem/requirements-no-deps.txt
	@touch $@

test-ecosystem: build $(ECOSYSTEM)/stamp
	$(ECOSYSTEM)/bin/python tests/ecosystem/run.py $(CASES)

bench: build
	$(PY) benchmarks/overhead.py

conformance: build
	$(PY) tools/conformance_gate.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(if $(CPP_FILES),$(BIN)/clang-format --dry-run -Werror $(CPP_FILES))

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(if $(CPP_FILES),$(BIN)/clang-format -i $(CPP_FILES))

# The reference pages come from the operator table.
docs: build
	$(PY) tools/reference.py --out build/docs

wheel: $(STAMP)
	$(PY) -m pip wheel --no-deps --disable-pip-version-check -w dist .

# The package with a sanitized extension, as links beside it; Python itself leaks at exit by design.
asan: $(STAMP)
	rm -rf build-asan/python && mkdir -p build-asan/python
	cp -rs $(CURDIR)/python/flambeau build-asan/python/
	rm -rf build-asan/python/flambeau/_C.*.so build-asan/python/flambeau/lib
	$(BIN)/cmake -S . -B build-asan -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DPython_EXECUTABLE=$(CURDIR)/$(PY) -DCMAKE_BUILD_TYPE=Debug \
	  "-DFLAMBEAU_SANITIZE=address;undefined" -DFLAMBEAU_SIMD=avx2 \
	  -DFLAMBEAU_PACKAGE_DIR=$(CURDIR)/build-asan/python/flambeau
	$(BIN)/cmake --build build-asan -j $(JOBS)
	LD_PRELOAD="$(ASAN_LIBS)" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=1024 \
	  UBSAN_OPTIONS=halt_on_error=1 \
	  PYTHONPATH=build-asan/python PYTHONMALLOC=malloc $(PY) -m pytest tests/core $(PYTEST_ARGS)

clean:
	rm -rf build build-* dist demo_output python/flambeau/_C*.so python/flambeau/_C.pyi python/flambeau/lib
