"""Programs for emulated boards, by their headers; `make deploy` runs them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import onnx.parser
import pytest

from stepwell.lowering.export.emulator.boards import board_command, board_of, expect_fitting, weights_address
from stepwell.lowering.export.emulator.program import emulated_program
from stepwell.lowering.export.files import ExportOptions, Program, program_parts
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.targets.cpu import cpu_rows
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.options import CompileOptions
from tests.unit.lowering.export.test_other_cpus import RELU

_BOARDS = ("cortex-m7", "cortex-m33")


class Segment(NamedTuple):
    """A row of the table of segments of a file of 32 bits."""

    type: int
    offset: int
    address: int
    physical: int
    file_bytes: int
    bytes: int
    flags: int
    alignment: int


def segments(data: bytes) -> Sequence[Segment]:
    count = struct.unpack_from("<H", data, 44)[0]
    return [Segment(*struct.unpack_from("<8I", data, 52 + 32 * i)) for i in range(count)]


@pytest.mark.parametrize("mcpu", _BOARDS)
def test_a_program_begins_with_its_stack_and_an_odd_address(mcpu: str) -> None:
    board = board_of(cpu_rows()[mcpu].emulator)
    assert board is not None
    image = build_image(onnx.parser.parse_model(RELU), CompileOptions(mcpu=mcpu))
    parts = program_parts(image, ExportOptions("m"), Program(board))
    data = b"".join(map(bytes, emulated_program(parts, board)))
    text, weights = segments(data)
    stack, entry = struct.unpack_from("<2I", data, text.offset)
    assert text.address == board.code and stack < board.stack and stack % 8 == 0
    assert entry & 1 and text.address < entry < text.address + text.bytes
    assert struct.unpack_from("<I", data, 24) == (entry,)
    assert weights.address == weights_address(board, parts.weight_bytes)
    assert data[weights.offset : weights.offset + 4] == struct.pack("<f", 1)
    assert weights.address + weights.bytes <= board.memory + board.memory_bytes


def test_a_call_that_a_board_has_no_memory_for() -> None:
    board = board_of(cpu_rows()["cortex-m4"].emulator)
    assert board is not None and board_of("qemu-aarch64") is None
    expect_fitting(board, 1 << 23, 1 << 23)
    with pytest.raises(StepwellError, match=r"too-large.*weights take 8,388,608 bytes, a call .*16,777,216"):
        expect_fitting(board, (1 << 23) + 1, 1 << 23)
    with pytest.raises(StepwellError, match="weights take 16,777,217 bytes, and the"):
        expect_fitting(board, 0, (1 << 24) + 1)
    assert board_command("qemu-system-arm -machine mps2-an386")[-1] == "-kernel"
