"""Programs in C and C++ that call exported models, against the model in Python: the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.runtime.model import CompiledModel
from tests.support.c_programs import C99, CLANG, CXX, build, run, written

TINY = """
<ir_version: 8, opset_import: ["" : 17]>
tiny (float[N, 3, 16, 16] x) => (float[N, 10] y)
<float[16, 3, 3, 3] w = {@WEIGHTS@}>
{
  c = Conv <pads = [1, 1, 1, 1]> (x, w)
  r = Relu (c)
  p = GlobalAveragePool (r)
  f = Flatten (p)
  ten = Constant <value_ints = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]> ()
  g = Gather <axis = 1> (f, ten)
  y = Softmax <axis = -1> (g)
}
"""
MAIN = """
#include "tiny.h"
#include "stepwell_threads.h"
#include <stdio.h>
enum { MOST = 6 };
static float x[MOST * 768], y[MOST * 10];
static unsigned char memory[1 << 20];
static tiny_inputs in = {x};
static tiny_outputs out = {y};
static void show(const char *name, int64_t value) { printf("%s %lld\\n", name, (long long)value); }
static tiny_call fresh(const tiny_dims *dims) {
  tiny_call call;
  memset(&call, 0, sizeof call);
  call.workspace = memory + (64 - (uintptr_t)memory % 64) % 64;
  call.workspace_bytes = (size_t)tiny_workspace_bytes(dims);
  return call;
}
"""


class Tiny(NamedTuple):
    """A model, and the folder with its exports."""

    model: CompiledModel
    folder: Path
    x: np.ndarray


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    folder = tmp_path_factory.mktemp("tiny")
    generator = np.random.default_rng(0)
    weights = ", ".join(str(n) for n in generator.standard_normal(432).round(3))
    model = stepwell.compile(onnx.parser.parse_model(TINY.replace("@WEIGHTS@", weights)), threads=1)
    for suffix in ("a", "o", "so"):
        stepwell.export(model, folder / f"tiny.{suffix}")
    stepwell.export(model, folder / "twin.a")
    x = generator.standard_normal((4, 3, 16, 16)).astype(np.float32)
    x.tofile(folder / "x.bin")
    return Tiny(model, folder, x)


def expected(tiny: Tiny) -> np.ndarray:
    result = tiny.model(tiny.x)
    assert isinstance(result, np.ndarray)
    return result


BITS = """
int main(void) {
  tiny_dims four = {4};
  tiny_call call = fresh(&four);
  FILE *file = fopen("x.bin", "rb");
  if (file == NULL || fread(x, 4, 4 * 768, file) != 4 * 768) return 1;
  fclose(file);
  show("supported", tiny_supported());
  show("status", tiny_run(&in, &out, &four, &call));
  if ((file = fopen("y.bin", "wb")) == NULL) return 1;
  fwrite(y, 4, 40, file);
  fclose(file);
  printf("message %s\\n", tiny_message(0));
  printf("json %s\\n", tiny_json());
  return 0;
}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize(("library", "compiler"), [("tiny.a", C99), ("tiny.o", CLANG), ("tiny.so", CXX)])
def test_a_program_computes_the_bits_of_the_model(
    tiny: Tiny, library: str, compiler: tuple[str, ...]
) -> None:
    (tiny.folder / "y.bin").unlink(missing_ok=True)
    found = run(build(tiny.folder, MAIN + BITS, [library], compiler, "-pthread"))
    assert found["status"] == "0" and found["supported"] == "1" and found["message"] == "ok"
    assert found["json"].startswith('{"features":')
    assert np.array_equal(written(tiny.folder, "y.bin").reshape(4, 10), expected(tiny))


STATUSES = """
static int untouched(void) {
  for (size_t i = 0; i < sizeof y; i++)
    if (((unsigned char *)y)[i] != 0xA5) return 0;
  return 1;
}
int main(void) {
  tiny_dims one = {1}, two = {2}, four = {4}, none = {0}, below = {-1}, huge = {(int64_t)1 << 40};
  tiny_call call = fresh(&four), bad;
  tiny_inputs no_x = {NULL};
  tiny_outputs no_y = {NULL};
  memset(y, 0xA5, sizeof y);
  show("four", tiny_workspace_bytes(&four) <= 4 * tiny_workspace_bytes(&one));
  show("below", tiny_workspace_bytes(&below));
  show("huge", tiny_workspace_bytes(&huge));
  show("no-dims", tiny_workspace_bytes(NULL));
  show("run-below", tiny_run(&in, &out, &below, &call));
  show("run-huge", tiny_run(&in, &out, &huge, &call));
  show("no-inputs", tiny_run(NULL, &out, &four, &call));
  show("no-outputs", tiny_run(&in, NULL, &four, &call));
  show("no-call", tiny_run(&in, &out, &four, NULL));
  show("no-x", tiny_run(&no_x, &out, &four, &call));
  show("no-y", tiny_run(&in, &no_y, &four, &call));
  show("run-no-dims", tiny_run(&in, &out, NULL, &call));
  bad = call, bad.workspace = NULL;
  show("no-workspace", tiny_run(&in, &out, &four, &bad));
  bad = call, bad.workspace_bytes--;
  show("small", tiny_run(&in, &out, &four, &bad));
  bad = call, bad.workspace = (char *)call.workspace + 4;
  show("shifted", tiny_run(&in, &out, &four, &bad));
  show("untouched", untouched());
  show("good", tiny_run(&in, &out, &four, &call));
  show("touched", untouched());
  show("none", tiny_run(&in, &out, &none, &call));
  show("one", tiny_run(&in, &out, &one, &call));
  show("two", tiny_run(&in, &out, &two, &call));
  for (int status = -10; status < 3; status++) printf("message%d %s\\n", status, tiny_message(status));
  return 0;
}
"""


def test_wrong_arguments_have_a_status_and_touch_nothing(tiny: Tiny) -> None:
    found = run(build(tiny.folder, MAIN + STATUSES, ["tiny.a"], C99, "-pthread"))
    bad = "below huge no-dims run-below run-huge no-inputs no-outputs no-call no-x no-y run-no-dims"
    assert found["no-workspace"] == "-3"
    assert {found[name] for name in bad.split()} == {"-3"}
    assert (found["small"], found["shifted"], found["untouched"]) == ("-4", "-5", "1")
    assert [found[name] for name in ("four", "good", "touched", "none", "one", "two")] == list("100000")
    assert found["message-3"].startswith("bad-argument") and found["message-4"].startswith("small-workspace")
    assert found["message0"] == "ok"
    assert {found[f"message{status}"] for status in (-10, -9, 1, 2)} == {"unknown status"}


THREADS = """
#include "twin.h"
enum { CALLS = 1000 };
static unsigned char second[1 << 20];
static int wrong;
static float z[MOST * 10];
static void *other(void *unused) {
  static float own[MOST * 10];
  tiny_outputs mine = {own};
  tiny_dims four = {4};
  tiny_call call = fresh(&four);
  call.workspace = second + (64 - (uintptr_t)second % 64) % 64;
  for (int i = 0; i < CALLS; i++) {
    memset(own, 0, sizeof own);
    if (tiny_run(&in, &mine, &four, &call) != 0 || memcmp(own, z, 160) != 0) wrong++;
  }
  (void)unused;
  return NULL;
}
int main(void) {
  tiny_dims four = {4};
  twin_dims twin_four = {4};
  tiny_call call = fresh(&four);
  twin_inputs twin_in = {x};
  twin_outputs twin_out = {y};
  twin_call twin_c;
  stepwell_pool *pool;
  pthread_t thread;
  unsigned char tight[STEPWELL_POOL_BYTES];
  int differ = 0;
  for (int i = 0; i < MOST * 768; i++) x[i] = (float)(i % 37) / 37 - 0.4f;
  out.y = z;
  show("first", tiny_run(&in, &out, &four, &call));
  out.y = y;
  pthread_create(&thread, NULL, other, NULL);
  for (int i = 0; i < CALLS; i++) differ += tiny_run(&in, &out, &four, &call) != 0 || memcmp(y, z, 160) != 0;
  pthread_join(thread, NULL);
  show("differ", differ + wrong);
  pool = stepwell_threads_start(4);
  call.pool = pool;
  show("pool", pool != NULL);
  for (int i = 0; i < CALLS; i++) {
    memset(y, 0, sizeof y);
    differ += tiny_run(&in, &out, &four, &call) != 0 || memcmp(y, z, 160) != 0;
  }
  memset(&twin_c, 0, sizeof twin_c);
  twin_c.workspace = call.workspace, twin_c.workspace_bytes = call.workspace_bytes, twin_c.pool = pool;
  memset(y, 0, sizeof y);
  show("twin", twin_run(&twin_in, &twin_out, &twin_four, &twin_c) | memcmp(y, z, 160));
  stepwell_threads_stop(pool);
  show("pooled", differ);
  show("tight", stepwell_pool_init(tight, sizeof tight - 1, 2) == NULL);
  return 0;
}
"""


def test_threads_pools_and_two_models_in_one_program(tiny: Tiny) -> None:
    found = run(build(tiny.folder, MAIN + THREADS, ["tiny.a", "twin.a"], C99, "-pthread"))
    assert tiny.model.loop_bodies(), "the model has no parallel loop: the pool has nothing to do"
    wanted = {"first": "0", "differ": "0", "pool": "1", "twin": "0", "pooled": "0", "tight": "1"}
    assert found == wanted
