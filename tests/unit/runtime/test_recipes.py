"""Derived weights: named by their recipes, computed when asked for or on threads, sources given up."""

from __future__ import annotations

import mmap
import sys
import tracemalloc
from pathlib import Path
from threading import Event
from time import monotonic, sleep

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.errors import InternalError
from stepwell.runtime.files.recipes import Computation, Recipe, release_pages
from stepwell.runtime.files.weights import NumberedWeights, WeightStore
from stepwell.runtime.memory import large_pages
from tests.support.samples import examples

Array = npt.NDArray[np.generic]
F32 = np.dtype(np.float32)


def numbers(shape: tuple[int, ...], first: int = 0) -> npt.NDArray[np.float32]:
    """An array of consecutive numbers."""
    return (np.arange(np.prod(shape)) + first).astype(np.float32).reshape(shape)


def transposed(store: WeightStore, key: str, shape: tuple[int, int]) -> str:
    """The name of the transpose of a weight of a shape."""
    return store.derive("transposed", Recipe(np.transpose, (key,), shape[::-1], F32))


def test_a_name_is_of_the_recipe_and_its_sources_names() -> None:
    """Another text, source or type is another name; the same one is the same in every process."""
    store = WeightStore()
    key, other = store.add_all([numbers((8, 9)), numbers((8, 9), 1)])
    scale = np.float32(2) * np.ones(9, np.float32)
    names = [
        transposed(store, key, (8, 9)),
        transposed(store, other, (8, 9)),
        store.derive("reversed", Recipe(np.transpose, (key,), (9, 8), F32)),
        store.derive("multiply", Recipe(np.multiply, (key, scale), (8, 9), F32)),
        store.derive("multiply", Recipe(np.multiply, (key, scale + 1), (8, 9), F32)),
    ]
    assert len({*names}) == 5
    assert names[0] == transposed(store, key, (8, 9)) == "77f2a2fa9f00ce46c023e0f86f501840"


def test_an_array_is_computed_when_it_is_asked_for() -> None:
    """Once, however often; listing names computes nothing."""
    calls: list[Array] = []

    def doubled(array: Array) -> Array:
        calls.append(array)
        return np.add(array, array)

    store = WeightStore()
    key = store.add(numbers((4, 5)))
    twice = store.derive("doubled", Recipe(doubled, (key,), (4, 5), F32))
    assert list(store) == [key, twice] and len(store) == 2 and twice in store and not calls
    copied = store.copy()
    assert np.array_equal(store.get(twice), 2 * numbers((4, 5)))
    assert store.get(twice) is store.get(twice) and len(calls) == 1
    assert not store.get(twice).flags.writeable and list(store) == [key, twice]
    assert np.array_equal(copied.get(twice), store.get(twice))


def test_a_file_of_weights_has_derived_ones(tmp_path: Path) -> None:
    """Text that names a derived weight is read again with its bytes."""
    store, loaded = WeightStore(), WeightStore()
    name = transposed(store, store.add(numbers((8, 9))), (8, 9))
    store.save(tmp_path / "a.weights", [name])
    loaded.load(tmp_path / "a.weights")
    assert list(loaded) == [name] and np.array_equal(loaded.get(name), numbers((8, 9)).T)


@pytest.mark.parametrize("made", [numbers((4, 4)), numbers((16,)).astype(np.float64)])
def test_a_recipe_keeps_to_its_type(made: Array) -> None:
    """A function that gives another shape or element type is a bug of ours, found where it is."""
    store = WeightStore()
    name = store.derive("wrong", Recipe(lambda _: made, (store.add(numbers((16,))),), (16,), F32))
    with pytest.raises(InternalError, match="a derived weight is"):
        store.get(name)
    with pytest.raises(InternalError, match="a derived weight is"), store.computed([name]):
        pass


@examples(60)
@given(st.data())
def test_a_program_of_recipes_is_computed(data: st.DataObject) -> None:
    """Chains, sources with several readers, weights as they are: all that is wanted, and nothing else."""
    store, expected = WeightStore(), dict[str, Array]()
    for number in range(data.draw(st.integers(1, 4), "weights")):
        array = numbers((3, 3), number)
        expected[store.add(array)] = array
    for number in range(data.draw(st.integers(0, 12), "recipes")):
        sources = data.draw(st.lists(st.sampled_from([*expected]), min_size=1, max_size=3), "sources")
        function = data.draw(st.sampled_from([_sum, _transposed_first]), "function")
        name = store.derive(f"{number}", Recipe(function, tuple(sources), (3, 3), F32))
        expected[name] = function(*(expected[source] for source in sources))
    wanted = data.draw(st.sets(st.sampled_from([*expected])), "wanted")
    with store.computed(wanted):
        pass
    assert {*store} == wanted
    for key in wanted:
        array = store.get(key)
        assert np.array_equal(array, expected[key]) and array.flags.c_contiguous
        assert array.ctypes.data % ARENA_ALIGNMENT == 0 and not array.flags.writeable


def _sum(*arrays: Array) -> Array:
    return sum(np.sqrt(array) for array in arrays)  # pyright: ignore[reportReturnType, reportCallIssue, reportArgumentType]


def _transposed_first(*arrays: Array) -> Array:
    return arrays[0].T


def test_derived_weights_are_in_one_block_and_others_stay() -> None:
    """Results are copied into large pages one after another, but not what kernels can read where it is."""
    store = WeightStore()
    mapped = mmap.mmap(-1, 1 << 16)
    stored = store.add(np.frombuffer(mapped, F32)[16:4112].reshape(64, 64))
    first, second = (transposed(store, store.add(numbers((900, 700), n)), (900, 700)) for n in (1, 2))
    same = store.derive("same", Recipe(lambda array: array.reshape(4096), (stored,), (4096,), F32))
    with store.computed([first, second, same]):
        pass
    addresses = [store.get(name).ctypes.data for name in (first, second)]
    assert abs(addresses[0] - addresses[1]) == 900 * 700 * 4 and min(addresses) % (2 << 20) == 0
    assert store.get(same).ctypes.data == np.frombuffer(mapped, F32)[16:].ctypes.data


def test_memory_of_a_process_keeps_its_contents() -> None:
    """Only pages of files are given back: those of derived weights could not be read again."""
    array = large_pages(4 << 20).view(F32)
    array[:] = 7
    release_pages(array)
    assert array.min() == 7


def test_pages_that_were_written_are_not_given_back(tmp_path: Path) -> None:
    """A copy on write of a file has numbers that no file has."""
    file = tmp_path / "weights"
    file.write_bytes(np.zeros(40_000, F32).tobytes())
    array = np.memmap(file, F32, "c")
    array[:] = 7
    release_pages(array)
    assert array.min() == 7


class _Looks(dict[str, Array]):
    """Arrays, of which one thread looks for `shared`, in vain, and goes on when another has it and more."""

    def __init__(self, arrays: dict[str, Array]):
        super().__init__(arrays)
        self.has_looked, self.may_go_on = Event(), Event()

    def __contains__(self, key: object) -> bool:
        found = super().__contains__(key)
        if key == "shared" and not self.has_looked.is_set():
            self.has_looked.set()
            assert self.may_go_on.wait(10)
        return found


def test_a_source_of_two_weights_is_computed_once() -> None:
    """Also where one thread looks for it before another has computed it, and goes on after that."""
    arrays, calls = _Looks({"first": numbers((4, 4))}), list[str]()

    def spy(array: Array) -> Array:
        calls.append("shared")
        return array.T

    def last(array: Array) -> Array:
        arrays.may_go_on.set()
        return array[:1]

    recipes = {
        "shared": Recipe(spy, ("first",), (4, 4), F32),
        "large": Recipe(np.negative, ("shared",), (4, 4), F32),
        "small": Recipe(lambda array: array[:2], ("shared",), (2, 4), F32),
        "last": Recipe(last, ("first",), (1, 4), F32),
    }
    with Computation(arrays, recipes, ["large", "small", "last"]):
        assert arrays.has_looked.wait(10)
    assert calls == ["shared"] and {*arrays} == {"large", "small", "last"}


def test_sources_go_after_their_last_reader() -> None:
    """The computation of the second weight finds the source of the first gone."""
    store = WeightStore()
    first, second = store.add_all([numbers((100, 2)), numbers((10, 2))])
    seen: list[bool] = []

    def spy(array: Array) -> Array:
        seen.append(first in store)
        return array.T

    large = transposed(store, first, (100, 2))
    small = store.derive("spy", Recipe(spy, (second,), (2, 10), F32))
    with store.computed([small, large]):
        pass
    assert seen == [False] or seen == [True] and list(store) == [small, large]
    assert first not in store and second not in store


def test_a_failing_block_stops_the_computation() -> None:
    """An error of the kernels is the one that the caller sees, at once."""
    store = WeightStore()
    source = store.add(numbers((4, 4)))
    bad = store.derive("bad", Recipe(lambda array: array.reshape(5), (source,), (4, 4), F32))
    with pytest.raises(KeyError, match="kernel"), store.computed([bad]):
        raise KeyError("kernel")


def test_the_largest_magnitude() -> None:
    """Of negative numbers too; NaN is seen; a recipe's own bound is not checked."""
    store = WeightStore()
    keys = store.add_all([np.array([1, -3], np.float32), np.array([1, np.nan], np.float32)])
    assert store.largest(keys[0]) == 3 and np.isnan(store.largest(keys[1]))
    assert store.largest(store.add(np.zeros((0, 4), np.float32))) == 0
    known = store.derive("known", Recipe(np.negative, (keys[0],), (2,), F32, 7.0))
    assert store.largest(known) == 7


def test_a_look_at_the_largest_magnitude_copies_nothing() -> None:
    """The elements of a model's file are not aligned: with copies its weights would be in memory twice."""
    store = WeightStore()
    unaligned = np.frombuffer(b"x" + numbers((1 << 18,)).tobytes(), np.uint8)[1:].view(F32)
    key = store.add(unaligned)
    assert not unaligned.flags.aligned
    tracemalloc.start()
    try:
        assert store.largest(key) == (1 << 18) - 1
        assert tracemalloc.get_traced_memory()[1] < unaligned.nbytes / 2
    finally:
        tracemalloc.stop()


def test_pages_that_were_given_back_are_read_again(tmp_path: Path) -> None:
    """The bytes of a mapped file are the same before and after; arrays in memory stay as they are."""
    file = tmp_path / "pages"
    file.write_bytes(np.arange(40_000, dtype=np.float32).tobytes())
    with file.open("rb") as opened:
        mapped = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
    array = np.frombuffer(mapped[4:], np.float32)
    for given_back in (array, array[5:20_000], array[:1], np.ones(9_000), array[:0]):
        before = given_back.copy()
        release_pages(given_back)
        assert np.array_equal(given_back, before)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_file_takes_no_memory_once_its_unaligned_weights_are_copied(tmp_path: Path) -> None:
    file = tmp_path / "model"
    file.write_bytes(b"\0" + np.arange(1 << 21, dtype=F32).tobytes())
    with file.open("rb") as opened:
        mapped = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
    unaligned = np.frombuffer(mapped[1:], F32)
    store = NumberedWeights()
    (key,) = store.add_all([unaligned])
    assert np.array_equal(store.get(key), np.arange(1 << 21)) and store.get(key).flags.aligned
    end = monotonic() + 20
    while _resident_kib(file) > 64 and monotonic() < end:
        sleep(0.01)
    assert _resident_kib(file) <= 64


def _resident_kib(file: Path) -> int:
    """The memory of this process that is a mapped file."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    mappings = (line for line in lines if line.endswith(str(file)))
    return sum(int(next(each for each in lines if each.startswith("Rss:")).split()[1]) for _ in mappings)
