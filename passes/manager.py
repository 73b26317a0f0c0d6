"""The pass manager: pipelines as text, run over a module."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from stepwell.passes.registry import load_pass
from stepwell.runtime.errors import StepwellError


def parse_passes(pipeline: str) -> Iterator[ModulePass]:
    """
    The passes of a pipeline's text, `pass,pass{option=value}`, with their options.

    Raises: StepwellError `bad-pipeline`, `unknown-pass`, `bad-option`.
    """
    try:
        specs = list(parse_pipeline(pipeline))
    except ArgSpecParseError as error:
        raise StepwellError("bad-pipeline", "pipeline", str(error).partition("\n")[2].strip()) from None
    for spec in specs:
        pass_class = load_pass(spec.name)
        try:
            yield pass_class.from_spec(spec)
        except ValueError as error:
            raise StepwellError("bad-option", f"pass {spec.name}", str(error)) from None


def run_pipeline(module: ModuleOp, pipeline: str, ctx: Context) -> None:
    """Run a pipeline over `module`, in place."""
    for step in list(parse_passes(pipeline)):
        step.apply(ctx, module)
