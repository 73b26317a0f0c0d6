"""`te.scan`: recurrences along the first axis, as a loop that carries tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, cast

from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from stepwell.dialects.ir_builder import IRBuilder, number_attr
from stepwell.dialects.linalg_builder.scalars import signless
from stepwell.dialects.tensor_ir.slices import Slice, extract_slice, insert_slice
from stepwell.dialects.tensor_ir.structured import generic
from stepwell.frontend.te.bounds import interval, positive_extents
from stepwell.frontend.te.expressions import Axis, Read, walk
from stepwell.frontend.te.integers import is_nonnegative
from stepwell.frontend.te.opaque import NestStage, OpaqueStage
from stepwell.frontend.te.places import FormulaError, user_place
from stepwell.frontend.te.reduction_code import combined
from stepwell.frontend.te.scalar_code import ScalarCode, element_named
from stepwell.frontend.te.tensors import Stage, Tensor, compute
from stepwell.frontend.te.to_graph import read_by, stages_of

Update = Callable[..., object]
"""From the number of a row to the row, or from that and axes to an element."""


def scan(
    init: Tensor | Sequence[Tensor], update: Update, state: Tensor | Sequence[Tensor], name: str = "scan"
) -> Any:
    """
    A recurrence along the first axis: the first rows are `init`, and `update` computes each further row from
    earlier rows.

    Args: `state` is a placeholder for the result, which `update` reads. `update(t, *axes)` gives an element
    of row t, as the formula of `te.compute` does; `update(t)` gives the row as a tensor, in several steps.
    For several states, `init` and `state` are lists, and `update` returns a tuple.
    Raises: StepwellError `te-type`, `te-bounds`, `te-operator`.
    """
    inits = [init] if isinstance(init, Tensor) else list(init)
    states = [state] if isinstance(state, Tensor) else list(state)
    _expect_states(inits, states)
    first = inits[0].dims[0]
    t = Axis("t", states[0].dims[0] - first, low=first)
    rows = _rows(update, t, states, name)
    stage = ScanStage(name, inits, states, rows, t)
    return stage.outputs[0] if isinstance(state, Tensor) else stage.outputs


def _expect_states(inits: Sequence[Tensor], states: Sequence[Tensor]) -> None:
    """Require states that begin with their first rows. Raises: StepwellError `te-type`."""
    if len(inits) != len(states) or not states:
        raise FormulaError(
            "te-type", f"a scan has {len(inits)} tensors of first rows and {len(states)} states"
        )
    for first, state in zip(inits, states, strict=True):
        if state.stage is not None:
            raise FormulaError("te-type", f"the state {state.name} is a te.placeholder, and it is computed")
        if not state.ndim or first.ndim != state.ndim or first.dims[1:] != state.dims[1:]:
            raise FormulaError("te-type", f"the rows of {first!r} are not those of {state!r}")
        if first.dtype != state.dtype:
            raise FormulaError("te-type", f"{first.name} is {first.dtype}, the state {state.dtype}")
        if not first.dims[0].is_static or first.dims[0] != inits[0].dims[0] or first.dims[0].value < 1:
            raise FormulaError("te-type", f"{first.name} has {first.dims[0]} rows: a number, 1 or more")
        if state.dims[0] != states[0].dims[0]:
            raise FormulaError("te-type", f"the states {states[0].name} and {state.name} have other lengths")
        if (length := state.dims[0]).is_static and length.value < first.dims[0].value:
            raise FormulaError("te-type", f"{state.name} has {length} rows, less than {first.name}")


def _rows(update: Update, t: Axis, states: Sequence[Tensor], name: str) -> list[Tensor]:
    """The tensors of row t."""
    shape = states[0].shape[1:]
    if len(signature(update).parameters) > 1 or not shape:

        def element(*axes: Axis) -> object:
            return update(t, *axes)

        names = [f"i{axis}" for axis in range(len(shape))]
        element.__signature__ = _signature(update, names)  # pyright: ignore[reportFunctionMemberAccess]
        made = compute(shape, element, name=f"{name}_row")
    else:
        made = update(t)
    found = cast("Sequence[object]", made) if isinstance(made, tuple | list) else [made]
    rows = [row for row in found if isinstance(row, Tensor)]
    if len(rows) != len(states) or len(found) != len(states):
        raise FormulaError(
            "te-operator", f"the update of {name} returns {len(found)} rows for {len(states)} states"
        )
    for row, state in zip(rows, states, strict=True):
        if row.dims != state.dims[1:] or row.dtype != state.dtype:
            raise FormulaError("te-operator", f"a row of {state!r} is no {row!r}")
    return rows


def _signature(update: Update, names: Sequence[str]) -> Any:
    """The signature of an update without the number of the row."""
    given = signature(update)
    return given.replace(parameters=list(given.parameters.values())[1:]) if names else signature(lambda: None)


class ScanStage(NestStage):
    """A recurrence: a loop that carries the states and writes a row of each, after their first rows."""

    def __init__(
        self, name: str, inits: Sequence[Tensor], states: Sequence[Tensor], rows: Sequence[Tensor], t: Axis
    ):
        self._inits, self._states, self._rows, self._t = inits, states, rows, t
        inner = _inner_stages(rows, states, t)
        self._inner = inner
        read = [tensor for stage in inner for tensor in read_by(stage)]
        self._first = _formulas(inits)
        read += [tensor for stage in self._first for tensor in read_by(stage)]
        made = {tensor for stage in inner for tensor in stage.outputs} | set(states)
        outside = [tensor for tensor in (*read, *rows) if tensor not in made]
        self._expect_rows_before(inner)
        results = [(state.dims, state.dtype) for state in states]
        given = [init for init in inits if not _is_formula(init)]
        super().__init__(name, [*given, *outside], results, user_place())

    def _expect_rows_before(self, stages: Sequence[Stage]) -> None:
        """Require reads of states to be of rows before the one that is computed."""
        positive = positive_extents([axis for stage in stages for axis in (*stage.axes, *stage.reduce_axes)])
        for read in (part for stage in stages for value in stage.values for part in walk(value)):
            if isinstance(read, Read) and read.is_checked:
                help = f"te.clamped({read}) reads the nearest element"
                what = f"te.checked({read}) is in a row of a scan, of which indices are not known before"
                raise FormulaError("te-bounds", what, help=help, where=read.where)
            if not isinstance(read, Read) or read.tensor not in self._states:
                continue
            low = interval(self._t - read.indices[0] - 1).low
            if low is None or not is_nonnegative(low, positive) or read.is_clamped:
                raise FormulaError(
                    "te-bounds",
                    f"`{read}`: row {read.indices[0]} of the state is not provably before row {self._t}",
                    help=f"rows {self._t} - 1, {self._t} - 2, … are known",
                    where=read.where,
                )

    def fill(
        self, block: Block, tensors: Mapping[Tensor, SSAValue], sizes: Mapping[str, SSAValue]
    ) -> Sequence[SSAValue]:
        emit = IRBuilder.at_end(block)
        emit = IRBuilder(emit.insertion_point, symbols=sizes)
        first, length = self._inits[0].dims[0].value, emit.size(self._states[0].dims[0])
        known = emit.least(first, length)
        starts: list[SSAValue] = []
        tensors = dict(tensors)
        for stage in self._first:
            tensors |= zip(stage.outputs, _Row(emit, {}, tensors, sizes).of(stage), strict=True)
        for init, state in zip(self._inits, self._states, strict=True):
            rest = [emit.size(dim) for dim in state.dims[1:]]
            at = Slice((0,) * state.ndim, (known, *rest), (1,) * state.ndim)
            empty = emit.empty(signless(element_named(state.dtype)), [length, *rest])
            starts.append(insert_slice(emit, extract_slice(emit, tensors[init], at), empty, at))

        def step(emit: IRBuilder, index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            values = {**tensors, **dict(zip(self._states, carried, strict=True))}
            row = _Row(emit, {self._t: index}, values, sizes)
            for stage in self._inner:
                values |= zip(stage.outputs, row.of(stage), strict=True)
            at = emit.materialize(emit.plus(index, first))
            return [
                _with_row(emit, into, values[made], at, [emit.size(dim) for dim in made.dims])
                for into, made in zip(carried, self._rows, strict=True)
            ]

        return emit.loop(0, emit.minus(emit.most(length, first), first), 1, starts, step)


def _is_formula(tensor: Tensor) -> bool:
    return tensor.stage is not None and not isinstance(tensor.stage, OpaqueStage)


def _formulas(tensors: Sequence[Tensor]) -> list[Stage]:
    """The stages that compute tensors by formulas."""
    return [tensor.stage for tensor in tensors if tensor.stage is not None and _is_formula(tensor)]


def _inner_stages(rows: Sequence[Tensor], states: Sequence[Tensor], t: Axis) -> list[Stage]:
    """The stages that depend on a state or on the number of the row, in order."""
    found: list[Stage] = []
    made = set(states)
    for stage in stages_of(rows):
        parts = [part for value in stage.values for part in walk(value)]
        if any(part is t or (isinstance(part, Read) and part.tensor in made) for part in parts):
            found.append(stage)
            made |= set(stage.outputs)
    return found


def _with_row(
    emit: IRBuilder, into: SSAValue, row: SSAValue, at: SSAValue, sizes: Sequence[int | SSAValue]
) -> SSAValue:
    rank = len(sizes) + 1
    return insert_slice(emit, row, into, Slice((at, *[0] * (rank - 1)), (1, *sizes), (1,) * rank))


class _Row:
    """Emits the stages of a row as structured ops, which read elements at computed indices."""

    def __init__(
        self,
        emit: IRBuilder,
        axes: Mapping[Axis, SSAValue],
        tensors: Mapping[Tensor, SSAValue],
        sizes: Mapping[str, SSAValue],
    ):
        self._emit, self._axes, self._tensors, self._sizes = emit, axes, tensors, sizes

    def of(self, stage: Stage) -> Sequence[SSAValue]:
        """The tensors of a stage."""
        emit, rank = self._emit, len(stage.axes) + len(stage.reduce_axes)
        outer = [emit.size(axis.extent) for axis in stage.axes]
        inner = [emit.size(axis.extent) for axis in stage.reduce_axes]
        elements = [signless(element_named(value.dtype)) for value in stage.values]
        inits = [emit.empty(element, outer) for element in elements]
        if stage.reduction is not None:
            numbers = stage.reduction.reducer.start([value.dtype for value in stage.values])
            inits = [
                emit.insert(
                    linalg.FillOp([emit.constant(number_attr(number, e), e)], [init], [init.type])
                ).results[0]
                for number, e, init in zip(numbers, elements, inits, strict=True)
            ]
        shapes = [emit.empty(elements[0], inner)] if inner else []
        block = Block(arg_types=[*[elements[0]] * len(shapes), *elements])
        self._body(stage, block, len(shapes))
        loops = [AffineDimExpr(d) for d in range(rank)]
        own = AffineMap(rank, 0, tuple(loops[: len(outer)]))
        maps = [*[AffineMap(rank, 0, tuple(loops[len(outer) :]))] * len(shapes), *[own] * len(inits)]
        kinds = [*[IteratorTypeAttr.parallel()] * len(outer), *[IteratorTypeAttr.reduction()] * len(inner)]
        made = emit.insert(generic(shapes, inits, Region(block), maps, kinds)).results
        for tensor, value in zip(stage.outputs, made, strict=True):
            value.name_hint = tensor.name if tensor.name.isidentifier() else None
        return made

    def _body(self, stage: Stage, block: Block, shapes: int) -> None:
        axes = (*stage.axes, *stage.reduce_axes)
        indices = dict(self._axes)
        for number, axis in enumerate(axes):
            block.add_op(index := IndexOp(number))
            indices[axis] = index.result
        positive = positive_extents(axes)
        code = ScalarCode(block, indices, self._tensors, positive=positive, sizes=self._sizes)
        values = [code.stored(value) for value in stage.values]
        if stage.reduction is not None:
            values = combined(stage, block, [*block.args[shapes:], *values])
        block.add_op(YieldOp(*values))
