"""
The conversion driver: from one dialect to the next in one walk.

A conversion is a list of rewrite patterns, found by the class of the op they match. Ops are visited once, in
order, with their operands converted already; ops made by a pattern take the location of the op they replace;
illegal ops that are left at the end are reported all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects._xdsl import matched_op_types
from stepwell.dialects.locations import adopt_location
from stepwell.passes.graph.scopes import values_read
from stepwell.runtime.errors import StepwellError, describe_location


def convert(
    module: Operation,
    patterns: Sequence[RewritePattern],
    illegal: Iterable[str],
    *,
    type_converter: Callable[[Attribute], Attribute] | None = None,
    legal_ops: Iterable[type[Operation]] = (),
    convert_new_ops: bool = False,
    partial: bool = False,
    hint: Callable[[Operation], str] | None = None,
) -> None:
    """
    Rewrite `module`, or one function, in place with `patterns`, each written with `@op_type_rewrite_pattern`.

    Args: `illegal` names dialects (`"graph"`) or ops (`"graph.conv"`) that may not be left, `legal_ops`
    excepts single classes; `type_converter` maps the types of block arguments before their block is visited;
    `convert_new_ops` visits what patterns insert too, so that one may expand into ops that others convert.
    `partial` leaves them where they are; `hint` is what else to say of one, such as a name that is near.
    A pattern may split the block of its op: what follows is visited in the new block, after those before it.
    Raises: StepwellError `unsupported-op` that lists every op left, with its locations.
    """
    walk = _Walk(
        _PatternTable(patterns), _Illegal(set(illegal), tuple(legal_ops)), type_converter, convert_new_ops
    )
    walk.visit_regions(module)
    if not partial:
        walk.refuse_leftovers(hint or (lambda op: ""))


class _PatternTable:
    """
    Patterns by the class of op, and those of its bases: one pattern can take a whole family, and a subclass
    such as our `arith` ops that take vectors too falls to the patterns of its base.
    """

    def __init__(self, patterns: Sequence[RewritePattern]):
        self._declared: dict[type, list[RewritePattern]] = {}
        for pattern in patterns:
            for op_type in matched_op_types(pattern):
                self._declared.setdefault(op_type, []).append(pattern)
        self._found: dict[type, tuple[RewritePattern, ...]] = {}

    def of(self, op_type: type[Operation]) -> tuple[RewritePattern, ...]:
        """The patterns for a class, the most specific first."""
        if op_type not in self._found:
            lists = (self._declared.get(base, ()) for base in op_type.__mro__)
            self._found[op_type] = tuple(pattern for found in lists for pattern in found)
        return self._found[op_type]


@dataclass(frozen=True)
class _Illegal:
    """What may not be left: dialects and ops by name, but for some classes."""

    names: set[str]
    legal_ops: tuple[type[Operation], ...]

    def __contains__(self, op: Operation) -> bool:
        named = op.name in self.names or op.name.partition(".")[0] in self.names
        return named and not isinstance(op, self.legal_ops)


class _Walk:
    """The walk of one conversion."""

    def __init__(
        self,
        table: _PatternTable,
        illegal: _Illegal,
        type_converter: Callable[[Attribute], Attribute] | None,
        convert_new_ops: bool,
    ):
        self._table = table
        self._illegal = illegal
        self._left: dict[Operation, bool] = {}
        """Illegal ops that were not converted, and whether that is their own fault."""
        self._type_converter = type_converter
        self._convert_new_ops = convert_new_ops

    def visit_regions(self, op: Operation) -> None:
        """Convert what is inside an op, blocks in order; blocks that patterns insert are among them."""
        for region in op.regions:
            block = region.first_block
            while block is not None:
                self._visit_block(block)
                block = block.next_block

    def _visit_block(self, block: Block) -> None:
        if self._type_converter is not None:
            for arg in block.args:
                converted = self._type_converter(arg.type)
                if converted != arg.type:
                    arg._type = converted  # pyright: ignore[reportPrivateUsage]
        for inner in list(block.ops):
            if inner.parent is block:  # neither erased nor split off meanwhile
                self._visit(inner)

    def _visit(self, op: Operation) -> None:
        if self._left and any(value.owner in self._left for value in values_read(op)):
            # Its operands have no types of the new level: its own patterns would only fail on that.
            if op in self._illegal:
                self._left[op] = not any(_converts(pattern, op) for pattern in self._table.of(type(op)))
            return
        patterns = self._table.of(type(op))
        if not patterns and not op.regions and op not in self._illegal:
            return
        new_ops: list[Operation] = []
        for pattern in patterns:
            rewriter = PatternRewriter(op)
            location = op.location
            rewriter.operation_insertion_handler.append(lambda new, at=location: adopt_location(new, at))
            if self._convert_new_ops:
                rewriter.operation_insertion_handler.append(new_ops.append)
            try:
                pattern.match_and_rewrite(op, rewriter)
            except VerifyException as error:
                raise StepwellError("invalid-op", op, f"{op.name}: {error}") from error
            except StepwellError as error:
                if error.where:
                    raise
                message = error.message if op.name in error.message else f"{op.name}: {error.message}"
                raise StepwellError(error.code, op, message, note=error.notes, help=error.help) from None
            if rewriter.has_done_action:
                break
        if op.parent is not None and op in self._illegal:
            self._left[op] = True
        if op.parent is not None or isinstance(op, ModuleOp):
            # Still in the IR: untouched, or kept by its pattern. Its regions are visited after it.
            self.visit_regions(op)
        for new in new_ops:
            if new.parent is not None:
                self._visit(new)

    def refuse_leftovers(self, hint: Callable[[Operation], str]) -> None:
        """Raises: StepwellError that names every op left by its own fault, and where."""
        left: dict[str, list[str]] = {}
        hints: dict[str, str] = {}
        for op, at_fault in self._left.items():
            if at_fault and op.parent is not None:  # a later pattern may have erased it
                left.setdefault(_title(op), []).append(describe_location(op))
                hints[_title(op)] = hint(op)
        if not left:
            return
        lines = [
            f"{name} ({len(places)} use{'s' * (len(places) > 1)}): {_listed(places)}{hints[name]}"
            for name, places in sorted(left.items())
        ]
        raise StepwellError(
            "unsupported-op",
            next((p for places in left.values() for p in places), None),
            f"no conversion for {', '.join(sorted(left))}",
            note=lines,
            help="run `stepwell inspect` on the model for the whole list; export without these operators, or "
            "compute them before or after the model",
        )


@runtime_checkable
class Selective(Protocol):
    """A pattern that converts only some ops of its class, whatever their operands."""

    def converts(self, op: Operation) -> bool:
        """Whether it is about this op."""
        ...


def _converts(pattern: RewritePattern, op: Operation) -> bool:
    return not isinstance(pattern, Selective) or pattern.converts(op)


def _title(op: Operation) -> str:
    """The op's name; of an op that stands for any operator of a domain, that operator's (`com.acme.Mix`)."""
    parts = [getattr(op, part, None) for part in ("domain", "op_type")]
    names = [part.data for part in parts if isinstance(part, StringAttr)]
    return ".".join(filter(None, names)) or op.name


def _listed(places: Sequence[str]) -> str:
    return ", ".join([place for place in places[:5] if place] + ["…"] * (len(places) > 5))
