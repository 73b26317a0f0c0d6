"""Host calls: calls from @main to functions of the host and of other engines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IndexType,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.constants import array_of, constant_attr
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.control_flow import ControlFlowOp
from stepwell.dialects.graph.loops import LoopOp
from stepwell.dialects.graph.symbols import INDEX, SIGNATURE, symbol_names
from stepwell.dialects.types import Tensor, WeightAttr, dims_of, dtype_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.host import NUMPY


class HostEffect(MemoryEffect):
    """A call that says `effect` is kept, and stays in order; any other may be dropped when it is unused."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.WRITE)} if "effect" in op.properties else set()


@irdl_op_definition
class HostCallOp(GraphOp):
    """
    Call a function outside the compiled code: our own in numpy, or a part of the model in another engine.

    `kind` names the loader that turns `payload`, text or bytes, into the function when the model is loaded;
    `callee` is its name for people. A result dimension that is known by then is a promise; others are symbols
    that the call defines, its last results. Values of other types than tensors of numbers are Python objects.

    ```mlir
    %y, %n = graph.host_call "numpy" "host.unique" payload "{}" (%x) defines ["data_0"] :
      (tensor<8xf32>) -> (tensor<?xf32, #graph.dims<["data_0"]>>, index)
    ```
    Constraints:
      (C1) the last results, one a name in `symbols`, are of type `index`, and no others are.
      (C2) each defined symbol is a dimension of a result.
      (C3) `payload` is text, or a constant of bytes.
    """

    name = "graph.host_call"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    kind = prop_def(StringAttr)
    callee = prop_def(StringAttr)
    payload = prop_def()
    symbols = opt_prop_def(ArrayAttr[StringAttr])
    effect = opt_prop_def(UnitAttr)
    arguments = var_operand_def()
    outputs = var_result_def()

    traits = traits_def(HostEffect())
    assembly_format = (
        "$kind $callee (`effect` $effect^)? `payload` $payload `(` $arguments `)` (`defines` $symbols^)?"
        " attr-dict `:` functional-type($arguments, $outputs)"
    )

    def __init__(
        self,
        kind: str,
        callee: str,
        payload: Attribute,
        arguments: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        symbols: Sequence[str] = (),
        *,
        effect: bool = False,
    ):
        super().__init__(
            operands=[arguments],
            properties={
                "kind": StringAttr(kind),
                "callee": StringAttr(callee),
                "payload": payload,
                "symbols": symbol_names(symbols) if symbols else None,
                "effect": UnitAttr() if effect else None,
            },
            result_types=[[*result_types, *[INDEX] * len(symbols)]],
        )

    @property
    def values(self) -> Sequence[SSAValue]:
        """The results that the callee computes; the sizes that it defines follow."""
        return self.results[: len(self.results) - len(self.symbols or ())]

    def infer(self) -> Sequence[Attribute]:
        return self.result_types  # only the callee decides them

    def check(self) -> None:
        names = [name.data for name in self.symbols or ()]
        indices = [isinstance(type, IndexType) for type in self.result_types]
        if indices != [False] * len(self.values) + [True] * len(names):  # (C1)
            raise VerifyException(f"the last results must be {len(names)} of type index, one a symbol")
        if SIGNATURE not in self.attributes:  # from level 2 on, types have no names
            plain = {str(dim) for value in self.values for dim in _dims_of_tensor(value.type)}
            if missing := [name for name in names if name not in plain]:  # (C2)
                raise VerifyException(f"no result has the dimension {', '.join(missing)} that is defined")
        if not isinstance(self.payload, StringAttr | WeightAttr | DenseIntOrFPElementsAttr):  # (C3)
            raise VerifyException(f"payload must be text or a constant of bytes, found {self.payload}")


def signature_before(op: Operation) -> FunctionType:
    """The types to store in `SIGNATURE`, before they change: operands or carried values, and results."""
    carried = op.carried if isinstance(op, LoopOp) else () if isinstance(op, ControlFlowOp) else op.operands
    return FunctionType.from_lists([value.type for value in carried], list(op.result_types))


def numpy_call(
    function: str,
    attributes: Mapping[str, object],
    arguments: Sequence[SSAValue | None],
    result_types: Sequence[Attribute],
    symbols: Sequence[str] = (),
    *,
    effect: bool = False,
) -> HostCallOp:
    """
    A call of a function of `stepwell.runtime.meaning` on the host.

    Args: `attributes` are its keyword arguments: numbers, text, lists of them, dtypes; an argument that is
    absent is None.
    """
    given = [argument for argument in arguments if argument is not None]
    described: dict[str, object] = {"op": function, "attributes": attributes}
    if len(given) < len(arguments):
        described["absent"] = [i for i, argument in enumerate(arguments) if argument is None]
    payload = StringAttr(json.dumps(described, default=_named_dtype))
    return HostCallOp(NUMPY, function, payload, given, result_types, symbols, effect=effect)


def _named_dtype(value: object) -> object:
    if isinstance(value, np.dtype):
        return {"dtype": cast("np.dtype[np.generic]", value).name}
    raise TypeError(f"{value!r} is no attribute of a host function")


def code_payload(code: bytes, name: str, weights: WeightStore) -> Attribute:
    """The payload of code for the loader of a callee, which `payload_bytes` returns."""
    return constant_attr(np.frombuffer(code, np.uint8), name, weights)


def payload_bytes(op: HostCallOp, weights: WeightStore) -> bytes:
    """The payload for the loader of a callee. Raises: KeyError when the weight store lacks the bytes."""
    if isinstance(op.payload, StringAttr):
        return op.payload.data.encode()
    return array_of(op.payload, weights).tobytes()


def _dims_of_tensor(type: Attribute) -> Sequence[Dim]:
    return dims_of(cast(Tensor, type)) if isinstance(type, TensorType) else ()


def is_opaque(type: Attribute) -> bool:
    """Whether values of a type are Python objects, which compiled code only passes on."""
    if isinstance(type, IndexType):
        return False
    if not isinstance(type, TensorType):
        return True
    try:
        dtype_of(cast(Tensor, type).element_type)
    except TypeError:
        return True
    return False
