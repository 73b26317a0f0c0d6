"""The passes that pin ops to devices before the rest of them is placed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from stepwell.runtime.backends import find_backend
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.devices.chosen import chosen_devices, places_ops
from stepwell.tools.driver.options import CompileOptions


def placement_passes(options: CompileOptions) -> Sequence[str]:
    """
    The passes that pin ops to devices by rules of placement and tables of accelerators; none for a GPU alone.

    Raises: StepwellError `no-file` for rules that are not there, `bad-option` for a name that no
    pass can read.
    """
    if not places_ops(options):
        return []
    accelerators = [each for each in chosen_devices(options) if each.backend is not None]
    backends = [find_backend(str(each.backend)) for each in accelerators]
    wanted: chain[str] = chain.from_iterable(getattr(backend, "passes", ()) for backend in backends)
    passes = list(dict.fromkeys(wanted))  # those of two accelerators run once
    if options.place is not None:
        if '"' in (file := Path(options.place).as_posix()):
            raise StepwellError("bad-option", None, f"the file of rules has a quote in its name: {file}")
        passes.append(f'annotate-devices{{file="{file}" by=table}}')
    pinned = str(options.place is not None).lower()
    for each in accelerators:
        passes.append(f"merge-composite{{table={each.backend}}}")
        passes.append(f"pin-composites{{table={each.backend} device={each.name} pinned={pinned}}}")
    return passes
