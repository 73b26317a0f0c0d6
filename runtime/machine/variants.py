"""The choice of a function's code for this machine."""

from __future__ import annotations

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import MAIN, Entry, ModelImage, Variant
from stepwell.runtime.machine.demands import check_features, missing_features
from stepwell.runtime.machine.tile_check import TileFunctions, functions_of


def variant_of(entry: Entry) -> Variant:
    """
    The first variant of a function's code that this machine runs.

    Raises: StepwellError `wrong-cpu` when it runs none of them, with the features that the last one needs.
    """
    for variant in entry.variants:
        if not variant.sizes and not missing_features(variant.triple, variant.features, _tiles(variant)):
            return variant
    for variant in entry.variants[-1:]:
        check_features(variant.triple, variant.features, _tiles(variant))
    raise StepwellError("bad-artifact", None, "the artifact has no code for calls of any size")


def for_this_machine(image: ModelImage) -> ModelImage:
    """
    The image with `main` for the first of its targets that this machine runs.

    Raises: StepwellError `wrong-cpu` where it runs none of several.
    """
    if len(targets := image.targets) < 2:
        return image
    for entry in targets:
        if any(not missing_features(v.triple, v.features, _tiles(v)) for v in entry.variants):
            return image._replace(functions={MAIN: entry})
    notes = [f"{v.triple}: {', '.join(v.features) or 'no features'}" for e in targets for v in e.variants[:1]]
    message = "this machine runs none of the targets of the file"
    raise StepwellError("wrong-cpu", None, message, note=notes, help="compile the model for this machine")


def _tiles(variant: Variant) -> TileFunctions | None:
    return functions_of(variant.tile_check) if variant.tile_check is not None else None
