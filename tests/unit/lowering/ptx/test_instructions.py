"""Single instructions of PTX on lanes, against Python's exact numbers."""

import re
import struct
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from stepwell.lowering.interpret.ptx import Buffer, PtxProgram
from stepwell.runtime.errors import StepwellError

F32 = np.float32


def run(instructions: str, *arrays: Any, threads: int = 0, shared: int = 0) -> None:
    """Run instructions in one block; `%a` is the address of the lane's 8 bytes of each array, `%b` …"""
    lanes = threads or len(arrays[0])
    names = "abcd"[: len(arrays)]
    parameters = ",\n".join(f".param .u64 k_param_{n}" for n in range(len(arrays)))
    loads = "\n".join(
        f"ld.param.b64 %{name}, [k_param_{n}];\nmad.wide.u32 %{name}, %t, 8, %{name};"
        for n, name in enumerate(names)
    )
    registers = "\n".join(f".reg .b64 %{name};" for name in names)
    memory = f".shared .align 16 .b8 s[{shared}];\n" if shared else ""
    text = f"""{memory}.visible .entry k(
{parameters}
)
{{
.reg .pred %p<9>;
.reg .b16 %h<9>;
.reg .b32 %r<9>;
.reg .b64 %d<9>;
.reg .b32 %t;
{registers}
mov.u32 %t, %tid.x;
{loads}
{instructions}
ret;
}}
"""
    addresses = [array.ctypes.data for array in arrays]
    sizes = [array.nbytes for array in arrays]
    buffers = [Buffer(*each) for each in zip(addresses, sizes, names, strict=True)]
    PtxProgram(text).launch("k", (1, 1, 1), (lanes, 1, 1), addresses, buffers)


def computed(instruction: str, type: str, *operands: Any) -> Any:
    """The result of an instruction `NAME %d0, …` on numbers of a type, as that type."""
    size, width = np.dtype(operands[0].dtype).itemsize, 8 * np.dtype(operands[0].dtype).itemsize
    cells = [np.zeros((len(operands[0]), 8 // size), each.dtype) for each in (operands[0], *operands)]
    for cell, operand in zip(cells[1:], operands, strict=True):
        cell[:, 0] = operand
    register = {16: "h", 32: "r", 64: "d"}[width]
    loads = [f"ld.global.b{width} %{register}{n}, [%{'abcd'[n]}];" for n in range(1, len(cells))]
    names = ", ".join(f"%{register}{n}" for n in range(len(cells)))
    run("\n".join([*loads, f"{instruction} {names};", f"st.global.b{width} [%a], %{register}0;"]), *cells)
    return cells[0][:, 0].copy().view(type)


SPECIAL = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 3.4e38, 1.5, 2**-126], F32)


def pairs(values: Any) -> tuple[Any, Any]:
    """All pairs of values."""
    a, b = np.meshgrid(values, values)
    return a.ravel().copy(), b.ravel().copy()


def test_float_arithmetic_is_that_of_the_standard() -> None:
    a, b = pairs(SPECIAL)
    with np.errstate(all="ignore"):
        for name, function in (
            ("add", np.add),
            ("sub", np.subtract),
            ("mul", np.multiply),
            ("div", np.divide),
        ):
            np.testing.assert_array_equal(computed(f"{name}.rn.f32", "f4", a, b), function(a, b))
        np.testing.assert_array_equal(computed("sqrt.rn.f32", "f4", a), np.sqrt(a))


def test_extrema_keep_nan_or_leave_it_out_and_order_zeros() -> None:
    a, b = pairs(SPECIAL)
    for name, nan, other in (("max", np.maximum, np.fmax), ("min", np.minimum, np.fmin)):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(computed(f"{name}.NaN.f32", "f4", a, b), nan(a, b))
            np.testing.assert_array_equal(computed(f"{name}.f32", "f4", a, b), other(a, b))
    zero, minus = np.array([0.0, -0.0], F32), np.array([-0.0, 0.0], F32)
    assert not np.signbit(computed("max.f32", "f4", zero, minus)).any()
    assert np.signbit(computed("min.f32", "f4", zero, minus)).all()


def _rounded(exact: Fraction) -> np.float32:
    """A number rounded to f32, to even in the middle."""
    if exact == 0:
        return F32(0)
    sign, exact = (-1, -exact) if exact < 0 else (1, exact)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent -= exact < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    whole = round(exact / unit)  # to even
    return F32(sign * float(whole * unit))


def test_fused_multiply_adds_are_rounded_once() -> None:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << 32, (3, 1000), dtype=np.uint32)
    bits[2] = (bits[2] & 0x807FFFFF) | (bits[0] & 0x7F800000)
    # In the middle between two f32 but for a product's last bit, and results below the normal numbers.
    ties = np.array(
        [[1 + 2**-12, 1 + 2**-12, 2**-24 + 1], [1 + 2**-23, 1 - 2**-23, 2**24], [2**-70, 2**-70, 1e-40]]
    )
    values = np.concatenate([bits.view(F32), ties.T.astype(F32)], axis=1)
    values = values[:, np.isfinite(values).all(axis=0) & (np.abs(values) < 1e18).all(axis=0)]
    a, b, c = (row.copy() for row in values)
    numbers = [[Fraction(float(each)) for each in row] for row in (a, b, c)]
    exact = [x * y + z for x, y, z in zip(*numbers, strict=True)]
    assert len(exact) > 300
    np.testing.assert_array_equal(computed("fma.rn.f32", "f4", a, b, c), [_rounded(each) for each in exact])


def test_fused_multiply_adds_of_f64() -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(500) * 2.0 ** rng.integers(-40, 40, 500) for _ in range(2))
    c = -(a * b) * (1 + rng.integers(-2, 3, 500) * 2.0**-52) + rng.standard_normal(500) * 2.0**-60
    c[::3] = rng.standard_normal(len(c[::3]))
    special = [(1e300, 1e5, -1e308), (1e-300, 1e-20, 1e-320), (np.inf, 1, 1), (0.0, -1, -0.0), (1e308, 10, 1)]
    a, b, c = (np.append(row, more) for row, more in zip((a, b, c), zip(*special, strict=True), strict=True))
    found = computed("fma.rn.f64", "f8", a, b, c)
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a[:-3], b, c, strict=False)]
    np.testing.assert_array_equal(found, [*exact, np.inf, -0.0, np.inf])
    assert np.signbit(found[-2])


def test_plain_f64_would_round_some_of_them_twice() -> None:
    a, b, c = F32(1 + 2**-23), F32(1 - 2**-23), F32(2**-25 * (1 + 2**-23))
    found = computed("fma.rn.f32", "f4", *(np.array([each]) for each in (a, b, c)))
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    assert found[0] == _rounded(exact)


INTEGERS = np.array([0, 1, -1, 2, -2, 7, -7, 31, 1 << 30, (1 << 31) - 1, -(1 << 31)], np.int32)


def _quotient(x: int, y: int) -> int:
    """A quotient towards zero; all bits where the divisor is 0."""
    if y == 0:
        return -1
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _wrapped(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


@pytest.mark.parametrize("bits", [32, 64])
def test_integer_arithmetic(bits: int) -> None:
    dtype = np.dtype(f"i{bits // 8}")
    values = INTEGERS.astype(dtype) * dtype.type(1 if bits == 32 else (1 << 31) + 3)
    a, b = pairs(values)
    numbers = list(zip(a.tolist(), b.tolist(), strict=True))

    def check(instruction: str, expected: Any) -> None:
        found = computed(instruction, dtype.str, a, b)
        np.testing.assert_array_equal(found, [_wrapped(expected(x, y), bits) for x, y in numbers])

    mask = (1 << bits) - 1
    check(f"add.s{bits}", lambda x, y: x + y)
    check(f"mul.lo.s{bits}", lambda x, y: x * y)
    check(f"mul.hi.s{bits}", lambda x, y: x * y >> bits)
    check(f"mul.hi.u{bits}", lambda x, y: (x & mask) * (y & mask) >> bits)
    check(f"xor.b{bits}", lambda x, y: x ^ y)
    for relu, least in [("", -mask), (".relu", 0)][: 64 // bits]:
        check(f"min{relu}.s{bits}", lambda x, y, least=least: max(least, min(x, y)))
    check(f"max.u{bits}", lambda x, y: max(x & mask, y & mask))
    check(f"div.s{bits}", _quotient)
    check(f"rem.s{bits}", lambda x, y: x if y == 0 else x - y * _quotient(x, y))


def test_shifts_of_all_bits_and_more() -> None:
    a, count = np.array([-5, -5, -5, 5, 5], np.int32), np.array([1, 31, 40, 32, 2], np.int32)
    np.testing.assert_array_equal(computed("shr.s32", "i4", a, count), [-3, -1, -1, 0, 1])
    np.testing.assert_array_equal(computed("shl.b32", "i4", a, count), [-10, -(1 << 31), 0, 0, 20])
    assert computed("shr.u32", "i4", a, count).tolist() == [0x7FFFFFFD, 1, 0, 0, 1]


def test_fields_of_bits() -> None:
    a = np.array([0xABCD1234, 0xABCD1234], np.uint32)
    position, length = np.array([4, 28], np.uint32), np.array([8, 8], np.uint32)
    assert computed("bfe.u32", "u4", a, position, length).tolist() == [0x23, 0xA]
    assert computed("bfe.s32", "i4", a, position, length).tolist() == [0x23, -6]
    b, selector = np.array([0x99, 0x99], np.uint32), np.array([0x4012, 0x4B12], np.uint32)
    # A digit above 7 copies the sign of its byte.
    found = computed("prmt.b32", "u4", a, b, selector)
    assert [hex(each) for each in found] == ["0x993412cd", "0x99ff12cd"]


def test_unsigned_immediates() -> None:
    """As LLVM writes selectors of bytes."""
    cells = np.array([[0xABCD1234, 0]], np.uint32)
    run("ld.global.b32 %r1, [%a];\nprmt.b32 %r0, %r1, 0, 0x7771U;\nst.global.b32 [%a], %r0;", cells)
    assert cells[0, 0] == 0x12


@pytest.mark.parametrize(
    ("to", "source", "register"),
    [("s32", "f32", "r"), ("u32", "f32", "r"), ("s64", "f32", "d"), ("s8", "f32", "h")],
)
def test_floats_become_integers_within_their_range(to: str, source: str, register: str) -> None:
    values = np.array([0.5, 1.5, -1.5, 2.5, 300, -300, 3e9, -3e9, 1e20, -1e20, np.inf, np.nan], F32)
    cells = np.zeros((len(values), 2), F32)
    cells[:, 0] = values
    width = {"r": 32, "d": 64, "h": 16}[register]
    run(
        f"ld.global.b32 %r1, [%a];\ncvt.rni.{to}.{source} %{register}0, %r1;\n"
        f"st.global.b{width} [%a], %{register}0;",
        cells,
    )
    dtype = np.dtype({"s32": "i4", "u32": "u4", "s64": "i8", "s8": "i2"}[to])
    limits = np.iinfo({"s8": "i1"}.get(to, dtype))
    found = cells.view(dtype).reshape(len(values), -1)[:, 0]
    whole = [int(each) for each in np.rint(values[:-2].astype(np.float64))]
    expected = [max(limits.min, min(limits.max, each)) for each in whole]
    nan = limits.min if to == "s64" else 0
    assert found.tolist() == [*expected, limits.max, nan]


def test_half_and_bfloat_are_rounded_to_even() -> None:
    values = np.array([1.0009765625, 1.00048828125, 65520, 1e-8, np.nan, 3.1415927], F32)
    cells = np.zeros((len(values), 2), F32)
    cells[:, 0] = values
    text = "ld.global.b32 %r1, [%a];\ncvt.rn.TYPE.f32 %h1, %r1;\nst.global.b16 [%a], %h1;"
    run(text.replace("TYPE", "f16"), halves := cells.copy())
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(halves.view(np.float16)[:, 0], values.astype(np.float16))
    run(text.replace("TYPE", "bf16"), bfloats := cells.copy())
    rounded = bfloats.view(ml_dtypes.bfloat16)[:, 0].astype(F32)
    np.testing.assert_array_equal(rounded, values.astype(ml_dtypes.bfloat16).astype(F32))


def test_lanes_that_leave_a_loop_keep_their_values() -> None:
    counts = np.zeros((33, 2), np.uint32)
    run(
        """mov.b32 %r1, 0;
        mov.b32 %r2, 0;
        $L1:
        setp.ge.u32 %p1, %r1, %t;
        @%p1 bra $L2;
        add.s32 %r2, %r2, %r1;
        add.s32 %r1, %r1, 1;
        bra.uni $L1;
        $L2:
        st.global.b32 [%a], %r2;""",
        counts,
    )
    assert counts[:, 0].tolist() == [n * (n - 1) // 2 for n in range(33)]


def test_values_of_other_lanes() -> None:
    cells = np.zeros((64, 2), np.uint32)
    run(
        "shfl.sync.bfly.b32 %r1|%p1, %t, 5, 31, -1;\nst.global.b32 [%a], %r1;\n"
        "shfl.sync.up.b32 %r2|%p2, %t, 3, 0x1800, -1;\n"
        "selp.b32 %r3, %r2, 99, %p2;\nst.global.b32 [%a+4], %r3;",
        cells,
    )
    lanes = np.arange(64)
    np.testing.assert_array_equal(cells[:, 0], lanes ^ 5)
    # Segments of 8 lanes: the first three of each have none that is 3 below.
    np.testing.assert_array_equal(cells[:, 1], np.where(lanes % 8 >= 3, lanes - 3, 99))


def refused(instructions: str, *arrays: Any, **options: int) -> StepwellError:
    """The error of a run."""
    with pytest.raises(StepwellError) as error:
        run(instructions, *arrays, **options)
    return error.value


@pytest.mark.parametrize(
    "instruction",
    [
        "add.rz.f32 %r1, %r2, %r3",
        "add.f32 %r1, %r2, %r3",
        "fma.rn.ftz.f32 %r1, %r2, %r3, %r4",
        "sqrt.approx.f32 %r1, %r2",
        "wgmma.fence.sync.aligned",
        "add.rn.f32 %r1, %r2",
        "mov.u32 %r1, %clock",
        "bra $L9",
        "@%p77 mov.u32 %r1, %r2",
        "@%p77 ret",
        ".reg .b64 %r<9>",
        ".reg .b32 %n<99999999>",
        ".reqntid 8, 1 1",
        ".local .align 0 .b8 m[8]",
        ".local .align 8 .b8 m[99999999999]",
    ],
)
def test_unknown_instructions_are_named_with_their_line(instruction: str) -> None:
    error = refused(f"{instruction};", np.zeros((1, 2), F32))
    assert error.code == "unsupported-ptx" and re.match(r"line \d+: ", error.message)
    assert instruction in error.message


def test_a_race_in_the_memory_of_a_block() -> None:
    text = """mov.b64 %d1, s;
    mad.wide.u32 %d2, %t, 4, %d1;
    st.shared.b32 [%d2], %t;
    BARRIER
    xor.b32 %r1, %t, 1;
    mad.wide.u32 %d3, %r1, 4, %d1;
    ld.shared.b32 %r2, [%d3];
    st.global.b32 [%a], %r2;"""
    cells = np.zeros((64, 2), np.uint32)
    run(text.replace("BARRIER", "bar.sync 0;"), cells, shared=256)
    np.testing.assert_array_equal(cells[:, 0], np.arange(64) ^ 1)
    error = refused(text.replace("BARRIER", ""), cells, shared=256)
    assert error.code == "data-race"
    assert re.match(
        r"threads \(1,0,0\) and \(0,0,0\) of block \(0,0,0\) access the block's memory, byte 4 without a "
        r"barrier between: st.shared.b32 at line \d+, then ld.shared.b32 at line \d+$",
        error.message,
    )


def test_memory_of_a_block_has_no_value_at_first() -> None:
    error = refused("ld.shared.b32 %r1, [s+4];\nst.global.b32 [%a], %r1;", np.zeros((4, 2), F32), shared=16)
    assert error.code == "uninitialized-read" and "thread (0,0,0) of block (0,0,0) reads" in error.message


def test_a_barrier_that_some_threads_do_not_reach() -> None:
    error = refused(
        "setp.lt.u32 %p1, %t, 5;\n@%p1 bra $L1;\nbar.sync 0;\n$L1:\nst.global.b32 [%a], %t;",
        np.zeros((8, 2), F32),
    )
    assert error.code == "divergent-barrier" and "and thread (0,0,0) does not" in error.message


def test_threads_that_end_before_a_barrier() -> None:
    error = refused("setp.lt.u32 %p1, %t, 5;\n@%p1 ret;\nbar.sync 0;", np.zeros((8, 2), F32))
    assert error.code == "divergent-barrier"


def test_accesses_outside_of_buffers() -> None:
    cells = np.zeros((8, 2), F32)
    error = refused("st.global.b32 [%a+8], %t;", cells)
    assert error.code == "out-of-bounds"
    assert "thread (7,0,0) of block (0,0,0) accesses a, byte 64 of 64: st.global.b32" in error.message
    error = refused("st.global.b32 [%a+2], %t;", cells)
    assert error.code == "out-of-bounds" and "no multiple of 4" in error.message
    error = refused("mov.b64 %d1, 16;\nld.global.b32 %r1, [%d1];", cells)
    assert "address 0x10, which no buffer has" in error.message


def test_two_threads_that_store_to_one_place() -> None:
    error = refused("ld.param.b64 %d1, [k_param_0];\nst.global.b32 [%d1], %t;", np.zeros((8, 2), F32))
    assert error.code == "data-race"


def test_launches_that_do_not_fit() -> None:
    program = PtxProgram(".visible .entry k(\n.param .u32 n\n)\n.reqntid 8, 1, 1\n{\nret;\n}")
    for block, values, said in (
        ((16, 1, 1), [1], "8x1x1 threads, found 16x1x1"),
        ((8, 1, 1), [], "takes 1 param"),
    ):
        with pytest.raises(StepwellError, match=said):
            program.launch("k", (1, 1, 1), block, values, [])
    with pytest.raises(StepwellError, match="no kernel @other"):
        program.launch("other", (1, 1, 1), (8, 1, 1), [], [])


def test_names_that_pieces_of_assembly_declare_again() -> None:
    x = np.zeros((2, 2), F32)
    piece = "{\n.reg .b32 tmp;\nmov.u32 tmp, %t;\nst.global.b32 [%a], tmp;\n}"
    run(f"{piece}\n{piece}\n.reg .b32 %last;\nmov.u32 %last, 7;\nst.global.b32 [%a+4], tmp;", x)
    np.testing.assert_array_equal(x.view(np.uint32), [[0, 0], [1, 1]])


def test_memory_of_a_thread() -> None:
    own = ".local .align 8 .b8 own[8];\nmov.b64 %d1, own;\nst.local.b32 [%d1+4], %t;"
    run(f"{own}\nld.local.b32 %r1, [%d1+4];\nst.global.b32 [%a], %r1;", x := np.zeros((3, 2), F32))
    np.testing.assert_array_equal(x.view(np.uint32)[:, 0], [0, 1, 2])


def test_texts_that_are_no_ptx() -> None:
    tables = [
        f".global .align 1 .b8 t[{size}] = {{1, {last}}};" for size, last in ((2, 256), (1, 2), (1 << 40, 2))
    ]
    types = ".visible .entry k(\n.param .u7 n\n)\n{\nret;\n}"
    for text in (
        *tables,
        types,
        "\0",
        "x",
        ".visible .func f(",
        struct.pack(">4d", 1, 2, 3, 4).decode("latin-1"),
    ):
        with pytest.raises(StepwellError) as error:
            PtxProgram(text)
        assert error.value.code == "unsupported-ptx"
