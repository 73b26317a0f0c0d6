"""Objects for microcontrollers: Thumb code in ELF files of 32 bits, without threads and with small stacks."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import onnx.parser
import pytest

import stepwell
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.link.elf import read_object
from stepwell.runtime.link.linker import flat_link
from stepwell.runtime.link.thumb import THUMB_PATCHES, branch_distance
from stepwell.runtime.machine.target import target_from
from tests.support.components import needs_program

# A feature map with padding: 7 KB, more than what stays on a small stack.
MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[1, 1, 40, 40] x, float[2, 1, 3, 3] w) => (float[1, 2, 40, 40] y) {
  y = Conv <pads = [1, 1, 1, 1]> (x, w)
}
"""
PADDED_BYTES = 42 * 42 * 4
BRANCH = 10  # R_ARM_THM_CALL


@pytest.mark.parametrize(
    ("distance", "halves"),
    [
        (0, (0xF000, 0xF800)),
        (-4, (0xF7FF, 0xFFFE)),
        (0xFFFFFE, (0xF3FF, 0xD7FF)),
        (-0x1000000, (0xF400, 0xD000)),
        (0x400000, (0xF000, 0xD000 | 1 << 13)),
        (0x123456, (0xF123, 0xFA2B)),
    ],
)
def test_branches_have_the_bits_of_the_manual(distance: int, halves: tuple[int, int]) -> None:
    assert branch_distance(*halves) == distance
    memory = bytearray(struct.pack("<2H", 0xF7FF, 0xFFFE))  # bl with an addend of -4, as LLVM writes it
    place = 0
    THUMB_PATCHES[BRANCH](memory, place, distance + 4 | 1, 0)
    assert struct.unpack("<2H", memory) == halves


def test_a_branch_that_does_not_reach_is_an_error() -> None:
    memory = bytearray(struct.pack("<2H", 0xF7FF, 0xFFFE))
    with pytest.raises(ValueError, match="does not fit 25 bits"):
        THUMB_PATCHES[BRANCH](memory, 0, 0x1000004, 0)
    with pytest.raises(ValueError, match="does not fit 25 bits"):
        THUMB_PATCHES[BRANCH](memory, 0, -0x1000004, 0)


def test_addresses_of_functions_are_odd_and_those_of_constants_are_not() -> None:
    text = """
    @numbers = private unnamed_addr constant [2 x i32] [i32 7, i32 9], align 4
    define hidden i32 @called(i32 %i) nounwind {
      %p = getelementptr i32, ptr @numbers, i32 %i
      %n = load i32, ptr %p
      ret i32 %n
    }
    define ptr @address() nounwind { ret ptr @called }
    """
    file = read_object(compile_to_object(text, target_from("cortex-m4"), optimize=False))
    assert file.arch == "thumb"
    code = flat_link([file])
    assert not any(offset & 1 for offset, _ in code.symbols.values())
    begin, size = code.symbols["address"]
    # ldr r0, constant; add r0, pc; bx lr; and the distance from the addition to the function
    body = code.contents[begin : begin + size]
    distance = struct.unpack("<i", body[-4:])[0]
    assert begin + 2 + 4 + distance == code.symbols["called"][0] | 1
    begin, size = code.symbols["called"]
    places = [begin + at + 4 for at in range(0, size - 4, 2)]  # of an addition
    distance = struct.unpack("<i", code.contents[begin + size - 4 : begin + size])[0]
    numbers = code.contents.index(struct.pack("<2i", 7, 9))
    assert numbers in [place + distance for place in places]


def test_an_object_has_no_threads_and_large_arrays_are_in_the_workspace(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(MODEL)
    done = stepwell.export(model, tmp_path / "m.o", mcpu="cortex-m4")
    assert {file.name for file in done.files} == {"m.o", "m.h"}
    assert not any("pool" in symbol for symbol in done.symbols)
    header = (tmp_path / "m.h").read_text()
    assert "stepwell_pool_init" not in header and f"M_STACK_BYTES {done.stack_bytes} " in header
    assert int(done.workspace) >= PADDED_BYTES and 0 < done.stack_bytes < 4096
    with pytest.raises(StepwellError, match="bad-option") as raised:
        stepwell.export(model, tmp_path / "m.so", mcpu="cortex-m4")
    assert ".o, .a" in str(raised.value)


def test_the_tools_of_gnu_see_thumb_functions(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(MODEL)
    stepwell.export(model, tmp_path / "m.a", mcpu="cortex-m4")
    (tmp_path / "main.c").write_text('#include "m.h"\nint start(void) { return m_run(0, 0, 0); }\n')
    compiler = needs_program("arm-none-eabi-gcc")
    for floats in ("hard", "softfp"):
        options = ("-mcpu=cortex-m4", "-mthumb", f"-mfloat-abi={floats}", "-Wall", "-Wextra", "-Werror")
        linked = ("-ffreestanding", "-nostdlib", "-Wl,-e,start", "main.c", "m.a", "-o", "m.elf")
        command = [compiler, *options, *linked]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=120)
        assert not done.stderr
    shown = subprocess.run(
        ["arm-none-eabi-objdump", "-d", "--disassemble=m_run", "m.elf"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert "<m_run>:" in shown and "bl\t" in shown and "<UNDEFINED>" not in shown
