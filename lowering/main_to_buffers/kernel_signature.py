"""The kernels that `@main` calls: on tensors, or on buffers with their results as arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, IndexType, ModuleOp, TensorType
from xdsl.ir import Attribute, Region

from stepwell.dialects.runtime_calls import BYTES
from stepwell.dialects.sched_kernel import is_kernel, is_on_buffers, kernel_of, symbols_of
from stepwell.dialects.types import Tensor
from stepwell.lowering.main_to_buffers.facts import declared_dims, memref_of
from stepwell.runtime.dims import Dim


@dataclass(frozen=True)
class KernelSignature:
    """The facts of a kernel that `@main` needs: symbols, dimensions of results, scratch, what is in place."""

    symbols: tuple[str, ...]
    result_dims: tuple[tuple[Dim, ...], ...]
    scratch: Dim
    in_place: Sequence[tuple[int, int]] = ()
    """Results that may be in the memory of an operand, with its number."""

    @staticmethod
    def of(kernel: func.FuncOp) -> KernelSignature:
        """The signature of a kernel function on tensors or on buffers, or of its declaration."""
        interface = kernel_of(kernel)
        if interface is not None and is_on_buffers(kernel):
            written = slice(interface.inputs.data, interface.inputs.data + interface.outputs.data)
            types, attrs = kernel.function_type.inputs.data[written], kernel.arg_attrs
            annotated = attrs.data[written] if attrs is not None else [DictionaryAttr({})] * len(types)
        else:
            types, attrs = kernel.function_type.outputs.data, kernel.res_attrs
            annotated = attrs.data if attrs is not None else [DictionaryAttr({})] * len(types)
        dims = tuple(declared_dims(type, attr.data) for type, attr in zip(types, annotated, strict=True))
        scratch = interface.scratch_bytes if interface is not None else Dim.of(0)
        in_place = interface.pairs_in_place if interface is not None else ()
        return KernelSignature(symbols_of(kernel), dims, scratch, in_place)


def declaration(kernel: func.FuncOp) -> func.FuncOp:
    """The declaration of a kernel on tensors in its bufferized form: inputs, outputs, scratch, symbols."""
    inputs, outputs = kernel.function_type.inputs, kernel.function_type.outputs
    types: list[Attribute] = [memref_of(t) for t in (*_tensors_among(inputs), *_tensors_among(outputs))]
    if (interface := kernel_of(kernel)) is not None and interface.scratch_bytes != 0:
        types.append(BYTES)
    types += [IndexType()] * len(symbols_of(kernel))
    declared = func.FuncOp.external(kernel.sym_name.data, types, [])
    declared.attributes |= kernel.attributes
    return declared


def with_declarations(module: ModuleOp) -> ModuleOp:
    """A copy of a module with declarations of its kernels in place of their bodies."""
    ops = [
        _without_body(op) if isinstance(op, func.FuncOp) and is_kernel(op) else op.clone()
        for op in module.ops
    ]
    return ModuleOp(ops, dict(module.attributes))


def _without_body(kernel: func.FuncOp) -> func.FuncOp:
    return func.FuncOp.create(
        properties=kernel.properties,
        attributes=kernel.attributes,
        regions=[Region()],
        location=kernel.location,
    )


def _tensors_among(types: Iterable[Attribute]) -> list[Tensor]:
    return [cast(Tensor, t) for t in types if isinstance(t, TensorType)]
