"""
The shared state of the patterns of `convert-loops-to-llvm`: layouts of memrefs, functions, known values.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import gcd
from typing import TypeAlias, cast

from xdsl.dialects import func, llvm, memref
from xdsl.dialects.builtin import (
    BFloat16Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.dialects.sched_entry import Signature
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.sched_program import has_memory
from stepwell.dialects.types import element_bytes
from stepwell.passes.analysis.linear_indices import Linear
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.machine.target import TargetDescription

Extent: TypeAlias = int | SSAValue
"""A size or stride: a number, or an i64 known at run time only."""

I64 = IntegerType(64)
I32 = IntegerType(32)
I16 = IntegerType(16)
I8 = IntegerType(8)
I1 = IntegerType(1)
PTR = llvm.LLVMPointerType()


@dataclass(frozen=True)
class Layout:
    """
    The layout of a memref in memory, known at compile time: at run time there is only a pointer.

    Sizes and strides count elements; a size of None is unknown.
    """

    element: Attribute
    sizes: tuple[Extent | None, ...]
    strides: tuple[Extent, ...]
    align_bytes: int
    """Alignment of the pointer that is certain."""
    is_dense: bool = True
    """Whether it is provably in row-major order without gaps."""

    @cached_property
    def memory_element(self) -> Attribute:
        """The type of an element in memory."""
        return memory_type(self.element)

    @cached_property
    def element_bytes(self) -> int:
        """The size of an element in memory."""
        return element_bytes(self.element)


@dataclass
class FunctionInfo:
    """Facts about an `llvm.func` of the converted module."""

    context: SSAValue | None
    """The context pointer; None for a function without one."""
    is_kernel: bool
    """Whether it returns a status, so that a failing call can be passed on."""
    is_body: bool = False
    """Whether it is the body of a parallel loop."""
    failure: Block | None = None
    """The block that returns its argument as the status."""


@dataclass
class State:
    """The state of one run of the conversion."""

    target: TargetDescription
    kernels: frozenset[str]
    weights: Mapping[str, int]
    """Index in the table of weights by the name of the global."""
    signatures: Mapping[str, Signature] = field(default_factory=dict[str, Signature])
    """The signatures of functions whose memory is planned, by name: entries call them."""
    uses_tiles: bool = False
    """Whether a function configures tile registers, which it then has to release."""
    declared: set[str] = field(default_factory=set[str])
    """Functions of the C library that the module declares."""
    layouts: dict[SSAValue, Layout] = field(default_factory=dict[SSAValue, Layout])
    functions: dict[Operation, FunctionInfo] = field(default_factory=dict[Operation, FunctionInfo])
    multiples: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """A divisor of an i64 that is certain, where one greater than 1 is known."""
    known: dict[Block, dict[Hashable, SSAValue]] = field(
        default_factory=dict[Block, "dict[Hashable, SSAValue]"]
    )
    """Values that a block has already, by content: constants, products, addresses."""
    exits: list[tuple[Operation, Block]] = field(default_factory=list["tuple[Operation, Block]"])
    """Positions where calls may return early: an op as a marker, and the block that returns the status."""
    _linear: dict[SSAValue, Linear] = field(default_factory=dict[SSAValue, Linear])

    @staticmethod
    def of(module: ModuleOp, target: TargetDescription) -> State:
        """The state of a module before the conversion."""
        ops = list(module.ops)
        kernels = frozenset(
            op.sym_name.data for op in ops if isinstance(op, func.FuncOp) and has_kernel_abi(op)
        )
        weights = [op.sym_name.data for op in ops if isinstance(op, memref.GlobalOp)]
        signatures = {
            op.sym_name.data: Signature.of(op) for op in ops if isinstance(op, func.FuncOp) and has_memory(op)
        }
        return State(target, kernels, {name: index for index, name in enumerate(weights)}, signatures)

    def layout(self, pointer: SSAValue, op: Operation) -> Layout:
        """
        The layout of a converted memref.

        Raises: StepwellError `unsupported` when it is unknown.
        """
        if (layout := self.layouts.get(pointer)) is not None:
            return layout
        raise StepwellError(
            "unsupported",
            op,
            f"{op.name}: the memref's sizes and strides are not known here",
            note="memrefs may be arguments, views and allocas, but not results of control flow or of calls",
        )

    def function(self, op: Operation) -> tuple[llvm.FuncOp, FunctionInfo]:
        """
        The function that contains an op.

        Raises: InternalError when the loops around the op are not flattened yet.
        """
        parent = op.parent_op()
        if not isinstance(parent, llvm.FuncOp):
            raise InternalError(op, f"{op.name} is converted before the op that contains it")
        return parent, self.functions[parent]

    def linear(self, value: SSAValue) -> Linear:
        """An i64 as a linear expression, as far as additions of and products with constants show it."""
        if (found := self._linear.get(value)) is None:
            found = self._linear[value] = self._analyse(value)
        return found

    def _analyse(self, value: SSAValue) -> Linear:
        """The linear expression of a value that is not cached yet."""
        match value.owner:
            case llvm.ConstantOp(value=IntegerAttr(value=number)):
                return Linear((), number.data)
            case llvm.AddOp(lhs=lhs, rhs=rhs):
                return self.linear(lhs) + self.linear(rhs)
            case llvm.SubOp(lhs=lhs, rhs=rhs):
                return self.linear(lhs) + self.linear(rhs).scaled(-1)
            case llvm.MulOp(lhs=lhs, rhs=rhs):
                left, right = self.linear(lhs), self.linear(rhs)
                if not right.terms:
                    return left.scaled(right.constant)
                if not left.terms:
                    return right.scaled(left.constant)
            case _:
                pass
        return Linear(((value, 1),), 0)

    def multiple(self, value: SSAValue | int) -> int:
        """A divisor of a value that is certain; 0 for the constant zero."""
        if isinstance(value, int):
            return value
        linear = self.linear(value)
        return gcd(linear.constant, *(f * self.multiples.get(v, 1) for v, f in linear.terms))


def has_kernel_abi(function: Operation) -> bool:
    """Whether a function has the kernel ABI, as kernels and `@main` do."""
    return is_kernel(function) or has_memory(function)


def bit_width(type: Attribute) -> int:
    """
    The width in bits of a scalar type; `index` has 64.

    Raises: StepwellError `unsupported` for a type without a size.
    """
    if isinstance(type, IndexType):
        return 64
    width = getattr(type, "bitwidth", None)
    if not isinstance(width, int):
        raise StepwellError("unsupported", None, f"{type} has no size in memory")
    return width


@lru_cache(maxsize=4096)
def converted_type(type: Attribute) -> Attribute:
    """
    The level-4 type of a level-3 type: `index` becomes i64, others stay (memrefs become pointers elsewhere).

    Raises: StepwellError `unsupported` for vectors of several dimensions.
    """
    kind = type.__class__
    if kind is IndexType:
        return I64
    if kind is IntegerType and (width := cast(IntegerType, type)).signedness != I64.signedness:
        return IntegerType(width.width.data)
    if kind is not VectorType:
        return type
    vector = cast("VectorType[Attribute]", type)
    if len(vector.shape.data) != 1:
        raise StepwellError(
            "unsupported",
            None,
            f"{type} has no machine register",
            help="run unroll-vectors first: machine code has vectors of one dimension",
        )
    element = converted_type(vector.element_type)
    return type if element is vector.element_type else VectorType(element, vector.shape)


def has_odd_lanes(type: Attribute) -> bool:
    """
    Whether a type is a vector of 9, 17, 25, … lanes of bf16.

    LLVM 22 ends the process where a processor with AVX512-BF16 loads, stores, compares or takes apart such
    vectors, or passes them between blocks ("Do not know how to soft promote this operator's operand").
    """
    if type.__class__ is not VectorType:
        return False
    vector = cast("VectorType[Attribute]", type)
    lanes = vector.get_shape()[-1]
    return isinstance(vector.element_type, BFloat16Type) and lanes > 8 and lanes % 8 == 1


@lru_cache(maxsize=4096)
def memory_type(type: Attribute) -> Attribute:
    """The type in memory: i8 for i1, i64 for `index`, i16 for odd lanes of bf16, mostly itself."""
    converted = converted_type(type)
    if converted.__class__ is VectorType:
        vector = cast("VectorType[Attribute]", converted)
        if has_odd_lanes(vector):
            return VectorType(I16, vector.shape)
        element = memory_type(vector.element_type)
        return vector if element is vector.element_type else VectorType(element, vector.shape)
    return I8 if converted == I1 else converted


def memref_type(value: SSAValue) -> MemRefType[Attribute]:
    """The type of a memref that is not converted yet, a result of the matched op."""
    return cast("MemRefType[Attribute]", value.type)
