"""The demands of code on a machine (architecture, system, CPU features), and whether this one meets them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.cpu_features import NAMES, cpu_features, llvm_features, process_triple
from stepwell.runtime.machine.tile_permission import tile_refusal
from stepwell.runtime.targets.triples import arch_of, system_of

if TYPE_CHECKING:
    from stepwell.runtime.machine.tile_check import TileFunctions

_TILE_FEATURES = ("amx-int8", "amx-tile")


def granted_features(features: Sequence[str], ask: Callable[[], bool]) -> Sequence[str]:
    """
    The features of a CPU that this process can use; features of tile registers need the system's consent.

    Args: `ask` gets that consent, and is not called for a CPU without them.
    """
    tiles = [name for name in features if name in _TILE_FEATURES]
    return features if not tiles or ask() else [name for name in features if name not in tiles]


def missing_features(
    triple: str, features: Sequence[str], tiles: TileFunctions | None = None
) -> tuple[str, ...]:
    """
    Features of code that this machine lacks; a foreign architecture or system counts as one.

    Args: `tiles` is the code that tries tile registers, where the features include them (default: the
    compiler's).
    """
    host = process_triple()
    if (arch := arch_of(triple)) != arch_of(host):
        return (arch,)
    if system_of(triple) != system_of(host):
        return (triple.partition("-")[2],)
    present = _present(features)
    if missing := tuple(feature for feature in features if feature not in present):
        return missing
    granted = granted_features(features, lambda: tile_refusal(tiles) is None)
    return tuple(feature for feature in features if feature not in granted)


def _present(features: Sequence[str]) -> frozenset[str]:
    """The features of this CPU, as far as they are needed to judge `features`."""
    known = cpu_features()
    if NAMES.issuperset(features):
        return known
    try:
        return known | llvm_features()  # earlier versions demanded all that LLVM had found
    except StepwellError:
        return known


def check_features(triple: str, features: Sequence[str], tiles: TileFunctions | None = None) -> None:
    """
    Refuse code that this machine cannot run; arguments as for `missing_features`.

    Raises: StepwellError `wrong-cpu`, with the missing features.
    """
    if missing := missing_features(triple, features, tiles):
        notes = [f"this machine is {process_triple()}"]
        if cpu_features().issuperset(missing):
            notes.append(f"its tile registers are not used: {tile_refusal(tiles)}")
        raise StepwellError(
            "wrong-cpu",
            None,
            f"the code was compiled for {triple} and needs {', '.join(missing)}, which this machine lacks",
            note=notes,
            help=_other_ways(triple, features),
        )


def _other_ways(triple: str, features: Sequence[str]) -> str:
    """The help for code that this machine cannot run."""
    here = "compile on this machine"
    if arch_of(triple) == arch_of(process_triple()):
        return f"{here}, or for a lower level such as `--mcpu x86-64-v2`"
    from stepwell.runtime.targets.cpu import level_of

    row = level_of(arch_of(triple), frozenset(features))
    if row is None or row.emulator in ("native", "none"):
        return here
    model = f"`stepwell run MODEL --mcpu {row.name} --emulate` runs the model on an emulated CPU"
    return f"{here}; {model}, `stepwell run FILE.so --emulate` a library"
