"""Values of the model in the compiled program: how each is had, and its array in a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.constants import array_of
from stepwell.dialects.types import Tensor, dims_of, dtype_of
from stepwell.lowering.main_to_buffers import inputs_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, TensorSpec
from stepwell.runtime.layout import Layout, parse_layout, plain_layout, to_layout
from stepwell.tools.check.layouts import in_model_layout, may_have_shape
from stepwell.tools.check.origins import LogicalType, NodeValue, before_views
from stepwell.tools.debug.meaning import KernelBody
from stepwell.tools.debug.program import DebugProgram
from stepwell.tools.debug.recorded import Recorded
from stepwell.tools.driver.compilation import main_of

_NEAREST = 3


@dataclass(frozen=True)
class ValueInfo:
    """A value of the model, and how the debugger gets it."""

    name: str
    node: str
    """Empty for an input."""
    kernel: str
    """The kernel that computes it, as in `model.kernels`; empty for none."""
    how: str
    """`input`, `weight`, `observed` as a kernel's result, `computed` inside of one, or `gone`."""
    shape: tuple[int | str, ...] | None
    """As in the model, with the sizes of the run; None where the import leaves it open."""
    dtype: str
    note: str = ""
    """For a value that is gone, by which pass; for one without an array in this run, why."""


class Values:
    """The values of a model by name, and their arrays in a run."""

    def __init__(self, program: DebugProgram):
        self.program = program
        self._bodies: dict[tuple[Operation, tuple[SSAValue, ...]], KernelBody] = {}
        self._nodes = {value.name: value for value in program.origins.values}
        inputs = inputs_of(main_of(program.graph))
        self._inputs = dict(zip((spec.name for spec in program.interface.inputs), inputs, strict=True))
        self._in_text = {value.name_hint: name for name, value in self._inputs.items() if value.name_hint}
        last = main_of(program.graph).body.block.last_op
        assert isinstance(last, func.ReturnOp)
        self._outputs = dict(zip((s.name for s in program.interface.outputs), last.operands, strict=True))

    # Names

    @property
    def names(self) -> list[str]:
        """The names of all values in the model's order: inputs first."""
        return list(dict.fromkeys([*self._inputs, *self._nodes, *self._outputs]))

    def node(self, name: str) -> NodeValue | None:
        """The node's output, or initializer, of a name; None for an input."""
        return self._nodes.get(name)

    def located(self, name: str) -> SSAValue | None:
        """The value of level 1 that a value of the model is; None for one that is gone, or folded."""
        names = (name, *self.program.same.names(name))
        return next((value for each in names if (value := self._own(each)) is not None), None)

    def _own(self, name: str) -> SSAValue | None:
        """The value of level 1 with the name of a value of the model, or made by the node itself."""
        if name in self._inputs:
            return self._inputs[name]
        if (value := self._outputs.get(name)) is not None:
            return value
        value = self.program.located.get(self._nodes[name]) if name in self._nodes else None
        return value if value is not None and not self._stored_otherwise(name, value) else None

    def _stored_otherwise(self, name: str, value: SSAValue, recorded: Recorded | None = None) -> str:
        """The type of a value in the program, if the model's value is not to be had from it; else empty."""
        logical = self._logical(name)
        source, layout = self._laid_out(name, value)
        if logical is None or source.type.name != TensorType.name:
            return ""
        tensor = cast(Tensor, source.type)
        dims, dtype = dims_of(tensor), dtype_of(tensor.element_type).name
        found, wanted = ([Dim.of(_size(dim, recorded)) for dim in each] for each in (dims, logical.dims))
        if dtype == logical.dtype and may_have_shape(found, layout, wanted):
            return ""
        return f"{dtype}[{', '.join(map(str, found))}]"

    def _laid_out(self, name: str, value: SSAValue) -> tuple[SSAValue, Layout | None]:
        """The value before views with a layout that is not the model's, and the layout; else itself."""
        if self.program.same.may_be_feature_map(name):
            for source in before_views(value):
                if (layout := self.program.layouts.get(source)) is not None:
                    return source, layout
        return value, None

    def is_input(self, name: str) -> bool:
        """Whether a value is an input of the model."""
        return name in self._inputs

    def known(self, name: str) -> str:
        """The name of a value, which in a program's text may be `%x`. Raises: StepwellError `no-value`."""
        if not self._has(name):
            plain = name.removeprefix("%")
            name = self._in_text.get(plain, plain if self._has(plain) else name)
        if not self._has(name):
            raise _unknown(name, self.names)
        return name

    def _has(self, name: str) -> bool:
        return name in self._inputs or name in self._nodes or name in self._outputs

    def expect(self, name: str) -> SSAValue:
        """The value of level 1 of a name. Raises: StepwellError `no-value`."""
        name = self.known(name)
        if (value := self.located(name)) is not None:
            return value
        if self.program.same.is_constant(name):
            message = f'"{name}" is a constant, folded into those of the program'
            raise StepwellError("no-value", None, message, help="session.get(name) has its array")
        raise self.gone(name)

    def gone(self, name: str, note: str | None = None) -> StepwellError:
        why = note or self._note(name)
        message = f'"{name}" is no value of the compiled program: {why}'
        help = (
            "--opt-level 0 keeps it, or --disable-pass NAME where the pass runs at 0 too "
            "(padding, common subexpressions, dead code)"
        )
        if self.program.same.never_runs(name):
            return StepwellError("no-value", None, message)
        return StepwellError("no-value", None, message, help=help)

    def _note(self, name: str) -> str:
        nodes = [self._nodes[each] for each in (name, *self.program.same.names(name)) if each in self._nodes]
        for node in nodes:
            value = self.program.located.get(node)
            if value is not None and (stored := self._stored_otherwise(node.name, value)):
                return f"the program stores it as {stored}"
        # The pass that removed the last of the nodes with this value.
        gone = self.program.origins.gone
        found = [why for removed, why in gone.items() if any(node.node == removed for node in nodes)]
        why = found[-1] if found else "no op of the program names its node"
        return f"{why}, in a branch that never runs" if self.program.same.never_runs(name) else why

    @cached_property
    def by_value(self) -> Mapping[SSAValue, str]:
        """The name of each value of level 1 that is one of the model."""
        found: dict[SSAValue, str] = {}
        for name in self.names:
            if (value := self._own(name)) is not None:
                for source in before_views(value):
                    found.setdefault(source, name)
        return found

    # Facts

    def infos(self, recorded: Recorded | None = None) -> list[ValueInfo]:
        """All values in the model's order, with the shapes of a run if there was one."""
        return [self.info(name, recorded) for name in self.names]

    def info(self, name: str, recorded: Recorded | None = None) -> ValueInfo:
        """The facts of a value."""
        node = self._nodes.get(name)
        value = self.located(name)
        logical = self._logical(name)
        shape = None if logical is None else tuple(_size(dim, recorded) for dim in logical.dims)
        dtype = "" if logical is None else logical.dtype
        where = "" if node is None or node.weight is not None else node.node
        if node is not None and node.weight is not None:
            return ValueInfo(name, "", "", "weight", shape, dtype)
        if value is None and self.program.same.is_constant(name):
            return ValueInfo(name, where, "", "weight", shape, dtype)
        if value is None:
            return ValueInfo(name, where, "", "gone", shape, dtype, self._note(name))
        if recorded is not None and (stored := self._stored_otherwise(name, value, recorded)):
            return ValueInfo(name, where, "", "gone", shape, dtype, f"the program stores it as {stored}")
        how, kernel = self._how(value)
        if how == "observed" and kernel is None:
            how = "input" if name in self._inputs else how
        kernel_name = "" if kernel is None else self.program.name_of(kernel)
        note = "" if recorded is None or kernel is None else self._missing(how, kernel, recorded)
        return ValueInfo(name, where, kernel_name, how, shape, dtype, note)

    def _missing(self, how: str, kernel: Operation, recorded: Recorded) -> str:
        """The reason why a run has no array of a value of a kernel; empty where it has one."""
        if not recorded.ran(kernel):
            return "its kernel has not run"
        if how == "computed" and isinstance(kernel, graph.FusedOp) and self.inputs(kernel, recorded) is None:
            return "a value of the last iteration that its kernel reads is not kept"
        return ""

    def _how(self, value: SSAValue) -> tuple[str, Operation | None]:
        *_, source = before_views(value)
        owner = source.owner
        if isinstance(owner, graph.ConstantOp):
            return "weight", None
        if source in self._inputs.values():
            return "input", None
        kernel = self.program.kernel_of(source)
        return ("observed" if self.border(source) is not None else "computed"), kernel

    def border(self, value: SSAValue) -> SSAValue | None:
        """The value outside of kernels that a value is: itself, or the result that a kernel yields."""
        owner = value.owner
        parent = owner.parent_op() if isinstance(owner, Operation) else None
        if not isinstance(parent, graph.FusedOp):
            return value
        last = parent.body.block.last_op
        if last is not None:
            for yielded, result in zip(last.operands, parent.results, strict=True):
                if value in before_views(yielded):
                    return result
        return None

    def _logical(self, name: str) -> LogicalType | None:
        specs = (*self.program.interface.inputs, *self.program.interface.outputs)
        for spec in specs:
            if spec.name == name:
                return _of_spec(spec)
        node = self._nodes.get(name)
        own = None if node is None else self.program.origins.logical.get(node)
        copy = self.program.same.logical(name)
        # A constant that a node left, such as the condition of an `If`, is not the node's result.
        fits = own is not None and copy is not None and (own.dtype, own.rank) == (copy.dtype, copy.rank)
        return own if fits or copy is None else copy

    # Arrays

    def array(self, name: str, recorded: Recorded) -> Array:
        """
        The array of a value in a run, as the model has it, as a copy.

        Raises: StepwellError `no-value` for one that is gone, or was not recorded.
        """
        if (node := self._nodes.get(name)) is not None and node.weight is not None:
            return array_of(node.weight, self.program.ctx.weights).copy()
        if self.located(name) is None and (constant := self.program.same.constant(name)) is not None:
            return constant.copy()
        value = self.expect(name)
        array = self.stored(value, recorded)
        if array is None:
            why = self.info(name, recorded).note or "it is no array in memory"
            raise StepwellError("no-value", None, f'"{name}" was not recorded: {why}')
        logical = self._logical(name)
        shape = None if logical is None else [_size(dim, recorded) for dim in logical.dims]
        if shape is None or any(isinstance(size, str) for size in shape):
            return array.copy()
        source, layout = self._laid_out(name, value)
        if source is not value:
            array = self.stored(source, recorded)
        sizes = [int(size) for size in shape]
        found = None if array is None else in_model_layout(array, layout, sizes)
        if found is None:
            stored = "unknown" if array is None else list(array.shape)
            raise self.gone(name, f"the program stores it as {stored}, not as {sizes}")
        return found.copy()

    def stored(self, value: SSAValue, recorded: Recorded) -> Array | None:
        """The array of a value of level 1 as the program stores it; computed, inside of a kernel."""
        owner = value.owner
        kernel = owner.parent_op() if isinstance(owner, Operation) else None
        if not isinstance(kernel, graph.FusedOp):
            return recorded.array(value)
        if (border := self.border(value)) is not None:
            array, shape = recorded.array(border), recorded.shape(value)
            return array if array is None or shape is None else array.reshape(shape)
        inside = self.inside(kernel, recorded)
        return None if inside is None else inside.get(value)

    def inside(self, kernel: graph.FusedOp, recorded: Recorded) -> Mapping[SSAValue, Array] | None:
        """The values inside a kernel, by its meaning on its recorded inputs; None where one is missing."""
        if not recorded.ran(kernel):
            return None
        if kernel not in recorded.inside:
            inputs = self.inputs(kernel, recorded)
            if inputs is None:
                return None
            changed = recorded.changed.get(kernel, {})
            recorded.inside.clear()  # one kernel at a time: all of them are the memory of the whole model
            body = self.body(kernel, tuple(changed))
            recorded.inside[kernel] = body([*inputs, *changed.values()], recorded.known_sizes())[0]
        return recorded.inside[kernel]

    def inputs(self, kernel: graph.FusedOp, recorded: Recorded) -> list[Array] | None:
        """The recorded inputs of a kernel; None where one is missing."""
        arrays = [recorded.array(operand) for operand in kernel.operands]
        found = [array for array in arrays if array is not None]
        return found if len(found) == len(arrays) else None

    def body(self, kernel: graph.FusedOp, changed: tuple[SSAValue, ...] = ()) -> KernelBody:
        """The meaning of a kernel, with changed values as inputs. Raises: StepwellError `unsupported-op`."""
        if (kernel, changed) not in self._bodies:
            self._bodies[kernel, changed] = KernelBody(kernel, self.program.ctx, changed)
        return self._bodies[kernel, changed]

    def as_stored(self, name: str, value: SSAValue, array: Array, recorded: Recorded) -> Array:
        """
        An array of the model as the program stores the value.

        Raises: StepwellError `shape-mismatch`, `type-mismatch`.
        """
        logical = self._logical(name)
        if logical is not None:
            shape = [_size(dim, recorded) for dim in logical.dims]
            if array.dtype.name != logical.dtype:
                message = f'"{name}" must be {logical.dtype}, found {array.dtype.name}'
                raise StepwellError("type-mismatch", None, message)
            if list(array.shape) != shape:
                message = f'"{name}" must have shape {shape}, found {list(array.shape)}'
                raise StepwellError("shape-mismatch", None, message)
        if (layout := self._laid_out(name, value)[1]) is not None and value in self.program.layouts:
            plain = parse_layout(plain_layout("NC", len(layout.spatial)))
            return np.ascontiguousarray(to_layout(array, plain, layout))
        stored = recorded.shape(value)
        if stored is not None and array.size != prod(stored):
            message = f'"{name}" must have shape {list(stored)}, found {list(array.shape)}'
            raise StepwellError("shape-mismatch", None, message)
        return np.ascontiguousarray(array).reshape(array.shape if stored is None else stored)


def _size(dim: Dim, recorded: Recorded | None) -> int | str:
    """The number of a dimension in a run, or its text if that is unknown."""
    if dim.is_static:
        return dim.value
    sizes = {name: None if recorded is None else recorded.size(name) for name in dim.symbols()}
    known = {name: size for name, size in sizes.items() if size is not None}
    return dim.evaluate(known) if len(known) == len(sizes) else str(dim)


def _of_spec(spec: TensorSpec) -> LogicalType | None:
    return None if spec.is_object else LogicalType(spec.dims, spec.dtype.name)


def _unknown(name: str, names: Sequence[str]) -> StepwellError:
    """The error for a name that no value has, with the nearest ones."""
    from difflib import get_close_matches

    near = get_close_matches(name, names, _NEAREST, 0.0)
    nearest = f"the nearest are {', '.join(near)}; " if near else ""
    message = f'the model has no value "{name}"'
    return StepwellError("no-value", None, message, help=f"{nearest}--list has all")
