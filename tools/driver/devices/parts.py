"""A partition of level 1 as a device part: kernels of the gpu level, commands of the host, weights."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph_ir.annotations import BACKEND
from stepwell.dialects.graph_ir.dissolve import open_regions
from stepwell.dialects.locations import node_names
from stepwell.dialects.sched import TARGET
from stepwell.dialects.target import SpecAttr
from stepwell.dialects.types import DimsAttr, tensor_type
from stepwell.lowering.refused_part import REFUSALS, RefusedPart
from stepwell.passes.analysis.symbol_sources import SYMBOLS
from stepwell.passes.context import PassContext
from stepwell.passes.graph_pipeline import graph_steps
from stepwell.passes.pass_limit import numbered
from stepwell.passes.pipelines import TO_KERNELS, gpu_pipeline, text_of
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.compilation import Compilation, main_of
from stepwell.tools.driver.devices.chosen import ChosenDevice, device_named
from stepwell.tools.driver.options import CompileOptions

_SKIPPED = "skip_optimization"
_OPT_LEVEL = 1
"""Higher levels store data as kernels of CPUs read them best."""


def part_of(func: FuncOp, compilation: Compilation, options: CompileOptions) -> bytes:
    """
    The device part of a partition.

    Raises: StepwellError of a pass; `not-on-device`, `unsupported` for what the device has not.
    """
    device = device_named(options, cast(StringAttr, func.attributes[BACKEND]).data)
    try:
        return _part_for(func, compilation, options, device)
    except StepwellError as error:
        if error.where or error.code not in REFUSALS:
            raise
        nodes = dict.fromkeys(name for op in func.walk() for name in node_names(op.location))
        raise RefusedPart([error.at(", ".join(f'node "{name}"' for name in nodes))]) from None


def _part_for(func: FuncOp, compilation: Compilation, options: CompileOptions, device: ChosenDevice) -> bytes:
    """The device part for a device."""
    from stepwell.lowering.device_part import device_part

    main = own_main(func)
    module = ModuleOp([main])
    open_regions(module)
    own = Compilation(module, compilation.ctx)
    level = min(options.opt_level, _OPT_LEVEL)
    context = PassContext.current().at_level(level)
    with numbered(None), context.active():  # not a part of the host's own code
        module.attributes[TARGET] = SpecAttr.of(device.target.with_host(None))
        own.run("graph", text_of(graph_steps(level, compilation.ctx.target, "off")))
        own.run("graph to linalg", TO_KERNELS)
        _run_on_loops(own, options)
    return device_part(
        module,
        main_of(module),
        compilation.ctx.weights,
        name=func.sym_name.data,
        device=device.runs_on,
        target=device.target,
        formats=device.formats,
        sizes_input=symbols_argument(func),
    ).to_bytes()


def _run_on_loops(own: Compilation, options: CompileOptions) -> None:
    """Make kernels and the plan of the memory. Raises: RefusedPart, StepwellError `not-on-device`."""
    try:
        own.run("loop", gpu_pipeline(options.precision))
    except StepwellError as error:
        raise RefusedPart([error]) if error.code in REFUSALS else error from error
    except VerifyException as error:  # of a memory plan whose formulas are too long
        help = "fix the sizes of inputs: --input-shape"
        raise StepwellError(
            "not-on-device", None, f"the memory of a part has no plan: {error}", help=help
        ) from None


def own_main(func: FuncOp) -> FuncOp:
    """A partition as `@main` of a program; sizes in an argument become dimensions of one."""
    main = func.clone()
    main.properties["sym_name"] = StringAttr("main")
    main.attributes = {name: a for name, a in main.attributes.items() if name not in (BACKEND, _SKIPPED)}
    main.properties.pop("sym_visibility", None)
    _pass_symbols_by_shape(main)
    return main


def _pass_symbols_by_shape(main: FuncOp) -> None:
    """
    Replace an argument whose data are the sizes of symbols by a tensor without elements that has them as
    dimensions.
    """
    for arg, about in zip(main.args, main.arg_attrs or (), strict=False):
        if isinstance(sizes := about.data.get(SYMBOLS), DimsAttr):
            set_type(arg, tensor_type(i64, [0, *sizes.get()]))
    types = list(main.body.block.arg_types), list(main.function_type.outputs)
    main.properties["function_type"] = FunctionType.from_lists(*types)


def symbols_argument(func: FuncOp) -> int | None:
    """The index of the argument that contains the sizes of symbols; None where there is none."""
    attrs = func.arg_attrs.data if func.arg_attrs is not None else ()
    return next((i for i, about in enumerate(attrs) if SYMBOLS in about.data), None)
