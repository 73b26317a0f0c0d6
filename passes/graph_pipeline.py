"""The pipeline of level 1 for a target and for options; requirements on the passes that options name."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import reduce

from stepwell.dialects.plugins.strategies import STRATEGIES
from stepwell.passes.pipelines import FROM_MODELS, GRAPH, MARKERS, MODEL, PARTITION, PLACEMENT, SHARE, Step
from stepwell.passes.registry import is_ours, load_pass
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.precisions import F32, TF32
from stepwell.runtime.machine.target import TargetDescription

NEEDED_BELOW = {
    **dict.fromkeys(FROM_MODELS.values(), "every later pass works on the ops that it makes"),
    "fuse-ops": "it decides what becomes a kernel, and kernels alone are lowered",
}
"""Passes that nothing below level 1 does without, and why."""


def expect_passes_of_level_1(names: Iterable[str]) -> None:
    """
    Require passes of level 1, of plugins, or `share-kernels`.

    Raises: StepwellError `unknown-pass`, `bad-option`.
    """
    known = dict.fromkeys(
        step.name for step in (*MODEL, *GRAPH, *PARTITION, *PLACEMENT, *SHARE) if step.name not in MARKERS
    )
    for given in names:
        name = load_pass(given).name
        if name not in known and is_ours(name):
            message = f"the pipeline of level 1 has no {given}, and these options are about it alone"
            raise StepwellError(
                "bad-option",
                None,
                message,
                help=f"level 1 runs {', '.join(known)}, and a pass of a plugin (--load); "
                "stepwell-opt runs any pass, and in Python PassContext(disabled_pass=…) leaves any out",
            )


def expect_needed_passes(disabled: Container[str]) -> None:
    """Require the passes that the way to machine code needs. Raises: StepwellError `bad-option`."""
    for name, reason in NEEDED_BELOW.items():
        if name in disabled:
            raise StepwellError(
                "bad-option",
                None,
                f"{name} is a disabled pass, and below level 1 nothing goes on without it: {reason}",
                help="--emit graph writes the program as it is without the pass",
            )


def graph_steps(
    opt_level: int,
    target: TargetDescription,
    winograd: str = "auto",
    backends: Sequence[str] = (),
    *,
    backend_passes: Sequence[str] = (),
    low_memory: bool = False,
    activations: str = "auto",
    strategies: Sequence[str] = (),
    precision: str = "f32",
    keep_f32: Sequence[str] = (),
    required: Sequence[str] = (),
    disabled: Container[str] = (),
    device: str = "",
    placement_passes: Sequence[str] = (),
    strict_device: bool = False,
) -> list[Step]:
    """
    The passes of level 1 for an optimization level: 0 keeps every digit, from 1 on rounding may differ.

    Args: `winograd` is `off`, or a mode of `winograd-conv`; `backends` take their part of the model, after
    `backend_passes` ran; `low_memory` allows no packed weights that are larger than the model's;
    `activations` is an option of `pack-nbits`, `strategies` one of `force-strategies`; products round their
    operands to `precision`, except for nodes that patterns of `keep_f32` name; passes named in `required` run
    even if their level is higher, and plugins' passes among them run in this order; passes in `disabled`
    never run. `device` is the module's device that computes all ops that it can, or `""`, after
    `placement_passes`; with `strict_device`, other ops are an error.
    Raises: StepwellError `bad-option` for `winograd` "fast", or a Winograd strategy, where `winograd-conv`
    does not run.
    """
    lanes = str(target.f32_lanes)
    shorts = str(target.arch == "x86_64" and not target.has_byte_products and not low_memory).lower()
    is_direct = winograd == "off" or low_memory or "winograd-conv" in disabled
    numbers = {"LANES": lanes, "SHORTS": shorts, "WINOGRAD": winograd, "REDUCED": str(not is_direct).lower()}
    numbers["ACTIVATIONS"] = activations
    numbers["DIGITS"] = str(target.has_digit_products).lower()
    steps: list[Step] = []
    for step in GRAPH:
        off = step.name in disabled or (step.name == "winograd-conv" and is_direct)
        if step.name == "BACKENDS":
            steps += [Step(text, "a backend's, before its table is matched") for text in backend_passes]
            steps += _partition_steps(backends)
            steps += [Step(text, "gives other devices their ops") for text in placement_passes]
            steps += _placement_steps(device, strict_device)
        elif step.name == "PRECISION":
            steps += _precision_steps(precision, keep_f32)
        elif step.name == "PLUGINS":
            steps += [
                Step(name, "a plugin's") for name in required if name not in disabled and not is_ours(name)
            ]
        elif not off and (opt_level >= step.level or step.name in required):
            if step.name == "convert-layout":
                chosen = _by_strategy(strategies, numbers)
                steps += [each for each in chosen if each.name not in disabled]
            steps.append(_filled_in(step, numbers))
    _expect_layouts(strategies, steps)
    wanted = next((text for text in strategies if text.rpartition("=")[2].startswith("winograd")), None)
    wanted = "winograd is fast" if winograd == "fast" else wanted and f"the strategy is {wanted}"
    if wanted and not any(step.name == "winograd-conv" for step in steps):
        raise StepwellError(
            "bad-option",
            None,
            f"{wanted}, and winograd-conv does not run",
            help="it runs from opt_level 2 on, with memory normal, unless it is disabled",
        )
    return steps


def _by_strategy(strategies: Sequence[str], words: Mapping[str, str]) -> Iterator[Step]:
    """The steps that write the strategies of a user, and apply strategies of plugins, if there are any."""
    if strategies:
        nodes = ",".join(f'"{text}"' for text in strategies)
        text = f"force-strategies{{nodes={nodes} lanes=LANES}}"
        yield _filled_in(Step(text, "writes the ways to compute nodes that a user chose"), words)
    if strategies or STRATEGIES:
        text = "apply-strategies{lanes=LANES winograd=REDUCED}"
        yield _filled_in(Step(text, "computes nodes by formulas of plugins"), words)


def _expect_layouts(strategies: Sequence[str], steps: Sequence[Step]) -> None:
    """Require the pass that reads strategies. Raises: StepwellError `bad-option`."""
    if wrong := [text for text in strategies if not all(text.rpartition("=")) or '"' in text]:
        raise StepwellError("bad-option", None, f"a strategy is NODE=NAME, found {wrong[0]!r}")
    if strategies and not any(step.name == "convert-layout" for step in steps):
        help = "it runs from opt_level 2 on, unless it is disabled"
        raise StepwellError(
            "bad-option", None, f"the strategy is {strategies[0]}, and convert-layout does not run", help=help
        )


def _filled_in(step: Step, words: Mapping[str, str]) -> Step:
    return step._replace(text=reduce(lambda text, word: text.replace(word, words[word]), words, step.text))


def _partition_steps(backends: Sequence[str]) -> list[Step]:
    merge, *rest = PARTITION
    words = {"BACKENDS": ",".join(backends)}
    merges = [_filled_in(merge, {"BACKEND": name}) for name in backends]
    return [*merges, *(_filled_in(step, words) for step in rest)] if backends else []


def _precision_steps(precision: str, keep: Sequence[str]) -> list[Step]:
    """The pass for products of less than f32, and the fold of the weights that it casts."""
    if precision in (F32, TF32):
        return []  # of TF32 are the products that a device computes, and no type of the program
    kept = ",".join(f'"{pattern}"' for pattern in keep)
    text = f"to-mixed-precision{{dtype={precision} operands=true{f' keep={kept}' if kept else ''}}}"
    cast = Step("fold-constant", "computes the weights of 16 bits")
    return [Step(text, "rounds what products read"), cast]


def _placement_steps(device: str, strict: bool) -> list[Step]:
    words = {"DEVICE": device, "STRICT": str(strict).lower()}
    return [_filled_in(step, words) for step in PLACEMENT] if device else []
