"""Exports for CPUs of the table, checked by their headers and symbols; `make deploy` runs them."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.lowering.export.ffi import IMPORTS
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.link.elf import MACHINES, read_object
from stepwell.runtime.link.relinked import read_paired
from stepwell.runtime.link.relocations import LOW12_BY_ADDITION, LOW12_OF_LOAD, LOW12_OF_STORE, PATCHES
from stepwell.runtime.machine.target import target_from
from stepwell.runtime.targets.cpu import cpu_rows, level_of
from stepwell.runtime.targets.triples import system_of
from stepwell.tools import cli
from tests.support.components import needs_program

RELU = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[N, 7] x) => (float[N, 7] y) <float[7] b = {1, 2, 3, 4, 5, 6, 7}> { s = Add (x, b) y = Relu (s) }
"""
FOREIGN = [
    row.name
    for row in cpu_rows().values()
    if row.emulator != "native" and row.triple.endswith(("gnu", "eabihf", "none-elf"))
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("mcpu", FOREIGN)
def test_an_export_for_another_cpu_has_its_machine_and_nothing_undefined(mcpu: str, tmp_path: Path) -> None:
    row, model = cpu_rows()[mcpu], onnx.parser.parse_model(RELU)
    stepwell.export(model, tmp_path / "m.o", mcpu=mcpu)
    data = (tmp_path / "m.o").read_bytes()
    machine = MACHINES[struct.unpack_from("<H", data, 18)[0]]
    assert machine == {"thumb": "armv7", "riscv32": "riscv64"}.get(row.arch, row.arch)
    file = read_object(data)
    assert file.arch == row.arch
    assert {s.name for s in file.symbols if not s.section} == {""}
    assert {"m_run", "m_workspace_bytes", "m_message", "m_json"} <= {s.name for s in file.symbols}
    assert row.triple in (tmp_path / "m.h").read_text()
    if system_of(row.triple) == "none":
        return
    stepwell.export(model, tmp_path / "m.so", mcpu=mcpu)
    library = (tmp_path / "m.so").read_bytes()
    assert library[4] == (1 if row.arch == "armv7" else 2) and len(library) < 16 << 10
    command = [needs_program("readelf"), "--dyn-syms", "--wide", "m.so"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in shown.splitlines()]
    found = {row[7]: row[4:7:2] for row in rows if len(row) == 8 and row[0][:-1].isdigit()}
    assert {name for name, (_, section) in found.items() if section == "UND"} == set(IMPORTS)
    assert all(binding == "WEAK" for binding, section in found.values() if section == "UND")
    own = ("m_", "stepwell_1_pool_", "__tvm_ffi_m")
    assert all(name.startswith(own) for name in set(found) - set(IMPORTS))
    with pytest.raises(StepwellError, match=rf"wrong-cpu(.|\n)*run MODEL --mcpu {mcpu} --emulate"):
        stepwell.load(tmp_path / "m.so")


# Roundings, divisions, and casts by i64, for which some CPUs have no instructions.
CALLING = """
<ir_version: 9, opset_import: ["" : 19]>
m (float[N, 7] x, int32[N, 7] i) => (float[N, 7] y, int32[N, 7] j) {
  f = Floor (x) s = Sin (f) d = Cast <to = 11> (s) l = Cast <to = 7> (x) k = Cast <to = 11> (l)
  p = Mul (d, k) r = Round (p) y = Cast <to = 1> (r)
  three = Constant <value_int = 3> () q = Cast <to = 6> (three)
  m = Add (i, q) j = Div (i, m)
}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("mcpu", ["x86-64", "armv7", "cortex-m4", "riscv32"])
def test_files_define_functions_for_missing_instructions(mcpu: str, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(CALLING)
    stepwell.export(model, tmp_path / "m.o", mcpu=mcpu)
    names = {s.name for s in read_object((tmp_path / "m.o").read_bytes()).symbols}
    assert ("__aeabi_dmul" in names) == (mcpu in ("cortex-m4", "riscv32")) and "__aeabi_ddiv" not in names
    assert ("__aeabi_l2d" in names) == (mcpu != "x86-64") and "memmove" not in names
    assert ("floorf" in names) == (mcpu != "riscv32")  # which LLVM writes as conversions there
    assert ("__muldf3" in names) == ("__floatdidf" in names) == (mcpu == "riscv32")
    if mcpu == "x86-64":
        stepwell.export(model, tmp_path / "m.so", mcpu=mcpu)
        x = np.array([[-2.5, -1.0, 0.4, 3.7, 1e3, -7.9, 0.0]], np.float32)
        i = np.array([[-9, 0, 1, 5, 100, -4, 7]], np.int32)
        loaded: Any = stepwell.load(tmp_path / "m.so")
        wanted, found = (m(x, i) for m in (stepwell.compile(model), loaded))
        floats = (np.asarray(each[0], np.float64) for each in (found, wanted))
        np.testing.assert_allclose(*floats, rtol=1e-6)
        assert np.array_equal(found[1], wanted[1])


@pytest.mark.parametrize("mcpu", ["riscv64", "riscv32"])
def test_a_linker_reaches_weights_of_risc_v_by_labels(mcpu: str, tmp_path: Path) -> None:
    """The second instruction of a pair names a label at the first one; files have no kind of our own."""
    stepwell.export(onnx.parser.parse_model(RELU), tmp_path / "m.o", mcpu=mcpu)
    data = (tmp_path / "m.o").read_bytes()
    file = read_object(data)
    text = next(section for section in file.sections if section.is_code)
    high, *low = text.relocations
    assert high.kind == 23 and file.symbols[high.symbol].name == "m_weights" and low
    for each in low:
        label = file.symbols[each.symbol]
        assert each.kind in (24, 25) and (label.section, label.offset) == (text.number, high.offset)
    for each in read_paired(data).sections[text.number - 1].relocations[1:]:
        assert each.kind in PATCHES[mcpu] and each.addend == each.offset - high.offset


@pytest.mark.filterwarnings("ignore::stepwell.runtime.machine.target.TargetWarning")
def test_the_table_has_levels_from_low_to_high() -> None:
    assert level_of("x86_64", frozenset(cpu_rows()["x86-64-v3"].features)) == cpu_rows()["x86-64-v3"]
    assert level_of("riscv64", frozenset(cpu_rows()["riscv64"].features)) == cpu_rows()["riscv64"]
    for name in ("cortex-m4", "cortex-m7", "cortex-m33"):
        assert level_of("thumb", frozenset(cpu_rows()[name].features)) == cpu_rows()[name]
    assert level_of("mips", frozenset()) is None
    for row in cpu_rows().values():
        target = target_from(row.name)
        assert (target.vector_bytes, target.vector_registers) == (row.vector_bytes, row.vector_registers)
        assert list(row.features) == sorted(row.features) and row.about and row.emulator
        assert row.has_own_system or str(target).startswith(row.name)
    assert target_from("riscv64").f32_lanes == 1


def test_targets_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["targets"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in cpu_rows())
    heading, *lines = shown.splitlines()[1:]
    by_name = {line.split()[0]: line for line in lines}
    for name, row in cpu_rows().items():
        assert by_name[name][heading.index("triple") :].startswith(f"{row.triple} ")
        assert by_name[name].endswith(row.about) and by_name[name].index(row.about) == heading.index("for")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
def test_code_for_other_systems_does_not_run_on_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["targets", "x86-64-v3-"]) == 0
    assert "this machine" not in capsys.readouterr().out


@pytest.mark.parametrize("distance", [0, 4, 0x7FE, 0x800, -4, -0x801, 0x12345678, -0x12345678])
def test_pairs_of_risc_v_reach_a_distance(distance: int) -> None:
    """`auipc a0, 0` and the second instruction, four bytes after it, with addends as pairs have them."""
    for kind, second in (
        (LOW12_OF_LOAD, 0x00050513),  # addi a0, a0, 0
        (LOW12_BY_ADDITION, 0x00053503),  # ld a0, 0(a0)
        (LOW12_OF_STORE, 0x00B53023),  # sd a1, 0(a0)
    ):
        memory = bytearray(struct.pack("<2I", 0x00000517, second))
        PATCHES["riscv64"][23](memory, 0, distance, 0)
        PATCHES["riscv64"][kind](memory, 4, distance, 4)
        high, low = struct.unpack("<2I", memory)
        low_bits = (low >> 25 << 5 | low >> 7 & 31) if kind == LOW12_OF_STORE else low >> 20
        reached = _signed(high & 0xFFFFF000, 32) + _signed(low_bits, 12)
        assert reached == distance
        assert kind != LOW12_BY_ADDITION or low & 0x707F == 0x13


@pytest.mark.parametrize("distance", [0, 4, -8, 0x1FFFFF4, -0x1FFFFF8])
def test_branches_of_armv7_keep_the_addend_of_the_instruction(distance: int) -> None:
    memory = bytearray(struct.pack("<I", 0xEBFFFFFE))  # bl with an addend of -8, as LLVM writes it
    PATCHES["armv7"][28](memory, 0, distance + 8, 0)
    (word,) = struct.unpack("<I", memory)
    assert word >> 24 == 0xEB and _signed(word & 0xFFFFFF, 24) * 4 == distance


def test_a_distance_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ValueError, match="does not fit 24 bits"):
        PATCHES["armv7"][29](bytearray(struct.pack("<I", 0xEAFFFFFE)), 0, 1 << 27, 0)


def _signed(value: int, bits: int) -> int:
    return (value ^ 1 << (bits - 1)) - (1 << (bits - 1))
