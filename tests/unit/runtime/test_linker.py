"""The linker: addresses that its code computes, and objects that are refused."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.lowering.kernels.pool_code import pool_of
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.link.code import LinkedCode, ObjectFiles
from stepwell.runtime.link.elf import read_object
from stepwell.runtime.link.linker import link
from stepwell.runtime.link.memory import MappedCode
from stepwell.runtime.link.outside import address_outside
from stepwell.runtime.link.relocations import LOADS, PATCHES, write_stub
from stepwell.runtime.machine.loader import Library
from stepwell.runtime.machine.target import target_from

# Constants, a function of another object, one outside, and the addresses of all three.
CALLER = """
@table = private unnamed_addr constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5]
declare double @twice(double)
declare double @exp(double)
define double @value(i64 %i) {
  %place = getelementptr [4 x double], ptr @table, i64 0, i64 %i
  %x = load double, ptr %place
  %y = call double @twice(double %x)
  %z = call double @exp(double %y)
  ret double %z
}
define ptr @inside() { ret ptr @value }
define ptr @outside() { ret ptr @exp }
define ptr @other() { ret ptr @twice }
"""
CALLEE = "define double @twice(double %x) {\n%y = fadd double %x, %x\nret double %y }"
TARGETS = ("x86-64", "aarch64")


def objects(*texts: str, mcpu: str = "x86-64") -> list[bytes]:
    """Object files for Linux."""
    arch = "aarch64" if mcpu == "aarch64" else "x86_64"
    target = target_from(mcpu, f"{arch}-unknown-linux-gnu")
    return [compile_to_object(text, target, optimize=False) for text in texts]


def test_linked_code_runs() -> None:
    code = MappedCode(link(objects(CALLER, CALLEE)))
    value = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(code.address("value"))
    np.testing.assert_allclose([value(i) for i in range(4)], np.exp([3, 5, 7, 9]), rtol=1e-15)
    for function, wanted in (("inside", code.address("value")), ("other", code.address("twice"))):
        assert ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address(function))() == wanted
    exp = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address("outside"))()
    assert exp == address_outside("exp")


def test_objects_of_other_formats_are_linked_by_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this system stand for them, on a system that says it has other ones."""
    monkeypatch.setattr("stepwell.runtime.machine.loader.sys.platform", "darwin")
    library = Library(ObjectFiles(tuple(objects(CALLEE))))
    twice = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(library.address("twice"))
    assert twice(21.0) == 42.0
    with pytest.raises(InternalError):
        library.address("thrice")


def test_no_page_is_writable_and_executable() -> None:
    code = MappedCode(link(objects(CALLER, CALLEE)))
    start = code.address("value") & ~0xFFF
    with open("/proc/self/maps", encoding="ascii") as file:
        rows = [line.split()[:2] for line in file]
    near = {span: mode for span, mode in rows if start <= int(span.split("-")[0], 16) < start + 0x2000}
    assert {mode[:3] for mode in near.values()} == {"r-x", "r--"}


@pytest.mark.parametrize("mcpu", TARGETS)
def test_every_address_is_inside_of_the_image(mcpu: str) -> None:
    linked = link(objects(CALLER, CALLEE, mcpu=mcpu))
    assert linked.outside == ("exp",)
    assert set(linked.functions) == {"value", "inside", "outside", "other", "twice"}
    assert all(size > 0 for _, size in linked.functions.values())
    assert linked.contents.count(struct.pack("<4d", 1.5, 2.5, 3.5, 4.5)) == 1
    page_bytes = 1 << (16 if mcpu == "aarch64" else 12)  # the largest that systems have
    assert linked.text_bytes < linked.data_offset == page_bytes
    assert linked.table_offset % 8 == 0 and linked.contents.endswith(bytes(8))
    assert LinkedCode.from_json(linked.to_json(), linked.contents) == linked


def test_equal_constants_are_shared_and_symbols_are_one() -> None:
    numbers = '@numbers = private unnamed_addr constant [9 x double] zeroinitializer, section ".rodata.n"'
    text = numbers + "\ndefine ptr @{}() {{ ret ptr @numbers }}"
    one, two = objects(text.format("one")), objects(text.format("one"), text.format("two"))
    assert (
        len(link(two).contents) - link(two).text_bytes < len(link(one).contents) - link(one).text_bytes + 72
    )
    code = MappedCode(link(two))
    first, second = (ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address(name))() for name in ("one", "two"))
    assert first == second
    with pytest.raises(ValueError, match="'one' is defined twice"):
        link([*one, *one])


def test_of_weak_definitions_the_strong_one_wins() -> None:
    weak = "define weak i32 @f() { ret i32 1 }"
    strong = "define i32 @f() { ret i32 2 }"
    for texts, wanted in (((weak, strong), 2), ((strong, weak), 2), ((weak, weak), 1)):
        code = MappedCode(link(objects(*texts)))
        assert ctypes.CFUNCTYPE(ctypes.c_int32)(code.address("f"))() == wanted


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "no machine"),
        (["declare void @system()\ndefine void @f() { call void @system() ret void }"], "'system'"),
        (["@x = global i32 3\ndefine ptr @f() { ret ptr @x }"], "not code and no constants|without memory"),
        (["@x = external global i32\ndefine ptr @f() { ret ptr @x }"], "nothing defines the symbol 'x'"),
        (["@x = constant [2 x ptr] [ptr @f, ptr @f]\ndefine ptr @f() { ret ptr @x }"], "no constants"),
    ],
)
def test_programs_that_cannot_be_linked(texts: Sequence[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        link(objects(*texts))


def test_objects_of_two_machines() -> None:
    with pytest.raises(ValueError, match="aarch64, x86_64"):
        link([*objects(CALLEE), *objects(CALLEE, mcpu="aarch64")])


def test_symbols_without_a_name_are_nobodys() -> None:
    """The first row of a symbol table is empty: even if it were global, nothing would have to define it."""
    data = bytearray(*objects(CALLEE))
    (start,), (count,) = struct.unpack_from("<Q", data, 0x28), struct.unpack_from("<H", data, 0x3C)
    rows = [struct.unpack_from("<IIQQQ", data, start + 64 * number) for number in range(count)]
    (symbols,) = [row[4] for row in rows if row[1] == 2]
    data[symbols + 4] = 0x10
    assert set(link([bytes(data)]).functions) == {"twice"}


def test_functions_follow_each_other_without_gaps() -> None:
    """Each object's code begins at the next multiple of 16 bytes, its alignment."""
    linked = link(objects(*(CALLEE.replace("twice", f"twice{i}") for i in range(3))))
    assert [linked.functions[f"twice{i}"][0] for i in range(3)] == [0, 16, 32]


@pytest.mark.parametrize("gap", [-(1 << 12), 1 << 16])
def test_data_begins_on_the_page_after_the_code(gap: int) -> None:
    image = link(objects(CALLEE))
    with pytest.raises(ValueError, match="cannot be functions"):
        image._replace(
            text_bytes=1 << 12, contents=bytes(1 << 13), data_offset=(1 << 12) + gap, functions={}
        ).checked()


def test_code_may_call_what_is_listed_alone() -> None:
    image = link(objects(CALLEE))
    forbidden = LinkedCode(
        image.contents + bytes(8), image.text_bytes, image.data_offset, ("system",), image.functions
    )
    with pytest.raises(StepwellError, match="bad-artifact.*'system'"):
        MappedCode(forbidden)


@pytest.mark.parametrize("mcpu", TARGETS)
def test_damaged_objects_are_refused(mcpu: str) -> None:
    """Each is linked or a ValueError, whatever bytes it has."""
    (good, other) = objects(CALLER, CALLEE, mcpu=mcpu)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        data = bytearray(good)
        for _ in range(int(rng.integers(1, 4))):
            data[int(rng.integers(len(data)))] = int(rng.integers(256))
        try:
            link([bytes(data), other])
        except ValueError:
            refused += 1
    assert refused > 20
    for length in range(0, len(good), 37):
        with pytest.raises(ValueError):
            read_object(good[:length])


def test_relocations_of_unknown_kind_or_after_the_end() -> None:
    (good, other) = objects(CALLER, CALLEE)
    call = struct.pack("<I", 4)  # PLT32, the low half of a relocation's information
    rows = [
        i
        for i in range(0, len(good) - 24, 8)
        if good[i + 8 : i + 12] == call and good[i + 12] and not good[i + 13]
    ]
    assert rows
    row = rows[0]
    kind = good[: row + 8] + struct.pack("<I", 99) + good[row + 12 :]
    with pytest.raises(ValueError, match="unknown kind 99"):
        link([kind, other])
    place = good[:row] + struct.pack("<Q", 1 << 20) + good[row + 8 :]
    with pytest.raises(ValueError, match="after its end"):
        link([place, other])


def distance_of(word: int, low: int, bits: int) -> int:
    """A signed field of an instruction."""
    value = word >> low & ((1 << bits) - 1)
    return value - (value >> (bits - 1) << bits)


def patched(kind: int, word: int, place: int, symbol: int, addend: int) -> int:
    """An instruction of aarch64 after a relocation."""
    memory = bytearray(place) + struct.pack("<I", word)
    PATCHES["aarch64"][kind](memory, place, symbol, addend)
    return struct.unpack_from("<I", memory, place)[0]


WORDS = st.integers(0, 1 << 14).map(lambda n: 4 * n)


@given(WORDS, st.integers(0, 1 << 16), st.integers(-64, 64))
def test_page_and_offset_give_the_address(place: int, symbol: int, addend: int) -> None:
    """`adrp x3` and `add x5, x3`: the fields of other bits stay."""
    adrp = patched(275, 0x90000003, place, symbol, addend)
    add = patched(277, 0x91000065, place, symbol, addend)
    pages = distance_of((adrp >> 5 & 0x7FFFF) << 2 | adrp >> 29 & 3, 0, 21)
    assert ((place >> 12) + pages << 12) + (add >> 10 & 0xFFF) == symbol + addend
    assert adrp & 0x9F00001F == 0x90000003 and add & 0xFFC003FF == 0x91000065


@given(WORDS, WORDS)
def test_branches_go_to_their_address(place: int, symbol: int) -> None:
    for kind, word in ((282, 0x14000000), (283, 0x94000000)):
        found = patched(kind, word, place, symbol, 0)
        assert place + 4 * distance_of(found, 0, 26) == symbol and found & 0xFC000000 == word


@pytest.mark.parametrize(("kind", "scale"), [(278, 0), (284, 1), (285, 2), (286, 3), (299, 4)])
def test_loads_have_scaled_offsets(kind: int, scale: int) -> None:
    symbol = 0x5430
    found = patched(kind, 0x3DC00041, 64, symbol, 0)
    assert (found >> 10 & 0xFFF) << scale == symbol & 0xFFF and found & 0xFFC003FF == 0x3DC00041
    if scale:
        with pytest.raises(ValueError, match="not aligned"):
            patched(kind, 0x3DC00041, 64, symbol + 1, 0)


def test_addresses_too_far() -> None:
    with pytest.raises(ValueError, match="does not fit 26 bits"):
        patched(283, 0x94000000, 0, 1 << 28, 0)
    with pytest.raises(ValueError, match="middle of an instruction"):
        patched(283, 0x94000000, 0, 6, 0)
    with pytest.raises(ValueError, match="does not fit 32 bits"):
        PATCHES["x86_64"][4](bytearray(8), 0, 1 << 31, 4)


def test_loads_of_addresses_become_computations() -> None:
    memory = bytearray(b"\x48\x8b\x05\0\0\0\0\0")  # mov slot(%rip), %rax
    LOADS["x86_64"][42][0](memory, 3, 0x100, -4)
    assert memory[:3] == b"\x48\x8d\x05" and struct.unpack_from("<i", memory, 3)[0] == 0x100 - 7
    with pytest.raises(ValueError, match="not loaded by mov"):
        LOADS["x86_64"][42][0](bytearray(b"\xff\x15\0\0\0\0"), 2, 0, 0)
    memory = bytearray(struct.pack("<I", 0xF9400041))  # ldr x1, [x2, slot]
    LOADS["aarch64"][312][0](memory, 0, 0x123, 0)
    assert struct.unpack("<I", memory)[0] == 0x91000041 | 0x123 << 10  # add x1, x2, 0x123
    with pytest.raises(ValueError, match="not loaded by ldr"):
        LOADS["aarch64"][312][0](bytearray(4), 0, 0, 0)


def test_jumps_outside_of_aarch64() -> None:
    memory = bytearray(0x3000)
    write_stub(memory, "aarch64", 0x40, 0x2018)
    adrp, load, jump, stop = struct.unpack_from("<4I", memory, 0x40)
    assert adrp == 0x90000010 | 2 >> 2 << 5 | (2 & 3) << 29  # two pages on, into x16
    assert load == 0xF9400211 | 0x18 // 8 << 10 and jump == 0xD61F0220 and stop == 0xD4200000


def test_the_pool_is_the_same_for_all_cpus_of_an_architecture() -> None:
    assert pool_of(target_from("x86-64-v2")) == pool_of(target_from("x86-64-v4"))
    assert pool_of(target_from("x86-64-v2")) != pool_of(target_from("aarch64"))
