"""The reduction of IR with passes: functions, ops, regions, signatures, attributes, sizes, then passes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from stepwell.runtime.errors import StepwellError, describe_location
from stepwell.tools.reduce import ir_edits
from stepwell.tools.reduce.ddmin import minimized
from stepwell.tools.reduce.ir_case import IrCase
from stepwell.tools.reduce.ir_edits import Edit
from stepwell.tools.reduce.probes import Probes

Unit = TypeVar("Unit")
_RADII = (0, 4, 16, 64, 256)
"""How many ops before and after the op at fault are tried before all ops."""


@dataclass
class IrReducer:
    """
    A reduction of IR.

    Args: `read` makes a module of a text; `best` is a case that fails in the way of `probes`; `place` is the
    location of the op at fault, where it is known; `locations`: whether cases are printed with locations;
    `observed`: whether functions return what removed ops have read.
    """

    read: Callable[[str], ModuleOp]
    probes: Probes[IrCase]
    best: IrCase
    place: str = ""
    locations: bool = False
    observed: bool = False

    def run(self) -> IrCase:
        """The smallest case found."""
        self._ops_near()
        while not self.probes.is_over:
            before = self.best.key
            self._functions()
            self._fewer(ir_edits.outer_attributes, ir_edits.without_attributes)
            self._ops()
            self._fewer(_bypasses, ir_edits.bypassed)
            self._regions()
            self._signatures()
            self._fewer(ir_edits.attributes_of, ir_edits.without_attributes)
            self._sizes()
            self._passes()
            if self.best.key == before:
                break
        return self.best

    def lines(self) -> IrCase:
        """The fewest lines found of a text that is no IR."""
        texts = self.best.text.splitlines(keepends=True)
        units = list(range(len(texts)))
        self._minimized(
            units, lambda part: IrCase("".join(texts[i] for i in part), self.best.passes, len(part))
        )
        return self.best

    def _ops_near(self) -> None:
        """Try the op at fault alone, then with ops around it; with attributes of functions, then without."""
        module = self.read(self.best.text)
        outer = list(_ops_at(module, 1))
        places = {position for position, op in outer for inner in op.walk() if self._is_at_fault(inner)}
        found = [index for index, (position, _) in enumerate(outer) if position in places]
        if not found:
            return
        attributes = ir_edits.outer_attributes(module)

        def near(radius: int, plain: bool) -> IrCase | None:
            part = range(max(0, found[0] - radius), min(len(outer), found[-1] + radius + 1))
            dropped = [position for index, (position, _) in enumerate(outer) if index not in part]
            dropping = ir_edits.without_attributes(attributes if plain else ())
            return self._edited(module, dropping, self._without_ops(dropped))

        self._first(near(radius, plain) for plain in (False, True) for radius in _RADII)

    def _is_at_fault(self, op: Operation) -> bool:
        return bool(self.place) and describe_location(op) == self.place

    def _functions(self) -> None:
        self._ops_of_depth(0)

        def edits(module: ModuleOp) -> Iterator[Edit]:
            with_body = (index for index, op in enumerate(module.ops) if ir_edits.entry_of(op) is not None)
            return map(ir_edits.declared, with_body)

        self._each(edits)

    def _ops(self) -> None:
        """Remove ops, the outermost first: what is inside of a loop goes with it."""
        depth = 1
        while any(_ops_at(self.read(self.best.text), depth)):
            self._ops_of_depth(depth)
            depth += 1

    def _ops_of_depth(self, depth: int) -> None:
        def positions(module: ModuleOp) -> list[int]:
            return [position for position, _ in _ops_at(module, depth)][::-1]

        self._fewer(positions, self._without_ops)

    def _without_ops(self, positions: Collection[int]) -> Edit:
        return ir_edits.without_ops(positions, observed=self.observed)

    def _regions(self) -> None:
        """Replace ops by what is in their regions."""

        def edits(module: ModuleOp) -> Iterator[Edit]:
            for position, op in enumerate(module.walk()):
                if op is not module and op.parent_op() is not module:
                    for index, region in enumerate(op.regions):
                        if region.first_block is not None and region.first_block.next_block is None:
                            yield ir_edits.hoisted(position, index)

        self._each(edits)

    def _signatures(self) -> None:
        """Drop results of functions, then unused arguments."""
        for position in range(len(self.read(self.best.text).ops)):
            self._fewer(partial(_results, position), partial(ir_edits.without_results, position))
            self._fewer(partial(_unused, position), partial(ir_edits.without_arguments, position))

    def _sizes(self) -> None:
        """Make extents smaller, each everywhere."""
        while self._first(self._resized()) is not None:
            pass

    def _resized(self) -> Iterator[IrCase | None]:
        for size, other in ir_edits.other_sizes(self.best.text):
            for text in ir_edits.resized(self.best.text, size, other):
                try:
                    yield IrCase.of(self.read(text), self.best.passes, locations=self.locations)
                except StepwellError:
                    yield None

    def _passes(self) -> None:
        """Drop passes, then options of those that stay."""
        text, ops = self.best.text, self.best.ops
        self._minimized(self.best.passes, lambda part: IrCase(text, tuple(part), ops))
        for index, step in enumerate(self.best.passes):
            name = step.partition("{")[0]
            if name != step:
                passes = (*self.best.passes[:index], name, *self.best.passes[index + 1 :])
                self._first([IrCase(text, passes, ops)])

    def _each(self, edits: Callable[[ModuleOp], Iterable[Edit]]) -> None:
        """Make edits in turn while the case fails."""
        while True:
            module = self.read(self.best.text)
            if self._first(self._edited(module, edit) for edit in edits(module)) is None:
                return

    def _fewer(
        self, units_of: Callable[[ModuleOp], Sequence[Unit]], without: Callable[[Collection[Unit]], Edit]
    ) -> None:
        """Drop units of the best case's module."""
        module = self.read(self.best.text)
        units = units_of(module)

        def kept(part: Sequence[Unit]) -> IrCase | None:
            these = set(part)
            return self._edited(module, without([unit for unit in units if unit not in these]))

        self._minimized(units, kept)

    def _minimized(self, units: Sequence[Unit], case_of: Callable[[Sequence[Unit]], IrCase | None]) -> None:
        """Keep few units; none of them is tried first."""

        def first_kept(parts: Iterable[Sequence[Unit]]) -> Sequence[Unit] | None:
            tried: list[tuple[IrCase | None, Sequence[Unit]]] = []

            def cases() -> Iterator[IrCase | None]:
                for part in parts:
                    tried.append((case_of(part), part))
                    yield tried[-1][0]

            found = self._first(cases())
            return None if found is None else next(part for case, part in tried if case is found)

        if units and first_kept([[]]) is None:
            minimized(units, first_kept)

    def _first(self, cases: Iterable[IrCase | None]) -> IrCase | None:
        """The first other case with the wanted failure; the best case from then on."""
        now = self.best.key
        found = self.probes.first(case for case in cases if case is not None and case.key != now)
        self.best = found or self.best
        return found

    def _edited(self, module: ModuleOp, *edits: Edit) -> IrCase | None:
        """A copy of a module after edits; None where it cannot be made or printed."""
        copy = module.clone()
        try:
            for edit in edits:
                edit(copy)
            return IrCase.of(copy, self.best.passes, locations=self.locations)
        except Exception:  # an op may not print without what the edit took
            return None


def _ops_at(module: ModuleOp, depth: int) -> Iterator[tuple[int, Operation]]:
    """The ops at a depth, functions being at 0, with their positions in the walk, without ends of blocks."""
    depths: dict[Operation, int] = {module: -1}
    for position, op in enumerate(module.walk()):
        if (parent := op.parent_op()) is not None:
            depths[op] = depths[parent] + 1
        if depths[op] == depth and not op.has_trait(IsTerminator):
            yield position, op


def _bypasses(module: ModuleOp) -> Sequence[int]:
    """The positions in the walk of ops that can be bypassed."""
    return [position for position, op in enumerate(module.walk()) if ir_edits.may_be_bypassed(op)]


def _results(position: int, module: ModuleOp) -> Sequence[int]:
    """The numbers of a function's results; none of a declaration's."""
    op = list(module.ops)[position]
    return range(len(op.function_type.outputs)) if isinstance(op, func.FuncOp) and op.body.blocks else ()


def _unused(position: int, module: ModuleOp) -> Sequence[int]:
    """The numbers of a function's unused arguments."""
    block = ir_edits.entry_of(list(module.ops)[position])
    return () if block is None else [a.index for a in block.args if a.first_use is None]
