"""`sched.entry`: the functions by which programs in C call `@main`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
)
from xdsl.traits import SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.runtime_calls import BYTES
from stepwell.dialects.sched_program import ProgramAttr, has_memory, planned_program
from stepwell.dialects.types import DimsAttr, element_bytes
from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.dims import Dim

WEIGHTS = ("embed", "file", "extern")
"""The places of weights: the same file, another file that the caller maps, memory of the caller's."""
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = "stepwell"


@dataclass(frozen=True)
class Signature:
    """The signature of a planned `@main`, as an entry needs it."""

    program: ProgramAttr
    shapes: tuple[tuple[Dim, ...] | None, ...]
    """The dimensions of inputs and outputs; None for an output whose size depends on data."""
    element_bytes: tuple[int, ...]

    @staticmethod
    def of(main: FuncOp) -> Signature:
        """The signature of a function. Raises: KeyError where its memory is not planned."""
        program = planned_program(main)
        count = program.inputs.data + program.outputs.data
        types = cast("Sequence[MemRefType[Attribute]]", main.function_type.inputs.data[:count])
        named = main.arg_attrs.data if main.arg_attrs is not None else (DictionaryAttr({}),) * count
        shapes = tuple(_dims(type, attrs.data) for type, attrs in zip(types, named, strict=False))
        return Signature(program, shapes, tuple(element_bytes(type.element_type) for type in types))

    @property
    def symbols(self) -> tuple[str, ...]:
        """The sizes that the caller passes: the symbols that are a dimension of an input, in this order."""
        dims = [dim for shape in self.shapes[: self.program.inputs.data] for dim in shape or ()]
        return tuple(dict.fromkeys(str(dim) for dim in dims if str(dim) in dim.symbols()))

    @property
    def sizes(self) -> tuple[Dim, ...]:
        """The bytes of each input and output whose size does not depend on data."""
        each = zip(self.shapes, self.element_bytes, strict=True)
        return tuple(prod(shape, start=Dim.of(size)) for shape, size in each if shape is not None)

    @property
    def allocated(self) -> tuple[int, ...]:
        """The indices of outputs whose memory is allocated during a call."""
        return tuple(i for i, shape in enumerate(self.shapes[self.program.inputs.data :]) if shape is None)


def _dims(type: MemRefType[Attribute], attributes: Mapping[str, Attribute]) -> tuple[Dim, ...] | None:
    if isinstance(named := attributes.get("graph.dims"), DimsAttr):
        return named.get()
    if type == BYTES:
        return None
    return tuple(Dim.symbol("?") if size == DYNAMIC_INDEX else Dim.of(size) for size in type.get_shape())


@irdl_op_definition
class EntryOp(IRDLOperation):
    """
    The entry of a model for programs in C: functions whose names begin with the entry's.

    ```mlir
    sched.entry @mlp of @main {
      weights = "embed", offsets = array<i64: 0, 64>, checks = [["N", "2 * M", "shape-mismatch: …"]],
      messages = ["bad-index: … (node \\"Gather_3\\")"]
    }
    ```
    - `weights`: `embed`, constants of the same file; `file`, memory that each call gets the address of;
      `extern`, a constant `mlp_weights` that the program defines.
    - `offsets`: of each weight of the function from the first, in bytes.
    - `checks`: pairs of sizes that must be equal, and the message for those that are not.
    - `messages`: those of the rows of the run-time error table, from 1 on; those of `checks` come after them.
    - `json`: the description of the model that `mlp_json` returns.
    - `host_calls`: calls of the host go to a function of the caller's.

    Constraints:
      (C1) the symbol is an identifier of C that does not begin with `stepwell`.
      (C2) the function is in the module, its memory is planned, and its open sizes have names.
      (C3) a function has one entry.
      (C4) weights are `embed`, `file` or `extern`; a check has two sizes and a message.
    """

    name = "sched.entry"

    sym_name = prop_def(SymbolNameConstraint())
    function = prop_def(FlatSymbolRefAttrConstr)
    weights = prop_def(StringAttr)
    offsets = prop_def(DenseArrayBase.constr(i64))
    checks = prop_def(ArrayAttr[ArrayAttr[StringAttr]], default_value=ArrayAttr[ArrayAttr[StringAttr]]([]))
    messages = prop_def(ArrayAttr[StringAttr], default_value=ArrayAttr[StringAttr]([]))
    json = opt_prop_def(StringAttr)
    host_calls = opt_prop_def(UnitAttr)

    traits = traits_def(SymbolOpInterface())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name `of` $function attr-dict"

    def __init__(
        self,
        name: str,
        function: str,
        weights: str,
        offsets: Sequence[int],
        *,
        checks: Sequence[tuple[str, str, str]] = (),
        messages: Sequence[str] = (),
        json: str | None = None,
        host_calls: bool = False,
    ):
        properties: dict[str, Attribute | None] = {
            "sym_name": StringAttr(name),
            "function": SymbolRefAttr(function),
            "weights": StringAttr(weights),
            "offsets": DenseArrayBase.from_list(i64, list(offsets)),
            "checks": ArrayAttr([ArrayAttr(map(StringAttr, check)) for check in checks]),
            "messages": ArrayAttr(map(StringAttr, messages)),
            "json": None if json is None else StringAttr(json),
            "host_calls": UnitAttr() if host_calls else None,
        }
        super().__init__(properties=properties)

    @property
    def conditions(self) -> tuple[tuple[Dim, Dim, str], ...]:
        """Pairs of sizes that must be equal, each with the message of its failure."""
        rows = [[text.data for text in check] for check in self.checks]
        return tuple((Dim.of(left), Dim.of(right), message) for left, right, message in rows)

    def verify_(self) -> None:
        name, place = self.sym_name.data, self.weights.data
        if not _IDENTIFIER.fullmatch(name) or name.startswith(_RESERVED):  # (C1)
            raise VerifyException(
                f"the name must be an identifier of C that does not begin with {_RESERVED}, found {name!r}"
            )
        if place not in WEIGHTS:  # (C4)
            raise VerifyException(f"weights must be {', '.join(WEIGHTS)}, found {place!r}")
        if any(len(check) != 3 for check in self.checks):
            raise VerifyException("a check has two sizes and a message")
        try:
            self.conditions  # noqa: B018
        except ValueError as error:
            raise VerifyException(f"a check must have sizes: {error}") from None
        if (module := self.parent_op()) is None:
            return
        callee = self.function.string_value()
        main = SymbolTable.lookup_symbol(module, callee)
        if main is None or not has_memory(main):  # (C2)
            raise VerifyException(f"@{callee} must be a function whose memory is planned (plan-memory)")
        if isinstance(main, FuncOp) and any(size.is_unknown for size in Signature.of(main).sizes):
            raise VerifyException(f"@{callee} has a size without a name (graph.dims)")
        if any(other is not self and other.function == self.function for other in entries_of(module)):  # (C3)
            raise VerifyException(f"@{callee} has another entry")


def entries_of(module: Operation) -> list[EntryOp]:
    """The entries of a module."""
    ops = (op for region in module.regions for block in region.blocks for op in block.ops)
    return [op for op in ops if isinstance(op, EntryOp)]


def weight_offsets(sizes: Sequence[int]) -> list[int]:
    """The offset of each weight from the first, of sizes in bytes."""
    offsets, end = list[int](), 0
    for size in sizes:
        offsets.append(end + -end % ARENA_ALIGNMENT)
        end = offsets[-1] + size
    return offsets
