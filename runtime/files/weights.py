"""
The weight store: the arrays of constants outside of the IR, by content hash or by the hash of their recipe.

The IR contains `#graph.weight<"name", "hash", type>` only (100 MB as text cost 7 s and 2 GB), so modules stay
small, equal weights are stored once, and weights of a model file stay memory-mapped until a kernel reads
them. Weights that passes derive from others are computed when they are asked for.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import RLock, Thread
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from stepwell.runtime.files.file_state import FileState
from stepwell.runtime.files.recipes import Computation, Recipe, read_only, recipe_name, release_pages
from stepwell.runtime.memory import aligned

HASH_CHARS = 32  # of a SHA-256 digest: 128 bits, collisions are out of reach
PARALLEL_BYTES = 1 << 22  # below 4 MiB a second thread costs more than it hashes


def content_hash(array: npt.NDArray[np.generic]) -> str:
    """
    The hash under which an array's bytes are stored: of dtype, shape and contents.

    SHA-256, because CPUs have instructions for it: 102 MB take 57 ms on one thread against 108 ms for
    BLAKE2b.
    """
    digest = hashlib.sha256(
        f"{array.dtype.str if array.dtype.kind != 'V' else array.dtype.name}{array.shape}".encode()
    )
    if array.size:
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:HASH_CHARS]


def _hashes_on_two_threads(arrays: Sequence[npt.NDArray[np.generic]]) -> dict[int, str]:
    """Hash by index, in two shares of equal size: one task for each array would cost more in locks."""
    shares: tuple[list[int], list[int]] = ([], [])
    nbytes = [0, 0]
    for index in sorted(range(len(arrays)), key=lambda i: -arrays[i].nbytes):
        lighter = int(nbytes[1] < nbytes[0])
        shares[lighter].append(index)
        nbytes[lighter] += arrays[index].nbytes
    keys: dict[int, str] = {}

    def hash_share(share: list[int]) -> None:
        keys.update((index, content_hash(arrays[index])) for index in share)

    other = Thread(target=hash_share, args=(shares[1],))
    other.start()
    hash_share(shares[0])
    other.join()
    return keys


class WeightStore:
    """Arrays by content hash. An array may be a view of a mapped file; stored arrays are read-only."""

    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[np.generic]] = {}
        self._recipes: dict[str, Recipe] = {}
        self._made: WeakValueDictionary[str, npt.NDArray[np.generic]] = WeakValueDictionary()
        """Arrays that were computed or aligned, while any copy of the store has them."""
        self._files: list[FileState] = []
        """The mapped files that arrays are views of."""

    def add(self, array: npt.NDArray[np.generic]) -> str:
        """Store an array (any numpy or ml_dtypes element type, any shape) and return its hash."""
        return self._keep(content_hash(array), array)

    def add_all(self, arrays: Sequence[npt.NDArray[np.generic]]) -> list[str]:
        """Store many arrays and return their hashes in order; large ones are hashed on two threads."""
        if sum(array.nbytes for array in arrays) < PARALLEL_BYTES:
            return [self.add(array) for array in arrays]
        keys = _hashes_on_two_threads(arrays)
        return [self._keep(keys[index], array) for index, array in enumerate(arrays)]

    def derive(self, text: str, recipe: Recipe) -> str:
        """
        Store the recipe of an array; returns a hash of the recipe's text and the hashes of sources.

        Args: `text` is the same for equal functions only.
        """
        key = recipe_name(text, recipe, content_hash)[:HASH_CHARS]
        if key not in self:
            self._recipes[key] = recipe
        return key

    def computed(self, keys: Iterable[str]) -> Computation:
        """
        The computation of all derived weights among `keys` on a thread, while its `with` block runs.

        All other arrays are removed from the store.
        """
        return Computation(self._arrays, self._recipes, keys)

    def largest(self, key: str) -> float:
        """An upper bound of the magnitudes in an array of real numbers; NaN for one with NaN."""
        recipe = self._recipes.get(key)
        if recipe is not None and recipe.largest is not None:
            return recipe.largest
        stored = self._arrays.get(key)
        array = self.get(key) if stored is None else stored  # no aligned copy for a look at it
        return float(max(-array.min(), array.max(), key=abs)) if array.size else 0.0

    def _keep(self, key: str, array: npt.NDArray[np.generic]) -> str:
        if key not in self._arrays:
            self._arrays[key] = read_only(np.asarray(array, order="C"))
        return key

    def save(self, path: str | os.PathLike[str], keys: Iterable[str] | None = None) -> None:
        """Write arrays (default: all) to a file beside IR. Raises: StepwellError `cannot-write`."""
        from stepwell.runtime.files.weight_file import write_weights

        stored = {key: self._arrays.get(key) for key in (self if keys is None else keys)}
        write_weights(path, {key: self.get(key) if a is None else a for key, a in stored.items()})

    def load(self, path: str | os.PathLike[str]) -> None:
        """
        Add the arrays of a file that `save` wrote, mapped.

        The hashes in the file are not computed again.
        Raises: StepwellError `no-file` or `invalid-weights`.
        """
        from stepwell.runtime.files.weight_file import read_weights

        for key, array in read_weights(path).items():
            self._keep(key, array)
        with suppress(OSError):  # deleted since
            self._files.append(FileState.of(path))

    def copy(self) -> WeightStore:
        """A store of the same arrays, which are shared."""
        copied = WeightStore()
        copied._arrays, copied._recipes = dict(self._arrays), dict(self._recipes)
        copied._made, copied._files = self._made, list(self._files)
        return copied

    def rest_on(self, files: Iterable[FileState]) -> None:
        """Record the mapped files of arrays that were added."""
        self._files += files

    def files_beside(self, model: Path) -> dict[str, memoryview]:
        """The bytes of the mapped files of arrays in the folder of a model, but for its own, by name."""
        names = {Path(file.path) for file in self._files if Path(file.path).parent == model.parent}
        found: dict[str, memoryview] = {}
        for path in names - {model}:
            with suppress(OSError), path.open("rb") as file:  # renamed or deleted since
                found[path.name] = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return found

    def expect_unchanged(self) -> None:
        """Require the mapped files of all arrays to be unchanged. Raises: StepwellError `file-changed`."""
        for file in self._files:
            file.expect_unchanged()

    def get(self, key: str) -> npt.NDArray[np.generic]:
        """The read-only array stored under a hash, computed now if need be. Raises: KeyError without one."""
        recipe, stored = self._recipes.get(key), self._arrays.get(key)
        # Kernels rely on aligned elements, and a protobuf file does not give them.
        if stored is not None and stored.flags.aligned:
            return stored
        if (made := self._made.get(key)) is None:
            if stored is None:
                if recipe is None:
                    raise KeyError(key)
                stored = recipe.result(self.get)
            made = self._made[key] = read_only(aligned(stored))
        self._arrays[key] = made
        self._recipes.pop(key, None)
        return made

    def __contains__(self, key: str) -> bool:
        return key in self._arrays or key in self._recipes

    def __iter__(self) -> Iterator[str]:
        return iter((*self._arrays, *self._recipes))

    def __len__(self) -> int:
        return len(self._arrays) + len(self._recipes)


class NumberedWeights(WeightStore):
    """
    Arrays by number, for programs that are not printed: hashing takes longer than mapping a file.

    Numbers are unique in this process; equal arrays can have several.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = RLock()

    def add(self, array: npt.NDArray[np.generic]) -> str:
        return self._keep(f"{next(_NUMBERS):0{HASH_CHARS}x}", array)

    def add_all(self, arrays: Sequence[npt.NDArray[np.generic]]) -> list[str]:
        """Store many arrays; a thread copies those whose elements are not aligned in the model's file."""
        keys = [self.add(array) for array in arrays]
        copied = [key for key, array in zip(keys, arrays, strict=True) if not array.flags.aligned]
        if sum(self._arrays[key].nbytes for key in copied) >= PARALLEL_BYTES:
            Thread(target=self._align, args=(copied,), daemon=True).start()
        return keys

    def _align(self, keys: Sequence[str]) -> None:
        """Copy arrays; pages of the model's file, from which nothing reads them any more, are given back."""
        # Whoever asks for the array meets it again; one that nothing needs any more is gone.
        with suppress(MemoryError, KeyError):
            for key in keys:
                stored = self._arrays[key]
                self.get(key)
                release_pages(stored)

    def get(self, key: str) -> npt.NDArray[np.generic]:
        with self._lock:
            return super().get(key)


_NUMBERS = count()
