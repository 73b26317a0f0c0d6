"""Memory pools of exported functions: buffers in several memories, and programs that give them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.lowering.main_to_buffers import pools_of
from stepwell.lowering.main_to_buffers.pools import plan_pools
from stepwell.passes.analysis.arena import Interval
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import Entry
from stepwell.tools import cli
from stepwell.tools.driver.emit import image_with_pools
from stepwell.tools.driver.options import CompileOptions
from tests.support.c_programs import build, run
from tests.support.c_sources import SANITIZED, STRICT
from tests.support.components import needs_program

# Two branches are alive beside each other.
MODEL = """
<ir_version: 8, opset_import: ["" : 18]>
m (float[4, 64] x, float[64, 96] v, float[96, 8] w) => (float[4, 8] y) {
  a = MatMul (x, v) s = Softmax (a) b = MatMul (s, w) c = MatMul (a, w) d = Softmax (b) e = MatMul (d, f)
  g = Softmax (c) y = Add (e, g)
}
"""
PROGRAM = """
#include "m.h"
#include <stdio.h>
#include <string.h>
static unsigned char tcm[M_TCM_BYTES + 64], sram[M_SRAM_BYTES + 64];
static float x[256], v[6144], w[768], y[32];
static void *aligned(unsigned char *p) { return p + (64 - (uintptr_t)p % 64) % 64; }
static int touched(const unsigned char *p, size_t bytes) {
  size_t i, n = 0;
  for (i = 0; i < bytes; i++) n += p[i] != 0xA5;
  return n > 0;
}
int main(void) {
  m_inputs in = {x, v, w};
  m_outputs out = {y};
  m_call call;
  int i;
  FILE *file = fopen("x.bin", "rb");
  if (file == NULL || fread(x, 4, 256, file) != 256 || fread(v, 4, 6144, file) != 6144) return 1;
  if (fread(w, 4, 768, file) != 768) return 1;
  fclose(file);
  memset(&call, 0, sizeof call), memset(tcm, 0xA5, sizeof tcm), memset(sram, 0xA5, sizeof sram);
  printf("workspace %d\\n", (int)m_workspace_bytes());
  printf("none %d\\n", m_run(&in, &out, &call));
  call.memories[0] = aligned(tcm);
  printf("half %d\\n", m_run(&in, &out, &call));
  call.memories[1] = (unsigned char *)aligned(sram) + 4;
  printf("odd %d\\n", m_run(&in, &out, &call));
  printf("before %d %d\\n", touched(tcm, sizeof tcm), touched(sram, sizeof sram));
  call.memories[1] = aligned(sram);
  printf("status %d\\n", m_run(&in, &out, &call));
  printf("after %d %d\\n", touched(tcm, sizeof tcm), touched(sram, sizeof sram));
  for (i = 0; i < 32; i++) printf("y%d %.9g\\n", i, (double)y[i]);
  return 0;
}
"""
LIBRARY_PROGRAM = """
#include "lib.h"
#include <stdio.h>
static unsigned char tcm[LIB_TCM_BYTES + 64], sram[LIB_SRAM_BYTES + 64];
static float x[512], v[6144], w[768], y[64], z[32];
static void *aligned(unsigned char *p) { return p + (64 - (uintptr_t)p % 64) % 64; }
int main(void) {
  lib_small_inputs a = {x, v, w};
  lib_small_outputs small = {z};
  lib_large_inputs b = {x, v, w};
  lib_large_outputs large = {y};
  lib_call call = {0};
  int i;
  FILE *file = fopen("x.bin", "rb");
  if (file == NULL || fread(x, 4, 512, file) != 512 || fread(v, 4, 6144, file) != 6144) return 1;
  if (fread(w, 4, 768, file) != 768) return 1;
  fclose(file);
  call.memories[0] = aligned(tcm);
  call.memories[1] = aligned(sram);
  if (lib_large_run(&b, &large, &call) != 0 || lib_small_run(&a, &small, &call) != 0) return 1;
  for (i = 0; i < 64; i++) printf("y%d %.9g\\n", i, (double)y[i]);
  for (i = 0; i < 32; i++) printf("z%d %.9g\\n", i, (double)z[i]);
  return 0;
}
"""
RNG = np.random.default_rng(0)
ARRAYS = [RNG.standard_normal(shape).astype(np.float32) for shape in ((4, 64), (64, 96), (96, 8))]


def proto() -> onnx.ModelProto:
    found = onnx.parser.parse_model(MODEL)
    found.graph.initializer.append(onnx.numpy_helper.from_array(np.eye(8, dtype=np.float32) + 1, "f"))
    return found


def test_memories_are_filled_in_order_and_a_byte_less_is_refused(tmp_path: Path) -> None:
    done = stepwell.export(proto(), tmp_path / "m.c", memory_pools={"tcm": 1 << 16, "sram": 64})
    whole = int(done.workspace.partition(",")[0].removeprefix("tcm: "))
    assert done.workspace == f"tcm: {whole}, sram: 0" and whole > 2048
    before = sorted(tmp_path.iterdir())
    with pytest.raises(
        StepwellError, match=r"too-large.*sram needs [0-9,]+ bytes, [0-9,]+ are there"
    ) as error:
        stepwell.export(proto(), tmp_path / "n.c", memory_pools={"tcm": 64, "sram": whole - 65})
    assert "MatMul" in error.value.render() and sorted(tmp_path.iterdir()) == before


@pytest.mark.sample(2)
@pytest.mark.parametrize("file", ["m.c", "m.a", "m.o", "m.so"])
def test_programs_give_both_memories(file: str, tmp_path: Path) -> None:
    needs_program("gcc")
    done = stepwell.export(proto(), tmp_path / file, memory_pools={"tcm": 1600, "sram": 1 << 16})
    tcm, sram = (int(part.split(": ")[1]) for part in done.workspace.split(", "))
    assert 0 < tcm <= 1600 and sram > 0 and tcm % 64 == sram % 64 == 0
    np.concatenate([each.ravel() for each in ARRAYS]).tofile(tmp_path / "x.bin")
    options = ("gcc", *STRICT, *(SANITIZED if file == "m.c" else ()))
    shown = run(build(tmp_path, PROGRAM, [file], options))
    assert (shown["workspace"], shown["none"], shown["half"], shown["odd"]) == ("0", "-3", "-3", "-5")
    assert (shown["before"], shown["status"], shown["after"]) == ("0 0", "0", "1 1")
    found = np.array([float(shown[f"y{i}"]) for i in range(32)]).reshape(4, 8)
    wanted = np.asarray(stepwell.compile(proto())(*ARRAYS), np.float64)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)
    if file == "m.so":
        loaded: Any = stepwell.load(tmp_path / file)
        assert np.array_equal(np.float32(wanted), loaded(*ARRAYS))


@pytest.mark.sample(2)
@pytest.mark.parametrize("pools", ["tcm=", "tcm=0", "tcm", "a=64,a=64", "=5", "a b=4", "a=-1", ""])
def test_pools_are_names_with_bytes(pools: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(proto(), tmp_path / "m.onnx")
    command = ["compile", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.c"), "--memory-pools", pools]
    assert cli.main(command) == 1
    assert "error[bad-option]: memory pools are names with bytes" in capsys.readouterr().err
    assert not (tmp_path / "m.c").exists()


@pytest.mark.sample(1)
@pytest.mark.parametrize("file", ["lib.c", "lib.a"])
def test_functions_of_a_library_share_memories(file: str, tmp_path: Path) -> None:
    needs_program("gcc")
    text = MODEL.replace("[4,", "[8,")
    larger = onnx.parser.parse_model(text)
    larger.graph.initializer.extend(proto().graph.initializer)
    pools = {"tcm": 1600, "sram": 1 << 16}
    parts = {"small": proto(), "large": larger}
    stepwell.export(parts, tmp_path / file, memory_pools=pools)
    header = (tmp_path / "lib.h").read_text()
    sizes = {name: int(size) for name, size in re.findall(r"#define LIB_(\w+)_BYTES (\d+) /", header)}
    for pool in ("TCM", "SRAM"):
        assert sizes[pool] == max(sizes[f"SMALL_{pool}"], sizes[f"LARGE_{pool}"]) > 0
    program = LIBRARY_PROGRAM
    np.concatenate([ARRAYS[0].ravel(), *(each.ravel() for each in ARRAYS)]).tofile(tmp_path / "x.bin")
    shown = run(build(tmp_path, program, [file], ("gcc", *STRICT)))
    wanted = np.asarray(stepwell.compile(proto())(*ARRAYS), np.float64).ravel()
    found = np.array([float(shown[f"y{i}"]) for i in range(64)])
    np.testing.assert_allclose(found, [*wanted, *wanted], rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose([float(shown[f"z{i}"]) for i in range(32)], wanted, rtol=2e-5, atol=1e-6)


def test_pools_are_for_programs_in_c_and_for_models_that_are_not_compiled(tmp_path: Path) -> None:
    pools = {"tcm": 1 << 16}
    with pytest.raises(StepwellError, match="bad-option.*WebAssembly has one memory"):
        stepwell.export(proto(), tmp_path / "m.wasm", target="wasm32", memory_pools=pools)
    with pytest.raises(StepwellError, match="bad-option.*compiled already"):
        stepwell.export(stepwell.compile(proto()), tmp_path / "m.a", memory_pools=pools)
    with pytest.raises(StepwellError, match="bad-option.*profile does not go with memory pools"):
        stepwell.export(proto(), tmp_path / "m.a", memory_pools=pools, profile=True)
    assert not list(tmp_path.iterdir())


def test_a_description_whose_memories_are_not_the_arena_is_refused() -> None:
    entry = image_with_pools(proto(), CompileOptions(), ["tcm=65536"]).main
    data = entry.to_json()
    assert Entry.from_json(data, (), ()).pools == entry.pools
    with pytest.raises(ValueError, match="the memories have 64 bytes"):
        Entry.from_json({**data, "pools": [["tcm", 64]]}, (), ())


def test_buffers_alive_together_are_apart_and_inside_of_their_pools() -> None:
    rng = np.random.default_rng(1)
    pools = pools_of(["a=512", "b=1024", "c=65536"])
    for _ in range(30):
        firsts = rng.integers(0, 20, 12)
        rows = [
            Interval(f"b{i}", Dim.of(int(rng.integers(1, 600))), int(first), int(first + rng.integers(0, 8)))
            for i, first in enumerate(firsts)
        ]
        accesses = rng.integers(1, 9, 12).tolist()
        plan = plan_pools(rows, accesses, pools)
        used = [part.value for part in plan.parts]
        assert all(size <= pool.bytes for size, pool in zip(used, pools, strict=True))
        ends = np.cumsum(used)
        for i, row in enumerate(rows):
            begin, end = plan.offsets[i].value, plan.offsets[i].value + row.size.value
            assert int(np.searchsorted(ends, begin, "right")) == int(np.searchsorted(ends, end - 1, "right"))
            for j, other in enumerate(rows[:i]):
                if row.first <= other.last and other.first <= row.last:
                    start = plan.offsets[j].value
                    assert end <= start or start + other.size.value <= begin
