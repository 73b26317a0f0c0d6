"""Libraries as files for programs in C: functions of several models, with one set of weights."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.tools import cli
from tests.support.c_programs import C99, CXX, build, run, written
from tests.support.components import needs_program
from tests.support.samples import whole

RNG = np.random.default_rng(0)
TABLE = RNG.standard_normal((64, 64)).astype(np.float32)
HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'
PREFILL = "g (float[N, 64] x) => (float[N, 64] y) { y = MatMul (x, w) }"
DECODE = "g (float[1, 64] x, int64[1] i) => (float[1, 64] y) { t = MatMul (x, w) [pick] y = Gather (t, i) }"


def proto(text: str) -> onnx.ModelProto:
    found = onnx.parser.parse_model(HEAD + text)
    found.graph.initializer.append(onnx.numpy_helper.from_array(TABLE, "w"))
    return found


@pytest.fixture(scope="module")
def models() -> dict[str, CompiledModel]:
    return {"prefill": stepwell.compile(proto(PREFILL)), "decode": stepwell.compile(proto(DECODE))}


PROGRAM = """
#include "llm.h"
#include <stdio.h>
#include <string.h>
static float x[3 * 64], y[3 * 64], z[64];
#ifdef LLM_WEIGHT_BYTES
static unsigned char weights[LLM_WEIGHT_BYTES + 64];
#endif
int main(void) {
  llm_prefill_inputs in = {x};
  llm_prefill_outputs out = {y};
  llm_prefill_dims three = {3};
  llm_prefill_call call;
  int64_t first = 0, far = 7;
  llm_decode_inputs one = {x, &first};
  llm_decode_outputs step = {z};
  llm_decode_call small;
  FILE *file = fopen("x.bin", "rb");
  static unsigned char memory[LLM_DECODE_WORKSPACE_BYTES + 64];
  if (file == NULL || fread(x, 4, 192, file) != 192) return 1;
  fclose(file);
  memset(&call, 0, sizeof call), memset(&small, 0, sizeof small);
  call.workspace = small.workspace = memory + (64 - (uintptr_t)memory % 64) % 64;
  call.workspace_bytes = (size_t)llm_prefill_workspace_bytes(&three);
  small.workspace_bytes = LLM_DECODE_WORKSPACE_BYTES;
#ifdef LLM_WEIGHT_BYTES
  unsigned char *base = weights + (64 - (uintptr_t)weights % 64) % 64;
  if ((file = fopen("llm.weights", "rb")) == NULL || !fread(base, LLM_WEIGHT_BYTES, 1, file)) return 1;
  fclose(file);
  call.weights = small.weights = base;
  printf("checked %d %d\\n", llm_check_weights(base, LLM_WEIGHT_BYTES), llm_check_weights(base + 1, 5));
#endif
  printf("status %d %d\\n", llm_prefill_run(&in, &out, &three, &call), llm_decode_run(&one, &step, &small));
  one.i = &far;
  printf("far %s\\n", llm_decode_message(llm_decode_run(&one, &step, &small)));
  printf("supported %d\\njson %.11s\\n", llm_supported(), llm_json());
  if ((file = fopen("y.bin", "wb")) == NULL) return 1;
  fwrite(y, 4, 192, file), fwrite(z, 4, 64, file), fclose(file);
  return 0;
}
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("suffix", "weights", "compiler"), [("a", "embed", C99), ("so", "file", C99), ("o", "embed", CXX)]
)
def test_a_program_calls_both_functions(
    models: dict[str, CompiledModel], suffix: str, weights: Any, compiler: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / f"llm.{suffix}"
    done = stepwell.export(stepwell.Library(models), path, weights=weights)
    x = RNG.standard_normal((3, 64)).astype(np.float32)
    x.tofile(tmp_path / "x.bin")
    found = run(build(tmp_path, PROGRAM, [path.name], compiler))
    assert found["status"] == "0 0" and found["supported"] == "1" and found["json"] == '{"features"'
    assert "index-out-of-range" in found["far"] and "pick" in found["far"]
    assert found.get("checked") == {"embed": None, "file": "0 -7"}[weights]
    result = written(tmp_path, "y.bin").reshape(4, 64)
    assert np.array_equal(result[:3], models["prefill"](x))
    assert np.array_equal(result[3:], models["decode"](x[:1], np.array([0])))
    # One set of weights, and with their code less than a tenth more than the first model.
    first = stepwell.export(models["prefill"], tmp_path / f"first.{suffix}")
    assert done.weight_bytes == first.weight_bytes


@pytest.mark.sample(3)
@pytest.mark.parametrize("weights", ["embed", "file"])
def test_a_program_compiles_both_functions(
    models: dict[str, CompiledModel], weights: Any, tmp_path: Path
) -> None:
    texts = {"prefill": PREFILL, "decode": DECODE}
    done = stepwell.export(
        {name: proto(text) for name, text in texts.items()}, tmp_path / "llm.c", weights=weights
    )
    assert done.weight_bytes == TABLE.nbytes
    x = RNG.standard_normal((3, 64)).astype(np.float32)
    x.tofile(tmp_path / "x.bin")
    found = run(build(tmp_path, PROGRAM, ["llm.c"], C99))
    assert found["status"] == "0 0" and found["supported"] == "1" and found["json"] == '{"features"'
    assert "index-out-of-range" in found["far"] and "pick" in found["far"]
    assert found.get("checked") == {"embed": None, "file": "0 -7"}[weights]
    result = np.asarray(written(tmp_path, "y.bin"), np.float64).reshape(4, 64)
    wanted = models["prefill"](x), models["decode"](x[:1], np.array([0]))
    rows = np.concatenate([np.asarray(each, np.float64) for each in wanted])
    np.testing.assert_allclose(result, rows, rtol=1e-4, atol=1e-5)


def test_c_has_equal_weights_and_kernels_once(tmp_path: Path) -> None:
    parts = {name: proto(text) for name, text in {"a": PREFILL, "b": DECODE, "c": PREFILL}.items()}
    stepwell.export(parts, tmp_path / "llm.c")
    text = (tmp_path / "llm.c").read_text()
    assert text.count("static const float llm_w[4096]") == 1
    one = stepwell.export({"a": parts["a"]}, tmp_path / "one.c")
    assert text.count("static void k") == (tmp_path / "one.c").read_text().count("static void k") + 2
    assert "llm_c_run" in text and one.symbols[-1] == "one_json"
    body = "llm_call call = {}; llm_c_call *own = &call; return own->values[0] != 0;"
    (tmp_path / "main.cpp").write_text(f'#include "llm.h"\nint main() {{ {body} }}')
    subprocess.run([*CXX, "-c", "main.cpp"], cwd=tmp_path, check=True)
    stepwell.export(parts, tmp_path / "again.c", name="llm")
    assert (tmp_path / "again.c").read_text() == text.replace('"llm.h"', '"again.h"')
    stepwell.export(parts, tmp_path / "llm.tar", target="c")
    with tarfile.open(tmp_path / "llm.tar") as archive:
        names = archive.getnames()
    assert {"llm/src/llm.c", "llm/include/llm.h", "llm/example/a.c", "llm/example/c.c"} <= set(names)


@whole
def test_models_by_name_become_a_library(models: dict[str, CompiledModel], tmp_path: Path) -> None:
    parts = {"prefill": proto(PREFILL), "decode": proto(DECODE)}
    stepwell.export(parts, tmp_path / "llm.so")
    loaded: Any = stepwell.load(tmp_path / "llm.so")
    x = RNG.standard_normal((2, 64)).astype(np.float32)
    assert loaded.functions == ("prefill", "decode") and np.array_equal(
        loaded["prefill"](x), models["prefill"](x)
    )
    stepwell.export(parts, tmp_path / "llm.tgz", target="wasm32")
    with tarfile.open(tmp_path / "llm.tgz") as archive:
        assert "package/llm.relaxed.threads.wasm" in archive.getnames()
    for names, code in ((("A", "a"), "bad-name"), (("a b",), "bad-name"), ((), "bad-option")):
        with pytest.raises(StepwellError, match=code):
            stepwell.export({name: parts["decode"] for name in names}, tmp_path / "n.c")
    with pytest.raises(StepwellError, match="too-large"):
        stepwell.export(parts, tmp_path / "n.c", memory_pools={"tcm": 64})
    with pytest.raises(StepwellError, match="function 'b'"):
        text = HEAD + "g (string[2] x) => (string[2] y) { y = Identity (x) }"
        stepwell.export({"a": parts["decode"], "b": onnx.parser.parse_model(text)}, tmp_path / "n.c")
    assert not list(tmp_path.glob("n.*"))


def test_a_library_is_loaded_again_and_shows_its_functions_only(
    models: dict[str, CompiledModel], tmp_path: Path
) -> None:
    library = stepwell.Library(models)
    library.save(tmp_path / "llm.stepwell")
    done = stepwell.export(library, tmp_path / "llm.so")
    bytes = (tmp_path / "llm.so").read_bytes()
    stepwell.export(tmp_path / "llm.stepwell", tmp_path / "llm.so")
    assert (tmp_path / "llm.so").read_bytes() == bytes
    assert cli.main(["compile", str(tmp_path / "llm.stepwell"), "-o", str(tmp_path / "llm.so")]) == 0
    assert (tmp_path / "llm.so").read_bytes() == bytes
    loaded: Any = stepwell.load(tmp_path / "llm.so", threads=1)
    assert loaded.functions == ("prefill", "decode")
    x = RNG.standard_normal((1, 64)).astype(np.float32)
    assert np.array_equal(loaded["decode"](x, np.array([0])), models["decode"](x, np.array([0])))
    with pytest.raises(StepwellError, match="pick"):
        loaded["decode"](x, np.array([3]))
    stepwell.export(loaded, tmp_path / "again.so")
    again: Any = stepwell.load(tmp_path / "again.so")
    assert np.array_equal(again["prefill"](x), models["prefill"](x))
    needs_program("nm")
    listed = subprocess.run(["nm", "-D", tmp_path / "llm.so"], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    names = {row[-1] for row in rows if row[-2] != "w"}
    assert names == set(done.symbols) and " U " not in listed.stdout
    assert all(name.startswith(("llm_", "stepwell_1_pool_", "__tvm_ffi_llm_")) for name in names)


@pytest.mark.sample(3)
@pytest.mark.parametrize("cut", [3000, 64, -1])
def test_a_damaged_library_is_not_opened(models: dict[str, CompiledModel], tmp_path: Path, cut: int) -> None:
    path = tmp_path / "llm.so"
    stepwell.export(stepwell.Library(models), path)
    data = path.read_bytes()
    path.write_bytes(data[:cut])
    with pytest.raises(StepwellError, match="bad-artifact"):
        stepwell.load(path)
    path.write_bytes(data.replace(b'"weights":[0]', b'"weights":[9]'))
    with pytest.raises(StepwellError, match="bad-artifact"):
        stepwell.load(path)


@pytest.mark.sample(6)
@pytest.mark.parametrize("mcpu", ["riscv64gcv", "aarch64", "armv7"])
def test_a_library_for_another_cpu(mcpu: str, tmp_path: Path) -> None:
    # Their kernels are objects, or linked code, of which two functions have equal ones.
    texts = {"a": PREFILL, "b": PREFILL, "c": DECODE}
    parts = {name: stepwell.compile(proto(text), mcpu=mcpu) for name, text in texts.items()}
    done = stepwell.export(stepwell.Library(parts), tmp_path / "llm.so")
    assert {"llm_a_run", "llm_b_run", "llm_c_run"} <= set(done.symbols)
    one = stepwell.export(stepwell.Library({"a": parts["a"]}), tmp_path / "one.so")
    assert done.weight_bytes == one.weight_bytes


def test_a_module_of_webassembly_has_all_functions_and_equal_kernels_once(tmp_path: Path) -> None:
    texts = {"a": PREFILL, "b": PREFILL, "c": DECODE}
    parts = {name: stepwell.compile(proto(text), mcpu="wasm32") for name, text in texts.items()}
    done = stepwell.export(stepwell.Library(parts), tmp_path / "llm.wasm")
    assert {file.name for file in done.files} == {"llm.wasm"}
    wanted = {f"llm_{name}_{each}" for name in parts for each in ("workspace_bytes", "run", "message")}
    assert set(done.symbols) == wanted
    two = {name: parts[name] for name in ("a", "c")}
    less = stepwell.export(stepwell.Library(two), tmp_path / "two.wasm")
    one = stepwell.export(stepwell.Library({"a": parts["a"]}), tmp_path / "one.wasm")
    assert done.weight_bytes == one.weight_bytes
    # Another function with a kernel that is there costs its entry alone.
    assert done.code_bytes - less.code_bytes < one.code_bytes // 2
    stepwell.export(stepwell.Library(parts), tmp_path / "llm.tgz")
    with tarfile.open(tmp_path / "llm.tgz") as archive:
        names = archive.getnames()
    assert {"package/llm.wasm", "package/llm.threads.wasm", "package/llm.weights"} <= set(names)


def test_what_cannot_be_one_file(models: dict[str, CompiledModel], tmp_path: Path) -> None:
    one, other = models["prefill"], stepwell.compile(proto(PREFILL), mcpu="aarch64")
    text = HEAD + "g (string[2] x) => (string[2] y) { y = Identity (x) }"
    words = stepwell.compile(onnx.parser.parse_model(text))
    cases = [
        ({"A": one, "a": one}, "m.so", "bad-name"),
        ({"a": one, "b": other}, "m.so", "bad-option"),
        ({"a": one}, "m.c", "bad-option"),
        ({}, "m.tar", "bad-option"),
        ({"a": one}, "m.wasm", "bad-option"),
        ({}, "m.so", "bad-option"),
        ({"a": one, "b": words}, "m.so", "unsupported-interface"),
    ]
    for parts, name, code in cases:
        with pytest.raises(StepwellError) as raised:
            stepwell.export(stepwell.Library(parts), tmp_path / name)
        assert raised.value.code == code, (parts, name, raised.value)
        assert code != "unsupported-interface" or "function 'b'" in str(raised.value)
    assert not list(tmp_path.iterdir())
