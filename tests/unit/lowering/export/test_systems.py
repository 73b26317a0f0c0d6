"""Exports for Windows and macOS: headers and tables, and their code in a process of this machine."""

from __future__ import annotations

import platform
import struct
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.demands import missing_features
from stepwell.runtime.targets.cpu import cpu_rows
from tests.support.c_programs import C99, build, run, written
from tests.support.components import needs_program
from tests.support.systems.foreign_files import Loaded, read_macho, read_pe, text_at

# A feature map with padding, in a frame of several pages.
MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[N, 3, 24, 24] x) => (float[N, 16, 24, 24] y) <float[16, 3, 3, 3] w = {@WEIGHTS@}> {
  c = Conv <pads = [1, 1, 1, 1]> (x, w) s = Sigmoid (c) y = Mul (c, s)
}
"""
WEIGHTS = np.random.default_rng(1).standard_normal(432).round(2)
SYSTEMS = [row.name for row in cpu_rows().values() if row.has_own_system]
MACHINES = {
    "x86-64-windows": 0x8664,
    "x86-64-v3-windows": 0x8664,
    "x86-64-v3-macos": 0x1000007,
    "aarch64-macos": 0x100000C,
}
pytestmark = pytest.mark.filterwarnings("ignore::stepwell.runtime.machine.target.TargetWarning")


def model() -> onnx.ModelProto:
    return onnx.parser.parse_model(MODEL.replace("@WEIGHTS@", ", ".join(map(str, WEIGHTS))))


def suffix_of(mcpu: str) -> str:
    return "dll" if "windows" in mcpu else "dylib"


def loaded(path: Path) -> Loaded:
    return (read_pe if path.suffix == ".dll" else read_macho)(path.read_bytes())


def test_all_systems_are_here() -> None:
    assert set(SYSTEMS) == set(MACHINES)


@pytest.mark.sample(4)
@pytest.mark.parametrize("mcpu", SYSTEMS)
def test_a_library_has_its_functions_and_no_other(mcpu: str, tmp_path: Path) -> None:
    path = tmp_path / f"m.{suffix_of(mcpu)}"
    done = stepwell.export(model(), path, mcpu=mcpu)
    found = loaded(path)
    assert found.machine == MACHINES[mcpu] and set(found.functions) == set(done.symbols)
    assert all(name.startswith("m_") for name in found.functions)
    assert "#define stepwell_pool_init m_pool_init" in (tmp_path / "m.h").read_text()
    # Nothing may be written, and functions alone run.
    writable = 0x80000000 if "windows" in mcpu else 2
    assert not any(rights & writable for rights in found.rights.values())
    if "windows" in mcpu:
        assert [name for name, rights in found.rights.items() if rights & 0x20000000] == [".text"]
    before = path.read_bytes()
    stepwell.export(model(), path, mcpu=mcpu)
    assert path.read_bytes() == before


_CALLER = """
#define _DEFAULT_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "m.h"
#ifdef WINDOWS
#define ABI __attribute__((ms_abi))
#else
#define ABI
#endif
typedef int64_t (ABI *bytes_t)(const m_dims *);
typedef int32_t (ABI *run_t)(const m_inputs *, const m_outputs *, const m_dims *, m_call *);
typedef const char *(ABI *message_t)(int32_t);
static float x[2 * 3 * 24 * 24], y[2 * 16 * 24 * 24];
int main(int count, char **args) {
  FILE *file = fopen("memory.bin", "rb");
  long size = strtol(args[1], NULL, 10);
  unsigned char *code = mmap(NULL, (size_t)size, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  union { void *pointer; bytes_t bytes; run_t run; message_t message; } a, b, c;
  m_inputs in = {x};
  m_outputs out = {y};
  m_dims dims = {2};
  m_call call = {0};
  if (count != 5 || file == NULL || fread(code, 1, (size_t)size, file) != (size_t)size) return 1;
  fclose(file);
  if ((file = fopen("x.bin", "rb")) == NULL || fread(x, sizeof x, 1, file) != 1) return 1;
  fclose(file);
  a.pointer = code + strtol(args[2], NULL, 10);
  b.pointer = code + strtol(args[3], NULL, 10);
  c.pointer = code + strtol(args[4], NULL, 10);
  call.workspace_bytes = (size_t)a.bytes(&dims);
  call.workspace = aligned_alloc(64, call.workspace_bytes + 64 - call.workspace_bytes % 64);
  printf("status %d\\n", b.run(&in, &out, &dims, &call));
  dims.N = -1;
  printf("below %.12s\\n", c.message(b.run(&in, &out, &dims, &call)));
  if ((file = fopen("y.bin", "wb")) == NULL) return 1;
  fwrite(y, sizeof y, 1, file), fclose(file);
  return 0;
}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("mcpu", [name for name in SYSTEMS if name.startswith("x86-64")])
def test_its_code_runs_with_the_calling_convention_of_the_system(mcpu: str, tmp_path: Path) -> None:
    """This machine's system does not load the file, but its CPU runs what a loader would have in memory."""
    if platform.machine() != "x86_64" or missing_features("x86_64-linux", cpu_rows()[mcpu].features):
        pytest.skip(f"this machine runs no code for {mcpu}")
    path = tmp_path / f"m.{suffix_of(mcpu)}"
    stepwell.export(model(), path, mcpu=mcpu)
    found = loaded(path)
    (tmp_path / "memory.bin").write_bytes(found.memory)
    x = np.random.default_rng(0).standard_normal((2, 3, 24, 24)).astype(np.float32)
    x.tofile(tmp_path / "x.bin")
    flags = ["-std=c11", *(["-DWINDOWS"] if "windows" in mcpu else [])]
    program = build(tmp_path, _CALLER, [], C99, *flags)
    places = [found.functions[f"m_{name}"] for name in ("workspace_bytes", "run", "message")]
    shown = run(program, len(found.memory), *places)
    assert shown == {"status": "0", "below": "bad-argument"}
    wanted: Any = stepwell.compile(model())(x)
    result: Any = written(tmp_path, "y.bin").reshape(wanted.shape)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def test_an_object_of_windows(tmp_path: Path) -> None:
    done = stepwell.export(model(), tmp_path / "m.o", mcpu="x86-64-windows")
    data = (tmp_path / "m.o").read_bytes()
    machine, sections, time, table, count, _, _ = struct.unpack_from("<HHIIIHH", data)
    assert (machine, sections, time, count) == (0x8664, 1, 0, len(done.symbols))
    row = struct.unpack_from("<8sIIIIIIHHI", data, 20)
    assert row[7] == 0  # relocations
    texts, names = table + 18 * count, set[str]()
    for number in range(count):
        field, value, section, _, kind, _ = struct.unpack_from("<8sIhHBB", data, table + 18 * number)
        long = field[:4] == bytes(4)
        offset = struct.unpack("<I", field[4:])[0]
        names.add(text_at(data, texts + offset) if long else field.rstrip(b"\0").decode())
        assert value < row[3] and section == 1 and kind == 2
    assert names == set(done.symbols)
    assert struct.unpack_from("<I", data, texts)[0] == len(data) - texts


@pytest.mark.sample(2)
@pytest.mark.parametrize("mcpu", ["x86-64-v3-macos", "aarch64-macos"])
def test_an_object_of_macos(mcpu: str, tmp_path: Path) -> None:
    done = stepwell.export(model(), tmp_path / "m.o", mcpu=mcpu)
    data = (tmp_path / "m.o").read_bytes()
    magic, cpu, _, type, count, _, _, _ = struct.unpack_from("<8I", data)
    assert (magic, cpu, type) == (0xFEEDFACF, MACHINES[mcpu], 1)
    place, found = 32, dict[int, bytes]()
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, place)
        found[command] = data[place : place + size]
        place += size
    table, rows, texts, texts_bytes = struct.unpack_from("<4I", found[2], 8)
    assert texts + texts_bytes == len(data)
    symbols = [struct.unpack_from("<IBBHQ", data, table + 16 * i) for i in range(rows)]
    assert {text_at(data, texts + each[0]) for each in symbols} == {f"_{name}" for name in done.symbols}
    # name, name of segment, address, size, offset, alignment, place and number of relocations
    section = struct.unpack_from("<16s16sQQIIII", found[0x19], 72)
    assert section[0].rstrip(b"\0") == b"__text" and section[7] == 0
    assert section[4] % (1 << section[5]) == 0 and all(each[4] < section[3] for each in symbols)


def test_an_archive_of_macos_has_an_index(tmp_path: Path) -> None:
    done = stepwell.export(model(), tmp_path / "m.a", mcpu="aarch64-macos")
    data = (tmp_path / "m.a").read_bytes()
    assert data[:8] == b"!<arch>\n" and data[8:13] == b"#1/20" and data[68:88].rstrip(b"\0") == b"__.SYMDEF"
    rows = struct.unpack_from("<I", data, 88)[0]
    texts = 88 + 4 + rows + 4
    names: list[str] = []
    for place, member in struct.iter_unpack("<II", data[92 : 92 + rows]):
        names.append(text_at(data, texts + place))
        contents = member + 60 + int(data[member + 3 : member + 16])
        assert data[contents : contents + 4] == bytes.fromhex("cffaedfe") and contents % 8 == 0
    assert names == [f"_{name}" for name in done.symbols]


def test_a_linker_takes_an_archive_of_windows(tmp_path: Path) -> None:
    needs_program("ld")
    import subprocess

    stepwell.export(model(), tmp_path / "m.a", mcpu="x86-64-windows")
    shown = subprocess.run(["ld", "-V"], capture_output=True, text=True, check=True).stdout
    if "i386pep" not in shown:
        pytest.skip("this linker knows no files of Windows")
    line = ["ld", "-m", "i386pep", "-shared", "-e", "0", "-u", "m_run", "m.a", "-o", "linked.dll"]
    subprocess.run(line, cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "linked.dll").read_bytes()[:2] == b"MZ"


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("mcpu", "name"),
    [
        ("x86-64-windows", "m.so"),
        ("aarch64-macos", "m.dll"),
        ("aarch64", "m.dylib"),
        ("x86-64-v3", "m.dll"),
        ("wasm32", "m.dylib"),
    ],
)
def test_a_suffix_of_another_system_is_refused(mcpu: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(StepwellError, match="bad-option") as raised:
        stepwell.export(model(), tmp_path / name, mcpu=mcpu)
    assert "suffixes are" in str(raised.value) and not list(tmp_path.iterdir())
