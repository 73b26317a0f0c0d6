"""
The conversion driver, which rewrites one dialect to the next in a single walk.

A conversion is a set of rewrite patterns, found by the class of the op they match. Ops are visited once, in
order, after their operands have been converted; illegal ops that remain at the end are reported all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects._xdsl import move_rewriter, set_type
from stepwell.dialects.graph.functions import values_read
from stepwell.patterns.driver.carry_out import carry_out
from stepwell.patterns.driver.lineage import MAX_DEPTH, Lineage
from stepwell.patterns.driver.pattern_set import PatternSet
from stepwell.runtime.errors import StepwellError, describe_location

_WATCHED_DEPTH = 8
"""Shorter rows of ops that patterns made from new ones are not noted: it would take time, and they end."""


def convert(
    module: Operation,
    patterns: Sequence[RewritePattern] | PatternSet,
    illegal: Iterable[str],
    *,
    type_converter: Callable[[Attribute], Attribute] | None = None,
    legal_ops: Iterable[type[Operation]] = (),
    convert_new_ops: bool = False,
    partial: bool = False,
    hint: Callable[[Operation], str] | None = None,
    help: Callable[[Sequence[Operation]], str | None] | None = None,
) -> None:
    """
    Rewrite `module`, or one function, in place with `patterns`, each written with `@op_type_rewrite_pattern`.

    Args: `illegal` names dialects (`"graph"`) or ops (`"graph.conv"`) that must not remain, `legal_ops`
    exempts single classes; `type_converter` maps the types of block arguments before their block is visited;
    `convert_new_ops` visits inserted ops too, so that a pattern may expand into ops that others convert.
    `partial` tolerates illegal ops; `hint` adds to the message about one, such as a name that is similar;
    `help` may say what to do about those that remain.
    A pattern may split the block of its op: the ops after it are then visited in the new block.
    Raises: StepwellError `unsupported-op` that lists every remaining op, with its locations;
    `endless-rules` for patterns that rewrite their own results without end.
    """
    lineage = (
        Lineage(module, MAX_DEPTH, "let no pattern convert an op to its like") if convert_new_ops else None
    )
    patterns = patterns if isinstance(patterns, PatternSet) else PatternSet(patterns)
    walk = _Walk(patterns, _Illegal(set(illegal), tuple(legal_ops)), type_converter, lineage)
    walk.visit_regions(module)
    if not partial:
        walk.refuse_leftovers(hint or (lambda op: ""), help or (lambda ops: None))


@dataclass(frozen=True)
class _Illegal:
    """The ops that must not remain: dialects and ops by name, except for some classes."""

    names: set[str]
    legal_ops: tuple[type[Operation], ...]
    known: dict[type[Operation], bool] = field(default_factory=dict[type[Operation], bool])

    def __contains__(self, op: Operation) -> bool:
        if (found := self.known.get(type(op))) is None:
            named = op.name in self.names or op.name.partition(".")[0] in self.names
            found = self.known[type(op)] = named and not isinstance(op, self.legal_ops)
        return found


class _Walk:
    """The walk of a conversion over all ops, and the illegal ops that it left."""

    def __init__(
        self,
        patterns: PatternSet,
        illegal: _Illegal,
        type_converter: Callable[[Attribute], Attribute] | None,
        lineage: Lineage | None,
    ):
        self._patterns = patterns
        self._illegal = illegal
        self._left: dict[Operation, bool] = {}
        """Illegal ops that were not converted; False where only their operands are to blame."""
        self._type_converter = type_converter
        self._lineage = lineage
        """The lineage of new ops that are converted too; None where new ops stay as they are."""
        self._rewriter: PatternRewriter | None = None
        self._untouched: set[type[Operation]] = set()
        """Classes of legal ops without patterns."""

    def visit_regions(self, op: Operation) -> None:
        """Convert the ops inside an op, blocks in order, including blocks that patterns insert."""
        for region in op.regions:
            block = region.first_block
            while block is not None:
                self._visit_block(block)
                block = block.next_block

    def _visit_block(self, block: Block) -> None:
        """Convert the types of a block's arguments, then its ops."""
        if self._type_converter is not None:
            for arg in block.args:
                converted = self._type_converter(arg.type)
                if converted != arg.type:
                    set_type(arg, converted)
        untouched = self._untouched
        for inner in list(block.ops):
            if inner.parent is block:  # neither erased nor split off meanwhile
                if inner.regions or type(inner) not in untouched:
                    self._visit(inner)

    def _visit(self, op: Operation, depth: int = 0) -> None:
        """Try patterns until one rewrites the op, then visit the op's regions and the new ops."""
        if self._left and any(value.owner in self._left for value in values_read(op)):
            # Its operands do not have types of the new level, on which its own patterns would only fail.
            if op in self._illegal:
                self._left[op] = not any(_converts(pattern, op) for pattern in self._patterns.of(type(op)))
            return
        patterns = self._patterns.of(type(op))
        if not patterns and op not in self._illegal:
            self._untouched.add(type(op))
            if not op.regions:
                return
        new_ops = self._rewrite(op, patterns, depth) if patterns else ()
        if op.parent is not None and op in self._illegal:
            self._left[op] = True
        if self._lineage is None:
            self._left.update((new, True) for new in new_ops if new in self._illegal)
        if op.parent is not None or isinstance(op, ModuleOp):
            # Still in the IR, untouched or modified in place. Its regions are visited after it.
            self.visit_regions(op)
        if self._lineage is not None:
            untouched = self._untouched
            for new in new_ops:
                if new.parent is not None and (new.regions or type(new) not in untouched):
                    self._visit(new, depth + 1)

    def _rewrite(self, op: Operation, patterns: Sequence[RewritePattern], depth: int) -> Sequence[Operation]:
        """Carry out the first pattern that rewrites an op. Returns: the new ops; errors name the op."""
        watched = self._lineage if depth > _WATCHED_DEPTH else None
        if (rewriter := self._rewriter) is None:
            rewriter = self._rewriter = PatternRewriter(op)
        else:
            move_rewriter(rewriter, op)
        try:
            return carry_out(patterns, op, rewriter, watched) or ()
        except VerifyException as error:
            raise StepwellError(
                "invalid-model" if op.name.startswith("onnx.") else "invalid-ir", op, f"{op.name}: {error}"
            ) from error
        except StepwellError as error:
            if error.where:
                raise
            message = error.message if op.name in error.message else f"{op.name}: {error.message}"
            raise StepwellError(error.code, op, message, note=error.notes, help=error.help) from None

    def refuse_leftovers(
        self, hint: Callable[[Operation], str], help: Callable[[Sequence[Operation]], str | None]
    ) -> None:
        """
        Report the remaining illegal ops.

        Raises: StepwellError `unsupported-op` with the names and locations of ops that no pattern converted,
        except those that remain only because of their operands.
        """
        left: dict[str, list[str]] = {}
        hints: dict[str, str] = {}
        # A later pattern may have erased one.
        ops = [op for op, at_fault in self._left.items() if at_fault and op.parent is not None]
        for op in ops:
            left.setdefault(_title(op), []).append(describe_location(op))
            hints[_title(op)] = hint(op)
        if not left:
            return
        lines = [
            f"{name} ({len(locations)} use{'s' * (len(locations) > 1)}): {_listed(locations)}{hints[name]}"
            for name, locations in sorted(left.items())
        ]
        raise StepwellError(
            "unsupported-op",
            next((p for locations in left.values() for p in locations), None),
            f"no conversion for {', '.join(sorted(left))}",
            note=lines,
            help=help(ops) or self._help(),
        )

    def _help(self) -> str:
        if self._patterns.plugin is not None:
            return f"add a pattern for each to {self._patterns.plugin}, or convert them in a pass before"
        return (
            "run `stepwell inspect` on the model for the whole list; export without these operators, or "
            "compute them before or after the model"
        )


@runtime_checkable
class Selective(Protocol):
    """A pattern that converts only some ops of its class, whatever their operands."""

    def converts(self, op: Operation) -> bool:
        """Whether the pattern converts this op."""
        ...


def _converts(pattern: RewritePattern, op: Operation) -> bool:
    """Whether a pattern of an op's class converts it."""
    return not isinstance(pattern, Selective) or pattern.converts(op)


def _title(op: Operation) -> str:
    """An op's name; for an op that represents any operator of a domain, that operator's (`com.acme.Mix`)."""
    parts = [getattr(op, part, None) for part in ("domain", "op_type")]
    names = [part.data for part in parts if isinstance(part, StringAttr)]
    return ".".join(filter(None, names)) or op.name


def _listed(locations: Sequence[str]) -> str:
    """The first five locations as text."""
    return ", ".join([location for location in locations[:5] if location] + ["…"] * (len(locations) > 5))
