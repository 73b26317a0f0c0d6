"""Tensors of formulas as ops of level 1: a `graph.expression` a stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import FileLineColLoc, IndexType, IntAttr, LocationAttr, StringAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.formula import argument_type, sizes_attr
from stepwell.dialects.ir_builder import number_attr
from stepwell.dialects.linalg_builder.scalars import signless
from stepwell.dialects.types import tensor_type
from stepwell.frontend.te.bounds import is_inside, positive_extents
from stepwell.frontend.te.expressions import Axis, Expr, Read, Size, walk
from stepwell.frontend.te.functions import cast_to
from stepwell.frontend.te.opaque import OpaqueStage
from stepwell.frontend.te.padded import pad_op, padding_of
from stepwell.frontend.te.places import FormulaError
from stepwell.frontend.te.reduction_code import combined
from stepwell.frontend.te.scalar_code import ScalarCode, element_named
from stepwell.frontend.te.tensors import Stage, Tensor
from stepwell.runtime.dims import Dim

Insert = Callable[[Operation], object]


def emit(outputs: Sequence[Tensor], inputs: Mapping[Tensor, SSAValue], insert: Insert) -> list[SSAValue]:
    """
    The values of output tensors, computed from the values of inputs by ops that `insert` places, in order.

    Raises: StepwellError `te-operator` for a tensor that depends on an input which is not given.
    """
    values = dict(inputs)
    for stage in stages_of(outputs):
        insert_checks(stage, values, insert)
        op = _op_of(stage, values)
        insert(op)
        for tensor, result in zip(stage.outputs, op.results, strict=False):
            result.name_hint = hint(tensor.name)
            values[tensor] = result
    return [_value(tensor, values) for tensor in outputs]


def insert_checks(stage: Stage, values: Mapping[Tensor, SSAValue], insert: Insert) -> None:
    """Insert the checks of the indices of a stage's `te.checked` reads, which are computed for this."""
    positive = positive_extents((*stage.axes, *stage.reduce_axes))
    reads = {read: None for read in reads_of(stage) if read.is_checked}
    for read in reads:
        for axis, (index, size) in enumerate(zip(read.indices, read.tensor.dims, strict=True)):
            if not is_inside(read, axis, positive):
                check = graph.CheckIndicesOp(_all_of(index, stage, values, insert), [size], str(read))
                check.location = _location(read.where)
                insert(check)


def _all_of(index: Expr, stage: Stage, values: Mapping[Tensor, SSAValue], insert: Insert) -> SSAValue:
    """The values of an index at all points that it depends on."""
    if isinstance(index, Read) and all(isinstance(part, Axis) for part in index.indices):
        extents = tuple(part.extent for part in index.indices if isinstance(part, Axis) and part.low is None)
        if extents == index.tensor.dims and len(set(index.indices)) == len(extents):
            return _value(index.tensor, values)
    used = set(walk(index))
    axes = tuple(axis for axis in (*stage.axes, *stage.reduce_axes) if axis in used)
    indices = Stage(f"{stage.name}_indices", axes, (cast_to(index, "int64"),), None, stage.where)
    insert_checks(indices, values, insert)
    insert(op := _Emitted(indices, values).op())
    return op.results[0]


def _location(where: str) -> LocationAttr:
    """The place of a line of the user's, `file:line`."""
    file, _, line = where.rpartition(":")
    return FileLineColLoc(StringAttr(file), IntAttr(int(line)), IntAttr(1)) if file else UnknownLoc()


def _op_of(stage: Stage, values: Mapping[Tensor, SSAValue]) -> Operation:
    """The op of a stage."""
    if not isinstance(stage, OpaqueStage):
        if (padding := padding_of(stage)) is not None:
            tensor, pads = padding
            return pad_op(pads, _value(tensor, values))
        return _Emitted(stage, values).op()
    for tensor in stage.reads:
        _value(tensor, values)
    return stage.op(values)


def stages_of(outputs: Sequence[Tensor]) -> list[Stage]:
    """The stages of tensors in order: producers first."""
    found: dict[Stage, None] = {}
    waiting: list[Stage | tuple[Stage]] = [
        tensor.stage for tensor in outputs[::-1] if tensor.stage is not None
    ]
    while waiting:
        current = waiting.pop()
        if isinstance(current, tuple):
            found[current[0]] = None
        elif current not in found:
            waiting.append((current,))
            waiting += [t.stage for t in read_by(current) if t.stage is not None and t.stage not in found]
    return list(found)


def read_by(stage: Stage) -> list[Tensor]:
    """The tensors that a stage reads, in order."""
    if isinstance(stage, OpaqueStage):
        return list(stage.reads)
    return list(dict.fromkeys(read.tensor for read in reads_of(stage)))


def reads_of(stage: Stage) -> list[Read]:
    """The elements that the formula of a stage reads."""
    return [part for value in stage.values for part in walk(value) if isinstance(part, Read)]


def _value(tensor: Tensor, values: Mapping[Tensor, SSAValue]) -> SSAValue:
    if (value := values.get(tensor)) is None:
        what = f"{tensor.name} is an input that the formula reads and that is not given"
        raise FormulaError(
            "te-operator", what, help="compute the result from the inputs of the operator alone"
        )
    return value


def hint(name: str) -> str | None:
    """A name as that of a value in text; None for one that cannot be."""
    plain = name.replace(".", "_")
    return plain if plain.isidentifier() and plain.isascii() else None


def _argument_type(tensor: Tensor) -> Attribute:
    type = tensor_type(element_named(tensor.dtype), tensor.dims)
    return argument_type(type, sizes_attr(tensor.dims))


class _Emitted:
    """The op of a stage, made."""

    def __init__(self, stage: Stage, values: Mapping[Tensor, SSAValue]):
        self._stage = stage
        self._inputs = _with_sizes(stage, list(values))
        self._operands = [_value(tensor, values) for tensor in self._inputs]

    def op(self) -> graph.ExpressionOp:
        """The `graph.expression` of the stage."""
        stage = self._stage
        axes = (*stage.axes, *stage.reduce_axes)
        types = [_argument_type(tensor) for tensor in self._inputs]
        block = Block(arg_types=[*[IndexType()] * len(axes), *types])
        names = [*(axis.name for axis in axes), *(tensor.name for tensor in self._inputs)]
        for argument, name in zip(block.args, names, strict=True):
            argument.name_hint = hint(name)
        indices: dict[Axis, SSAValue] = dict(zip(axes, block.args, strict=False))
        tensors = dict(zip(self._inputs, block.args[len(axes) :], strict=True))
        code = ScalarCode(block, indices, tensors, positive=positive_extents(axes))
        block.add_op(graph.YieldOp([code.stored(value) for value in stage.values]))
        return graph.ExpressionOp(
            stage.name,
            self._operands,
            [tensor.dims for tensor in self._inputs],
            [axis.extent for axis in stage.axes],
            [element_named(value.dtype) for value in stage.values],
            Region(block),
            reduce=[axis.extent for axis in stage.reduce_axes],
            identity=self._identity(),
            combine=self._combine(),
        )

    def _identity(self) -> list[Attribute]:
        reduction = self._stage.reduction
        if reduction is None:
            return []
        dtypes = [value.dtype for value in self._stage.values]
        numbers = reduction.reducer.start(dtypes)
        return [
            number_attr(number, signless(element_named(dtype)))
            for number, dtype in zip(numbers, dtypes, strict=True)
        ]

    def _combine(self) -> Region | None:
        """The region that combines two values of a reduction."""
        reduction, values = self._stage.reduction, self._stage.values
        if reduction is None:
            return None
        types = [signless(element_named(value.dtype)) for value in values]
        block = Block(arg_types=[*types, *types])
        block.add_op(graph.YieldOp(combined(self._stage, block, block.args)))
        return Region(block)


def _with_sizes(stage: Stage, known: Sequence[Tensor]) -> list[Tensor]:
    """The inputs of a stage, and further tensors for sizes in none of their shapes."""
    inputs = read_by(stage)
    needed = {name for dim in _dims(stage, inputs) for name in dim.symbols()}
    for name in sorted(needed):
        if any(str(dim) == name for tensor in inputs for dim in tensor.dims):
            continue
        source = next((t for t in known if any(str(dim) == name for dim in t.dims)), None)
        if source is None:
            raise FormulaError(
                "te-operator",
                f"{stage.name} needs the size {name}, which no input has as a dimension",
                help="give an input this dimension, or a number in place of the size",
                where=stage.where,
            )
        inputs.append(source)
    return inputs


def _dims(stage: Stage, inputs: Sequence[Tensor]) -> list[Dim]:
    """All sizes that the formula of a stage depends on."""
    axes = (*stage.axes, *stage.reduce_axes)
    found = [axis.extent for axis in axes] + [axis.low for axis in axes if axis.low is not None]
    found += [dim for tensor in inputs for dim in tensor.dims]
    parts = [part for value in stage.values for part in walk(value)]
    return found + [part.dim for part in parts if isinstance(part, Size)]
