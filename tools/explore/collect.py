"""The data of the explorer, `stepwell-explore/1`: all that the page shows, as JSON values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block

from stepwell.dialects import graph
from stepwell.dialects.locations import node_names
from stepwell.passes.context import PassContext, Remark
from stepwell.passes.pipelines import SHARE_PIPELINE, WORK_PIPELINE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.image import ModelImage
from stepwell.runtime.model import CompiledModel, checked_threads
from stepwell.runtime.timing import TimedCall, work_of
from stepwell.tools.check.layouts import layouts_of
from stepwell.tools.driver.compilation import Compilation, is_lowered, is_on_loops, kernels_of, main_of
from stepwell.tools.driver.image import Progress, compile_image, deduplicate, timed_calls
from stepwell.tools.driver.levels import chosen_passes, to_level_1
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.reading import start
from stepwell.tools.driver.tensor_program import to_level_2
from stepwell.tools.explore.drawing import drawing_of
from stepwell.tools.explore.graph_passes import GraphPasses, refusals
from stepwell.tools.explore.kernel_steps import Data, Printed, code_bytes
from stepwell.tools.explore.kernels import collect_kernels
from stepwell.tools.explore.memory import buffers_of
from stepwell.tools.explore.model_graph import ModelGraph
from stepwell.tools.explore.overlays import SCHEMA
from stepwell.tools.inputs import completed_inputs


class Fused(NamedTuple):
    """A kernel on the graph level: how it was formed, and its text."""

    rule: str
    pattern: str
    printed: Printed


@dataclass
class Collection:
    """A compilation that is being collected: the program on the levels that the data is of."""

    compilation: Compilation
    passes: GraphPasses
    model: ModelGraph
    remarks: list[Remark] = field(default_factory=list[Remark])
    fused: dict[tuple[str, ...], Fused] = field(default_factory=dict[tuple[str, ...], "Fused"])
    """The kernels on the graph level by the nodes of their locations."""
    hosts: list[str] = field(default_factory=list[str])
    """What runs each host call: a backend, or the host's own functions."""
    layouts: dict[str, str] = field(default_factory=dict[str, str])
    """The layouts of nodes' results that are stored in another than the model's."""


def collect(
    model: Path,
    options: CompileOptions,
    *,
    command: str = "",
    feeds: Mapping[str, object] | None = None,
    run: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Data:
    """
    Compile a model, run it unless `run` is False, and return the explorer's data.

    Args: `options` with `profile` where it is run; `feeds` are arrays by input name (default: made up);
    `command` is shown.
    Raises: StepwellError of the step that failed.
    """
    return collect_and_compile(
        model, options, command=command, feeds=feeds, run=run, threads=threads, progress=progress
    )[0]


def collect_and_compile(
    model: Path,
    options: CompileOptions,
    *,
    command: str = "",
    feeds: Mapping[str, object] | None = None,
    run: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Data, ModelImage]:
    """The explorer's data, as `collect`, and the compiled model."""
    found = _to_kernels(model, options)
    compilation = found.compilation
    interface = read_interface(main_of(compilation.module))
    shared = Compilation(compilation.module.clone(), compilation.ctx)
    names = [op.callee.string_value() for op in main_of(shared.module).walk() if isinstance(op, func.CallOp)]
    with chosen_passes(options).active():
        shared.run("kernels", SHARE_PIPELINE)
    deduplicate(shared.module, compilation.ctx.target)
    kernels = {f.sym_name.data: f for f in kernels_of(shared.module)}
    found.hosts = [op.kind.data for op in main_of(shared.module).walk() if isinstance(op, graph.HostCallOp)]
    timed = timed_calls(main_of(shared.module), kernels, names)
    details = collect_kernels(kernels, compilation.ctx.target, options.processes)
    cache = KernelCache() if options.use_cache else None
    image = compile_image(
        compilation,
        interface,
        cache,
        passes=chosen_passes(options),
        timed=options.profile,
        processes=options.processes,
        progress=progress,
    )
    arrays = completed_inputs(image.main.interface, feeds or {})
    calls = _calls(found, timed, image, arrays, run=run, threads=threads)
    listed = _kernels(found, timed, image, details, calls)
    sizes = _sizes(image, arrays, run)
    buffers = buffers_of(shared.module, details, calls, sizes)
    _link_nodes(found, calls)
    data: Data = {
        "schema": SCHEMA,
        "title": f"{model.name} for {options.mcpu}, --opt-level {options.opt_level}",
        "command": command,
        "versions": _versions(),
        "target": compilation.ctx.target.to_json(),
        "summary": {**image.summary, **image.effort},
        "nodes": found.model.nodes,
        "values": found.model.values,
        "weights": found.model.weights,
        "edges": found.model.edges,
        "kernels": listed,
        "calls": calls,
        "buffers": buffers,
        "passes": found.passes.rows,
        "remarks": [_remark(remark) for remark in found.remarks if remark.pass_name != "fuse-ops"],
        "timeline": [{"name": name, "ms": round(1e3 * s, 3)} for name, s in compilation.seconds.items()],
        "peak": _peak(threads) if run else None,
        "overlays": [],
    }
    data |= {"drawing": drawing_of(found.model.nodes, found.model.edges, calls)}
    return data, image


def _to_kernels(model: Path, options: CompileOptions) -> Collection:
    """The model on level 2, with what was recorded on the way."""
    with PassContext(instruments=[passes := GraphPasses()], config={"fuse-ops.explain": True}) as context:
        compilation = start(model, options)
        if is_on_loops(compilation.module):
            message = "below level 2 a program has no kernels on tensors to show"
            raise StepwellError("bad-option", str(model), message, help="give the model it was made from")
        found = Collection(compilation, passes, ModelGraph.of(main_of(compilation.module)))
        to_level_1(compilation, options)
        for op in compilation.module.walk():
            if isinstance(op, graph.FusedOp):
                fused = Fused(_word(op, "kind"), _word(op, "pattern"), Printed.of(op))
                found.fused.setdefault(tuple(node_names(op.location)), fused)
        for value, layout in layouts_of(compilation.module).items():
            if not isinstance(op := value.owner, Block | graph.FusedOp | graph.LayoutTransformOp):
                found.layouts |= dict.fromkeys(node_names(op.location), str(layout))
        if not is_lowered(compilation.module):
            compilation.run("graph", WORK_PIPELINE)
        passes.level = "tensor"
        to_level_2(compilation, options)
    found.model.complete(passes.types)
    found.remarks = context.remarks
    PassContext.current().remarks += [remark for remark in context.remarks if remark.pass_name != "fuse-ops"]
    return found


def _calls(
    found: Collection,
    timed: Sequence[TimedCall],
    image: ModelImage,
    feeds: Mapping[str, object],
    *,
    run: bool,
    threads: int | None,
) -> list[Data]:
    """The calls of `@main`, with work, and times and shares of the peak where the model is run."""
    flops, moved = work_of(timed, _sizes(image, feeds, run))
    us: Sequence[Data | None] = [None] * len(timed)
    shares: Sequence[float | None] = [None] * len(timed)
    if run:
        from stepwell.tools.explore.times import measured
        from stepwell.tools.measure.calibrate import machine_limits

        model = CompiledModel(image, threads=threads)
        us, limits = measured(model, feeds), machine_limits()
        speed = np.array([limits.bandwidth(model.threads, size) for size in moved])
        least = np.maximum(flops / limits.flops(model.threads), moved / speed)
        seconds = np.array([max(cast(float, row["median"]), 1e-3) * 1e-6 for row in us])
        shares = [round(float(share), 1) for share in 100 * least / seconds]
    hosts = iter(found.hosts)
    symbols = {symbol: f"k{i}" for i, symbol in enumerate(dict.fromkeys(c.symbol for c in timed if c.symbol))}
    return [
        {
            "id": f"c{i}",
            "kernel": symbols.get(call.symbol),
            "host": call.name if call.kind == "host" else None,
            "backend": next(hosts) if call.kind == "host" else "native",
            "nodes": [found.model.ids[name] for name in call.nodes if name in found.model.ids],
            "flops": float(flops[i]),
            "bytes": float(moved[i]),
            "us": us[i],
            "percent_of_peak": shares[i],
            "local": None,
            "total": None,
            "allowed": None,
            "arena": [],
        }
        for i, call in enumerate(timed)
    ]


def _kernels(
    found: Collection,
    timed: Sequence[TimedCall],
    image: ModelImage,
    details: Mapping[str, Data],
    calls: Sequence[Data],
) -> list[Data]:
    """The kernels in the order of their first calls; each call gets the sets of nodes of its lines."""
    symbols = dict.fromkeys(call.symbol for call in timed if call.symbol)
    listed: list[Data] = []
    for index, symbol in enumerate(symbols):
        own = [call for call in calls if call["kernel"] == f"k{index}"]
        nodes = [call.nodes for call in timed if call.symbol == symbol]
        detail, fused = details[symbol], found.fused.get(nodes[0])
        sets = {tuple(names): i for i, names in enumerate(cast("list[list[str]]", detail["sets"]))}
        steps = cast("list[Data]", detail["steps"])
        if fused is not None:
            step: Data = {"level": "graph", "pass": "fuse-ops", "ms": 0.0}
            steps = [step | fused.printed.data(sets), *steps]
        for call, names in zip(own, nodes, strict=True):
            call["sets"] = _sets_of(found, list(sets), fused, found.fused.get(names))
        listed.append(
            {
                "id": f"k{index}",
                "symbol": symbol,
                "calls": [call["id"] for call in own],
                "rule": "" if fused is None else fused.rule,
                "pattern": "" if fused is None else fused.pattern,
                "remarks": detail["remarks"],
                "schedule": detail["schedule"],
                "steps": steps,
                "asm": detail["asm"],
                "code_bytes": code_bytes(image, symbol),
                "spills": detail["spills"],
            }
        )
    return listed


def _sets_of(
    found: Collection, sets: Sequence[tuple[str, ...]], first: Fused | None, own: Fused | None
) -> list[list[str]]:
    """The sets of nodes of a kernel's lines for another call: the texts of equal kernels have equal lines."""
    others: dict[str, str] = {}
    if first is not None and own is not None:
        for a, b in zip(first.printed.nodes, own.printed.nodes, strict=False):
            others |= zip(a, b, strict=False)
    ids = found.model.ids
    return [[ids[other] for n in names if (other := others.get(n, n)) in ids] for names in sets]


def _link_nodes(found: Collection, calls: Sequence[Data]) -> None:
    """Add calls or a note to nodes, and to edges between kernels the reason for them."""
    by_id = {cast(str, node["id"]): node for node in found.model.nodes}
    for node in by_id.values():
        node["kernels"], node["note"] = [], ""
        node["layout"] = found.layouts.get(cast(str, node["name"]), "")
    for call in calls:
        for id in cast("list[str]", call["nodes"]):
            cast("list[object]", by_id[id]["kernels"]).append(call["id"])
    for node in by_id.values():
        if not node["kernels"]:
            gone = found.passes.removed.get(cast(str, node["name"]))
            node["note"] = (
                f"no kernel: gone after {gone}" if gone else "no kernel: a view, a constant or a size"
            )
    why = refusals(found.remarks)
    for edge in found.model.edges:
        a, b = by_id[cast(str, edge["from"])], by_id[cast(str, edge["to"])]
        both = set(cast("list[str]", a["kernels"])) & set(cast("list[str]", b["kernels"]))
        edge["fused"] = bool(both)
        edge["why"] = "" if both else why.get((str(a["name"]), str(b["name"]))) or _no_kernel(a, b)


def _no_kernel(a: Data, b: Data) -> str:
    for node in (a, b):
        if node["note"]:
            return f"{node['name']}: {node['note']}"
    return "they are parts of several kernels, whose values between are of other nodes"


def _sizes(image: ModelImage, feeds: Mapping[str, object], run: bool) -> Mapping[str, int]:
    """The symbols of a call; none where made-up sizes do not fit a model that is not run."""
    interface = image.main.interface
    try:
        return interface.bind([np.asarray(feeds[spec.name]).shape for spec in interface.inputs]).values
    except StepwellError:
        if run:
            raise
        return {}


def _word(op: graph.FusedOp, key: str) -> str:
    word = op.attributes.get(key)
    return word.data if isinstance(word, StringAttr) else ""


def _remark(remark: Remark) -> Mapping[str, str]:
    return {"pass": remark.pass_name, "where": remark.where, "message": remark.message}


def _peak(threads: int | None) -> Mapping[str, float]:
    """The limits of the machine, which are the ceilings of the roofline."""
    from stepwell.tools.measure.calibrate import machine_limits

    limits, count = machine_limits(), checked_threads(threads)
    return {"gflops": limits.flops(count) / 1e9, "memory_gbps": limits.bandwidth(count, float("inf")) / 1e9}


def _versions() -> Mapping[str, str]:
    from importlib.metadata import version

    from stepwell import __version__

    return {"stepwell": __version__, **{name: version(name) for name in ("llvmlite", "xdsl")}}
