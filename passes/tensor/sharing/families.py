"""Families of kernels, equal but for sizes that may become arguments."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp

from stepwell.dialects.costs.kernels import COMPILER
from stepwell.passes.tensor.sharing.openness import Openness, openness_of
from stepwell.passes.tensor.sharing.sizes import SizedContent
from stepwell.runtime.dims import Dim


@dataclass(frozen=True, eq=False)
class Member:
    """A kernel with its sizes, in the order of `sites`."""

    kernel: FuncOp
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Opening:
    """The sizes of a family as dimensions over symbols, and the values of the symbols."""

    dims: Sequence[Dim]
    values: dict[str, tuple[int, ...]]
    """Maps each symbol to its value in each member."""

    @staticmethod
    def of(members: Sequence[Member]) -> Opening:
        """The dimensions of a family: one symbol for sizes that differ by a factor and a summand."""
        dims: list[Dim] = []
        values: dict[str, tuple[int, ...]] = {}
        for column in zip(*(member.sizes for member in members), strict=True):
            if len(set(column)) == 1:
                dims.append(Dim.of(column[0]))
                continue
            known = (dim for name, own in values.items() if (dim := _linear(column, name, own)) is not None)
            if (dim := next(known, None)) is None:
                name = f"C{len(values) or ''}"
                values[name], dim = column, Dim.symbol(name)
            dims.append(dim)
        return Opening(dims, values)

    @property
    def bounds(self) -> dict[str, tuple[int, int]]:
        """The least and the greatest value of each symbol."""
        return {name: (min(values), max(values)) for name, values in self.values.items()}


def _linear(column: Sequence[int], name: str, values: Sequence[int]) -> Dim | None:
    """A column of sizes as `factor * name + summand`; None where it is not."""
    low, high = min(values), max(values)
    at_low, at_high = column[values.index(low)], column[values.index(high)]
    factor, rest = divmod(at_high - at_low, high - low)
    summand = at_low - factor * low
    fits = all(size == factor * value + summand for size, value in zip(column, values, strict=True))
    return Dim.symbol(name) * factor + summand if not rest and factor > 0 and fits else None


def families_of(kernels: Sequence[FuncOp]) -> list[list[Member]]:
    """
    Kernels in families of at least `COMPILER.least_shared`, each kernel in one at most.

    Extents of outer loops of sums are opened first: they cost nothing. Those of outer loops over results are
    opened for what is left.
    """
    groups: dict[Hashable, list[Member]] = {}
    for kernel in _of_common_kind(kernels):
        found = SizedContent.of(kernel)
        groups.setdefault(found.content, []).append(Member(kernel, found.sizes))
    families: list[list[Member]] = []
    for left in groups.values():
        if not is_large(left):
            continue
        openness = openness_of(left[0].kernel)
        for opens in ({Openness.SUM}, {Openness.SUM, Openness.RESULTS}):
            found = _equal_but_for([kind in opens for kind in openness], left)
            families += found
            taken = {member for family in found for member in family}
            left = [member for member in left if member not in taken]
    return families


def _of_common_kind(kernels: Sequence[FuncOp]) -> list[FuncOp]:
    """The kernels whose ops have the same names as those of enough others: the content takes longer."""
    groups: dict[tuple[str, ...], list[FuncOp]] = {}
    for kernel in kernels:
        groups.setdefault(tuple([op.name for op in kernel.body.block.ops]), []).append(kernel)
    return [kernel for group in groups.values() if len(group) >= COMPILER.least_shared for kernel in group]


def is_large(members: Sequence[Member]) -> bool:
    """Whether members have enough different sizes to be worth a function with arguments."""
    return len({member.sizes for member in members}) >= COMPILER.least_shared


def _equal_but_for(is_open: Sequence[bool], members: Sequence[Member]) -> list[list[Member]]:
    """Large groups of members with equal sizes, other than the open ones."""
    groups: dict[Hashable, list[Member]] = {}
    for member in members:
        # A size of 1 is no loop: it decides which loop is the outer one, and stays a number.
        pairs = zip(member.sizes, is_open, strict=True)
        key = tuple([None if opens and size > 1 else size for size, opens in pairs])
        groups.setdefault(key, []).append(member)
    return [group for group in groups.values() if is_large(group)]
