"""States through the interface in C: decoders and recurrent cells that are called between their states."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from tests.support.c_programs import C99, CXX, build, run
from tests.support.components import needs_program
from tests.support.decoders import decoder
from tests.support.samples import whole

_DECODE = """
#include "m.h"
#include <stdio.h>
#include <stdlib.h>

static _Alignas(64) unsigned char workspace[1 << 20], memory[2][1 << 14];

int main(void) {
  int64_t ids[3] = {1, 2, 3}, next = 0;
  float logits[3 * 50];
  m_dims dims = {.batch_size = 1, .capacity = 14, .sequence_length = 3};
  m_inputs in = {.input_ids = ids};
  m_outputs out = {.logits = logits};
  m_call call = {.workspace = workspace, .workspace_bytes = sizeof workspace};
  m_states states, other;
  if (m_states_bytes(&dims) > (int64_t)sizeof memory[0]) return 2;
  if (m_states_init(&states, memory[0], &dims) || m_states_init(&other, memory[1], &dims)) return 3;
  printf("ids ");
  for (int step = 0; step < 11; step++) {
    int32_t status = m_step(&in, &out, &dims, &states, &call);
    if (status) return 4;
    const float *last = logits + 50 * (dims.sequence_length - 1);
    next = 0;
    for (int i = 0; i < 50; i++) next = last[i] > last[next] ? i : next;
    printf("%d,", (int)next);
    ids[0] = next, dims.sequence_length = 1;
    if (step == 4) { /* two ways to go back: a copy, and a smaller length */
      ids[0] = 7;
      if (m_states_copy(&other, &states, &dims) || m_step(&in, &out, &dims, &other, &call)) return 5;
      if (m_step(&in, &out, &dims, &states, &call)) return 6;
      states.length--;
      ids[0] = next;
    }
  }
  printf("\\nlength %d %d\\n", (int)states.length, (int)other.length);
  printf("full %s", m_message(m_step(&in, &out, &dims, &states, &call)));
  dims.sequence_length = 2;
  printf("\\nagain %d\\n", (int)m_step(&in, &out, &dims, &states, &call));
  printf("values %d %d %d\\n", (int)call.values[0], (int)call.values[1], (int)states.length);
  printf("null %d\\n", (int)m_step(&in, &out, &dims, NULL, &call));
  printf("unaligned %d\\n", (int)m_states_init(&other, memory[1] + 4, &dims));
  dims.capacity = -1;
  printf("negative %d\\n", (int)m_states_init(&other, memory[1], &dims));
  return 0;
}
"""


@pytest.mark.sample(20)
@pytest.mark.parametrize("suffix", ["so", "c"])
def test_a_decoder_in_c_gives_the_tokens_of_a_session(suffix: str, tmp_path: Path) -> None:
    needs_program("gcc")
    proto = decoder("grouped", layers=1)
    options: dict[str, object] = {} if suffix == "so" else {"target": "c"}
    done = stepwell.export(proto, tmp_path / f"m.{suffix}", states="auto", specialize=[], **options)  # pyright: ignore
    sources = [file.name for file in done.files if file.suffix in (".so", ".c")]
    flags = ("-std=c11",)
    shown = run(build(tmp_path, _DECODE, sources, ("gcc", "-Wall", "-Wextra", "-Werror", "-O1", *flags)))
    model = stepwell.compile(proto, states="auto", threads=1, specialize=[])
    wanted = stepwell.generate(model.session(capacity=14), [1, 2, 3], max_new_tokens=11)
    assert list(map(int, shown["ids"].strip(",").split(","))) == wanted.ids
    assert shown["length"] == "13 8"
    assert shown["full"] == "ok" and shown["again"] == "-8" and shown["values"] == "16 14 14"
    assert (shown["null"], shown["unaligned"], shown["negative"]) == ("-3", "-5", "-3")


_CELL = """
<ir_version: 8, opset_import: ["" : 17]>
cell (float[1, 2] h, float[1, 2] x) => (float[1, 2] y, float[1, 2] h_out)
<float[2, 2] w = {0, 2, 1, 0}>
{ p = MatMul (h, w) h_out = Add (p, x) y = Neg (h_out) }
"""
_STEPS = """
#include "m.h"
#include <stdio.h>
int main(void) {
  static unsigned char memory[512], workspace[4096];
  float x[2] = {1, 3}, y[2] = {0, 0};
  m_inputs in = m_inputs();
  m_outputs out = m_outputs();
  m_call call = m_call();
  m_states states;
  in.x = x, out.y = y;
  call.workspace = workspace + (64 - (uintptr_t)workspace % 64);
  call.workspace_bytes = 4032;
  if (m_states_bytes() > 448 || m_states_init(&states, memory + (64 - (uintptr_t)memory % 64))) return 2;
  for (int i = 0; i < 3; i++)
    if (m_step(&in, &out, &states, &call)) return 3;
  std::printf("y %g %g\\n", (double)y[0], (double)y[1]);
  std::printf("h %g %g\\n", (double)states.h[0], (double)states.h[1]);
  return 0;
}
"""


def test_states_of_one_size_are_exchanged_and_read_in_python_and_cpp(tmp_path: Path) -> None:
    needs_program("g++")
    model = stepwell.compile(onnx.parser.parse_model(_CELL), states="auto", threads=1)
    stepwell.export(model, tmp_path / "m.so")
    program = _STEPS.replace("<stdio.h>", "<cstdio>")
    shown = run(build(tmp_path, program, ["m.so"], CXX))
    session, x = model.session(), np.array([[1, 3]], np.float32)
    loaded = stepwell.load(tmp_path / "m.so").session()
    found = [np.ravel(session(x)) for _ in range(3)]
    np.testing.assert_array_equal([np.ravel(loaded(x)) for _ in range(3)], found)
    assert shown["y"] == " ".join(f"{value:g}" for value in found[-1])
    assert shown["h"] == " ".join(f"{value:g}" for value in session.state["h"].ravel())


@whole
def test_the_example_of_a_project_keeps_states(tmp_path: Path) -> None:
    needs_program("gcc")
    stepwell.export(onnx.parser.parse_model(_CELL), tmp_path / "cell.tar", states="auto")
    with tarfile.open(tmp_path / "cell.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    flags = [f"-I{tmp_path}/cell/include", "-o", "example"]
    files = [f"{tmp_path}/cell/example/main.c", f"{tmp_path}/cell/lib/libcell.a"]
    subprocess.run([*C99, *files, *flags], cwd=tmp_path, check=True)
    shown = subprocess.run([tmp_path / "example"], check=True, capture_output=True, text=True)
    assert shown.stdout.split() == ["y:", "-0", "-1"]


def test_no_states_in_modules_for_browsers_and_of_other_values_than_zeros(tmp_path: Path) -> None:
    with pytest.raises(StepwellError, match="modules of WebAssembly keep none"):
        stepwell.export(onnx.parser.parse_model(_CELL), tmp_path / "m.wasm", states="auto", target="wasm32")
    text = """
    func.func @main(%s: tensor<2xf32> {graph.state = "s", graph.initial = dense<[1.0, 2.0]> : tensor<2xf32>},
                    %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32> {graph.state = "s"}) {
      %t = graph.add %s, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %t, %t : tensor<2xf32>, tensor<2xf32>
    }
    """
    (tmp_path / "s.mlir").write_text(text)
    with pytest.raises(StepwellError, match="the state 's' begins with other values than zeros"):
        stepwell.export(tmp_path / "s.mlir", tmp_path / "m.so")
    assert [file.name for file in tmp_path.iterdir()] == ["s.mlir"]
