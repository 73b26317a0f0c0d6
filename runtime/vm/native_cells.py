"""Cells that enter native functions in function values, and leave them: their contents outlive calls."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepwell.runtime.addresses import address_of
from stepwell.runtime.vm.native_abi import IMMORTAL, WORD_BYTES, Kind
from stepwell.runtime.vm.native_values import Items
from stepwell.runtime.vm.objects import Cell, Value

Words = npt.NDArray[np.uint64]
_CONTENT = 2
"""The position of a cell's content in its object."""


class _Build(NamedTuple):
    """An object whose fields have been read."""

    address: int
    code: int
    is_closure: bool
    fields: int


class CallCells:
    """
    The cells of a call: an object for each cell of its arguments, a cell for each object of its result.

    Objects of entered cells are the caller's memory, which reference counts do not free. Their contents are
    copied back into the cells after the call, even after one that failed.
    """

    def __init__(self, items: Items):
        self._items = items
        self._entered: list[tuple[Cell, Words]] = []
        self._addresses: dict[int, int] = {}
        """The addresses of objects by the identities of their cells."""
        self._first: list[int] = []
        """The addresses of the contents at the begin of the call."""
        self._read: dict[int, Value] = {}
        """The values of objects by address: what is shared is one value again."""
        self._waiting: list[tuple[Cell, int]] = []

    def __bool__(self) -> bool:
        return bool(self._entered)

    def address(self, cell: Cell) -> int:
        """The address of a cell's object."""
        if id(cell) not in self._addresses:
            memory = np.array([IMMORTAL, 1 | Kind.CELL << 32, 0], np.uint64)
            self._entered.append((cell, memory))
            self._addresses[id(cell)] = address_of(memory)
            self._read[address_of(memory)] = cell
        return self._addresses[id(cell)]

    def words(self, arguments: list[int], kept: list[npt.NDArray[np.generic]]) -> list[int]:
        """The items of all contents, each after those of cells before it, and of the arguments."""
        words, known = arguments, 0
        while known < len(self._entered):
            contents = [cell.value for cell, _ in self._entered[known:]]
            known = len(self._entered)
            words = self._items.of(contents, kept, self.address) + words
        return words

    def fill(self, values: int, arguments: int) -> None:
        """Let the objects have their contents, from the values that entered after the arguments."""
        count = len(self._entered)
        made = (ctypes.c_uint64 * count).from_address(values + WORD_BYTES * arguments)
        self._first = list(made)
        for (_, memory), address in zip(self._entered, self._first, strict=True):
            memory[_CONTENT] = address
            # One reference more: no other object gets the address of a content that was replaced.
            ctypes.c_int32.from_address(address).value += 1

    def write_back(self) -> None:
        """Give the cells their contents, once the call has begun."""
        for (cell, memory), first in zip(self._entered, self._first, strict=False):
            if (address := int(memory[_CONTENT])) != first:
                self._waiting.append((cell, address))
        self._finish()

    def value(self, address: int) -> Value:
        """The value of an object that has cells inside."""
        found = self._value(address)
        self._finish()
        return found

    def _finish(self) -> None:
        while self._waiting:
            cell, address = self._waiting.pop()
            cell.value = self._value(address)

    def _value(self, root: int) -> Value:
        """The value of an object; the contents of cells wait."""
        done: list[Value] = []
        work: list[int | _Build] = [root]
        while work:
            item = work.pop()
            if isinstance(item, _Build):
                self._read[item.address] = self._items.built(item.is_closure, item.code, done, item.fields)
                done.append(self._read[item.address])
            elif item in self._read:
                done.append(self._read[item])
            else:
                self._open(item, work, done)
        return done[0]

    def _open(self, address: int, work: list[int | _Build], done: list[Value]) -> None:
        _, tag, fields, kind = (ctypes.c_int32 * 4).from_address(address)
        kind &= 255
        at = address + WORD_BYTES * (3 if kind == Kind.CLOSURE else 2)
        inside = list((ctypes.c_uint64 * max(2, fields)).from_address(at))
        match kind:
            case Kind.TENSOR:
                done.append(self._items.array(*inside[:2]))
            case Kind.CELL:
                cell = self._read[address] = Cell(None)
                self._waiting.append((cell, inside[0]))
                done.append(cell)
            case _:
                work.append(_Build(address, tag & 0xFFFFFFFF, kind == Kind.CLOSURE, fields))
                work.extend(inside[:fields])
