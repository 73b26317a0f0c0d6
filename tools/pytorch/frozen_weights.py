"""The state of weights that are constants of compiled code, compared at each call."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias, cast
from weakref import ref

from stepwell.frontend.torch.tensors import torch_package

Tensors: TypeAlias = tuple[Any, ...]
_VERSION = attrgetter("_version")
# `PyTupleObject` is part of CPython's public C interface: the object's head, then a pointer to each item.
_ITEMS_AT, _POINTER_BYTES = tuple.__basicsize__, struct.calcsize("P")


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


def _by_layout(objects: tuple[object, ...]) -> bytes:
    return ctypes.string_at(id(objects) + _ITEMS_AT, _POINTER_BYTES * len(objects))


def _one_by_one(objects: tuple[object, ...]) -> bytes:
    return struct.pack(f"{len(objects)}P", *map(id, objects))


def _layout_holds() -> bool:
    """Whether the memory of a tuple has the numbers of its items on this interpreter; true for CPython."""
    samples: list[tuple[object, ...]] = [(), (object(),), (1.5, "text", None)]
    return all(_by_layout(sample) == _one_by_one(sample) for sample in samples)


# 160 numbers by `map(id, …)` take 6 us, copied from the tuple's memory 0.4 us.
numbers_of = _by_layout if _layout_holds() else _one_by_one
"""The numbers (`id`) of the objects in a tuple, as bytes."""
