"""Programs of the accelerator: encoded and decoded, simulated exactly, in all orders that tokens allow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.dialects import npu
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.backends.npu.program_file import encoded, program_of
from stepwell.lowering.backends.npu.simulate import simulate
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.npu.config import Config, config_of
from stepwell.runtime.npu.encoded import Encoded
from stepwell.runtime.npu.instructions import (
    Alu,
    AluKind,
    Buffer,
    Finish,
    Gemm,
    Load,
    Store,
    Tokens,
    Uop,
    decode,
    decode_uops,
    encode,
    encode_uops,
)
from stepwell.runtime.npu.simulator import Simulator
from tests.support.samples import examples

Array = npt.NDArray[Any]
PRODUCT = """
npu.program @p(%x: memref<1x1x16xi8>, %w: memref<1x16x16xi8>, %y: memref<1x1x16xi8>) config "pynq" {
  %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<1x1x16xi8>
  %b = npu.load wgt %w[0] to 0 size [1, 1] stride 1 : memref<1x16x16xi8>
  %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  %g = npu.gemm uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] after(%a, %b)
  %h = npu.gemm uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  %r = npu.alu shr imm 7 uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0]
  %s = npu.store %y[0] from 0 size [1, 1] stride 1 after(%r) : memref<1x1x16xi8>
  %f = npu.finish after(%s)
}
"""


def program(text: str) -> npu.ProgramOp:
    module = parse_module(StepwellContext(), text)
    module.verify()
    (found,) = [op for op in module.walk() if isinstance(op, npu.ProgramOp)]
    return found


def bytes_of(shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def test_two_products_are_exact() -> None:
    x, w = bytes_of((1, 1, 16), 0), bytes_of((1, 16, 16), 1)
    arrays, report = simulate(program(PRODUCT), [x, w, np.zeros((1, 1, 16), np.int8)])
    sums = 2 * (x[0].astype(np.int64) @ w[0].T.astype(np.int64)) >> 7
    np.testing.assert_array_equal(arrays[2][0], np.clip(sums, -128, 127))
    assert (report.bytes_in, report.bytes_out, report.macs) == (16 + 256 + 24, 16, 2 * 256)
    np.testing.assert_array_equal(arrays[0], x)


def test_bytes_are_the_program() -> None:
    found = encoded(program(PRODUCT))
    again = Encoded.from_bytes(found.to_bytes())
    assert again == found and len(found.uops) == 1
    read = program_of(again)
    read.verify()
    assert encoded(read).instructions == found.instructions


def convolution() -> str:
    """
    A 3x3 convolution of 6x6 pixels with padding, in two halves with a part of `inp` and `acc` each: the
    second one is loaded while the first is computed.
    """
    lines = [
        "npu.program @c(%x: memref<6x6x1x16xi8>, %w: memref<9x16x16xi8>, %m: memref<2x1x16xi32>,"
        ' %y: memref<6x6x1x16xi8>) config "pynq" {',
        "  %w0 = npu.load wgt %w[0] to 0 size [1, 9] stride 9 : memref<9x16x16xi8>",
        "  %m0 = npu.load acc %m[0] to 100 size [1, 2] stride 2 : memref<2x1x16xi32>",
    ]
    for half, (row, rows, pads) in enumerate(((0, 4, "1, 0"), (2, 4, "0, 1"))):
        inp, acc = 50 * half, 20 * half
        moved = ", ".join(f"({acc}, {inp + 8 * (i // 3) + i % 3}, {i})" for i in range(9))
        lines += [
            f"  %x{half} = npu.load inp %x[{6 * row}] to {inp} size [{rows}, 6] stride 6 pad [{pads}, 1, 1]"
            " value 0 : memref<6x6x1x16xi8>",
            f"  %z{half} = npu.gemm reset uops [({acc}, 0, 0)] loops [3, 6] dst [6, 1] src [0, 0] wgt [0, 0]",
            f"  %g{half} = npu.gemm uops [{moved}] loops [3, 6] dst [6, 1] src [8, 1] wgt [0, 0]"
            f" after(%w0, %x{half})",
            f"  %q{half} = npu.alu mulshift uops [({acc}, 100, 101)] loops [3, 6] dst [6, 1] src [0, 0]",
            f"  %r{half} = npu.alu max imm 0 uops [({acc}, 0, 0)] loops [3, 6] dst [6, 1] src [0, 0]",
            f"  %s{half} = npu.store %y[{18 * half}] from {acc} size [3, 6] stride 6 after(%r{half})"
            " : memref<6x6x1x16xi8>",
        ]
    return "\n".join([*lines, "  %f = npu.finish after(%s0, %s1)", "}"])


def wanted_convolution(x: Array, w: Array, m: int, s: int) -> Array:
    padded = np.pad(x[:, :, 0].astype(np.int64), ((1, 1), (1, 1), (0, 0)))
    sums = np.zeros((6, 6, 16), np.int64)
    for i in range(9):
        sums += padded[i // 3 : i // 3 + 6, i % 3 : i % 3 + 6] @ w[i].T.astype(np.int64)
    return np.clip(np.maximum(sums * m + (1 << s - 1) >> s, 0), -128, 127)[:, :, None]


def test_a_convolution_is_the_same_in_all_orders() -> None:
    x, w = bytes_of((6, 6, 1, 16), 2), bytes_of((9, 16, 16), 3)
    numbers = np.repeat(np.array([[1518500250], [40]], np.int32), 16, 1).reshape(2, 1, 16)
    made = encoded(program(convolution()))
    wanted = wanted_convolution(x, w, 1518500250, 40)
    assert len(np.unique(wanted)) > 50
    for seed in (None, *range(20)):
        arrays, report = simulate(made, [x, w, numbers, np.zeros_like(x)], seed)
        np.testing.assert_array_equal(arrays[3], wanted)
        assert report.macs == 36 * 9 * 256 and report.cycles["compute"] > report.cycles["store"]


@pytest.mark.parametrize(
    ("line", "kind"), [(3, "gemm"), (11, "store"), (12, "load")], ids=["inputs", "sums", "reuse"]
)
def test_a_token_that_is_missing_is_a_hazard(line: int, kind: str) -> None:
    """Each token that a result depends on is taken out: the run says which two instructions are not apart."""
    text = (
        PRODUCT
        if kind != "load"
        else PRODUCT.replace(
            "  %f", "  %a2 = npu.load inp %x[0] to 0 size [1, 1] stride 1 after(%h) : memref<1x1x16xi8>\n  %f"
        ).replace("after(%s)", "after(%s, %a2)")
    )
    found = encoded(program(text))
    removed = [
        number
        for number, each in enumerate(found.instructions)
        if isinstance(each, {"gemm": Gemm, "store": Store, "load": Load}[kind])
        and (each.tokens.pop_next if kind == "load" else each.tokens.pop_prev)
    ]
    (number,) = removed
    instructions = list(found.instructions)
    tokens = instructions[number].tokens
    kept = replace(tokens, pop_next=False) if kind == "load" else replace(tokens, pop_prev=False)
    instructions[number] = replace(instructions[number], tokens=kept)
    giver = {"gemm": Load, "store": Alu, "load": Gemm}[kind]
    for other, each in enumerate(instructions):
        if isinstance(each, giver) and other < number:
            kept = (
                replace(each.tokens, push_next=False)
                if kind != "load"
                else replace(each.tokens, push_prev=False)
            )
            instructions[other] = replace(each, tokens=kept)
    arrays = [bytes_of((1, 1, 16), 0), bytes_of((1, 16, 16), 1), np.zeros((1, 1, 16), np.int8)]
    with pytest.raises(StepwellError, match=rf"instruction \d+, {kind}.*may still be") as raised:
        Simulator(found.sizes(), instructions, found.uops).run(arrays)
    assert raised.value.code == "npu-hazard"


_NUMBERS = st.integers(0, 2000)
_BYTES = st.integers(0, 255)
_TOKENS = st.builds(Tokens, *[st.booleans()] * 4)
_PAIRS = st.tuples(st.integers(0, 2047), st.integers(0, 2047))
_NARROW = st.tuples(st.integers(0, 1023), st.integers(0, 1023))
_INSTRUCTIONS = st.one_of(
    st.builds(
        Load, st.sampled_from(Buffer), _NUMBERS, _BYTES, st.integers(0, (1 << 24) - 1), _NUMBERS, _NUMBERS,
        st.integers(0, 65535), st.tuples(*[st.integers(0, 15)] * 4), st.integers(-128, 127), _TOKENS,
    ),
    st.builds(Store, _NUMBERS, _BYTES, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, st.booleans(), _TOKENS),
    st.builds(Gemm, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, _PAIRS, _PAIRS, _NARROW, st.booleans(), _TOKENS),
    st.builds(
        Alu, st.sampled_from(AluKind), _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, _PAIRS, _PAIRS,
        st.none() | st.integers(-32768, 32767), _TOKENS,
    ),
    st.builds(Finish, _TOKENS),
)  # fmt: skip


@given(instructions=st.lists(_INSTRUCTIONS, max_size=6))
@examples(200)
def test_instructions_come_back(instructions: list[Any]) -> None:
    data = encode(instructions)
    assert decode(data) == instructions and len(data) == 16 * len(instructions)


@given(data=st.binary(max_size=64))
@examples(200)
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    try:
        assert encode(decode(data)) == data
    except StepwellError as error:
        assert error.code == "bad-npu-program"


@given(data=st.data())
@examples(200)
def test_a_program_that_was_cut_or_changed(data: st.DataObject) -> None:
    """It is refused, or runs within bounds."""
    whole = bytearray(encoded(program(PRODUCT)).to_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    kept = bytes(whole[: data.draw(st.integers(0, len(whole)) | st.just(len(whole)))])
    try:
        found = Encoded.from_bytes(kept)
        arrays = [np.zeros(shape, np.int8 if dtype == "i8" else np.int32) for shape, dtype in found.arguments]
        if sum(array.nbytes for array in arrays) < 1 << 20:
            simulate(found, arrays)
    except StepwellError as error:
        assert error.code in {"bad-npu-program", "npu-hazard", "bad-target"}


def test_fields_that_do_not_fit() -> None:
    for instruction, text in (
        (Finish(), ""),
        (Gemm(0, 1, 4096, 1, (0, 0), (0, 0), (0, 0)), "outer of gemm is 0 to 4095, found 4096"),
        (Load(Buffer.INP, 0, 0, 0, 1, 1, 1, (0, 16, 0, 0)), "pad of load is 0 to 15, found 16"),
        (Alu(AluKind.ADD, 0, 1, 1, 1, (0, 0), (0, 0), 40000), "immediate of alu is -32768 to 32767"),
    ):
        if not text:
            assert encode([instruction]) == (4).to_bytes(16, "little")
            continue
        with pytest.raises(StepwellError, match=text):
            encode([instruction])
    with pytest.raises(StepwellError, match="dst of a micro-op is 0 to 4095, found 4096"):
        encode_uops([Uop(4096, 0, 0)])
    assert decode_uops(encode_uops([Uop(4095, 1, 2047)])) == [Uop(4095, 1, 2047)]


@pytest.mark.parametrize(
    ("loops", "uops", "said"),
    [
        ("65536, 65536", 1, "runs more than 16777216 micro-ops"),
        ("4095, 4095", 2, "runs more than 16777216 micro-ops"),
    ],
)
def test_loops_without_end_are_refused(loops: str, uops: int, said: str) -> None:
    listed = ", ".join(["(0, 0, 0)"] * uops)
    endless = program(
        f"""npu.program @p(%y: memref<1x1x16xi8>) config "pynq" {{
          %z = npu.gemm reset uops [{listed}] loops [{loops}] dst [0, 0] src [0, 0] wgt [0, 0]
          %f = npu.finish after(%z)
        }}"""
    )
    with pytest.raises(StepwellError, match=said) as error:
        simulate(endless, [np.zeros((1, 1, 16), np.int8)])
    assert error.value.code == "bad-npu-program"


@pytest.mark.parametrize(
    ("kind", "immediate", "given", "wanted"),
    [
        (AluKind.MIN, 3, [5, -5], [3, -5]),
        (AluKind.MAX, 3, [5, -5], [5, 3]),
        (AluKind.ADD, 2, [2147483647, -5], [-2147483647, -3]),
        (AluKind.SHR, 1, [5, -5], [2, -3]),
        (AluKind.SHR, -2, [5, -5], [20, -20]),
    ],
)
def test_elementwise_operations(kind: AluKind, immediate: int, given: list[int], wanted: list[int]) -> None:
    """Sums wrap to 32 bits; a shift to the right rounds down."""
    sums = np.resize(np.array(given, np.int32), (1, 1, 16))
    instructions = [
        Load(Buffer.UOP, 0, 255, 0, 1, 1, 1),
        Load(Buffer.ACC, 0, 0, 0, 1, 1, 1),
        Alu(kind, 0, 1, 1, 1, (0, 0), (0, 0), immediate),
    ]
    simulator = Simulator(Config(), instructions, [Uop(0, 0, 0)])
    simulator.run([sums])
    np.testing.assert_array_equal(simulator.sums(0), np.resize(wanted, (1, 16)))


def test_later_iterations_see_what_earlier_ones_wrote() -> None:
    """A running sum: each element adds the one before it."""
    instructions = [
        Load(Buffer.UOP, 0, 255, 0, 1, 1, 1),
        Load(Buffer.ACC, 0, 0, 0, 1, 4, 4),
        Alu(AluKind.ADD, 0, 1, 1, 3, (0, 1), (0, 1), None),
    ]
    sums = np.arange(1, 5, dtype=np.int32).repeat(16).reshape(4, 1, 16)
    simulator = Simulator(Config(), instructions, [Uop(1, 0, 0)])
    simulator.run([sums])
    assert [int(simulator.sums(i)[0, 0]) for i in range(4)] == [1, 3, 6, 10]


def test_configurations(tmp_path: Any) -> None:
    (tmp_path / "own.json").write_text('{"block_in": 32, "wgt": 64}')
    assert config_of(str(tmp_path / "own.json")) == Config(block_in=32, wgt=64)
    for text, message in (
        ('{"wgt": 4096}', "wgt of an npu is at most 2048, found 4096"),
        ('{"wgt": 0}', "must be a positive number, found 0"),
        ('{"weight": 1}', "an npu has no size 'weight'"),
        ("[1]", "must be one of pynq, ultra96, or a file of JSON"),
        ("[" * 100_000, "must be one of pynq, ultra96, or a file of JSON"),
    ):
        (tmp_path / "own.json").write_text(text)
        with pytest.raises(StepwellError, match=message):
            config_of(str(tmp_path / "own.json"))


def test_other_arrays_than_the_program_takes() -> None:
    with pytest.raises(
        StepwellError, match="takes 1x1x16 of i8, 1x16x16 of i8, 1x1x16 of i8, found 1x16 of i8"
    ):
        simulate(program(PRODUCT), [np.zeros((1, 16), np.int8)])
