"""
The one lazy table of passes and conversions: name -> dotted name. Nothing is imported until it is asked for.

Conversions live in `lowering/`, which `passes/` may not import: this is one of the three references upward.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.utils.arg_spec import ArgSpec, parse_spec

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.plugins import INSTALLED, plugin_of

ENTRY_POINTS = "stepwell.passes"
"""The entry point group by which other packages add passes: the pass's name = `module:Class`."""


@dataclass(frozen=True)
class Entry:
    """A registered pass: where its class is, and one line about it for `stepwell-opt --list-passes`."""

    place: str
    """`module:Class`."""
    summary: str
    aliases: tuple[str, ...] = ()
    """
    Names that TVM's users know it by, with the options they stand for: `"X"`, or `"X{direction=forward}"`.
    """


PASSES: dict[str, Entry] = {
    "alter-op-layout": Entry(
        "stepwell.passes.graph.layout.alter_op_layout:AlterOpLayoutPass",
        "the layout that the target wants for each convolution",
        aliases=("AlterOpLayout",),
    ),
    "annotate-target": Entry(
        "stepwell.passes.graph.partition.annotate_target:AnnotateTargetPass",
        "say which backend takes which op",
        aliases=("AnnotateTarget",),
    ),
    "annotate-work": Entry(
        "stepwell.passes.graph.report.annotate_work:AnnotateWorkPass",
        "say what each kernel computes and moves",
    ),
    "approximate-math": Entry(
        "stepwell.passes.graph.inference.approximate_math:ApproximateMathPass",
        "shorter polynomials for exp, tanh, sigmoid and erf",
        aliases=("FastMath",),
    ),
    "bufferize": Entry("stepwell.lowering.bufferize:BufferizePass", "put tensors of kernels in buffers"),
    "canonicalize-cast": Entry(
        "stepwell.passes.graph.simplify.canonicalize_cast:CanonicalizeCastPass",
        "a widening cast for each reader",
        aliases=("CanonicalizeCast",),
    ),
    "canonicalize-ops": Entry(
        "stepwell.passes.graph.simplify.canonicalize_ops:CanonicalizeOpsPass",
        "sugar written out",
        aliases=("CanonicalizeOps",),
    ),
    "check-indices": Entry(
        "stepwell.passes.graph.legalize.check_indices:CheckIndicesPass",
        "say at run time which index lies outside",
    ),
    "choose-schedules": Entry(
        "stepwell.passes.tensor.schedule.choose_schedules:ChooseSchedulesPass",
        "tiles, order and lanes for each kernel, by rules",
    ),
    "collapse-loops": Entry(
        "stepwell.passes.tensor.collapse_loops:CollapseLoopsPass", "merge loops that walk operands together"
    ),
    "combine-parallel": Entry(
        "stepwell.passes.graph.inference.combine_parallel:CombineParallelPass",
        "contractions of one input as one",
        aliases=(
            "CombineParallelConv2D{op=conv}",
            "CombineParallelDense{op=matmul}",
            "CombineParallelBatchMatmul{op=batch_matmul}",
        ),
    ),
    "compute-in-products": Entry(
        "stepwell.passes.tensor.schedule.compute_in_products:ComputeInProductsPass",
        "products by few rows compute the weights that they read",
    ),
    "convert-graph-to-linalg": Entry(
        "stepwell.lowering.graph_to_linalg:ConvertGraphToLinalgPass", "outline kernels, lower them to linalg"
    ),
    "convert-graph-to-onnx": Entry(
        "stepwell.lowering.graph_to_onnx:ConvertGraphToOnnxPass", "lower graph ops to operators of ONNX"
    ),
    "convert-layout": Entry(
        "stepwell.passes.graph.layout.convert_layout:ConvertLayoutPass",
        "store images as convolutions are to read them",
        aliases=("ConvertLayout",),
    ),
    "convert-linalg-to-amx": Entry(
        "stepwell.lowering.linalg_to_amx:ConvertLinalgToAMXPass", "multiply bytes in tile registers"
    ),
    "convert-loops-to-llvm": Entry(
        "stepwell.lowering.loops_to_llvm:ConvertLoopsToLLVMPass", "lower loops on buffers to the llvm dialect"
    ),
    "convert-onnx-to-graph": Entry(
        "stepwell.lowering.onnx_to_graph:ConvertOnnxToGraphPass", "lower each ONNX operator to graph ops"
    ),
    "count-macs": Entry(
        "stepwell.passes.graph.report.count_macs:CountMacsPass", "print multiply-adds", aliases=("CountMacs",)
    ),
    "count-params": Entry(
        "stepwell.passes.graph.report.count_params:CountParamsPass",
        "print parameters",
        aliases=("CountParams",),
    ),
    "dead-code-elimination": Entry(
        "stepwell.passes.graph.simplify.dead_code_elimination:DeadCodeEliminationPass",
        "erase ops that nobody reads",
        aliases=("DeadCodeElimination",),
    ),
    "defuse-ops": Entry(
        "stepwell.passes.graph.fusion.defuse_ops:DefuseOpsPass",
        "take kernels apart again",
        aliases=("DefuseOps",),
    ),
    "detect-features": Entry(
        "stepwell.passes.graph.report.detect_features:DetectFeaturesPass",
        "print which parts of the graph level a module uses",
        aliases=("DetectFeatures",),
    ),
    "dynamic-to-static": Entry(
        "stepwell.passes.graph.simplify.dynamic_to_static:DynamicToStaticPass",
        "known shape operands become attributes",
        aliases=("DynamicToStatic",),
    ),
    "expand-math": Entry(
        "stepwell.passes.loop.math.expand_math:ExpandMathPass",
        "write transcendental functions out in arithmetic",
    ),
    "eliminate-common-subexpr": Entry(
        "stepwell.passes.graph.simplify.eliminate_common_subexpr:EliminateCommonSubexprPass",
        "compute once what is computed twice",
        aliases=("EliminateCommonSubexpr",),
    ),
    "expand-onnx-functions": Entry(
        "stepwell.frontend.expand_onnx_functions:ExpandOnnxFunctionsPass",
        "inline functions of models and of ONNX",
    ),
    "extract-fused-functions": Entry(
        "stepwell.passes.graph.fusion.extract_fused_functions:ExtractFusedFunctionsPass",
        "print each kernel as a function",
        aliases=("ExtractFusedFunctions",),
    ),
    "fill-borders": Entry(
        "stepwell.passes.tensor.tile.fill_borders:FillBordersPass", "fill the border around what is inserted"
    ),
    "flatten-atrous-conv": Entry(
        "stepwell.passes.graph.simplify.flatten_atrous_conv:FlattenAtrousConvPass",
        "convolutions of interleaved images as dilated ones",
        aliases=("FlattenAtrousConv",),
    ),
    "fold-constant": Entry(
        "stepwell.passes.graph.simplify.fold_constant:FoldConstantPass",
        "compute what depends on constants only",
        aliases=("FoldConstant",),
    ),
    "fold-qdq": Entry(
        "stepwell.passes.graph.quantize.fold_qdq:FoldQdqPass",
        "compute on integers between dequantize and quantize",
    ),
    "fold-explicit-padding": Entry(
        "stepwell.passes.graph.simplify.fold_explicit_padding:FoldExplicitPaddingPass",
        "borders as pads of convolutions and pools",
        aliases=("FoldExplicitPadding",),
    ),
    "fold-scale-axis": Entry(
        "stepwell.passes.graph.inference.fold_scale_axis:FoldScaleAxisPass",
        "multiply weights instead of what they meet",
        aliases=("BackwardFoldScaleAxis{direction=backward}", "ForwardFoldScaleAxis{direction=forward}"),
    ),
    "decompose-conv-transpose": Entry(
        "stepwell.passes.graph.layout.decompose_conv_transpose:DecomposeConvTransposePass",
        "transposed convolutions as convolutions whose channels are pixels",
    ),
    "fuse-into-writes": Entry(
        "stepwell.passes.tensor.fuse_into_writes:FuseIntoWritesPass",
        "compute elementwise ops where loops write",
    ),
    "fuse-ops": Entry(
        "stepwell.passes.graph.fusion.fuse_ops:FuseOpsPass", "decide the kernels", aliases=("FuseOps",)
    ),
    "generalize-copies": Entry(
        "stepwell.passes.tensor.generalize_copies:GeneralizeCopiesPass", "copies of slices as elementwise ops"
    ),
    "hoist-accumulators": Entry(
        "stepwell.passes.tensor.vector.hoist_accumulators:HoistAccumulatorsPass",
        "keep accumulators in registers",
    ),
    "hoist-addresses": Entry(
        "stepwell.passes.loop.hoist_addresses:HoistAddressesPass", "keep arithmetic of addresses out of loops"
    ),
    "inline": Entry(
        "stepwell.passes.graph.functions.inline:InlinePass",
        "bodies in the place of calls",
        aliases=("Inline",),
    ),
    "legalize": Entry(
        "stepwell.passes.graph.legalize.legalize:LegalizePass",
        "ops as a named set of rules wants them",
        aliases=("Legalize",),
    ),
    "linalg-to-loops": Entry(
        "stepwell.lowering.linalg_to_loops:LinalgToLoopsPass", "loops for linalg ops on buffers"
    ),
    "match-patterns": Entry(
        "stepwell.passes.graph.partition.match_patterns:MatchPatternsPass",
        "print where the patterns of a file match",
    ),
    "merge-composite": Entry(
        "stepwell.passes.graph.partition.merge_composite:MergeCompositePass",
        "one op for each match of a table of patterns",
        aliases=("MergeComposite",),
    ),
    "merge-regions": Entry(
        "stepwell.passes.graph.partition.merge_regions:MergeRegionsPass",
        "join what one backend takes",
        aliases=("MergeCompilerRegions",),
    ),
    "pack-integers": Entry(
        "stepwell.passes.graph.layout.pack_integers:PackIntegersPass",
        "words of four bytes for products of bytes",
    ),
    "pack-narrow-weights": Entry(
        "stepwell.passes.graph.layout.pack_narrow_weights:PackNarrowWeightsPass",
        "keep weights of 2 or 4 bits an element in shared bytes",
    ),
    "pack-weights": Entry(
        "stepwell.passes.graph.layout.pack_weights:PackWeightsPass",
        "store constant matrices as kernels read them",
    ),
    "pad-by-channel": Entry(
        "stepwell.passes.tensor.tile.pad_by_channel:PadByChannelPass",
        "pad what a window slides over one channel at a time",
    ),
    "pair-products": Entry(
        "stepwell.passes.tensor.schedule.pair_products:PairProductsPass", "products of bf16 by pairs"
    ),
    "partition-graph": Entry(
        "stepwell.passes.graph.partition.partition_graph:PartitionGraphPass",
        "a function for each part that a backend takes",
        aliases=("PartitionGraph",),
    ),
    "plan-memory": Entry(
        "stepwell.lowering.main_to_buffers.plan_memory:PlanMemoryPass",
        "put every intermediate of @main in one arena",
    ),
    "prefetch-rows": Entry(
        "stepwell.passes.loop.prefetch_rows:PrefetchRowsPass", "the next row comes while one is computed with"
    ),
    "print-call-graph": Entry(
        "stepwell.passes.graph.report.print_call_graph:PrintCallGraphPass",
        "print which function calls which",
        aliases=("PrintCallGraph",),
    ),
    "raise-to-row-ops": Entry(
        "stepwell.passes.graph.raising.raise_to_row_ops:RaiseToRowOpsPass",
        "softmax, norms and activations written out in parts as one op",
    ),
    "remove-unused-functions": Entry(
        "stepwell.passes.graph.functions.remove_unused_functions:RemoveUnusedFunctionsPass",
        "erase functions that nothing reaches",
        aliases=("RemoveUnusedFunctions",),
    ),
    "rewrite-patterns": Entry(
        "stepwell.passes.graph.partition.rewrite_patterns:RewritePatternsPass",
        "apply the rules of a pattern file",
    ),
    "set-input-shapes": Entry(
        "stepwell.passes.onnx.set_input_shapes:SetInputShapesPass", "fix dimensions that a model leaves open"
    ),
    "simplify-expr": Entry(
        "stepwell.passes.graph.simplify.simplify_expr:SimplifyExprPass",
        "algebra on the graph",
        aliases=("SimplifyExpr",),
    ),
    "simplify-inference": Entry(
        "stepwell.passes.graph.inference.simplify_inference:SimplifyInferencePass",
        "normalization as arithmetic",
        aliases=("SimplifyInference",),
    ),
    "sink-reshapes": Entry(
        "stepwell.passes.tensor.sink_reshapes:SinkReshapesPass", "let elementwise ops share split loops"
    ),
    "tile-and-fuse": Entry(
        "stepwell.passes.tensor.tile.tile_and_fuse:TileAndFusePass", "build the loops that schedules ask for"
    ),
    "stage-operands": Entry(
        "stepwell.passes.tensor.schedule.stage_operands:StageOperandsPass",
        "operands of products turned or widened once",
    ),
    "stream-stores": Entry(
        "stepwell.passes.loop.stream_stores:StreamStoresPass",
        "write past the caches what would not stay there",
    ),
    "time-kernels": Entry(
        "stepwell.passes.loop.time_kernels:TimeKernelsPass", "main writes down when kernels begin and end"
    ),
    "to-a-normal-form": Entry(
        "stepwell.passes.graph.functions.to_a_normal_form:ToANormalFormPass",
        "ops of each block in the order of evaluation",
        aliases=("ToANormalForm",),
    ),
    "to-basic-block-normal-form": Entry(
        "stepwell.passes.graph.functions.to_basic_block_normal_form:ToBasicBlockNormalFormPass",
        "each op in the innermost scope of its uses",
        aliases=("ToBasicBlockNormalForm",),
    ),
    "to-graph-normal-form": Entry(
        "stepwell.passes.graph.functions.to_graph_normal_form:ToGraphNormalFormPass",
        "ops of each block in a canonical order",
        aliases=("ToGraphNormalForm",),
    ),
    "to-mixed-precision": Entry(
        "stepwell.passes.graph.inference.to_mixed_precision:ToMixedPrecisionPass",
        "contractions and what follows them on 16-bit floats",
        aliases=("ToMixedPrecision",),
    ),
    "unroll-vectors": Entry(
        "stepwell.passes.tensor.vector.unroll_vectors:UnrollVectorsPass",
        "cut vectors to the size of registers",
    ),
    "vectorize": Entry("stepwell.passes.tensor.vector.vectorize:VectorizePass", "compute tiles on vectors"),
    "winograd-conv": Entry(
        "stepwell.passes.graph.layout.winograd_conv:WinogradConvPass", "3x3 convolutions with fewer products"
    ),
}

_PLUGGED_IN: dict[str, type[ModulePass]] = {}


def register_pass(pass_class: type[ModulePass]) -> None:
    """
    Add a pass of a plugin, for this process.

    Raises: StepwellError `name-taken` for a name that another pass has.
    """
    name = pass_class.name
    if name in PASSES or name in get_all_passes() or _PLUGGED_IN.get(name, pass_class) is not pass_class:
        raise StepwellError("name-taken", None, f"there is a pass named {name!r} already")
    _PLUGGED_IN[name] = pass_class


def is_ours(name: str) -> bool:
    """Whether a pass is ours or one of xDSL's: neither of a plugin nor registered by hand."""
    return name not in _PLUGGED_IN and name not in _outside_places()


def is_registered_by_hand(name: str) -> bool:
    """Whether a pass was registered by code that is no plugin."""
    return name in _PLUGGED_IN and plugin_of(_PLUGGED_IN[name]) is None


def our_passes() -> Mapping[str, str]:
    """Names and one-line summaries of all passes but xDSL's: ours, and those of plugins."""
    plugged = {name: (cls.__doc__ or "").strip().partition("\n")[0] for name, cls in _PLUGGED_IN.items()}
    outside = {name: f"from {place}" for name, place in _outside_places().items()}
    return outside | plugged | {name: entry.summary for name, entry in PASSES.items()}


def canonical_name(name: str) -> str | None:
    """The name of a pass by name or alias; None when there is no such pass."""
    if name in PASSES or name in _PLUGGED_IN or name in get_all_passes() or name in _outside_places():
        return name
    return _aliases()[name][0] if name in _aliases() else None


def resolve(spec: ArgSpec) -> ArgSpec:
    """A pass as a pipeline names it, with an alias replaced by the name and the options it stands for."""
    if spec.name not in _aliases():
        return spec
    name, options = _aliases()[spec.name]
    return ArgSpec(name, options.parameters | spec.parameters)


def load_pass(name: str) -> type[ModulePass]:
    """
    The pass class of a name or alias: ours, a plugin's, or one of xDSL's (`canonicalize`, `cse`, …).

    Raises: StepwellError `unknown-pass`, with the nearest names.
    """
    found = canonical_name(name)
    if found is None:
        raise _unknown(name)
    if found in _PLUGGED_IN:
        return _PLUGGED_IN[found]
    if found in PASSES:
        return _import_class(PASSES[found].place)
    if found in (upstream := get_all_passes()):
        return upstream[found]()
    return _import_outside(found)


def _unknown(name: str) -> StepwellError:
    hint = did_you_mean(name, [*PASSES, *_PLUGGED_IN, *_aliases(), *get_all_passes(), *_outside_places()])
    help = f"{hint}`stepwell-opt --list-passes` lists them all"
    return StepwellError("unknown-pass", None, f"no pass is named {name!r}", help=help)


def _import_class(place: str) -> type[ModulePass]:
    module, attribute = place.split(":")
    return cast(type[ModulePass], getattr(import_module(module), attribute))


def _import_outside(name: str) -> type[ModulePass]:
    """The pass class of an installed plugin. Raises: StepwellError `bad-plugin` if it cannot be imported."""
    place = _outside_places()[name]
    try:
        found = _import_class(place)
    except Exception as error:
        note = f"an installed package adds the pass {name} by an entry point of group {ENTRY_POINTS}"
        raise StepwellError("bad-plugin", place, f"{type(error).__name__}: {error}", note=note) from error
    INSTALLED.add(sys.modules[found.__module__].__file__ or place)
    return found


@cache
def _outside_places() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


@cache
def _aliases() -> dict[str, tuple[str, ArgSpec]]:
    specs = [(name, parse_spec(alias)) for name, entry in PASSES.items() for alias in entry.aliases]
    return {spec.name: (name, spec) for name, spec in specs}
