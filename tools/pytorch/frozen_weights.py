"""The state of weights that are constants of compiled code, compared at each call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias, cast
from weakref import ref

from stepwell.frontend.torch.tensors import torch_package

Tensors: TypeAlias = tuple[Any, ...]
_VERSION = attrgetter("_version")
_POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)


class WeightKeys:
    """
    The state of some tensors: the objects, their version counters, and the addresses of their elements.

    Torch counts writes to a tensor, in place or by an optimizer; `p.data = t` changes the address. Writes
    that it does not count (`p.data.mul_()`, those through `numpy()`) are not seen: `stepwell.torch.refresh`.
    """

    def __init__(self, tensors: Tensors):
        self._alive = True
        self._refs = [ref(tensor, self._ended) for tensor in tensors]
        self._objects = numbers_of(tensors)
        self._versions = _versions(tensors)
        self._address = cast("Callable[[Any], int]", torch_package().Tensor.data_ptr)
        self._addresses = list(map(self._address, tensors))

    def _ended(self, _: object) -> None:
        """Another object may have the number of one that is gone."""
        self._alive = False

    @property
    def is_alive(self) -> bool:
        """Whether all of the tensors exist."""
        return self._alive

    def are_of(self, tensors: Tensors) -> bool:
        """Whether these are the same objects, whatever their contents."""
        return self._alive and numbers_of(tensors) == self._objects

    def hold(self, tensors: Tensors) -> bool:
        """Whether these are the same tensors with the same contents as before."""
        return (
            self._alive
            and numbers_of(tensors) == self._objects
            and _versions(tensors) == self._versions
            and list(map(self._address, tensors)) == self._addresses
        )


def _versions(tensors: Tensors) -> list[int]:
    """The version counters; -1 for tensors of inference mode, which have none."""
    try:
        return list(map(_VERSION, tensors))
    except RuntimeError:
        return [-1 if tensor.is_inference() else tensor._version for tensor in tensors]


def numbers_of(objects: tuple[object, ...]) -> bytes:
    """
    The numbers (`id`) of the objects in a tuple: CPython, the interpreter of torch, stores them one by one.

    160 of them take 0.4 us, by `map(id, …)` 6 us of the 50 that a call may take.
    """
    return ctypes.string_at(id(objects) + tuple.__basicsize__, _POINTER_BYTES * len(objects))
