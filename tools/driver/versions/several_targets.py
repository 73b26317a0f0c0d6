"""Models for several targets in a file: loading takes the first target that the machine runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import TARGET, ModelImage
from stepwell.runtime.targets.several import at_commas, is_several
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.versions.fixed_sizes import with_function


def targets_of(text: str | None) -> tuple[str, ...]:
    """
    The targets of a text such as `x86-64-v3,aarch64`, whose commas in braces are those of a target.

    Several devices of one model, `gpu0=cuda,npu0=npu`, are one target.
    Raises: StepwellError `bad-option` for a target that is given twice, or an empty one.
    """
    if text is None or is_several(text):
        return () if text is None else (text,)
    targets = at_commas(text)
    if len(targets) > 1 and (len(set(targets)) < len(targets) or not all(targets)):
        message = f"targets are separated by commas, each once, found {text!r}"
        raise StepwellError("bad-option", None, message)
    return tuple(targets)


def image_for_targets(
    options: Sequence[CompileOptions], build: Callable[[CompileOptions], ModelImage]
) -> ModelImage:
    """
    The images of a model for several targets as one, the preferred target first.

    Raises: StepwellError `bad-option` for a model that has functions besides `main`; as `build`.
    """
    first, *others = (build(replace(each, specialize=_no_sizes(each))) for each in options)
    for image in (first, *others):
        if image.weight_check is not None:  # of the cache's file
            image.weight_check.wait()
        if len(image.functions) > 1 or image.program:
            message = "a model with functions of its own is compiled for one target a file"
            raise StepwellError("bad-option", None, message, help="write a file for each target")
    for image in others:
        variant = image.main.variants[0]
        name = f"{TARGET}{variant.triple} with {','.join(variant.features)}"
        if name in first.functions or variant[:2] == first.main.variants[0][:2]:
            message = f"two of the targets are {variant.triple} with the same features"
            raise StepwellError("bad-option", None, message, help="leave one of them out")
        first = with_function(first, name, image)
    return first._replace(weight_check=None)


def _no_sizes(options: CompileOptions) -> list[dict[str, int]]:
    """No code for fixed sizes. Raises: StepwellError `bad-option` where some is wanted."""
    if options.specialize:
        message = "code for fixed sizes and code for several targets do not go into one file"
        raise StepwellError("bad-option", None, message, help="leave --specialize out, or name one target")
    return []
