"""`bufferize`: kernels on tensors become kernels on buffers, in destination-passing style."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    i8,
    i64,
)
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern

from stepwell.dialects.locations import adopt_location
from stepwell.dialects.sched import ALIGN
from stepwell.dialects.sched_kernel import is_kernel, set_scratch, symbols_of
from stepwell.dialects.types import DimsAttr, tensor_of
from stepwell.lowering.bufferize.accesses import is_tensor, refuse_unknown
from stepwell.lowering.bufferize.allocation import Storage
from stepwell.lowering.bufferize.buffers import Buffers
from stepwell.lowering.bufferize.cleanup import drop_tensors
from stepwell.lowering.bufferize.conflicts import InPlaceAnalysis
from stepwell.lowering.bufferize.control_flow import (
    ForBufferize,
    IfBufferize,
    ReturnBufferize,
    YieldBufferize,
)
from stepwell.lowering.bufferize.destinations import (
    Found,
    compute_into_branch_results,
    compute_into_carried,
    compute_into_output,
    compute_into_slices,
    own_inits,
    write_over_dead_operands,
)
from stepwell.lowering.bufferize.elements import (
    ConstantBufferize,
    DimBufferize,
    EmptyBufferize,
    ExtractBufferize,
    FromElementsBufferize,
    InsertBufferize,
    SplatBufferize,
    TransferReadBufferize,
    TransferWriteBufferize,
)
from stepwell.lowering.bufferize.exchanges import separate_exchanges
from stepwell.lowering.bufferize.index_forms import IndexForms
from stepwell.lowering.bufferize.layouts import dense
from stepwell.lowering.bufferize.structured import GridBufferize, StructuredBufferize
from stepwell.lowering.bufferize.views import (
    CastBufferize,
    CollapseShapeBufferize,
    ExpandShapeBufferize,
    ExtractSliceBufferize,
    InsertSliceBufferize,
)
from stepwell.passes.analysis.arena import expect_alignment
from stepwell.patterns.driver.conversion import convert
from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

SCRATCH_TYPE = MemRefType(i8, [DYNAMIC_INDEX])


@dataclass(frozen=True)
class BufferizePass(ModulePass):
    """
    Rewrite kernel functions (`#sched.kernel`) on tensors to functions on dense buffers that return nothing.

    The arguments become the inputs, the outputs (what was returned), `%scratch` when large temporaries need
    it, and the symbols. An init operand and its result share a buffer; where the old contents are read after
    that write, a `memref.copy` preserves them, or with `no-copies` an error reports it. Temporaries in
    scratch begin at multiples of `alignment` bytes.

    ```mlir
    func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32>
        attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
    // ->
    func.func private @k(%x: memref<4xf32>, %out: memref<4xf32>)
        attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
    ```
    """

    name = "bufferize"

    no_copies: bool = False
    alignment: int = ARENA_ALIGNMENT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert each kernel that has tensors among its arguments or results."""
        expect_alignment(self.alignment, op)
        for function in list(_functions(op)):
            if is_kernel(function) and function.body.blocks:
                returned = function.get_return_op()
                results = () if returned is None else returned.arguments
                if any(is_tensor(value) for value in (*function.args, *results)):
                    _KernelBufferizer(function, self.no_copies, self.alignment).run()


def _functions(op: Operation) -> Iterator[func.FuncOp]:
    """The functions in a module and in modules inside; their own ops are not visited."""
    for inner in [inner for region in op.regions for block in region.blocks for inner in block.ops]:
        if isinstance(inner, func.FuncOp):
            yield inner
        else:
            yield from _functions(inner)


class _KernelBufferizer:
    """Converts a kernel function from tensors to buffers, in place."""

    def __init__(self, function: func.FuncOp, no_copies: bool, alignment: int):
        self._function = function
        self._body: Block = function.body.block
        self._no_copies = no_copies
        self._alignment = alignment
        self._inputs: list[SSAValue] = [arg for arg in self._body.args if is_tensor(arg)]
        self._symbols: list[SSAValue] = [arg for arg in self._body.args if not is_tensor(arg)]
        self._outputs: list[SSAValue] = []
        self._attributes = _ArgumentAttributes(function, len(self._inputs))

    def run(self) -> None:
        """Convert the function: destinations, in-place analysis, memory, buffers, then drop the tensors."""
        refuse_unknown(self._body)
        returned = self._return_op().operands
        self._outputs = [self._body.insert_arg(value.type, len(self._body.args)) for value in returned]
        forms = self._index_forms()
        self._choose_destinations(forms)
        analysis = InPlaceAnalysis(self._body, forms, frozenset(self._outputs))
        places = analysis.paths, forms, analysis.timeline
        storage = Storage(self._body, *places, self._outputs, self._alignment)
        arguments = self._insert_buffers(storage)
        buffers = Buffers(analysis, storage, arguments, self._no_copies)
        convert(self._function, _patterns(buffers, tuple(self._outputs)), [])
        drop_tensors(self._body)
        for value in (*self._inputs, *self._outputs):
            self._body.erase_arg(cast(BlockArgument, value))
        self._describe(storage)
        adopt_location(self._function, self._function.location)

    def _return_op(self) -> func.ReturnOp:
        """The kernel's terminator. Raises: StepwellError `unsupported` for another op than `func.return`."""
        last = self._body.last_op
        if not isinstance(last, func.ReturnOp):
            raise StepwellError("unsupported", self._function, "a kernel must end in func.return")
        return last

    def _index_forms(self) -> IndexForms:
        """Dimension expressions of the kernel's index values, with the extents declared by `graph.dims`."""
        declared: dict[SSAValue, Sequence[Dim]] = {}
        for value, attributes in zip(
            (*self._inputs, *self._outputs),
            (*self._attributes.inputs, *self._attributes.outputs),
            strict=True,
        ):
            if isinstance(dims := attributes.data.get("graph.dims"), DimsAttr):
                declared[value] = dims.get()
        return IndexForms(dict(zip(self._symbols, symbols_of(self._function), strict=True)), declared)

    def _choose_destinations(self, forms: IndexForms) -> None:
        """
        Replace `tensor.empty` destinations by outputs, slices and carried tensors, so that few copies remain.
        """
        own_inits(self._body)
        found = Found.in_body(self._body)
        write_over_dead_operands(found.generics)
        for value, output in zip(self._return_op().operands, self._outputs, strict=True):
            compute_into_output(value, output, forms)
        compute_into_slices(found.inserts, forms)
        compute_into_branch_results(found.branches, forms)
        compute_into_carried(found.loops, forms)
        separate_exchanges(found.loops, forms)

    def _insert_buffers(self, storage: Storage) -> dict[SSAValue, SSAValue]:
        """
        Add a buffer per input and output, and scratch, to the arguments after the tensors; maps tensors to
        buffers.
        """
        tensors = [*self._inputs, *self._outputs]
        buffers: dict[SSAValue, SSAValue] = {}
        for position, value in enumerate(tensors):
            buffers[value] = self._body.insert_arg(dense(tensor_of(value)), len(self._inputs) + position)
            buffers[value].name_hint = value.name_hint
        for position, output in enumerate(self._outputs):
            name = "out" if len(self._outputs) == 1 else f"out{position}"
            buffers[output].name_hint = name
        scratch = None
        if storage.scratch_bytes != 0:
            scratch = self._body.insert_arg(SCRATCH_TYPE, len(self._inputs) + len(tensors))
            scratch.name_hint = "scratch"
        storage.reserve(buffers, scratch)
        return buffers

    def _describe(self, storage: Storage) -> None:
        """Write the function's type, the attributes of its arguments, and its scratch."""
        function = self._function
        function.properties["function_type"] = FunctionType.from_lists(
            [arg.type for arg in self._body.args], []
        )
        has_scratch = storage.scratch_bytes != 0
        function.properties["arg_attrs"] = self._attributes.of_buffers(has_scratch)
        function.properties.pop("res_attrs", None)
        set_scratch(function, storage.scratch_bytes)


class _ArgumentAttributes:
    """The attributes of a function's arguments and results, by role: inputs, outputs, symbols."""

    def __init__(self, function: func.FuncOp, inputs: int):
        type = function.function_type
        args = _dictionaries(function.arg_attrs, len(type.inputs))
        self.inputs, self.symbols = args[:inputs], args[inputs:]
        self.outputs = _dictionaries(function.res_attrs, len(type.outputs))

    def of_buffers(self, has_scratch: bool) -> ArrayAttr[DictionaryAttr]:
        """The attributes for the arguments of the function on buffers, in their order."""
        scratch = [DictionaryAttr({ALIGN: IntegerAttr(ARENA_ALIGNMENT, i64)})] if has_scratch else []
        return ArrayAttr([*self.inputs, *self.outputs, *scratch, *self.symbols])


def _dictionaries(attributes: ArrayAttr[DictionaryAttr] | None, count: int) -> list[DictionaryAttr]:
    return list(attributes.data) if attributes is not None else [DictionaryAttr({})] * count


def _patterns(buffers: Buffers, outputs: tuple[SSAValue, ...]) -> list[RewritePattern]:
    """The rewrite patterns of all ops on tensors, with the buffers that they share."""
    patterns: list[Callable[[Buffers], RewritePattern]] = [
        StructuredBufferize,
        GridBufferize,
        ExtractBufferize,
        InsertBufferize,
        DimBufferize,
        TransferReadBufferize,
        TransferWriteBufferize,
        EmptyBufferize,
        SplatBufferize,
        FromElementsBufferize,
        ConstantBufferize,
        ExtractSliceBufferize,
        InsertSliceBufferize,
        CastBufferize,
        ExpandShapeBufferize,
        CollapseShapeBufferize,
        ForBufferize,
        IfBufferize,
        YieldBufferize,
    ]
    return [*(pattern(buffers) for pattern in patterns), ReturnBufferize(buffers, outputs)]
