"""`outline-kernels`: programs that others wrote at level 2, as `@main` and kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.constants import array_of, constant_attr
from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.dialects.sched_kernel import KernelAttr, set_kernel
from stepwell.dialects.sched_program import PROGRAM, ProgramAttr
from stepwell.dialects.types import DIMS, DimsAttr, dims_of, tensor_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

NAME = "graph.name"
"""Attribute of an argument or result: its name in the model."""
_SIZES = (tensor.DimOp, arith.AddiOp, arith.SubiOp, arith.MuliOp)
"""Ops that compute sizes of tensors, which kernels get as arguments instead."""


class OutlineKernelsPass(ModulePass):
    """
    Move the ops of a function on tensors into kernels, one for each reduction with the ops after it.

    ```mlir
    func.func @f(%x: tensor<?x8xf32>, …) -> tensor<?x4xf32> { … linalg.generic … linalg.generic … }
    // ->
    func.func @main(%x: tensor<?x8xf32>, …, %x_0: index) -> tensor<?x4xf32> {
      %y = func.call @k0(%x, …, %x_0)
      %z = func.call @k1(%y, %x_0)
      func.return %z
    }
    ```
    Open sizes of arguments get names, and become arguments. A module with kernels is left as it is.
    """

    name = "outline-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Outline the only function. Raises: StepwellError `no-main`, `unsupported`."""
        functions = [f for f in op.ops if isinstance(f, FuncOp) and f.body.blocks]
        if any(PROGRAM in f.attributes or "sched.kernel" in f.attributes for f in functions):
            return
        if len(functions) != 1:
            message = f"expected one function on tensors, found {len(functions)}"
            raise StepwellError(
                "no-main",
                functions[-1] if functions else op,
                message,
                help="inline the others: mlir-opt --inline",
            )
        _Outliner(op, functions[0], weights_of(ctx)).run()


class _Outliner:
    """The outlining of one function."""

    def __init__(self, module: ModuleOp, function: FuncOp, weights: WeightStore):
        self._module, self._function, self._weights = module, function, weights
        self._block = function.body.block
        self._dims: dict[SSAValue, tuple[Dim, ...]] = {}
        self._sizes: dict[SSAValue, Dim] = {}
        self._symbols: list[str] = []

    def run(self) -> None:
        """Rewrite the function in place, and add its kernels to the module."""
        self._name_arguments()
        for op in self._block.ops:
            self._infer(op)
        self._add_constants()
        groups = self._groups()
        for number, group in enumerate(groups):
            self._outline(group, f"k{number}")
        for op in reversed(list(self._block.ops)):
            if not isinstance(op, CallOp | ReturnOp) and not any(r.uses for r in op.results):
                Rewriter.erase_op(op)
        self._finish()

    def _name_arguments(self) -> None:
        """Give each open size of an argument a name; a name of the argument is its number."""
        for arg in self._block.args:
            if not isinstance(arg.type, TensorType):
                raise StepwellError("unsupported", self._function, f"arguments are tensors, found {arg.type}")
            sizes = tensor_of(arg).get_shape()
            dims = [
                Dim.of(n) if n >= 0 else Dim.symbol(f"x{arg.index}_{axis}") for axis, n in enumerate(sizes)
            ]
            self._symbols += [str(dim) for dim in dims if not dim.is_static]
            self._dims[arg] = tuple(dims)

    def _infer(self, op: Operation) -> None:
        """Find the dimensions of the results of an op, and sizes. Raises: StepwellError `unsupported`."""
        match op:
            case arith.ConstantOp() if isinstance(op.result.type, IndexType):
                assert isinstance(op.value, IntegerAttr)
                self._sizes[op.result] = Dim.of(op.value.value.data)
            case tensor.DimOp():
                axis = self._sizes[op.index]
                self._sizes[op.result] = self._dims[op.source][axis.value]
            case arith.AddiOp() | arith.SubiOp() | arith.MuliOp() if op.result.type == INDEX:
                a, b = (self._sizes[value] for value in op.operands)
                kinds = {arith.AddiOp: a + b, arith.SubiOp: a - b, arith.MuliOp: a * b}
                self._sizes[op.result] = kinds[type(op)]
            case tensor.EmptyOp():
                given = iter(op.operands)
                shape = tensor_of(op.tensor).get_shape()
                self._dims[op.tensor] = tuple(
                    Dim.of(n) if n >= 0 else self._sizes[next(given)] for n in shape
                )
            case linalg.GenericOp() | linalg.FillOp():
                for result, out in zip(op.results, op.outputs, strict=True):
                    self._dims[result] = self._dims[out]
            case tensor.CastOp():
                self._dims[op.dest] = self._dims[op.source]
            case _:
                for result in op.results:
                    self._dims[result] = self._static(op, result)

    def _static(self, op: Operation, result: SSAValue) -> tuple[Dim, ...]:
        """The dimensions of another op's result, which must be known."""
        if result.type.name != TensorType.name:
            return ()
        dims = tuple(dims_of(result.type))
        if all(dim.is_static for dim in dims):
            return dims
        message = f"the sizes of {op.name} do not follow from those of its operands here"
        raise StepwellError("unsupported", op, message, help="give its tensors static shapes")

    def _add_constants(self) -> None:
        """Constant tensors as weights of the program."""
        for op in list(self._block.ops):
            if isinstance(op, arith.ConstantOp) and op.result.type.name == TensorType.name:
                value = op.value
                if isinstance(value, DenseIntOrFPElementsAttr):
                    value = constant_attr(array_of(value, self._weights), "", self._weights)
                made = graph.ConstantOp.create(result_types=[op.result.type], properties={"value": value})
                self._dims[made.result] = self._dims[op.result]
                made.location = op.location
                Rewriter.replace_op(op, made)

    def _groups(self) -> list[list[Operation]]:
        """The ops of each kernel: a reduction begins another one. Cheap ops are in none."""
        groups: list[list[Operation]] = []
        has_reduction = True
        for op in self._block.ops:
            if isinstance(op, ReturnOp | graph.ConstantOp) or _is_cheap(op):
                continue
            reduces = isinstance(op, linalg.GenericOp) and any(
                kind.data == IteratorType.REDUCTION for kind in op.iterator_types
            )
            if not groups or (reduces and has_reduction):
                groups.append([])
                has_reduction = False
            has_reduction |= reduces
            groups[-1].append(op)
        return groups

    def _outline(self, group: Sequence[Operation], name: str) -> None:
        """Move the ops of a group into a function, and call it."""
        inside = {result for op in group for result in op.results}
        needed = _with_cheap(group)
        made: set[SSAValue] = {result for op in needed for result in op.results}
        # A size is computed from the symbols in the kernel, so its operands are not needed there.
        reading = [op for op in needed if not (op.results and op.results[0] in self._sizes)]
        outer = [v for op in reading for inner in op.walk() for v in inner.operands if v not in made]
        inputs = [
            v for v in dict.fromkeys(outer) if isinstance(v.type, TensorType) and self._is_outside(v, made)
        ]
        outputs = [v for v in inside if any(self._is_used_outside(use.operation, group) for use in v.uses)]
        block = Block(arg_types=[*(v.type for v in inputs), *[INDEX] * len(self._symbols)])
        mapped: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=False))
        symbols = dict(zip(self._symbols, block.args[len(inputs) :], strict=True))
        builder = IRBuilder(InsertPoint.at_end(block), group[0].location, symbols=symbols)
        for op in needed:
            if op.results and (size := self._sizes.get(op.results[0])) is not None:
                mapped[op.results[0]] = builder.extent(size)
                continue
            builder.insert(copy := op.clone(mapped))
            copy.location = op.location
            mapped |= zip(op.results, copy.results, strict=True)
        builder.insert(ReturnOp(*(mapped[v] for v in outputs)))
        types = [v.type for v in outputs]
        kernel = FuncOp(name, (list(block.arg_types), types), Region(block), "private")
        self._describe(kernel, inputs, outputs)
        set_kernel(kernel, KernelAttr(len(inputs), len(outputs), self._symbols))
        kernel.location = group[0].location
        self._module.body.block.add_op(kernel)
        call = CallOp(name, [*inputs, *self._symbol_arguments()], types)
        call.location = group[-1].location
        Rewriter.insert_op(call, InsertPoint.after(group[-1]))
        for value, result in zip(outputs, call.results, strict=True):
            self._dims[result] = self._dims[value]
            value.replace_all_uses_with(result)
        for op in reversed(group):
            Rewriter.erase_op(op)

    def _is_outside(self, value: SSAValue, made: set[SSAValue]) -> bool:
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        return block is self._block and value not in made

    def _is_used_outside(self, user: Operation, group: Sequence[Operation]) -> bool:
        while user.parent is not self._block:
            around = user.parent_op()
            assert around is not None
            user = around
        return user not in group

    def _symbol_arguments(self) -> Sequence[SSAValue]:
        """The index arguments of the function, which are added with the first kernel."""
        missing = self._symbols[len([arg for arg in self._block.args if arg.type == INDEX]) :]
        for name in missing:
            self._block.insert_arg(INDEX, len(self._block.args)).name_hint = name
        return self._block.args[len(self._block.args) - len(self._symbols) :] if self._symbols else ()

    def _describe(self, kernel: FuncOp, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> None:
        """Record the dimensions of arguments and results that have names."""
        padding = [DictionaryAttr({})] * len(self._symbols)
        kernel.properties["arg_attrs"] = ArrayAttr([*(self._about(v) for v in inputs), *padding])
        kernel.properties["res_attrs"] = ArrayAttr([self._about(v) for v in outputs])

    def _about(self, value: SSAValue, name: str | None = None) -> DictionaryAttr:
        dims = self._dims[value]
        found: dict[str, Attribute] = {} if name is None else {NAME: StringAttr(name)}
        if not all(dim.is_static for dim in dims):
            found[DIMS] = DimsAttr.of(dims)
        return DictionaryAttr(found)

    def _finish(self) -> None:
        """Name the function, its arguments and results."""
        main = self._function
        symbols = self._symbol_arguments()
        given = [arg for arg in self._block.args if arg not in symbols]
        last = self._block.last_op
        assert isinstance(last, ReturnOp)
        main.properties["sym_name"] = StringAttr("main")
        main.properties.pop("sym_visibility", None)
        arguments = [self._about(arg, f"x{arg.index}") for arg in given]
        main.properties["arg_attrs"] = ArrayAttr([*arguments, *[DictionaryAttr({})] * len(symbols)])
        results = [self._about(value, f"y{number}") for number, value in enumerate(last.operands)]
        main.properties["res_attrs"] = ArrayAttr(results)
        main.update_function_type()
        if self._symbols:
            main.attributes[PROGRAM] = ProgramAttr.of_symbols(self._symbols)


def _is_cheap(op: Operation) -> bool:
    """Whether each kernel that uses an op gets a copy: constants, sizes, memory and fills."""
    return isinstance(op, (arith.ConstantOp, tensor.EmptyOp, linalg.FillOp, *_SIZES))


def _with_cheap(group: Sequence[Operation]) -> list[Operation]:
    """The ops of a group, with copies of the cheap ops that they use, in order."""
    found: dict[Operation, None] = {}

    def add(op: Operation) -> None:
        for value in _operands(op):
            if isinstance(value.owner, Operation) and _is_cheap(value.owner):
                add(value.owner)
        found[op] = None

    for op in group:
        add(op)
    return list(found)


def _operands(op: Operation) -> Iterator[SSAValue]:
    for inner in op.walk():
        yield from inner.operands
