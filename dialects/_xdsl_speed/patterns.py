"""Faster functions for xDSL's rewriters and patterns, which do the same: docs/xdsl.md has the reasons."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from types import FunctionType
from typing import Any, cast

from xdsl import pattern_rewriter
from xdsl.builder import InsertOpInvT, _current_builder
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, PatternRewriteWalker
from xdsl.rewriter import InsertPoint

from stepwell.dialects._xdsl_speed.objects import replace_uses

_Method = Callable[[Any, Operation, PatternRewriter], None]


def _insert(
    self: PatternRewriter, op: InsertOpInvT, insertion_point: InsertPoint | None = None
) -> InsertOpInvT:
    """`PatternRewriter.insert` without the calls between; all ops are inserted before handlers see them."""
    self.has_done_action = True
    if self._name_hint is not None or _current_builder.builder is not None:
        return _insert_named(self, op, insertion_point)
    ops = (op,) if isinstance(op, Operation) else op
    point = self.insertion_point if insertion_point is None else insertion_point
    block, following = point.block, point.insert_before
    for new in ops:
        if following is None:
            block.add_op(new)
        else:
            block.insert_op_before(new, following)
    for new in ops:
        for handler in self.operation_insertion_handler:
            handler(new)
    return op


def _replace_op(
    self: PatternRewriter,
    op: Operation,
    new_ops: Operation | Sequence[Operation],
    new_results: Sequence[SSAValue | None] | None = None,
    safe_erase: bool = True,
) -> None:
    """`PatternRewriter.replace` for results that are replaced by others, without lists of their users."""
    made = (new_ops,) if isinstance(new_ops, Operation) else new_ops
    if new_results is None:
        new_results = made[-1].results if made else ()
    if self.operation_modification_handler or len(op.results) != len(new_results) or None in new_results:
        _replace_watched(self, op, new_ops, new_results, safe_erase)
        return
    self.has_done_action = True
    if made:
        self.insert(made, InsertPoint.before(op))
    if self.operation_replacement_handler:
        self.handle_operation_replacement(op, new_results)
    hint = None
    for old, new in zip(op.results, cast("Sequence[SSAValue]", new_results), strict=True):
        replace_uses(old, new)
        if (hint := new._name) is None and old._name is not None:
            new.name_hint = hint = old._name
    if hint is not None and len(new_results) == 1:
        for result in (result for new_op in made for result in new_op.results):
            if result._name is None:
                result.name_hint = hint
    self.erase(op, safe_erase=safe_erase)


def _erase(self: PatternRewriter, op: Operation, safe_erase: bool = True) -> None:
    """`PatternRewriter.erase` without the calls between."""
    self.has_done_action = True
    for handler in self.operation_removal_handler:
        handler(op)
    if (block := op.parent) is not None:
        block.detach_op(op)
    op.erase(safe_erase=safe_erase)


def _init_rewriter(self: PatternRewriter, insert_point: Operation | InsertPoint) -> None:
    """`PatternRewriter.__init__` with the constructors of base classes inlined."""
    self.operation_insertion_handler, self.block_creation_handler = [], []
    self.operation_removal_handler, self.operation_modification_handler = [], []
    self.operation_replacement_handler = []
    self._name_hint = None
    if isinstance(insert_point, Operation):
        self._current_operation = insert_point  # `_LatePoint` makes the insertion point
    else:
        self._current_operation, self.insertion_point = None, insert_point


class _LatePoint:
    """The insertion point of a rewriter, before its op, made when a pattern first asks: most do not."""

    def __get__(self, rewriter: PatternRewriter, owner: type) -> InsertPoint:
        op = rewriter._current_operation
        assert op is not None, "the rewriter has no op"
        rewriter.insertion_point = point = InsertPoint.before(op)
        return point


def _process_worklist(self: PatternRewriteWalker, listener: PatternRewriterListener) -> bool:
    """
    `PatternRewriteWalker._process_worklist` without insertion points. A pattern's optional method
    `has_pattern` says whether an op may match; other ops are passed over.
    """
    worklist, pattern, changed = self._worklist, self.pattern, False
    is_wanted: Callable[[Operation], object] = getattr(pattern, "has_pattern", _is_operation)
    rewriter: PatternRewriter | None = None
    while worklist:
        op = worklist.pop()
        if not is_wanted(op):
            continue
        if rewriter is None:
            rewriter = PatternRewriter(op)
            rewriter.extend_from_listener(listener)
        else:
            move_rewriter(rewriter, op)
        try:
            pattern.match_and_rewrite(op, rewriter)
        except Exception as error:
            op.emit_error(f"Error while applying pattern: {error}", underlying_error=error)
        changed |= rewriter.has_done_action
    return changed


def move_rewriter(rewriter: PatternRewriter, op: Operation) -> None:
    """Move a rewriter to another op; listeners stay."""
    vars(rewriter).pop("insertion_point", None)
    rewriter._current_operation, rewriter._name_hint = op, None
    rewriter.has_done_action = False


def _is_operation(op: Operation) -> bool:
    return True


def _populate_worklist(self: PatternRewriteWalker, op: Operation | Region | Block) -> None:
    """
    `PatternRewriteWalker._populate_worklist` in the usual order, by a walk forwards that is reversed.

    Ops that no pattern may match, as `_process_worklist` asks, are left out.
    """
    if self.walk_reverse or self.walk_regions_first:
        _populate(self, op)
        return
    is_wanted: Callable[[Operation], object] = getattr(self.pattern, "has_pattern", _is_operation)
    for inner in reversed([inner for inner in op.walk() if is_wanted(inner)]):
        self._worklist.push(inner)


def _typed_pattern(func: _Method) -> _Method:
    """
    `op_type_rewrite_pattern`, which looks up the classes of a method's op by their names.

    xDSL evaluates the text of all annotations: a compilation imports 300 patterns, a tenth of all imports.
    """
    if (expected := _named_types(cast(FunctionType, func))) is None:
        return _decorate(func)  # xDSL has the error message
    expected_type: Any = reduce(lambda a, b: a | b, cast("list[Any]", expected))

    def impl(self: Any, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, expected_type):
            func(self, op, rewriter)

    return impl


def _named_types(func: FunctionType) -> list[type[Operation]] | None:
    """The op classes that a method's annotation names, `graph.AddOp | graph.SubOp`; None for other text."""
    code = func.__code__
    names = code.co_varnames[: code.co_argcount]
    if len(names) != 3 or names[0] != "self":
        return None
    annotation: object = func.__annotations__.get(names[1])
    if not isinstance(annotation, str):
        return None
    found: list[type[Operation]] = []
    for text in annotation.split("|"):
        first, *inner = text.strip().split(".")
        value: object = func.__globals__.get(first)
        for name in inner:
            value = getattr(value, name, None)
        if not isinstance(value, type) or not issubclass(value, Operation):
            return None
        found.append(value)
    return found


_populate = PatternRewriteWalker._populate_worklist
_decorate = pattern_rewriter.op_type_rewrite_pattern
_replace_watched, _insert_named = PatternRewriter.replace, PatternRewriter.insert


def replace_pattern_functions() -> None:
    """Put the functions of this file in the places of xDSL's."""
    PatternRewriter.replace, PatternRewriter.__init__ = _replace_op, _init_rewriter
    PatternRewriter.insert, PatternRewriter.erase = _insert, _erase
    setattr(PatternRewriter, "insertion_point", _LatePoint())  # noqa: B010  # it has another type
    PatternRewriteWalker._process_worklist = _process_worklist
    PatternRewriteWalker._populate_worklist = _populate_worklist
    pattern_rewriter.op_type_rewrite_pattern = _typed_pattern
