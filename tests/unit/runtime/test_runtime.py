"""The runtime's own pieces: dimension expressions, interface checks, cache, memory."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.runtime.addresses import address_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.integers.expression_text import symbol_name
from stepwell.runtime.integers.summands import dim_of_summands, summands_of
from stepwell.runtime.interface import Array, Interface, ShapeCheck, TensorSpec
from stepwell.runtime.machine.arguments import checked_input
from stepwell.runtime.memory import LargeOutputs
from tests.onnx_models import onnx_model

N, S = Dim.symbol("N"), Dim.symbol("S")


@st.composite
def dims(draw: st.DrawFn) -> Dim:
    """Random dimension expressions over N and S."""
    leaves = st.sampled_from([N, S]) | st.integers(0, 9).map(Dim.of)
    expression = draw(leaves)
    for _ in range(draw(st.integers(0, 4))):
        other, kind = draw(leaves), draw(st.sampled_from("+-*/cmM"))
        divisor = Dim.of(draw(st.integers(1, 5)))
        expression = {
            "+": expression + other,
            "-": expression - other,
            "*": expression * other,
            "/": expression // divisor,
            "c": expression.ceildiv(divisor),
            "m": expression.minimum(other),
            "M": expression.maximum(other),
        }[kind]
    return expression


@given(dims())
def test_dim_text_reads_back(dim: Dim) -> None:
    assert Dim.of(str(dim)) == dim


def long_sum(terms: int) -> Dim:
    """A sum of sizes of another symbol each."""
    sizes = (Dim.symbol(f"a_long_name_of_a_size_{i}") * (i + 3) for i in range(terms))
    return sum((size.ceildiv(64) * 64 for size in sizes), Dim.of(128))


def test_a_long_sum_is_read_back_from_its_summands() -> None:
    dim = long_sum(200)
    with pytest.raises(ValueError, match="characters"):
        Dim.of(str(dim))
    texts = summands_of(dim)
    assert len(texts) == 3 and dim_of_summands(texts) == dim
    assert summands_of(N * 2 + S) == ["2 * N + S"] and summands_of(Dim.of(0)) == ["0"]


@given(dims(), st.integers(0, 30), st.integers(0, 30))
def test_what_is_known_not_to_be_negative_is_not(dim: Dim, n: int, s: int) -> None:
    assert not dim.is_nonnegative or dim.evaluate({"N": n, "S": s}) >= 0


@given(dims(), st.integers(0, 30), st.integers(0, 30))
def test_dim_substitution_agrees_with_evaluation(dim: Dim, n: int, s: int) -> None:
    expected = dim.evaluate({"N": n, "S": s})
    assert dim.substitute({"N": Dim.of(n)}).evaluate({"S": s}) == expected
    assert dim.substitute({"N": Dim.of(n), "S": Dim.of(s)}) == expected


def test_dim_simplifies() -> None:
    assert str(N + N) == "2 * N"
    assert (4 * N * S) // (2 * N) == 2 * S
    assert (4 * N + 3) // 4 == N
    assert (N - N) == 0
    assert N.minimum(N + 1) == N
    assert not Dim.symbol("?").proves_equal(Dim.symbol("?"))


SUMS = " * ".join(f"(N{i} + M{i})" for i in range(40))
"""Their product has 2**40 terms."""


@pytest.mark.parametrize("text", ["N +", "f(N)", "N / 2", "__import__('os')", "N" * 5000, SUMS])
def test_dim_refuses_other_text(text: str) -> None:
    with pytest.raises(ValueError, match="dimension expression"):
        Dim.of(text)


def test_symbol_names_are_identifiers() -> None:
    assert symbol_name("p2o.Dim 0") == "p2o_Dim_0"
    assert symbol_name("3d") == "_3d"
    assert symbol_name("größe²") == "gr__e_"


def _interface() -> Interface:
    f32 = np.dtype(np.float32)
    return Interface(
        (TensorSpec("x", f32, (N, Dim.of(4))), TensorSpec("y", f32, (N, S))),
        (TensorSpec("z", f32, (N, S + 4)),),
        ("N", "S"),
        64 * N * S,
        (ShapeCheck(S // 2 * 2, S, 'node "Pair"'),),
    )


def test_bind_gives_symbols_outputs_and_arena() -> None:
    binding = _interface().bind([(3, 4), (3, 6)])
    assert binding.symbols == (3, 6)
    assert binding.output_shapes == ((3, 10),)
    assert binding.arena_bytes == 64 * 18


def test_a_long_size_of_the_arena_survives_json() -> None:
    arena = long_sum(200)
    interface = Interface((), (), (), arena, published=tuple(sorted(arena.symbols())))
    assert Interface.from_json(json.loads(json.dumps(interface.to_json()))) == interface


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(3, 5), (3, 6)], "'x': dimension 1 must be 4, found 5"),
        ([(3, 4), (2, 6)], r"'y': dimension 0 must be 3 \(that is N"),
        ([(3, 4, 1), (3, 6)], "'x' must have 2 dimensions, found 3"),
        ([(3, 4), (3, 5)], "must equal S, found 4 and 5"),
    ],
)
def test_bind_refuses_wrong_shapes(shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(StepwellError, match=message):
        _interface().bind(shapes)


def test_bind_refuses_a_division_by_zero() -> None:
    divided = _interface()._replace(checks=(ShapeCheck(S // N, S // N, "Pair"),))
    with pytest.raises(StepwellError, match=r"divided by 0 for inputs \[\(0, 4\), \(0, 5\)\]"):
        divided.bind([(0, 4), (0, 5)])


def test_interface_survives_json() -> None:
    assert Interface.from_json(_interface().to_json()) == _interface()


F32_SPEC = TensorSpec("x", np.dtype(np.float32), (Dim.of(2), Dim.of(3)))


def test_inputs_of_any_layout_are_taken() -> None:
    base = np.arange(6, dtype=np.float32).reshape(2, 3)
    read_only = base.copy()
    read_only.flags.writeable = False
    for array in (base, np.asfortranarray(base), base.astype(">f4"), read_only, base.tolist()):
        taken = checked_input(F32_SPEC, array)
        assert taken.flags.c_contiguous and taken.dtype == np.float32
        np.testing.assert_array_equal(taken, base)


@pytest.mark.parametrize("value", [np.zeros((2, 3)), np.zeros((2, 3), np.int32), "text", object()])
def test_inputs_of_another_type_are_refused(value: object) -> None:
    with pytest.raises(StepwellError, match="input 'x' must be"):
        checked_input(F32_SPEC, value)


class BfloatTensor:
    """A tensor with DLPack whose element type numpy does not have, as those of PyTorch with bf16."""

    def __dlpack__(self, **_options: object) -> object:
        raise RuntimeError("Unsupported dtype in DLTensor.")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def test_memory_that_numpy_cannot_share() -> None:
    with pytest.raises(StepwellError, match="numpy cannot share the memory of this BfloatTensor") as caught:
        checked_input(F32_SPEC, BfloatTensor())
    assert caught.value.code == "type-mismatch" and "x.detach()" in str(caught.value)


class IntegersOfTensor(BfloatTensor):
    """A tensor of bf16, whose bits are integers that numpy has."""

    dtype, requires_grad = "torch.bfloat16", False

    def contiguous(self) -> IntegersOfTensor:
        return self

    def view(self, element: str) -> Array:
        assert element == "integers"
        return np.array([0x3F80, 0x4040], np.int16)


def test_tensors_of_bf16_are_taken_by_their_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    package = SimpleNamespace(Tensor=IntegersOfTensor, int16="integers", uint8="bytes")
    monkeypatch.setitem(sys.modules, "torch", package)
    bfloat16 = np.dtype(ml_dtypes.bfloat16)
    taken = checked_input(TensorSpec("x", bfloat16, (Dim.of(2),)), IntegersOfTensor())
    assert taken.dtype == bfloat16 and taken.astype(np.float32).tolist() == [1.0, 3.0]
    with pytest.raises(StepwellError, match="cannot share"):
        checked_input(F32_SPEC, IntegersOfTensor())


def test_cache_keeps_finds_and_trims(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "cache", max_bytes=3000)
    cache.store("a", b"x" * 1000, {"scratch": "0"})
    assert cache.load("a") == (b"x" * 1000, {"scratch": "0"})
    assert cache.load("b") is None
    for name in "bcde":
        cache.store(name, b"y" * 1000, {})
    cache.trim()
    assert cache.info().total_bytes <= 3000
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    assert cache.clear() == 2


def test_cache_drops_a_damaged_entry(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.store("a", b"code", {})
    path = next(tmp_path.glob("*.kernel"))
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert cache.load("a") is None
    assert not path.exists()


def test_cache_that_cannot_be_written_is_empty(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = KernelCache(tmp_path / "file" / "cache")
    cache.store("a", b"code", {})
    assert cache.load("a") is None
    assert cache.info().entries == 0


def test_models_are_copied_and_pickled() -> None:
    """For processes that hand a model on; its text says what it takes."""
    model = stepwell.compile(onnx_model("g (float[N] x) => (float[N] y) { y = Neg(x) }"), threads=1)
    assert repr(model) == "<CompiledModel (x: float32[N]) -> (y: float32[N])>"
    x = np.arange(3, dtype=np.float32)
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.threads == 1
        np.testing.assert_array_equal(again(x), -x)


def test_threads_compile_in_turn() -> None:
    """Compilations of one process do not disturb each other, whatever they share."""

    def result(k: int) -> Array:
        nodes = "t = Transpose <perm = [1, 0]> (x) y = MatMul(x, t)"
        text = f"g (float[N, {k}] x) => (float[N, M] y) {{ {nodes} }}"
        x = np.ones((2, k), np.float32)
        found = stepwell.compile(onnx_model(text), use_cache=False, processes=1)(x)
        assert isinstance(found, np.ndarray)
        return found

    with ThreadPoolExecutor() as pool:
        for k, found in zip((3, 5, 7), pool.map(result, (3, 5, 7)), strict=True):
            np.testing.assert_array_equal(found, np.full((2, 2), k, np.float32))


def test_address_of_is_what_numpy_says(tmp_path: Path) -> None:
    """Of whole arrays, views, read-only, empty and mapped ones."""
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    (tmp_path / "f").write_bytes(bytes(64))
    mapped = np.memmap(tmp_path / "f", np.uint8, "r")
    for array in (whole, whole[1:, 2:], whole[:0], np.array(3.0), mapped, mapped[5:]):
        assert address_of(array) == array.__array_interface__["data"][0]


def test_memory_of_large_outputs_is_used_again_once_nothing_refers_to_it() -> None:
    memory, shape, f32 = LargeOutputs(), (9 << 10, 1 << 10), np.dtype(np.float32)
    first = memory.new(0, shape, f32)
    row, address = first[5, 7:], address_of(first)
    assert address % 4096 == 2048 and first.flags.c_contiguous and first.flags.writeable
    other = memory.new(1, shape, f32)
    del first
    second = memory.new(0, shape, f32)
    row[:], second[...], other[...] = 1, 2, 3
    assert np.all(row == 1) and np.all(second == 2)
    used = address_of(second)
    view = second[3:].view(np.int32)
    del second
    assert address_of(memory.new(0, shape, f32)) != used
    del view
    third = memory.new(0, shape, f32)
    used = address_of(third)
    del third
    assert address_of(memory.new(0, shape, f32)) == used
    assert memory.new(0, (3, 0), f32).shape == (3, 0)
    assert memory.new(0, (), np.dtype(np.float64)).shape == ()
