"""Functions of StableHLO in the generic form, read by xDSL, as one function of level 0: calls are inlined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import stablehlo as dialect
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.constants import array_of, constant_attr
from stepwell.dialects.foreign.control import ForeignRegionsOp
from stepwell.dialects.graph.relations import is_bool
from stepwell.dialects.graph_ir.state import named
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.frontend.stablehlo.parts import (
    combination,
    extreme,
    extremes,
    letters,
    op_name,
    order,
    values_of,
)
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

_CONTROL: Mapping[str, type[ForeignRegionsOp]] = {
    "case": dialect.CaseOp,
    "if": dialect.IfOp,
    "while": dialect.WhileOp,
}
"""The classes of control flow."""
MAX_DEPTH = 100
MAX_OPS = 1 << 20
"""The most ops after inlining: a chain of functions that call each other twice doubles with each."""
_COMPOSITES: Mapping[str, str] = {"chlo.erf": "erf", "chlo.top_k": "top_k"}
"""Composites that are ops of the table; all others are inlined."""
_CONFIGURATIONS = ("mhlo.backend_config", "backend_config")
"""Names of the attribute with the options of a call."""
_DROPPED = frozenset(
    ("precision_config", "algorithm", "indices_are_sorted", "unique_indices", "is_stable", "api_version")
    + ("has_side_effect", "result_accuracy", "exact", "operand_layouts", "result_layouts")
    + ("called_computations", "output_operand_aliases", "backend_config")
)
"""Attributes that say nothing about results here."""


def translated(
    source: ModuleOp, ctx: StepwellContext, name: str, labels: Mapping[int, tuple[str, Sequence[Dim]]]
) -> FuncOp:
    """
    The function `@main` of a module.

    Args: `name` is the model's in diagnostics; `labels` has names and dimensions of arguments by position.
    Raises: StepwellError `invalid-model`, `unsupported`, `too-large`.
    """
    return _Translation(source, ctx, name).main(labels)


class _Translation:
    """The translation of one module."""

    def __init__(self, source: ModuleOp, ctx: StepwellContext, name: str):
        self._name, self._weights = name, ctx.weights
        if any(len(region.blocks) > 1 for op in source.walk() for region in op.regions if op is not source):
            raise self._invalid("a function or a region has several blocks")
        blocks = source.body.blocks
        functions = [op for block in blocks for op in block.ops if isinstance(op, FuncOp)]
        if any(name not in op.properties for op in functions for name in ("sym_name", "function_type")):
            raise self._invalid("a function has no name, or no type")
        self._functions = {op.sym_name.data: op for op in functions}
        self._block = Block()
        self._count = 0

    def main(self, labels: Mapping[int, tuple[str, Sequence[Dim]]]) -> FuncOp:
        """The function `@main`, in which all calls are inlined."""
        if (source := self._functions.get("main")) is None or source.is_declaration:
            raise self._invalid("the module has no function @main")
        names: list[str] = []
        for position, argument in enumerate(source.body.block.args):
            label, dims = labels.get(position, ("", None))
            hint = argument.name_hint or ""
            # MLIR numbers arguments through the whole text; by position they have the same name in any.
            own = hint if not hint.startswith("arg") else ""
            names.append(label or own or f"arg{position}")
            made = self._argument_type(argument, names[-1], dims)
            self._block.insert_arg(made, position).name_hint = argument.name_hint
        results = self._inlined(source, list(self._block.args), 0)
        self._block.add_op(ReturnOp(*results))
        outputs = [f"result{i}" if len(results) > 1 else "result" for i in range(len(results))]
        return FuncOp(
            "main",
            ([arg.type for arg in self._block.args], [result.type for result in results]),
            Region(self._block),
            arg_attrs=ArrayAttr(map(named, names)),
            res_attrs=ArrayAttr(map(named, outputs)),
        )

    def _argument_type(self, value: SSAValue, label: str, dims: Sequence[Dim] | None) -> Attribute:
        """The type of an argument, whose open sizes get the argument's name."""
        is_tensor = isinstance(value.type, TensorType)
        if not is_tensor:
            raise self._invalid(f"argument {label} is {value.type}, and must be a tensor")
        own = dims_of(value.type)
        if dims is None or len(dims) != len(own):
            dims = [Dim.symbol(f"{label}_{i}") if dim.is_unknown else dim for i, dim in enumerate(own)]
        return tensor_type(tensor_of(value).element_type, dims)

    def _inlined(self, function: FuncOp, arguments: Sequence[SSAValue], depth: int) -> list[SSAValue]:
        """The results of a function's body, written for some arguments."""
        if depth > MAX_DEPTH:
            raise self._invalid(f"functions call each other {depth} deep: @{function.sym_name.data}")
        block = function.body.block
        return self._body(block, dict(zip(block.args, arguments, strict=True)), depth)

    def _body(self, block: Block, values: dict[SSAValue, SSAValue], depth: int) -> list[SSAValue]:
        """The returned values of a block, with other values for its operands."""
        for op in block.ops:
            self._count += 1
            if self._count > MAX_OPS:
                message = f"the program has more than {MAX_OPS} operations"
                raise StepwellError("too-large", self._name, message)
            operands = [values[operand] for operand in op.operands]
            if isinstance(op, ReturnOp) or op_name(op) == "return":
                return operands
            values.update(zip(op.results, self._results(op, operands, values, depth), strict=True))
        raise self._invalid("a function returns nothing")

    def _results(
        self, op: Operation, operands: list[SSAValue], values: dict[SSAValue, SSAValue], depth: int
    ) -> Sequence[SSAValue]:
        """The values of an op's results."""
        if isinstance(op, CallOp):
            return self._inlined(self._function(op.callee.string_value()), operands, depth + 1)
        name = op_name(op)
        if name == "case" and len(op.regions) == 1:
            return self._body(op.regions[0].block, dict(values), depth)
        if name in _CONTROL:
            bodies = [self._region(region, operands, values, depth) for region in op.regions]
            types = [result.type for result in op.results]
            return self._added(_CONTROL[name](operands, types, bodies), op, name)
        given = values_of(op)
        if name == "composite":
            target = _COMPOSITES.get(str(given.get("name")))
            if target is None:
                return self._inlined(self._function(str(given.get("decomposition"))), operands, depth + 1)
            given = _composite_attributes(given)
            name = target
        return self._add(op, name, given, operands)

    def _function(self, name: str) -> FuncOp:
        found = self._functions.get(name)
        if found is None or found.is_declaration:
            raise self._invalid(f"the module has no function @{name}")
        return found

    def _add(
        self, op: Operation, name: str, given: dict[str, Any], operands: list[SSAValue]
    ) -> Sequence[SSAValue]:
        """Add an op of level 0; returns its results."""
        try:
            made = self._made(op, name, given, operands, [result.type for result in op.results])
        except (TypeError, ValueError, LookupError, VerifyException) as error:
            raise self._invalid(f"{name}: {error}") from None
        return self._added(made, op, name)

    def _region(
        self, region: Region, operands: Sequence[SSAValue], values: Mapping[SSAValue, SSAValue], depth: int
    ) -> Region:
        """A region of control flow, which sees the values around it."""
        if not region.blocks:
            raise self._invalid("a region has no block")
        source, outer = region.block, self._block
        if depth > MAX_DEPTH or len(source.args) not in (0, len(operands)):
            raise self._invalid(f"a region takes {len(source.args)} values, at depth {depth}")
        self._block = Block(arg_types=[operand.type for operand in operands] if source.args else [])
        inner = {**values, **dict(zip(source.args, self._block.args, strict=True))}
        made = self._block
        made.add_op(dialect.ReturnOp(self._body(source, inner, depth + 1)))
        self._block = outer
        return Region(made)

    def _added(self, made: Operation, op: Operation, name: str) -> Sequence[SSAValue]:
        """Add an op that was made of another one; returns its results."""
        try:
            made.location = NameLoc(StringAttr(f"{name} {self._count}"), NoneAttr())
            self._block.add_op(made)
            made.verify(verify_nested_ops=False)
        except (TypeError, ValueError, KeyError, VerifyException) as error:
            raise self._invalid(f"{name}: {error}") from None
        for result, source in zip(made.results, op.results, strict=True):
            result.name_hint = source.name_hint
        return made.results

    def _made(
        self,
        op: Operation,
        name: str,
        given: dict[str, Any],
        operands: list[SSAValue],
        types: Sequence[Attribute],
    ) -> Operation:
        if name == "constant":
            value: Any = op.properties.get("value") or op.attributes.get("value")
            is_dense = isinstance(value, DenseIntOrFPElementsAttr)
            if not is_dense:
                raise ValueError(f"expected dense elements, found {value}")
            elements = array_of(cast(Attribute, value), self._weights)
            return dialect.WeightOp(constant_attr(elements, "", self._weights))
        # Those with a dot are of other dialects, such as `sdy.sharding_rule`.
        arguments = {key: value for key, value in given.items() if key not in _DROPPED and "." not in key}
        if name == "custom_call":
            arguments["config"] = letters(next(filter(None, map(given.get, _CONFIGURATIONS)), None))
        if op.regions and not _name_region(op, name, arguments):
            return dialect.OperatorOp(f"{name} with a region of its own", operands, types)
        if name not in dialect.TABLE:
            return dialect.OperatorOp(name, operands, types)
        op_class = dialect.TABLE.op_class(name)
        if name in ("reduce",):
            operands = operands[: len(operands) // 2]
        rest = list(operands)
        for argument in op_class.SIGNATURE.tensors:
            if not rest and not argument.is_list:
                raise ValueError(f"the operand `{argument.name}` is missing")
            arguments[argument.name] = rest if argument.is_list else rest.pop(0)
            rest = [] if argument.is_list else rest
        if rest:
            raise ValueError(f"{len(rest)} operands more than it takes")
        return op_class.make(arguments, types)

    def _invalid(self, message: str) -> StepwellError:
        return StepwellError("invalid-model", self._name, message)


def _composite_attributes(given: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a composite's own."""
    found = given.get("composite_attributes")
    if not isinstance(found, DictionaryAttr):
        return {}
    return {key: cast(Any, value).value.data for key, value in found.data.items()}


def _name_region(op: Operation, name: str, arguments: dict[str, Any]) -> bool:
    """Give an op the name of what its region computes; false where that is not known."""
    region = op.regions[0]
    if not region.blocks:
        return False
    if name == "sort":
        if (found := order(region)) is None:
            return False
        arguments["kind"], arguments["key"] = found
        return True
    if name not in ("reduce", "reduce_window", "scatter"):
        return False
    kind = combination(region) if len(region.block.args) == 2 else None
    if name == "reduce" and kind is None:
        kind = extreme(region) if _has_positions(op, arguments) else None
    if name == "reduce" and kind is not None and not _starts_neutral(op, kind):
        return False
    arguments["kind"] = kind
    return kind is not None


def _has_positions(op: Operation, arguments: Mapping[str, Any]) -> bool:
    """Whether the second operand of a reduction has the positions along its dimension."""
    owner = op.operands[1].owner
    dimensions = arguments.get("dimensions")
    if not isinstance(owner, Operation) or op_name(owner) not in ("iota", "dynamic_iota"):
        return False
    return dimensions == (values_of(owner)["iota_dimension"],)


def _starts_neutral(op: Operation, kind: str) -> bool:
    """Whether a reduction starts with the number that changes nothing, as all of JAX's do."""
    if kind in ("argmax", "argmin"):
        return True
    owner = op.operands[len(op.operands) // 2].owner
    if not isinstance(owner, Operation) or op_name(owner) != "constant":
        return False
    elements: Any = owner.properties.get("value") or owner.attributes.get("value")
    if not isinstance(elements, DenseIntOrFPElementsAttr):
        return False
    element, value = tensor_of(owner.results[0]).element_type, cast(Any, elements).get_values()[0]
    if is_bool(element):
        return bool(value) == (kind in ("and", "mul", "min"))
    if kind in ("max", "min"):
        least, greatest = extremes(element)
        return value == (least if kind == "max" else greatest)
    return value == {"add": 0, "or": 0, "mul": 1, "and": -1}.get(kind)
