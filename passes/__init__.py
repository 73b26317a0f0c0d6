"""IR to IR on one level, one pass a file; and the infrastructure that runs passes."""

from stepwell import dialects as _dialects  # before xDSL's dialects, whose definitions it makes late
from stepwell.passes.base import FunctionPass, Pass
from stepwell.passes.context import PassContext, count, list_configs, register_config, remark
from stepwell.passes.instruments import Instrument
from stepwell.passes.manager import parse_passes, run_pass, run_pipeline
from stepwell.passes.registry import all_passes as list_passes

del _dialects
__all__ = [
    "FunctionPass",
    "Instrument",
    "Pass",
    "PassContext",
    "count",
    "list_configs",
    "list_passes",
    "parse_passes",
    "register_config",
    "remark",
    "run_pass",
    "run_pipeline",
]
