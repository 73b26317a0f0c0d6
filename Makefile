# Everything runs in .venv, which the first target makes; PYTHON names the interpreter that makes it.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
# Two processes suit a machine of two cores; `make test JOBS=8` on a larger one.
JOBS ?= 2
MINUTES ?= 60
PYTEST := $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal
# Garbage of pyright lives a short time: with room for it 7 % less of its time goes into collecting.
PYRIGHT := NODE_OPTIONS=--max-semi-space-size=128 $(BIN)/pyright --pythonpath $(BIN)/python
NPM := playwright-core@1.65 axe-core@4.14 vscode-tmgrammar-test@0.1.3 @vscode/vsce@3.9 typescript@5.9
# Tests start a hundred processes: each would compile all sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types unit models texts conformance fuzz cases derivatives frontends frontends-tensorflow frontends-optimum mutants proofs emulated deploy test-devices models-devices models-upstream explore bench docs runtime-wheel test-runtime clean

demo: .venv/with-demo
	$(BIN)/python examples/demo.py

# pyright, which has one thread, checks types beside the tests, and says what it found after them.
test: lint
	@$(PYRIGHT) > .venv/types.txt 2>&1 & types=$$!; trap "kill $$types" INT TERM; \
	$(PYTEST) -m "not slow"; tests=$$?; \
	wait $$types; types=$$?; cat .venv/types.txt; exit $$((tests || types))

lint: .venv/with-test
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --quiet --check
	@! command -v node > /dev/null || for file in $$(git ls-files '*.js'); do \
	node --input-type=module --check < $$file || { echo "$$file does not parse"; exit 1; }; done

types: .venv/with-test
	$(PYRIGHT)

unit: .venv/with-test
	$(PYTEST) -m "not slow"

models: .venv/with-test
	$(PYTEST) tests/models

# Text of each level of each kernel, which must become the model's code or be as fast; goes on where it was ended.
# `TEXTS="--shard 1/4"` runs a part.
texts: .venv/with-test
	$(BIN)/python -m benchmarks.texts $(TEXTS)

# Fails when a case is lost that the ledger has; `CONFORMANCE="--shard 1/4 --resume"` runs a part, or goes on.
conformance: .venv/with-test
	$(BIN)/python -m tests.conformance --processes $(JOBS) --update $(CONFORMANCE)
	$(BIN)/python -m tests.conformance --written --processes $(JOBS) --update $(CONFORMANCE)

fuzz: .venv/with-test
	$(PYTEST) -m fuzz

# All cases and examples of the tests of which `make test` runs a sample.
cases: .venv/with-test
	TEST_ALL_CASES=1 $(PYTEST) -m sample

# Derivatives of all ops for five triples of sizes, against differences and against torch (extra `torch`).
derivatives: .venv/with-test
	$(PYTEST) tests/derivatives

# Models of other frameworks, which are installed for it: the samples of torch's own database of operators against
# a ledger, models by export and by torch.compile, and the pages of docs/frontends, in parts of at most ten minutes.
# Upstream MLIR, of the extra `mlir`, verifies and runs the text of levels 2 to 4. Goes on where it was ended;
# `FRONTENDS="torch-operators --shard 1/4"` runs a part.
frontends: .venv/with-test .venv/with-torch .venv/with-jax .venv/with-sklearn .venv/with-frontends .venv/with-timm .venv/with-mlir frontends-tensorflow frontends-optimum
	$(BIN)/python -m tests.frontends $(FRONTENDS)

# TensorFlow (1.6 GB) has an environment of its own: other frameworks want other versions of what it needs.
frontends-tensorflow: .venv/tensorflow/installed
	.venv/tensorflow/bin/python -m pytest -q -n 0 tests/frontends/test_tensorflow.py

# Optimum has one too, for the release of transformers that it wants.
frontends-optimum: .venv/optimum/installed
	.venv/optimum/bin/python -m pytest -q -n 0 tests/frontends/functions/test_hugging_face.py

# Upstream MLIR verifies the text of levels 2 to 4 of each model of STEPWELL_MODELS, then lowers and runs the text of
# level 2 of some; goes on where it was ended. `UPSTREAM="--shard 1/8"` verifies a part.
models-upstream: .venv/with-test .venv/with-mlir
	$(BIN)/python -m tests.upstream.zoo $(UPSTREAM)
	$(BIN)/python -m tests.upstream.runs

# Small faults in copies of the source, which the tests that reach them must find; goes on where it was ended.
mutants: .venv/with-test .venv/with-mutants
	$(BIN)/python -m tests.mutants --jobs $(JOBS) --minutes $(MINUTES)

# The rules by which indices are simplified, proved over all integers by z3 (extra `proofs`).
proofs: .venv/with-test .venv/with-proofs
	$(PYTEST) -n 0 tests/unit/passes/analysis/test_rules.py

# Code for aarch64, run on an emulated CPU.
emulated: .venv/with-test .venv/with-emulate
	$(PYTEST) tests/emulated

# Exported models on other CPUs (qemu-user), in Node and browsers, and servers. `DEPLOY="--shard 1/8 --resume"` runs a
# part, without what has passed before; `DEPLOY="-k riscv64gcv"` a target's. What ran of each model and target is
# printed as a table by `python -m tests.deploy.matrix build/deploy.jsonl`.
deploy: .venv/with-test .venv/with-npm .venv/with-rpc .venv/with-ffi .venv/with-serve .venv/with-clients
	NODE_PATH=$(CURDIR)/.venv/npm/node_modules $(PYTEST) -p tests.deploy.shards tests/deploy tests/unit/runtime/rpc tests/unit/runtime/ffi tests/unit/runtime/serve tests/unit/lowering/export/test_project.py $(DEPLOY)

# Models on implementations of GPUs: wgpu with lavapipe (apt: mesa-vulkan-drivers) and PoCL (apt: pocl-opencl-icd)
# where there is no GPU, the accelerator's simulator; OpenCL C by the C compiler; PTX by its interpreter and by ptxas
# (pip: nvidia-cuda-nvcc-cu12); shaders by Chromium (apt: chromium). Fails where one is missing.
test-devices: .venv/with-test .venv/with-webgpu
	TEST_DEVICES=1 $(PYTEST) tests/devices tests/unit/lowering/emit_source tests/unit/lowering/lanes \
	tests/unit/lowering/npu tests/unit/tools/devices tests/unit/runtime/test_device_calls.py \
	tests/unit/lowering/emit_ptx tests/unit/lowering/ptx tests/unit/runtime/cuda

# Each model of STEPWELL_MODELS is compiled for each kind of device, or refused by a named error, and assembled by
# ptxas without spills; some run whole on the interpreter of PTX and on WebGPU; 64 images of the accelerator have the
# CPU's class. Goes on where it was ended. `DEVICES="--shard 1/8"` runs a part.
models-devices: .venv/with-test
	$(BIN)/python -m tests.devices.zoo $(DEVICES)
	$(BIN)/python -m tests.devices.whole
	$(BIN)/python -m tests.devices.images

# What an explorer, a debugger and an editor are used with: browsers, editors, shells, where they are installed.
explore: .venv/with-test .venv/with-editor .venv/with-notebook .venv/with-npm
	PATH="$(CURDIR)/.venv/npm/node_modules/.bin:$$PATH" NODE_PATH=$(CURDIR)/.venv/npm/node_modules $(PYTEST) tests/explore

bench: .venv/with-bench
	$(BIN)/python -m benchmarks.run

docs: .venv/with-test
	$(BIN)/python -m stepwell.tools.generators.generate_docs
	$(BIN)/python -m stepwell.tools.lsp.grammar

# `dist/stepwell_runtime-*.whl`: what runs artifacts, with numpy alone, installed in place of `stepwell`.
runtime-wheel: .venv/with-test
	$(BIN)/python -m stepwell.tools.generators.runtime_wheel build/runtime-wheel
	$(PIP) wheel --no-deps --wheel-dir dist build/runtime-wheel

# Builds that wheel, installs it into a new environment, and compares what artifacts compute there.
test-runtime: .venv/with-test
	$(BIN)/python -m pytest -q tests/installed

.venv/bin/python:
	$(PYTHON) -m venv .venv

# One stamp for each extra: installed again when pyproject.toml changes.
.venv/with-%: .venv/bin/python pyproject.toml
	$(PIP) install --editable '.[$*]'
	touch $@

.venv/tensorflow/installed: .venv/bin/python pyproject.toml
	$(PYTHON) -m venv .venv/tensorflow
	.venv/tensorflow/bin/python -m pip -qq --disable-pip-version-check install tensorflow-cpu --editable '.[test]'
	touch $@

.venv/optimum/installed: .venv/bin/python pyproject.toml
	$(PYTHON) -m venv .venv/optimum
	.venv/optimum/bin/python -m pip -qq --disable-pip-version-check install optimum-onnx onnxruntime --editable '.[test,torch]'
	touch $@

# Beside the torch that is there: the newest torchvision, which timm needs, would bring another one.
.venv/with-timm: .venv/with-torch .venv/with-frontends
	$(PIP) install timm "torch==$$($(BIN)/python -c 'import torch; print(torch.__version__.partition("+")[0])')"
	touch $@

# The packages of node that those tests use; without npm they are skipped, and counted.
.venv/with-npm: .venv/bin/python Makefile
	! command -v npm > /dev/null || npm install --silent --no-save --prefix .venv/npm $(NPM)
	touch $@

clean:
	rm -rf .venv build dist *.egg-info
