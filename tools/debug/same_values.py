"""Equal values of a model, and constants among them, whatever became of the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import Context as Variables
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from xdsl.dialects.builtin import IntAttr, ModuleOp, TensorType, UnrankedTensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def

from stepwell.dialects import graph, onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.constants import array_of
from stepwell.dialects.onnx.types import AnyType
from stepwell.lowering.main_to_buffers import inputs_of
from stepwell.passes.context import PassContext
from stepwell.passes.manager import run_pipeline
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.log import logger
from stepwell.tools.check.layouts import feature_maps_of
from stepwell.tools.check.origins import LogicalType, logical_type, results_of
from stepwell.tools.driver.compilation import conversion_of, main_of
from stepwell.tools.driver.compile import TURN
from stepwell.tools.driver.model_interface import named_types

_log = logger(__name__)
_TENSORS = (TensorType.name, UnrankedTensorType.name, AnyType.name)
"""The types of tensors, and of values of whose type the model says nothing."""


@irdl_op_definition
class KeepOp(IRDLOperation):
    """A reader of a value: passes leave the reader, and replace what is read as for any other op."""

    name = "debug.keep"

    value = operand_def()
    number = prop_def(IntAttr)
    """The number of the value among those of the model."""

    def __init__(self, value: SSAValue, number: int):
        super().__init__(operands=[value], properties={"number": IntAttr(number)})


@dataclass
class _Found:
    """Facts of the copy by the name of a value."""

    same: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    constants: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    types: dict[str, LogicalType] = field(default_factory=dict[str, LogicalType])
    others: set[str] = field(default_factory=set[str])
    """The values that are no feature maps."""
    dropped: set[str] = field(default_factory=set[str])


class SameValues:
    """
    Equal values of a model, found in a copy of the model at the first question.

    In the copy each value has a reader. Where conversion replaces the result of an `Identity`, of a cast to
    the same type, or of a branch that is always taken, the reader gets what replaces it. `fold-constant`
    makes constants of all values that depend on constants alone, those in the middle too.
    """

    def __init__(self, module: ModuleOp, ctx: StepwellContext):
        """The values of a module of level 0, which is not changed."""
        self._module = module.clone()
        self._ctx = ctx

    def names(self, name: str) -> Sequence[str]:
        """The names of the other values that are the same as a value."""
        return self._found.same.get(name, ())

    def constant(self, name: str) -> Array | None:
        """The array of a value that depends on constants alone; None for other values."""
        value = self._found.constants.get(name)
        return None if value is None else array_of(value, self._constants.weights)

    def is_constant(self, name: str) -> bool:
        """Whether a value depends on constants alone."""
        return name in self._found.constants

    def logical(self, name: str) -> LogicalType | None:
        """The type of a value in the copy, if all dimensions are known."""
        return self._found.types.get(name)

    def may_be_feature_map(self, name: str) -> bool:
        """Whether the axes of a value may be batch, channels and space, unlike those of transposed ones."""
        return name not in self._found.others

    def never_runs(self, name: str) -> bool:
        """Whether a value is made in a branch that is never taken."""
        return name in self._found.dropped

    @cached_property
    def _constants(self) -> StepwellContext:
        """A context with the weights of the copy, which the compiled program does not need."""
        return self._ctx.clone()

    @cached_property
    def _found(self) -> _Found:
        kept = _keep_all(self._module)
        try:
            with collector_paused(), TURN:
                # No instrument, limit or listener of the caller sees these passes.
                Variables().run(self._convert)
        except StepwellError as error:
            _log(1, "values that are equal are not known: {}", error)
            return _Found()
        return _become(self._module, kept)

    def _convert(self) -> None:
        with PassContext(reproducers=False).active():
            pipeline = f"{conversion_of(self._module)},fold-constant"
            run_pipeline(self._module, pipeline, self._constants)


class _Kept(NamedTuple):
    """A value with a reader."""

    name: str
    in_branch: bool


def _keep_all(module: ModuleOp) -> list[_Kept]:
    """Give each tensor of a model a reader; returns the values by number."""
    values = [
        (node.name, value)
        for node, value in results_of(main_of(module))
        # Some operators are refused with outputs that nothing reads, such as the second one of a pool.
        if value.type.name in _TENSORS and (value.uses or not node.number)
    ]
    for number, (_, value) in enumerate(values):
        block = value.owner.parent
        assert block is not None
        block.insert_op_after(KeepOp(value, number), value.owner)
    return [_Kept(name, _is_in_branch(value.owner)) for name, value in values]


def _is_in_branch(op: Operation) -> bool:
    around = op.parent_op()
    return around is not None and (isinstance(around, onnx.IfOp) or _is_in_branch(around))


def _become(module: ModuleOp, kept: Sequence[_Kept]) -> _Found:
    """The facts of a copy after the passes, by the readers that are left."""
    values = _values_by_name(main_of(module), kept)
    found = _Found(dropped={name for name, in_branch in kept if in_branch and not values[name]})
    holders: dict[SSAValue, list[str]] = {}
    maps = feature_maps_of(module)
    for name, (value, *others) in ((name, all) for name, all in values.items() if all):
        if others:
            continue  # nodes of both branches may give their outputs one name
        holders.setdefault(value, []).append(name)
        if value not in maps:
            found.others.add(name)
        if isinstance(value.owner, graph.ConstantOp):
            found.constants[name] = value.owner.value
        if (type := logical_type(value)) is not None:
            found.types[name] = type
    for same in holders.values():
        found.same |= {name: tuple(other for other in same if other != name) for name in same}
    return found


def _values_by_name(main: FuncOp, kept: Sequence[_Kept]) -> dict[str, set[SSAValue]]:
    """The inputs, and what the readers read, by name."""
    names = [name for name, _ in named_types(main, "input")]
    values: dict[str, set[SSAValue]] = {name: set() for name, _ in kept}
    values |= {name: {arg} for name, arg in zip(names, inputs_of(main), strict=True)}
    for op in main.body.walk():
        if isinstance(op, KeepOp):
            values[kept[op.number.data].name].add(op.value)
    return values
