"""
The weight store: the arrays of constants outside of the IR, by content hash.

The IR contains `#graph.weight<"name", "hash", type>` only (100 MB as text cost 7 s and 2 GB), so modules stay
small, equal weights are stored once, and weights of a model file stay memory-mapped until a kernel reads
them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from threading import Thread

import numpy as np
import numpy.typing as npt

from stepwell.runtime.files.file_state import FileState

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

    def _keep(self, key: str, array: npt.NDArray[np.generic]) -> str:
        if key not in self._arrays:
            # Aligned to the element: kernels rely on it, and a protobuf file does not give it.
            kept = np.require(array, requirements=["C", "A"]).reshape(array.shape).view()
            kept.flags.writeable = False
            self._arrays[key] = kept
        return key

    def save(self, path: str | os.PathLike[str], keys: Iterable[str] | None = None) -> None:
        """Write arrays (default: all) to a file beside IR. Raises: StepwellError `cannot-write`."""
        from stepwell.runtime.files.weight_file import write_weights

        write_weights(path, {key: self._arrays[key] for key in (self._arrays if keys is None else keys)})

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
        copied._arrays, copied._files = dict(self._arrays), list(self._files)
        return copied

    def rest_on(self, files: Iterable[FileState]) -> None:
        """Record the mapped files of arrays that were added."""
        self._files += files

    def expect_unchanged(self) -> None:
        """Require the mapped files of all arrays to be unchanged. Raises: StepwellError `file-changed`."""
        for file in self._files:
            file.expect_unchanged()

    def get(self, key: str) -> npt.NDArray[np.generic]:
        """The read-only array stored under a hash. Raises: KeyError for an unknown hash."""
        return self._arrays[key]

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)
