# SPDX-License-Identifier: Apache-2.0
# Everything from a fresh clone. CMake presets do the work; see CMakePresets.json for dev, asan and tsan.

JOBS ?= $(shell nproc)
OUT ?= results/quickstart

.PHONY: help setup build run test bench format clean

help:
	@echo "make run     install what is missing, build, run the quick-start experiment"
	@echo "make test    the same, and run all tests"
	@echo "make bench   run the benchmarks (minutes; on an otherwise idle machine)"
	@echo "make format  lay out the code as .clang-format says"
	@echo "make clean   remove everything built"

setup:
	@scripts/setup

# With the tests and benchmarks.
build: setup
	@cmake --preset release -DBUILD_TESTING=ON -DHEDDLE_BENCH=ON >build-configure.log 2>&1 || (cat build-configure.log; exit 1)
	@rm -f build-configure.log
	cmake --build --preset release --parallel $(JOBS)

run: setup
	@cmake --preset release -DBUILD_TESTING=OFF -DHEDDLE_BENCH=OFF >build-configure.log 2>&1 || (cat build-configure.log; exit 1)
	@rm -f build-configure.log
	cmake --build --preset release --parallel $(JOBS) --target heddle heddle_share
	@cp build/release/share/experiment.schema.json .
	build/release/heddle run configs/quickstart.yaml --out $(OUT) --force

test: build
	ctest --preset release --parallel $(JOBS)

bench: test
	scripts/bench

format:
	git ls-files -z '*.cc' '*.h' | xargs -0 clang-format -i

clean:
	rm -rf build
