"""Constants as attributes: every element type, in place and in the weight store, through text and back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from xdsl.dialects.builtin import BytesAttr, StringAttr, f32
from xdsl.ir import Attribute

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.constants import array_of, constant_attr
from stepwell.dialects.parser import LocatingParser
from stepwell.dialects.types import WeightAttr
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weight_file import ELEMENT_TYPES, MAGIC
from stepwell.runtime.files.weights import WeightStore, content_hash
from stepwell.runtime.interface import dtype_from_name
from tests.support.samples import examples

Array = npt.NDArray[np.generic]


def parsed(text: str) -> Attribute:
    """An attribute from its text."""
    return LocatingParser(StepwellContext(), text).parse_attribute()


def arrays() -> st.SearchStrategy[Array]:
    """Small arrays of any bits in any element type."""

    def of(name: str) -> st.SearchStrategy[Array]:
        dtype = dtype_from_name(name)
        stored = hnp.arrays(np.uint8, hnp.array_shapes(max_dims=3, max_side=4, min_side=0))

        def view(raw: Array) -> Array:
            if name == "bool":
                return raw.astype(np.uint8) > 100
            bits = next((b for b in (2, 4, 6) if f"int{b}" in name or name.startswith(f"float{b}")), 8)
            repeated = np.repeat(
                np.bitwise_and(raw.astype(np.uint8), (1 << bits) - 1)[..., None], dtype.itemsize, -1
            )
            return np.ascontiguousarray(repeated).view(dtype)[..., 0]

        return stored.map(view)

    return st.sampled_from(sorted(ELEMENT_TYPES)).flatmap(of)


def same(a: Array, b: Array) -> bool:
    """Whether two arrays have the same type, shape and bits."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@examples(200)
@given(arrays())
def test_arrays_come_back_from_their_text(array: Array) -> None:
    """What an attribute stands for survives printing and parsing, bit by bit."""
    weights = WeightStore()
    attribute = constant_attr(array, "w", weights)
    assert parsed(str(attribute)) == attribute
    assert same(array_of(attribute, weights), array)


@examples(50)
@given(st.lists(arrays(), max_size=5))
def test_the_side_file_keeps_every_array(
    tmp_path_factory: pytest.TempPathFactory, stored: list[Array]
) -> None:
    """Saved, then mapped again: the same arrays under the same hashes."""
    file = tmp_path_factory.mktemp("weights") / "w.weights"
    weights, loaded = WeightStore(), WeightStore()
    keys = weights.add_all(stored)
    weights.save(file)
    loaded.load(file)
    assert list(loaded) == list(weights)
    assert all(same(loaded.get(key), array) for key, array in zip(keys, stored, strict=True))


def test_large_arrays_are_hashed_alike() -> None:
    """Two threads give the hashes that one gives."""
    stored = [np.full((1 << 19,), n, np.float32) for n in range(4)]
    assert WeightStore().add_all(stored) == [content_hash(array) for array in stored]


def test_equal_bytes_of_other_types_are_other_weights() -> None:
    """The hash is of type and shape too."""
    zeros = np.zeros((4, 8), np.float32)
    assert len({content_hash(a) for a in (zeros, zeros.view(np.int32), zeros.reshape(8, 4))}) == 3


def test_weights_are_aligned_and_read_only() -> None:
    """A view at an odd byte, as a protobuf file has it, is copied; nobody writes to a weight."""
    odd = np.frombuffer(bytes(81), np.uint8)[1:].view(np.float32)
    weights = WeightStore()
    kept = weights.get(weights.add(odd))
    assert kept.flags.aligned and not kept.flags.writeable


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not begin as one"),
        (b"something else altogether", "does not begin as one"),
        (MAGIC + (2**40).to_bytes(8, "little"), "a header of 1099511627776 bytes does not fit"),
        ('{"k": {"dtype": "float32", "shape": [4], "begin": 0}}', "outside of the file"),
        ('{"k": {"dtype": "float32", "shape": [1099511627776, 1099511627776], "begin": 0}}', "outside"),
        ('{"k": {"dtype": "float32", "shape": [1], "begin": 3}}', "outside of the file"),
        ('{"k": {"dtype": "float32", "shape": [-1], "begin": 0}}', "numbers from 0 on"),
        ('{"k": {"dtype": "object", "shape": [1], "begin": 0}}', "object"),
        ('{"k": {"dtype": "float32", "shape": "x", "begin": 0}}', "list of numbers"),
        ('{"k": 1}', "damaged"),
        ("[1]", "damaged"),
        ("{", "damaged"),
    ],
)
def test_damaged_side_files(
    tmp_path_factory: pytest.TempPathFactory, content: bytes | str, message: str
) -> None:
    """What a header claims is checked before anything is mapped."""
    file = tmp_path_factory.mktemp("weights") / "bad.weights"
    if isinstance(content, str):
        content = MAGIC + len(content).to_bytes(8, "little") + content.encode()
    file.write_bytes(content)
    with pytest.raises(StepwellError, match=message) as error:
        WeightStore().load(file)
    assert error.value.code == "invalid-weights"


def test_hexadecimal_elements_are_bits() -> None:
    """Infinity is printed as bits, and read as bits; xDSL alone reads a large number."""
    weights = WeightStore()
    infinite = np.array([np.inf, -np.inf, 1], np.float32)
    assert str(constant_attr(infinite, "", weights)).startswith(
        "dense<[0x7f800000, 0xff800000, 1.000000e+00]>"
    )
    assert np.array_equal(array_of(parsed("dense<0x7f800000> : tensor<3xf32>"), weights), [np.inf] * 3)
    assert np.array_equal(array_of(parsed("dense<0x10> : tensor<2xi32>"), weights), [16, 16])


def test_text_beyond_ascii_is_text() -> None:
    """Names in any script stay strings; bytes that are no text stay bytes."""
    assert parsed(str(StringAttr("größe/畳み込み"))) == StringAttr("größe/畳み込み")
    assert parsed('"\\FF\\FE"') == BytesAttr(b"\xff\xfe")


def test_other_attributes_are_no_constants() -> None:
    """A type is no tensor, and a weight needs its bytes."""
    with pytest.raises(TypeError, match="no constant tensor"):
        array_of(f32, WeightStore())
    attribute = constant_attr(np.zeros(100, np.float32), "w", WeightStore())
    assert isinstance(attribute, WeightAttr)
    with pytest.raises(StepwellError, match="the bytes of the weight 'w' are not there"):
        array_of(attribute, WeightStore())
