"""A program of one kernel, to run a kernel as compiled code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Region

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.sched_kernel import kernel_of
from stepwell.dialects.sched_program import PROGRAM, ProgramAttr
from stepwell.lowering.interpret import Signature
from stepwell.lowering.kernels.kernel import OPTIMIZE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array
from stepwell.tools.check.whole_call import whole_results
from stepwell.tools.driver.compile import compile
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program


def run_compiled(
    kernel: func.FuncOp, ctx: StepwellContext, inputs: Sequence[Array], optimize: bool | None = None
) -> list[Array]:
    """
    The results of a kernel of level 2 as compiled code, from the cache where it is there.

    Args: `optimize` says whether LLVM's pipeline runs, which otherwise follows from the code.
    Raises: StepwellError of the pass that failed; of the call; `unsupported` where no input has a size.
    """
    interface = kernel_of(kernel)
    assert interface is not None
    signature = Signature.of(kernel)
    sized = {str(dim) for dims in signature.dims[: interface.inputs.data] for dim in dims}
    if unknown := [name for name in interface.symbol_names if name not in sized]:
        message = f"no input of the kernel has the size {unknown[0]}, so that it cannot be called alone"
        raise StepwellError("unsupported", kernel, message)
    options = CompileOptions() if optimize is None else CompileOptions(use_cache=False, processes=1)
    token = OPTIMIZE.set(optimize)
    try:
        compiled = compile(Program(program_of_kernel(kernel), ctx.clone()), options)
    finally:
        OPTIMIZE.reset(token)
    feeds = {f"input{n}": np.asarray(inputs[n]) for n in range(interface.inputs.data)}
    return whole_results(compiled, feeds)


def program_of_kernel(kernel: func.FuncOp) -> ModuleOp:
    """
    A module of a kernel of level 2 and a `@main` that calls it.

    ```mlir
    func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {
      %1 = func.call @k(%0) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }
    ```
    """
    interface = kernel_of(kernel)
    assert interface is not None
    inputs, outputs = kernel.function_type.inputs.data, kernel.function_type.outputs.data
    block = Block(arg_types=inputs)
    call = func.CallOp(kernel.sym_name.data, list(block.args), list(outputs))
    block.add_ops([call, func.ReturnOp(*call.results)])
    main = func.FuncOp("main", FunctionType.from_lists(inputs, outputs), Region(block))
    main.properties["arg_attrs"] = _named(kernel.arg_attrs, "input", interface.inputs.data, len(inputs))
    main.properties["res_attrs"] = _named(kernel.res_attrs, "output", len(outputs), len(outputs))
    if interface.symbol_names:
        main.attributes[PROGRAM] = ProgramAttr.of_symbols(interface.symbol_names)
    return ModuleOp([main, kernel.clone()])


def _named(
    given: ArrayAttr[DictionaryAttr] | None, kind: str, count: int, length: int
) -> ArrayAttr[DictionaryAttr]:
    """The attributes of arguments or results, the first of which get names."""
    said = given.data if given is not None else [DictionaryAttr({})] * length
    named: list[DictionaryAttr] = []
    for number, each in enumerate(said):
        more: dict[str, Attribute] = {"graph.name": StringAttr(f"{kind}{number}")} if number < count else {}
        named.append(DictionaryAttr(dict(each.data) | more))
    return ArrayAttr(named)
