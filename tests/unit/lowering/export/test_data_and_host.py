"""Exported models: indices that are checked, outputs that are allocated, host calls, weights elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from tests.support.c_programs import build, run

BEGIN = """
#include "m.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned char memory[1 << 16];
static void show(const char *name, int64_t value) { printf("%s %lld\\n", name, (long long)value); }
static void *aligned(void *begin) { return (char *)begin + (64 - (uintptr_t)begin % 64) % 64; }
static m_call fresh(void) {
  m_call call;
  memset(&call, 0, sizeof call);
  call.workspace = aligned(memory);
  call.workspace_bytes = sizeof memory - 64;
  return call;
}
"""
GATHER = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[4, 3] x, int64[2] i) => (float[2, 3] y) { [pick] y = Gather (x, i) }
"""
GATHER_MAIN = """
int main(void) {
  float x[12], y[6];
  int64_t good[2] = {3, -4}, bad[2] = {0, 9};
  m_inputs in = {x, good}, wrong = {x, bad};
  m_outputs out = {y};
  m_call call = fresh();
  int32_t status;
  for (int i = 0; i < 12; i++) x[i] = (float)i;
  status = m_run(&wrong, &out, &call);
  show("bad", status > 0);
  printf("message %s\\n", m_message(status));
  show("found", call.values[0]);
  show("limit", call.values[1]);
  show("good", m_run(&in, &out, &call));
  show("first", (int64_t)y[0]);
  show("last", (int64_t)y[5]);
  show("fixed", M_WORKSPACE_BYTES == m_workspace_bytes());
  return 0;
}
"""


def test_an_index_out_of_range_is_a_row_with_its_node(tmp_path: Path) -> None:
    stepwell.export(onnx.parser.parse_model(GATHER), tmp_path / "m.a")
    found = run(build(tmp_path, BEGIN + GATHER_MAIN, ["m.a"]))
    assert "pick" in found.pop("message")
    assert found == {
        "bad": "1", "found": "9", "limit": "4", "good": "0", "first": "9", "last": "2", "fixed": "1",
    }  # fmt: skip


NONZERO = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[6] x) => (int64[1, K] y) { y = NonZero (x) }
"""
NONZERO_MAIN = """
static int calls, refuse;
static int64_t asked;
static unsigned char heap[4096];
static void *allocate(void *user, int64_t slot, int64_t bytes) {
  if (slot == 0) { /* that of the output; others are memory of the call's own */
    calls++;
    asked = bytes;
  }
  return refuse ? NULL : (char *)user + 1024 * slot;
}
int main(void) {
  float x[6] = {0, 1, 0, 2, 3, 0};
  int64_t *y = NULL;
  m_inputs in = {x};
  m_outputs out = {&y};
  m_shapes shapes = {-1};
  m_call call = fresh();
  show("absent", m_run(&in, &out, &shapes, &call));
  call.allocate = allocate;
  call.user = aligned(heap);
  refuse = 1;
  show("refused", m_run(&in, &out, &shapes, &call));
  refuse = calls = 0;
  show("status", m_run(&in, &out, &shapes, &call));
  show("calls", calls);
  show("bytes", asked);
  show("place", (void *)y == call.user);
  printf("y %d %d %d of %d\\n", (int)y[0], (int)y[1], (int)y[2], (int)shapes.SIZE);
  call.user = (char *)call.user + 8;
  show("shifted", m_run(&in, &out, &shapes, &call));
  return 0;
}
"""


def test_an_output_whose_size_depends_on_data_is_allocated_once(tmp_path: Path) -> None:
    model = stepwell.compile(onnx.parser.parse_model(NONZERO))
    stepwell.export(model, tmp_path / "m.so", host_calls="callback")
    (size,) = model.interface.published
    found = run(build(tmp_path, BEGIN + NONZERO_MAIN.replace("SIZE", size), ["m.so"]))
    assert found == {
        "absent": "-2", "refused": "-2", "status": "0", "calls": "1", "bytes": "24", "place": "1",
        "y": "1 3 4 of 3", "shifted": "-2",
    }  # fmt: skip


TEXTS = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[3, 2] x) => (float[3, 2] y) {
  [before] r = Relu (x)
  [show] s = Cast <to = 8> (r)
  [read] y = Cast <to = 1> (s)
}
"""
TEXTS_MAIN = """
static int fails;
static int64_t shapes[2], object = -1;
static const float *shown;
static int32_t host(void *user, int64_t callee, int64_t *words, int64_t n) {
  if (fails || n != 4) return 7;
  if (callee == 0) { /* array, then the number of the object */
    shown = (const float *)(uintptr_t)words[0];
    shapes[0] = words[1] * 10 + words[2];
    object = words[3];
    return 0;
  }
  float *y = (float *)(uintptr_t)words[1];
  shapes[1] = words[2] * 10 + words[3];
  if (callee != 1 || words[0] != object) return 8;
  for (int i = 0; i < 6; i++) y[i] = shown[i] + *(float *)user;
  return 0;
}
int main(void) {
  float x[6], y[6], one = 1;
  m_inputs in = {x};
  m_outputs out = {y};
  m_call call = fresh();
  for (int i = 0; i < 6; i++) x[i] = (float)(i + 1);
  show("absent", m_run(&in, &out, &call));
  call.host = host;
  call.user = &one;
  show("status", m_run(&in, &out, &call));
  printf("shapes %d %d\\n", (int)shapes[0], (int)shapes[1]);
  printf("y %d %d\\n", (int)y[0], (int)y[5]);
  fails = 1;
  show("failed", m_run(&in, &out, &call));
  return 0;
}
"""


def test_host_calls_are_refused_by_node_or_go_to_the_program(tmp_path: Path) -> None:
    model = stepwell.compile(onnx.parser.parse_model(TEXTS))
    with pytest.raises(StepwellError) as refused:
        stepwell.export(model, tmp_path / "m.a")
    shown = str(refused.value)
    assert refused.value.code == "needs-host" and not list(tmp_path.iterdir())
    assert 'node "show"' in shown and 'node "read"' in shown and "before" not in shown
    stepwell.export(model, tmp_path / "m.a", host_calls="callback")
    found = run(build(tmp_path, BEGIN + TEXTS_MAIN, ["m.a"]))
    wanted = {"absent": "-1", "status": "0", "shapes": "32 32", "y": "2 7", "failed": "-1"}
    assert found == wanted


WEIGHTS = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[2, 4] x) => (float[2, 3] y)
<float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[3] b = {1, 1, 2}>
{ p = MatMul (x, w) y = Add (p, b) }
"""
WEIGHTS_MAIN = """
int main(void) {
  static float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[6];
  m_inputs in = {x};
  m_outputs out = {y};
  m_call call = fresh();
  PLACE
  show("status", m_run(&in, &out, &call));
  printf("y");
  for (int i = 0; i < 6; i++) printf(" %d", (int)y[i]);
  printf("\\n");
  return 0;
}
"""
FROM_FILE = """
  static unsigned char bytes[M_WEIGHT_BYTES + 64];
  FILE *file = fopen("m.weights", "rb");
  if (file == NULL || fread(aligned(bytes), 1, M_WEIGHT_BYTES, file) != M_WEIGHT_BYTES) return 1;
  fclose(file);
  show("missing", m_run(&in, &out, &call));
  show("whole", m_check_weights(aligned(bytes), M_WEIGHT_BYTES));
  show("short", m_check_weights(aligned(bytes), M_WEIGHT_BYTES - 1));
  ((char *)aligned(bytes))[3] ^= 1;
  show("damaged", m_check_weights(aligned(bytes), M_WEIGHT_BYTES));
  ((char *)aligned(bytes))[3] ^= 1;
  call.weights = (char *)aligned(bytes) + 4;
  show("shifted", m_run(&in, &out, &call));
  call.weights = aligned(bytes);
"""


@pytest.mark.parametrize("place", ["file", "extern"])
def test_weights_outside_of_the_file(tmp_path: Path, place: Literal["file", "extern"]) -> None:
    model = stepwell.compile(onnx.parser.parse_model(WEIGHTS))
    done = stepwell.export(model, tmp_path / "m.o", weights=place)
    data = (tmp_path / "m.weights").read_bytes()
    assert tmp_path / "m.weights" in done.files and len(data) == done.weight_bytes
    source = BEGIN + WEIGHTS_MAIN.replace("PLACE", FROM_FILE if place == "file" else "")
    if place == "extern":
        numbers = ", ".join(map(str, data))
        source += f"__attribute__((aligned(64))) const unsigned char m_weights[] = {{{numbers}}};\n"
    found = run(build(tmp_path, source, ["m.o"], ("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror")))
    x = np.arange(1, 9, dtype=np.float32).reshape(2, 4)
    wanted = {"status": "0", "y": " ".join(str(int(n)) for n in np.ravel(model(x)))}
    if place == "file":
        wanted |= {"missing": "-7", "whole": "0", "short": "-7", "damaged": "-7", "shifted": "-5"}
    assert found == wanted
