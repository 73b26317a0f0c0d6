"""Stepwell: a deep-learning compiler that people can read."""

from importlib import import_module
from os.path import dirname, isdir
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepwell import passes as passes
    from stepwell import patterns as patterns
    from stepwell import te as te
    from stepwell import tuning as tuning
    from stepwell.dialects import amx as amx
    from stepwell.dialects import arith as arith
    from stepwell.dialects import gpu as gpu
    from stepwell.dialects import graph as graph
    from stepwell.dialects import llvm as llvm
    from stepwell.dialects import onnx as onnx
    from stepwell.dialects import sched as sched
    from stepwell.dialects import vector as vector
    from stepwell.dialects._xdsl import StepwellContext as Context
    from stepwell.dialects.plugins.operators import onnx_op as onnx_op
    from stepwell.dialects.plugins.ops import op as op
    from stepwell.lowering.plugin_lowerings import lower as lower
    from stepwell.passes.context import PassContext as PassContext
    from stepwell.passes.instruments import Instrument as Instrument
    from stepwell.passes.instruments import OpCounts as OpCounts
    from stepwell.passes.instruments import PrintIR as PrintIR
    from stepwell.passes.instruments import RewriteCounts as RewriteCounts
    from stepwell.passes.instruments import Snapshots as Snapshots
    from stepwell.passes.instruments import VerifyEach as VerifyEach
    from stepwell.passes.registry import register_pass as register_pass
    from stepwell.passes.trace_events import TraceEvents as TraceEvents
    from stepwell.runtime import ffi as ffi
    from stepwell.runtime import rpc as rpc
    from stepwell.runtime import serve as serve
    from stepwell.runtime.backends import register_backend as register_backend
    from stepwell.runtime.devices.table import device as device
    from stepwell.runtime.devices.table import found_devices as devices
    from stepwell.runtime.errors import StepwellError as StepwellError
    from stepwell.runtime.library import Library as Library
    from stepwell.runtime.machine.named_target import Target as Target
    from stepwell.runtime.model import CompiledModel as CompiledModel
    from stepwell.runtime.sessions.generation import generate as generate
    from stepwell.runtime.values.loading import load as load
    from stepwell.tools.api import pipelines as pipelines
    from stepwell.tools.api.compile import compile as compile
    from stepwell.tools.api.explore import explore as explore
    from stepwell.tools.api.export import export as export
    from stepwell.tools.api.instruments import Diff as Diff
    from stepwell.tools.api.instruments import Timing as Timing
    from stepwell.tools.api.module import Module as Module
    from stepwell.tools.api.quantize import quantize as quantize
    from stepwell.tools.api.reading import import_onnx as import_onnx
    from stepwell.tools.api.reading import parse as parse
    from stepwell.tools.api.reading import read as read
    from stepwell.tools.debug.session import debug as debug
    from stepwell.tools.driver.options import CompileOptions as CompileOptions
    from stepwell.tools.notebook.extension import load_ipython_extension as load_ipython_extension
    from stepwell.tools.notebook.shown import show as show
    from stepwell.tools.training.trainer import Trainer as Trainer
    from stepwell.tools.tuning.tune import tune as tune

__version__ = "0.1.0"

if not isdir(f"{__path__[0]}/runtime"):  # a clone without symbolic links: the folders are beside this one
    __path__.append(dirname(__path__[0]))

# The public names, found on first use, so that `import stepwell` stays light: name -> "module:attribute", or
# the module itself.
_LAZY = {
    "CompileOptions": "stepwell.tools.driver.options:CompileOptions",
    "CompiledModel": "stepwell.runtime.model:CompiledModel",
    "Context": "stepwell.dialects._xdsl:StepwellContext",
    "Diff": "stepwell.tools.api.instruments:Diff",
    "Instrument": "stepwell.passes.instruments:Instrument",
    "Library": "stepwell.runtime.library:Library",
    "Module": "stepwell.tools.api.module:Module",
    "OpCounts": "stepwell.passes.instruments:OpCounts",
    "PassContext": "stepwell.passes.context:PassContext",
    "PrintIR": "stepwell.passes.instruments:PrintIR",
    "RewriteCounts": "stepwell.passes.instruments:RewriteCounts",
    "Snapshots": "stepwell.passes.instruments:Snapshots",
    "StepwellError": "stepwell.runtime.errors:StepwellError",
    "Target": "stepwell.runtime.machine.named_target:Target",
    "Timing": "stepwell.tools.api.instruments:Timing",
    "TraceEvents": "stepwell.passes.trace_events:TraceEvents",
    "Trainer": "stepwell.tools.training.trainer:Trainer",
    "VerifyEach": "stepwell.passes.instruments:VerifyEach",
    "amx": "stepwell.dialects.amx",
    "arith": "stepwell.dialects.arith",
    "compile": "stepwell.tools.api.compile:compile",
    "debug": "stepwell.tools.debug.session:debug",
    "device": "stepwell.runtime.devices.table:device",
    "devices": "stepwell.runtime.devices.table:found_devices",
    "explore": "stepwell.tools.api.explore:explore",
    "export": "stepwell.tools.api.export:export",
    "ffi": "stepwell.runtime.ffi",
    "generate": "stepwell.runtime.sessions.generation:generate",
    "gpu": "stepwell.dialects.gpu",
    "graph": "stepwell.dialects.graph",
    "import_onnx": "stepwell.tools.api.reading:import_onnx",
    "llvm": "stepwell.dialects.llvm",
    "load": "stepwell.runtime.values.loading:load",
    "load_ipython_extension": "stepwell.tools.notebook.extension:load_ipython_extension",
    "lower": "stepwell.lowering.plugin_lowerings:lower",
    "onnx": "stepwell.dialects.onnx",
    "onnx_op": "stepwell.dialects.plugins.operators:onnx_op",
    "op": "stepwell.dialects.plugins.ops:op",
    "parse": "stepwell.tools.api.reading:parse",
    "passes": "stepwell.passes",
    "patterns": "stepwell.patterns",
    "pipelines": "stepwell.tools.api.pipelines",
    "quantize": "stepwell.tools.api.quantize:quantize",
    "read": "stepwell.tools.api.reading:read",
    "register_backend": "stepwell.runtime.backends:register_backend",
    "register_pass": "stepwell.passes.registry:register_pass",
    "rpc": "stepwell.runtime.rpc",
    "sched": "stepwell.dialects.sched",
    "serve": "stepwell.runtime.serve",
    "show": "stepwell.tools.notebook.shown:show",
    "te": "stepwell.te",
    "tune": "stepwell.tools.tuning.tune:tune",
    "tuning": "stepwell.tuning",
    "vector": "stepwell.dialects.vector",
}

__all__ = [
    "CompileOptions",
    "CompiledModel",
    "Context",
    "Diff",
    "Instrument",
    "Library",
    "Module",
    "OpCounts",
    "PassContext",
    "PrintIR",
    "RewriteCounts",
    "Snapshots",
    "StepwellError",
    "Target",
    "Timing",
    "TraceEvents",
    "Trainer",
    "VerifyEach",
    "amx",
    "arith",
    "compile",
    "debug",
    "device",
    "devices",
    "explore",
    "export",
    "ffi",
    "generate",
    "gpu",
    "graph",
    "import_onnx",
    "llvm",
    "load",
    "load_ipython_extension",
    "lower",
    "onnx",
    "onnx_op",
    "op",
    "parse",
    "passes",
    "patterns",
    "pipelines",
    "quantize",
    "read",
    "register_backend",
    "register_pass",
    "rpc",
    "sched",
    "serve",
    "show",
    "te",
    "tune",
    "tuning",
    "vector",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'stepwell' has no attribute {name!r}")
    module, _, attribute = _LAZY[name].partition(":")
    if module.startswith("stepwell.runtime."):
        value = import_module(module)
    else:
        from stepwell.runtime.collector import compiler_imports
        from stepwell.runtime.installation import expect_compiler

        expect_compiler(f"stepwell.{name}")
        with compiler_imports():
            value = import_module(module)
    value = getattr(value, attribute) if attribute else value
    globals()[name] = value
    return value
