"""The formula of a structured op in its user's names: `C[i, j]` from `A[i, r]` and `B[r, j]`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from stepwell.dialects.tensor_ir.structured import Structured, linear

_PARALLEL, _SUMMED = "ijklmn", "rstuvw"
_SIGNS = {
    AffineBinaryOpKind.Add: "+",
    AffineBinaryOpKind.Mul: "*",
    AffineBinaryOpKind.FloorDiv: "//",
    AffineBinaryOpKind.CeilDiv: "ceildiv",
    AffineBinaryOpKind.Mod: "%",
}


@dataclass(frozen=True)
class Formula:
    """The names of a stage, its loops and its operands."""

    stage: str
    loops: tuple[str, ...]
    """The name of each loop of the op."""
    view: Structured

    @staticmethod
    def of(view: Structured, stage: str, names: Sequence[str] | None = None) -> Formula:
        """The formula of an op; loops without names are i, j, …, those of sums r, s, …"""
        return Formula(stage, tuple(names or default_names(view)), view)

    @property
    def result(self) -> str:
        """The elements that the op writes, as `C[i, j]`."""
        return self._access(self.stage, self.view.init_maps[0])

    def unsliced(self, dim: int) -> str:
        """The operands in which a loop moves an index other than by a stride, as text; empty if none."""
        operands = zip(self.view.op.operands, self.view.maps, strict=True)
        found = [
            self._access(self._name(value), map)
            for value, map in operands
            if any(dim in e.used_dims() and not _is_stride(e) for e in map.results)
        ]
        return listed(found)

    def access_of(self, value: SSAValue) -> str:
        """An operand as `A[i, r]`."""
        position = list(self.view.op.operands).index(value)
        if position >= len(self.view.inputs):
            return self.result
        return self._access(self._name(value), self.view.maps[position])

    def __str__(self) -> str:
        reads = zip(self.view.inputs, self.view.maps, strict=False)
        text = listed(self._access(self._name(value), map) for value, map in reads)
        sums = [
            f"{self.loops[d]} in 0..{self.view.extents[d] or '?'}"
            for d in range(self.view.rank)
            if not self.view.parallel[d]
        ]
        over = f", for all {listed(sums)}" if sums else ""
        return f"{self.result} is computed from {text or 'no tensor'}{over}"

    def _name(self, value: SSAValue) -> str:
        return value.name_hint or f"operand {list(self.view.op.operands).index(value)}"

    def _access(self, name: str, map: AffineMap) -> str:
        return f"{name}[{', '.join(map_text(e, self.loops) for e in map.results)}]" if map.results else name


def default_names(view: Structured) -> list[str]:
    """Names of loops that have none."""
    found: list[str] = []
    for position, is_parallel in enumerate(view.parallel):
        letters = _PARALLEL if is_parallel else _SUMMED
        number = view.parallel[:position].count(is_parallel)
        found.append(letters[number] if number < len(letters) else f"{letters[0]}{number}")
    return found


def _is_stride(expr: AffineExpr) -> bool:
    index = linear(expr)
    return index is not None and all(factor > 0 for _, factor in index.terms)


def map_text(expr: AffineExpr, names: Sequence[str]) -> str:
    """An index expression with names for loops."""
    match expr:
        case AffineDimExpr():
            return names[expr.position]
        case AffineConstantExpr():
            return str(expr.value)
        case AffineBinaryOpExpr():
            return f"{map_text(expr.lhs, names)} {_SIGNS[expr.kind]} {map_text(expr.rhs, names)}"
        case _:
            return str(expr)


def listed(names: Iterable[str], word: str = "and") -> str:
    """Names as in a sentence: `a, b and c`."""
    *first, last = [*names] or [""]
    return f"{', '.join(first)} {word} {last}" if first else last
