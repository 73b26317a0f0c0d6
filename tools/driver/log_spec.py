"""The log's specification of `STEPWELL_LOG`, with the names of passes checked."""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.runtime import log
from stepwell.runtime.environment import LOG


def expect_log_spec() -> None:
    """Take over the present value of `STEPWELL_LOG`. Raises: StepwellError `bad-option`."""
    if not log.is_current():
        value = LOG.value()
        log.use_spec(log.read_spec([(LOG.name, value)] if value else (), named_passes()))


def named_passes() -> Mapping[str, tuple[str, str]]:
    """Maps all names of passes to the registered name and the path of the module, or the name of others."""
    from stepwell.passes.registry import PASSES, all_passes, canonical_name

    names = {name: canonical_name(name) or name for name in all_passes()}
    places = {name: PASSES[step].place if step in PASSES else step for name, step in names.items()}
    paths = {name: place.partition(":")[0].replace(".", "/") for name, place in places.items()}
    return {name: (step, paths[name].removeprefix("stepwell/")) for name, step in names.items()}
