"""The kind `npu`: the tensor accelerator of `runtime/npu`, which its simulator runs."""

from __future__ import annotations

from stepwell.runtime.npu.config import config_of
from stepwell.runtime.targets.kind import Kind, Values, word


def _defaults(given: Values) -> Values:
    return {"config": "pynq"}


def _check(values: Values) -> None:
    """Require a known configuration, or a file of one. Raises: StepwellError `bad-target`."""
    config_of(str(values["config"]))


KIND = Kind("npu", ("npu",), {"config": word}, "a tensor accelerator in the manner of VTA", _defaults, _check)
