"""Derivatives of ops with arms: these are computed again, or leave a tape where they have calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects import adt, graph
from stepwell.dialects.adt.match import fields_of
from stepwell.dialects.adt.patterns import ANYTHING, BOUND, TUPLE, PatternAttr
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.functions import captured_values
from stepwell.dialects.graph.symbols import SYMBOLS, fresh_symbols
from stepwell.dialects.locations import adopt_location
from stepwell.passes.analysis.rename_symbols import defined_names, rename_symbols
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import DERIVATIVE, Cotangents
from stepwell.passes.graph.gradients.sweep import Sweep, inputs_of
from stepwell.passes.graph.gradients.tapes import Tape, mark
from stepwell.runtime.dims import Dim

_Arms: TypeAlias = Callable[[Sequence[Region], Sequence[Attribute]], Operation]


@dataclass(frozen=True)
class Arms:
    """An op with arms, and what their derivative needs of it."""

    op: Operation
    regions: Sequence[Region]
    """Copies, whose arguments stand for parts of the value that is taken apart."""
    labels: Sequence[str]
    made: _Arms
    """The op with other arms and types of results."""
    value: SSAValue | None = None
    """The value that arms take apart, where it is active."""
    patterns: Sequence[PatternAttr] = ()


def of_arms(arms: Arms, given: Sequence[SSAValue | None], b: GradientBuilder) -> Cotangents:
    """The cotangents of the inputs of an op with arms."""
    read = inputs_of(arms.op)
    inside = dict.fromkeys(value for region in arms.op.regions for value in captured_values(region))
    wanted = [value for value in inside if value in b.active]
    part = _taped if any(map(_leads_to_call, arms.op.walk())) else _again
    results = part(arms, given, wanted, b)
    found: dict[SSAValue, SSAValue] = dict(zip(wanted, results, strict=False))
    if arms.value is not None:
        own = results[-1]
        found[arms.value] = b.sum_of(found[arms.value], own) if arms.value in found else own
    return [found.get(value) for value in read]


def _leads_to_call(op: Operation) -> bool:
    return isinstance(op, graph.CallOp) and DERIVATIVE not in op.attributes


def _types(arms: Arms, wanted: Sequence[SSAValue], b: GradientBuilder) -> list[Attribute]:
    own = [] if arms.value is None else [b.tangent(arms.value)]
    return [*map(b.tangent, wanted), *own]


def _again(
    arms: Arms, given: Sequence[SSAValue | None], wanted: Sequence[SSAValue], b: GradientBuilder
) -> Sequence[SSAValue]:
    """The op with arms that compute the forward arms again, then the cotangents."""
    # Within the function before its arms are swept: loops in them ask it for names of sizes.
    made = arms.made(arms.regions, _types(arms, wanted, b))
    b.rewriter.insert(made)
    for number, region in enumerate(arms.regions):
        last = yield_of(region)
        return_values(last, _cotangents(arms, number, given, wanted, b.before(last)))
    return made.results


def _taped(
    arms: Arms, given: Sequence[SSAValue | None], wanted: Sequence[SSAValue], b: GradientBuilder
) -> Sequence[SSAValue]:
    """
    Let the op return what its arm leaves for the derivative, too, as data with a constructor an arm.

    The derivative is a match on that.
    """
    name = b.scope.tape_name()
    type = adt.DataType.of(name)
    op, outer = arms.op, b.before(arms.op)
    sizes = len(op.names) if isinstance(op, graph.IfOp) else 0
    count = len(op.results) - sizes
    forward = arms.made(arms.regions, [*op.result_types[:count], type, *op.result_types[count:]])
    if sizes:
        forward.properties[SYMBOLS] = op.properties[SYMBOLS]
    outer.rewriter.insert(forward)
    adopt_location(forward, op.location)
    tapes: list[tuple[Tape, Sequence[SSAValue]]] = []
    cotangents = {value for value in given if value is not None}
    for number, region in enumerate(arms.regions):
        last, names = yield_of(region), defined_names(region)
        inner = b.before(last)
        marked = mark(inner)
        found = _cotangents(arms, number, given, wanted, inner)

        def is_kept(value: SSAValue, block: Block = region.block) -> bool:
            return block_of(value) is block or (b.splits and value not in cotangents)

        tape = Tape.of(marked, found, is_kept, names)
        value = inner.insert(adt.MakeOp(arms.labels[number], tape.packed(inner), type))
        return_values(last, [*last.operands, value])
        tapes.append((tape, found))
    b.scope.tangents.define(
        name, [(label, tape.types()) for label, (tape, _) in zip(arms.labels, tapes, strict=True)]
    )
    results = [result for place, result in enumerate(forward.results) if place != count]
    for old, new in zip(op.results, results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    return _match_tape(arms, forward.results[count], tapes, _types(arms, wanted, b), b)


def _match_tape(
    arms: Arms,
    value: SSAValue,
    tapes: Sequence[tuple[Tape, Sequence[SSAValue]]],
    types: Sequence[Attribute],
    b: GradientBuilder,
) -> Sequence[SSAValue]:
    """The match on a tape whose cases are the derivatives of the arms."""
    cases = [Region(Block([graph.YieldOp([])], arg_types=tape.types())) for tape, _ in tapes]
    patterns = [
        PatternAttr.of(label, [PatternAttr.of(BOUND)] * len(case.block.args))
        for label, case in zip(arms.labels, cases, strict=True)
    ]
    made = b.rewriter.insert(adt.MatchOp(value, patterns, cases, types))
    for (tape, found), case in zip(tapes, cases, strict=True):
        last = yield_of(case)
        return_values(last, tape.unpacked(case.block.args, found, b.before(last)))
        rename(case, made)
    return made.results


def _cotangents(
    arms: Arms, number: int, given: Sequence[SSAValue | None], wanted: Sequence[SSAValue], b: GradientBuilder
) -> list[SSAValue]:
    """The cotangents of the values around an arm that are wanted, and of the value that arms take apart."""
    region = arms.regions[number]
    last, ops = yield_of(region), list(region.block.ops)[:-1]
    parts = [arg for arg in region.block.args if arms.value is not None and b.scope.tangents.has(arg)]
    found = swept(ops, last.operands, given, [*wanted, *parts], b)
    if arms.value is None:
        return found
    cotangents: dict[SSAValue, SSAValue] = dict(zip(parts, found[len(wanted) :], strict=True))
    arguments = iter(region.block.args)
    whole = _rebuilt(arms.patterns[number], arms.value.type, lambda: next(arguments), cotangents, b)
    return [*found[: len(wanted)], whole]


def _rebuilt(
    pattern: PatternAttr,
    type: Attribute,
    argument: Callable[[], SSAValue],
    cotangents: dict[SSAValue, SSAValue],
    b: GradientBuilder,
) -> SSAValue:
    """The cotangent of a value that a pattern took apart, from those of the parts."""
    if pattern.kind == BOUND:
        return cotangents.get(argument()) or b.tuple_of([])
    if pattern.kind == ANYTHING:
        return b.tuple_of([])
    fields = zip(pattern.parts, fields_of(pattern, type, b.scope.tangents.module), strict=True)
    parts = [_rebuilt(part, of, argument, cotangents, b) for part, of in fields]
    tangent = b.scope.tangents.of(type)
    if tangent is None:
        return b.tuple_of([])
    if pattern.kind == TUPLE:
        return b.tuple_of(parts)
    return b.insert(adt.MakeOp(pattern.kind, parts, cast(adt.DataType, tangent)))


def binding_all(
    pattern: PatternAttr, type: Attribute, place: Iterator[int], b: GradientBuilder
) -> tuple[PatternAttr, list[tuple[int, Attribute]]]:
    """A pattern that binds each part with a cotangent, and the places and types of new bindings."""
    if pattern.kind == BOUND:
        next(place)
        return pattern, []
    if pattern.kind == ANYTHING:
        if b.scope.tangents.of(type) is None:
            return pattern, []
        return PatternAttr.of(BOUND), [(next(place), type)]
    fields = zip(pattern.parts, fields_of(pattern, type, b.scope.tangents.module), strict=True)
    found = [binding_all(part, of, place, b) for part, of in fields]
    new = [each for _, inside in found for each in inside]
    return PatternAttr.of(pattern.kind, [part for part, _ in found]), new


def swept(
    ops: Sequence[Operation],
    values: Sequence[SSAValue],
    given: Sequence[SSAValue | None],
    wanted: Sequence[SSAValue],
    b: GradientBuilder,
) -> list[SSAValue]:
    """The cotangents of `wanted` by the ops of a block, from those that are given of some values."""
    sweep = Sweep(wanted, ops, b.scope.tangents)
    for value, cotangent in zip(values, given, strict=False):
        if cotangent is not None and value in sweep.active:
            # An arm may know more sizes than its result.
            sweep.add(value, b.sized(cotangent, value), b)
    return sweep.run(b)


def block_of(value: SSAValue) -> Block | None:
    """The block in which a value is computed, or whose argument it is."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


def return_values(last: Operation, values: Sequence[SSAValue]) -> None:
    """Let a region end in a yield of other values."""
    last.operands = values


def rename(region: Region, at: Operation) -> None:
    """Give the symbols that are defined in a region new names."""
    if names := defined_names(region):
        new = fresh_symbols(at, len(names))
        rename_symbols(region, {old: Dim.symbol(name) for old, name in zip(names, new, strict=True)})


def copied(region: Region, at: Operation) -> Region:
    """A copy of a region in which symbols that are defined inside have new names."""
    made = region.clone()
    rename(made, at)
    return made
