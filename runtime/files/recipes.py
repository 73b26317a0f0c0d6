"""
Derived weights: arrays that a function computes from other weights, when one is asked for or on threads.

Passes that rearrange or scale weights name the result by its recipe, and the bytes are computed while kernels
compile: a chain of rearrangements is views and one copy, and each source is given up after its last reader.
"""

from __future__ import annotations

import hashlib
import mmap
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from math import prod
from threading import RLock, Thread
from typing import NamedTuple, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.addresses import address_of
from stepwell.runtime.errors import InternalError
from stepwell.runtime.memory import large_pages

Array: TypeAlias = npt.NDArray[np.generic]


class Recipe(NamedTuple):
    """A function of arrays with its operands: names in the weight store, or small arrays themselves."""

    function: Callable[..., Array]
    sources: tuple[str | Array, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    largest: float | None = None
    """An upper bound of the result's magnitudes, where one is known."""

    @property
    def nbytes(self) -> int:
        """The bytes of the result."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def names(self) -> Sequence[str]:
        """The sources that are in the weight store."""
        return [source for source in self.sources if isinstance(source, str)]

    def result(self, array_of: Callable[[str], Array]) -> Array:
        """
        The array, which may be a view of a source, by a function that gives sources by name.

        Raises: InternalError for a result of another type or shape than the recipe says.
        """
        operands = [array_of(source) if isinstance(source, str) else source for source in self.sources]
        with np.errstate(all="ignore"):
            made = self.function(*operands)
        if made.shape != self.shape or made.dtype != self.dtype:
            found, expected = f"{made.dtype} {made.shape}", f"{self.dtype} {self.shape}"
            raise InternalError(None, f"a derived weight is {found}, its constant says {expected}")
        return made


def recipe_name(text: str, recipe: Recipe, hash_of: Callable[[Array], str]) -> str:
    """The name of a derived weight: a digest of recipe, type and names of sources."""
    names = [source if isinstance(source, str) else hash_of(source) for source in recipe.sources]
    described = [text, recipe.dtype.name, *map(str, recipe.shape), *names]
    return hashlib.sha256("\0".join(described).encode()).hexdigest()


def read_only(array: Array) -> Array:
    """A view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


class Computation:
    """
    The computation of derived weights on a thread; a context manager, at whose end all of them are there.

    Args: `arrays` and `recipes` are the weight store's, which nothing else uses meanwhile; `wanted` are the
    names to compute. Entries that only these need are removed after their last use, all other entries at
    once.
    """

    def __init__(self, arrays: dict[str, Array], recipes: dict[str, Recipe], wanted: Iterable[str]):
        self._arrays, self._recipes = arrays, recipes
        self._uses: Counter[str] = Counter()
        self._lock = RLock()
        self._errors: list[Exception] = []
        self._wanted = {key: None for key in wanted if key in arrays or key in recipes}
        for key in self._wanted:
            self._count(key)
        for key in [*arrays, *recipes]:
            if key not in self._uses:
                self._forget(key)
        self._shared = {key for key, uses in self._uses.items() if uses > 1}
        """Of all readers, those that are done too: the number that is left changes on another thread."""
        self._places = self._new_places()
        # Large ones first, while least is in memory beside them.
        self._waiting = deque(sorted(self._wanted, key=lambda key: -self._nbytes(key)))
        self._thread = Thread(target=self._drain, daemon=True)

    def _count(self, key: str) -> None:
        """Count the readers of an array; it reads its own sources once, however many read it."""
        self._uses[key] += 1
        if self._uses[key] == 1 and key in self._recipes:
            for source in self._recipes[key].names:
                self._count(source)

    def _nbytes(self, key: str) -> int:
        return self._arrays[key].nbytes if key in self._arrays else self._recipes[key].nbytes

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Compute the rest on this thread too. Raises: the first exception of a recipe."""
        if error is not None:
            self._waiting.clear()
        self._drain()
        self._thread.join()
        if error is None and self._errors:
            raise self._errors[0]

    def _drain(self) -> None:
        while not self._errors:
            try:
                key = self._waiting.popleft()
            except IndexError:
                return
            try:
                self._finish(key)
            except Exception as error:  # a thread has no caller to raise it to
                self._errors.append(error)

    def _new_places(self) -> Mapping[str, Array]:
        """Memory in one block for wanted arrays: derived ones, and those in a form unreadable for kernels."""
        keys = [key for key in self._wanted if key not in self._arrays or not _is_readable(self._arrays[key])]
        sizes = [self._nbytes(key) for key in keys]
        starts = [0, *accumulate(-(-size // ARENA_ALIGNMENT) * ARENA_ALIGNMENT for size in sizes)]
        block = large_pages(starts[-1])
        return {
            key: block[start : start + size] for key, start, size in zip(keys, starts, sizes, strict=False)
        }

    def _finish(self, key: str) -> None:
        """Compute a wanted array in its place, and give up the sources that nothing else reads."""
        used: list[str] = []
        array = self._array(key, used)
        if key in self._places and not (_is_readable(array) and _is_of_others(array)):
            place = self._places[key].view(array.dtype).reshape(array.shape)
            place[...] = array
            release_pages(array)
            array = place
        self._arrays[key] = read_only(array)
        self._recipes.pop(key, None)
        with self._lock:
            for source in used:
                self._uses[source] -= 1
                if not self._uses[source]:
                    self._forget(source)

    def _array(self, key: str, used: list[str]) -> Array:
        """An array of the store, or a new one; the sources of new ones are added to `used`."""
        recipe = self._recipes.get(key)
        if recipe is None or key in self._arrays:
            return self._arrays[key]
        if key not in self._shared:
            return self._made(recipe, used)
        with self._lock:
            if key not in self._arrays:
                self._arrays[key] = self._made(recipe, used)
            return self._arrays[key]

    def _made(self, recipe: Recipe, used: list[str]) -> Array:
        made = recipe.result(lambda source: self._array(source, used))
        used += recipe.names
        return made

    def _forget(self, key: str) -> None:
        self._recipes.pop(key, None)
        if (array := self._arrays.pop(key, None)) is not None:
            release_pages(array)


def _is_readable(array: Array) -> bool:
    """Whether kernels can read an array where it is."""
    return array.flags.c_contiguous and not address_of(array) % ARENA_ALIGNMENT


def _is_of_others(array: Array) -> bool:
    """Whether the memory of an array is not numpy's: a mapped file, or a tensor of another library."""
    return not isinstance(_owner(array), np.ndarray)


def _owner(array: Array) -> object:
    """The owner of an array's elements; the array itself, or another one, for memory of numpy's."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        base = cast(object, owner.base)
        if base is None:
            break
        owner = base
    return cast(object, owner.obj if isinstance(owner, memoryview) else owner)


def release_pages(array: Array) -> None:
    """Give pages of a mapped file back; the next access reads them again. Pages that may be written stay."""
    owner = _owner(array)
    if not isinstance(owner, mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED"):
        return
    whole = np.frombuffer(owner, np.uint8)
    if whole.flags.writeable:  # what was written to private pages is in no file
        return
    start = address_of(array) - address_of(whole)
    first, end = -(-start // mmap.PAGESIZE), (start + array.nbytes) // mmap.PAGESIZE
    if end > first:
        owner.madvise(mmap.MADV_DONTNEED, first * mmap.PAGESIZE, (end - first) * mmap.PAGESIZE)
