"""Formulas of `stepwell.te` as programs: lowered, compiled, interpreted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, NameLoc, NoneAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from stepwell.dialects.locations import adopt_locations
from stepwell.dialects.types import tensor_type
from stepwell.frontend.te.places import FormulaError
from stepwell.frontend.te.scalar_code import element_named
from stepwell.frontend.te.tensors import Tensor
from stepwell.frontend.te.to_graph import emit, hint, read_by, stages_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import dtype_from_name
from stepwell.tools.api.module import Module
from stepwell.tools.api.schedules import Schedule

if TYPE_CHECKING:
    from stepwell.runtime.model import CompiledModel
    from stepwell.tools.driver.options import CompileKeywords

_MAIN = "main"
_NAME = "graph.name"


def lower(
    inputs: Sequence[Tensor],
    outputs: Tensor | Sequence[Tensor] | Schedule,
    level: str = "linalg",
    *,
    name: str = _MAIN,
    exact: bool = False,
) -> Module:
    """
    A program that computes tensors from inputs, on a level from `graph` on; with a schedule, on level 2.

    Args: `name` names the function, and its node in errors and profiles; `exact` refuses a schedule that
    changes the order of additions.
    Raises: StepwellError `te-operator`, `bad-option`, `type-mismatch`, `illegal-schedule`.
    """
    module = _lowered(inputs, outputs, level, name, exact)
    if name != _MAIN:
        module[_MAIN].properties["sym_name"] = StringAttr(name)
        module.verify()
    return module


def _lowered(
    inputs: Sequence[Tensor],
    outputs: Tensor | Sequence[Tensor] | Schedule,
    level: str,
    name: str = _MAIN,
    exact: bool = False,
) -> Module:
    """A program whose function is `@main`, on a level."""
    if not name:
        raise StepwellError("bad-option", None, "the name of a program must not be empty")
    if isinstance(outputs, Schedule):
        if exact and not outputs.exact:
            message = "the schedule changes the order of additions, and the program is to be exact"
            raise StepwellError("illegal-schedule", None, message, help="te.create_schedule(c, exact=True)")
        module = Schedule.replay(_lowered(inputs, outputs.outputs, "linalg", name), outputs.script).module
        return module if level == "linalg" else module.to(level)
    given, results = list(inputs), [outputs] if isinstance(outputs, Tensor) else list(outputs)
    if wrong := [t for t in (*given, *results) if not isinstance(cast("object", t), Tensor)]:
        raise FormulaError(
            "te-operator", f"expected tensors of te.placeholder and te.compute, found {wrong[0]!r}"
        )
    if computed := [t for t in given if t.stage is not None]:
        raise FormulaError("te-operator", f"an input is a te.placeholder, and {computed[0].name} is computed")
    block = Block(arg_types=[tensor_type(element_named(t.dtype), t.dims) for t in given])
    for argument, tensor in zip(block.args, given, strict=True):
        argument.name_hint = hint(tensor.name)
    values = emit(results, dict(zip(given, block.args, strict=True)), block.add_op)
    if name != _MAIN:
        adopt_locations([*block.ops], NameLoc(StringAttr(name), NoneAttr()))
    block.add_op(ReturnOp(*values))
    types = list(block.arg_types), [value.type for value in values]
    main = FuncOp(_MAIN, types, Region(block), arg_attrs=_names(given), res_attrs=_names(results))
    module = Module(ModuleOp([main])).verify()
    return module if level == "graph" else module.to(level)


def _names(tensors: Sequence[Tensor]) -> ArrayAttr[DictionaryAttr]:
    """The names of inputs or outputs, each once."""
    taken: set[str] = set()
    names: list[str] = []
    for tensor in tensors:
        number, name = 1, tensor.name
        while name in taken:
            name, number = f"{tensor.name}_{number}", number + 1
        taken.add(name)
        names.append(name)
    return ArrayAttr([DictionaryAttr({_NAME: StringAttr(name)}) for name in names])


def build(
    inputs: Sequence[Tensor],
    outputs: Tensor | Sequence[Tensor] | Schedule,
    *,
    name: str = _MAIN,
    exact: bool = False,
    threads: int | None = None,
    **keywords: Unpack[CompileKeywords],
) -> CompiledModel:
    """
    A compiled model that computes tensors from inputs; keywords are those of `stepwell.compile`.

    Args: `name` and `exact` are as for `lower`.
    Raises: as `lower` and `stepwell.compile`.
    """
    level = "linalg" if isinstance(outputs, Schedule) else "graph"
    return _lowered(inputs, outputs, level, name, exact).compile(threads=threads, **keywords)


def create_schedule(outputs: Tensor | Sequence[Tensor], *, exact: bool = False) -> Schedule:
    """
    A schedule of the stages that compute tensors, without a decision yet; `lower` and `build` take it.

    Args: `exact` refuses steps that change the order of additions.
    Raises: as `lower`.
    """
    results = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    inputs = [t for stage in stages_of(results) for t in read_by(stage) if t.stage is None]
    module = lower(list(dict.fromkeys(inputs)), results)
    return Schedule(module, outputs=results, exact=exact)


def interpret(
    inputs: Sequence[Tensor], outputs: Tensor | Sequence[Tensor], *arrays: np.ndarray[Any, Any]
) -> list[np.ndarray[Any, Any]]:
    """The tensors for arrays as inputs, by the interpreter on level 2. Raises: as `lower`."""
    results = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    signed = [array.view(f"i{array.itemsize}") if array.dtype.kind == "u" else array for array in arrays]
    found = cast("list[np.ndarray[Any, Any]]", lower(inputs, results).interpret(*signed))
    return [array.view(dtype_from_name(t.dtype)) for array, t in zip(found, results, strict=True)]
