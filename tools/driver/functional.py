"""Programs with calls, function values, data or cells: bytecode, and code for each segment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

from stepwell.dialects import graph
from stepwell.dialects.vm import SEGMENT
from stepwell.dialects.vm.program import program_of
from stepwell.passes.pipelines import BYTECODE_PIPELINE, PROGRAM_PIPELINE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import ARRAY_CALLS, NATIVE, Entry, ModelImage
from stepwell.runtime.interface import Array
from stepwell.runtime.vm.bytecode import encode
from stepwell.tools.driver.compilation import Compilation, is_bytecode, is_functional
from stepwell.tools.driver.native_functions import array_calls, native_functions, without_native_code
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.tensor_program import compile_module


def without_functions(compilation: Compilation) -> bool:
    """
    Write out what calls, gradients and data a program has, as far as that ends.

    Returns: whether nothing of them is left: the program is one that `@main` alone can be compiled of.
    """
    compilation.run("functions", PROGRAM_PIPELINE)
    return not is_functional(compilation.module)


def to_bytecode(compilation: Compilation) -> None:
    """Lower a functional program to the `vm` dialect, with segments of level 1."""
    compilation.run("functions", BYTECODE_PIPELINE)


def compile_functional(compilation: Compilation, options: CompileOptions) -> ModelImage:
    """
    The image of a functional program: bytecode, and code for each of its segments.

    Raises: StepwellError of the step that failed.
    """
    module = compilation.module
    if not is_bytecode(module):
        to_bytecode(compilation)
    program = program_of(module, compilation.ctx.weights)
    functions: dict[str, Entry] = {}
    weights: list[Array] = []
    counts: dict[str, int] = {"segments": 0, "nodes": 0}
    for segment in list(_segments(module)):
        image = _compiled(segment, compilation, options)
        numbers = tuple(number + len(weights) for number in image.main.weights)
        weights += image.weights
        functions[segment.sym_name.data] = image.main._replace(weights=numbers)
        counts["segments"] += 1
        counts["nodes"] += sum(not isinstance(op, graph.ConstantOp | func.ReturnOp) for op in segment.walk())
    if options.executor != "vm":
        problem = without_native_code(program, functions)
        if not problem:
            with compilation.timed("native functions"):
                functions[NATIVE] = native_functions(compilation)
        elif options.executor == "native":
            help = 'executor="auto" makes bytecode of it'
            message = f"the program has no native functions: {problem}"
            raise StepwellError("unsupported", None, message, help=help)
    if NATIVE not in functions and functions:
        functions[ARRAY_CALLS] = array_calls(compilation.ctx.target)
    bytecode = encode(program, weights)
    effort = {"seconds": dict(compilation.seconds)}
    return ModelImage(functions, tuple(weights), summary=counts, effort=effort, program=bytecode)


def _segments(module: ModuleOp) -> Iterator[func.FuncOp]:
    return (op for op in module.ops if isinstance(op, func.FuncOp) and SEGMENT in op.attributes)


def _compiled(segment: func.FuncOp, compilation: Compilation, options: CompileOptions) -> ModelImage:
    """A segment, compiled as the `@main` of a program of its own."""
    main = segment.clone()
    main.properties["sym_name"] = StringAttr("main")
    main.properties.pop("sym_visibility", None)
    del main.attributes[SEGMENT]
    alone = Compilation(ModuleOp([main]), compilation.ctx)
    return compile_module(alone, replace(options, processes=1), None, None)
