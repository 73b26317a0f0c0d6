"""Plugins, pass contexts and errors in messages between processes that compile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from traceback import extract_tb
from typing import Any, cast

from stepwell.passes.context import PassContext
from stepwell.passes.trace_events import TraceEvents, traces_of
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.frames import Head
from stepwell.runtime.log import spec_data, use_spec_data
from stepwell.runtime.plugins import LOADED


def handed_over(context: PassContext) -> Head:
    """A message with the plugins and the log's specification of this process, and a pass context."""
    plugins = [[plugin.name, plugin.digest] for plugin in LOADED.values()]
    log, trace = spec_data(), bool(traces_of(context))
    return {"plugins": plugins, "log": log, "trace": trace, "context": context.as_data()}


def taken_over(request: Head, load: Callable[[str], None]) -> PassContext:
    """
    The pass context of a message, after loading the plugins.

    Args: `load` loads a plugin by name.
    Raises: StepwellError, also where a plugin has another digest now.
    """
    for name, digest in cast("list[list[str]]", request["plugins"]):
        load(name)
        if digest not in [plugin.digest for plugin in LOADED.values()]:
            raise StepwellError("bad-plugin", name, "it has changed since it was loaded")
    use_spec_data(cast("list[object]", request["log"]))
    data = cast("dict[str, Any]", request["context"])
    config = cast("dict[str, object]", data.pop("config"))  # JSON has lists where options are tuples
    config = {key: tuple(cast("list[object]", v)) if isinstance(v, list) else v for key, v in config.items()}
    return PassContext(config=config, instruments=[TraceEvents()] if request["trace"] else [], **data)


def described(error: Exception) -> Head:
    """The fields of an error, which `error_of` makes an error of again; others than ours are our defects."""
    if not isinstance(error, StepwellError):
        frame = extract_tb(error.__traceback__)[-1]
        note = f"raised at {frame.filename}:{frame.lineno}, in {frame.name}"
        error = InternalError(None, f"{type(error).__name__}: {error}", note=note)
    names = ("code", "where", "message", "notes", "help", "excerpt", "reproducer")
    return {name: getattr(error, name) for name in names}


def error_of(fields: Mapping[str, Any], work: str) -> StepwellError:
    """The error of a child; a defect of ours is located at the child's work, if at nothing else."""
    where, message, notes = fields["where"], fields["message"], fields["notes"]
    if fields["code"] == "internal":
        error: StepwellError = InternalError(where or work, message, note=notes)
    else:
        rest = {name: fields[name] for name in ("help", "excerpt")}
        error = StepwellError(fields["code"], where, message, note=notes, **rest)
    error.reproducer = fields["reproducer"]
    return error
