"""The choice of a function's code for this machine."""

from __future__ import annotations

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import Entry, Variant
from stepwell.runtime.machine.demands import check_features, missing_features
from stepwell.runtime.machine.tile_check import TileFunctions, functions_of


def variant_of(entry: Entry) -> Variant:
    """
    The first variant of a function's code that this machine runs.

    Raises: StepwellError `wrong-cpu` when it runs none of them, with what the last one needs.
    """
    for variant in entry.variants:
        if not variant.sizes and not missing_features(variant.triple, variant.features, _tiles(variant)):
            return variant
    for variant in entry.variants[-1:]:
        check_features(variant.triple, variant.features, _tiles(variant))
    raise StepwellError("bad-artifact", None, "the artifact has no code for calls of any size")


def _tiles(variant: Variant) -> TileFunctions | None:
    return functions_of(variant.tile_check) if variant.tile_check is not None else None
