"""
The lazy table of passes and conversions: name -> dotted name, imported at the first use.

Conversions are in `lowering/`, which `passes/` may not import: this is one of the three references upward.
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
    """A registered pass: the dotted name of its class, and a summary for `stepwell-opt --list-passes`."""

    place: str
    """`module:Class`."""
    summary: str
    aliases: tuple[str, ...] = ()
    """TVM's names of the pass, with the options that each implies: `"X"`, or `"X{direction=forward}"`."""


PASSES: dict[str, Entry] = {
    "alter-op-layout": Entry(
        "stepwell.passes.graph.layout.alter_op_layout:AlterOpLayoutPass",
        "choose a layout for each convolution, by the target",
        aliases=("AlterOpLayout",),
    ),
    "annotate-target": Entry(
        "stepwell.passes.graph.partition.annotate_target:AnnotateTargetPass",
        "annotate each op with the backend that computes it",
        aliases=("AnnotateTarget",),
    ),
    "annotate-work": Entry(
        "stepwell.passes.graph.report.annotate_work:AnnotateWorkPass",
        "annotate each kernel with its operations and its bytes read and written",
    ),
    "approximate-math": Entry(
        "stepwell.passes.graph.inference.approximate_math:ApproximateMathPass",
        "replace exp, tanh, sigmoid and erf by short polynomials",
        aliases=("FastMath",),
    ),
    "bufferize": Entry("stepwell.lowering.bufferize:BufferizePass", "turn tensors of kernels into buffers"),
    "canonicalize-cast": Entry(
        "stepwell.passes.graph.simplify.canonicalize_cast:CanonicalizeCastPass",
        "clone widening casts for each of their users",
        aliases=("CanonicalizeCast",),
    ),
    "canonicalize-ops": Entry(
        "stepwell.passes.graph.simplify.canonicalize_ops:CanonicalizeOpsPass",
        "write bias_add as an addition that broadcasts",
        aliases=("CanonicalizeOps",),
    ),
    "check-indices": Entry(
        "stepwell.passes.graph.legalize.check_indices:CheckIndicesPass",
        "check the indices of gathers and scatters at run time",
    ),
    "choose-schedules": Entry(
        "stepwell.passes.tensor.schedule.choose_schedules:ChooseSchedulesPass",
        "choose tile sizes, loop order and vector lanes for each kernel, by rules",
    ),
    "collapse-loops": Entry(
        "stepwell.passes.tensor.collapse_loops:CollapseLoopsPass",
        "merge adjacent dimensions of structured ops into one loop",
    ),
    "combine-parallel": Entry(
        "stepwell.passes.graph.inference.combine_parallel:CombineParallelPass",
        "merge contractions that share an input into one",
        aliases=(
            "CombineParallelConv2D{op=conv}",
            "CombineParallelDense{op=matmul}",
            "CombineParallelBatchMatmul{op=batch_matmul}",
        ),
    ),
    "compute-in-products": Entry(
        "stepwell.passes.tensor.schedule.compute_in_products:ComputeInProductsPass",
        "compute a weight matrix inside the product with few rows that reads it",
    ),
    "convert-graph-to-linalg": Entry(
        "stepwell.lowering.graph_to_linalg:ConvertGraphToLinalgPass",
        "outline kernels and lower them to linalg",
    ),
    "convert-graph-to-onnx": Entry(
        "stepwell.lowering.graph_to_onnx:ConvertGraphToOnnxPass", "lower graph ops to operators of ONNX"
    ),
    "convert-layout": Entry(
        "stepwell.passes.graph.layout.convert_layout:ConvertLayoutPass",
        "store feature maps in another layout between convolutions",
        aliases=("ConvertLayout",),
    ),
    "convert-linalg-to-amx": Entry(
        "stepwell.lowering.linalg_to_amx:ConvertLinalgToAMXPass", "lower 8-bit products to AMX tile registers"
    ),
    "convert-loops-to-llvm": Entry(
        "stepwell.lowering.loops_to_llvm:ConvertLoopsToLLVMPass", "lower loops on buffers to the llvm dialect"
    ),
    "convert-onnx-to-graph": Entry(
        "stepwell.lowering.onnx_to_graph:ConvertOnnxToGraphPass", "lower each ONNX operator to graph ops"
    ),
    "count-macs": Entry(
        "stepwell.passes.graph.report.count_macs:CountMacsPass",
        "print the number of multiply-adds",
        aliases=("CountMacs",),
    ),
    "count-params": Entry(
        "stepwell.passes.graph.report.count_params:CountParamsPass",
        "print the number of parameters",
        aliases=("CountParams",),
    ),
    "dead-code-elimination": Entry(
        "stepwell.passes.graph.simplify.dead_code_elimination:DeadCodeEliminationPass",
        "erase ops without effects whose results are unused",
        aliases=("DeadCodeElimination",),
    ),
    "defuse-ops": Entry(
        "stepwell.passes.graph.fusion.defuse_ops:DefuseOpsPass",
        "inline the bodies of kernels again",
        aliases=("DefuseOps",),
    ),
    "detect-features": Entry(
        "stepwell.passes.graph.report.detect_features:DetectFeaturesPass",
        "print which features of the graph level a module uses",
        aliases=("DetectFeatures",),
    ),
    "dynamic-to-static": Entry(
        "stepwell.passes.graph.simplify.dynamic_to_static:DynamicToStaticPass",
        "replace shape operands of known value by attributes",
        aliases=("DynamicToStatic",),
    ),
    "expand-math": Entry(
        "stepwell.passes.loop.math.expand_math:ExpandMathPass",
        "expand transcendental functions into arithmetic",
    ),
    "eliminate-common-subexpr": Entry(
        "stepwell.passes.graph.simplify.eliminate_common_subexpr:EliminateCommonSubexprPass",
        "merge equal ops on equal operands",
        aliases=("EliminateCommonSubexpr",),
    ),
    "expand-onnx-functions": Entry(
        "stepwell.frontend.expand_onnx_functions:ExpandOnnxFunctionsPass",
        "inline functions of the model and of ONNX",
    ),
    "extract-fused-functions": Entry(
        "stepwell.passes.graph.fusion.extract_fused_functions:ExtractFusedFunctionsPass",
        "print each kernel as a function",
        aliases=("ExtractFusedFunctions",),
    ),
    "fill-borders": Entry(
        "stepwell.passes.tensor.tile.fill_borders:FillBordersPass",
        "fill only the elements that an insertion does not overwrite",
    ),
    "flatten-atrous-conv": Entry(
        "stepwell.passes.graph.simplify.flatten_atrous_conv:FlattenAtrousConvPass",
        "replace space-to-batch, convolution and batch-to-space by a dilated convolution",
        aliases=("FlattenAtrousConv",),
    ),
    "fold-constant": Entry(
        "stepwell.passes.graph.simplify.fold_constant:FoldConstantPass",
        "evaluate ops whose operands are constants",
        aliases=("FoldConstant",),
    ),
    "fold-qdq": Entry(
        "stepwell.passes.graph.quantize.fold_qdq:FoldQdqPass",
        "compute ops between dequantize and quantize on integers",
    ),
    "fold-explicit-padding": Entry(
        "stepwell.passes.graph.simplify.fold_explicit_padding:FoldExplicitPaddingPass",
        "merge pad ops into the pads of convolutions and pools",
        aliases=("FoldExplicitPadding",),
    ),
    "fold-scale-axis": Entry(
        "stepwell.passes.graph.inference.fold_scale_axis:FoldScaleAxisPass",
        "multiply constant weights by a channel scale instead of activations",
        aliases=("BackwardFoldScaleAxis{direction=backward}", "ForwardFoldScaleAxis{direction=forward}"),
    ),
    "decompose-conv-transpose": Entry(
        "stepwell.passes.graph.layout.decompose_conv_transpose:DecomposeConvTransposePass",
        "replace transposed convolutions by convolutions whose channels are result pixels",
    ),
    "fuse-into-writes": Entry(
        "stepwell.passes.tensor.fuse_into_writes:FuseIntoWritesPass",
        "compute elementwise ops where loops write their operand",
    ),
    "fuse-ops": Entry(
        "stepwell.passes.graph.fusion.fuse_ops:FuseOpsPass", "group ops into kernels", aliases=("FuseOps",)
    ),
    "generalize-copies": Entry(
        "stepwell.passes.tensor.generalize_copies:GeneralizeCopiesPass",
        "copy inserted slices by elementwise ops",
    ),
    "hoist-accumulators": Entry(
        "stepwell.passes.tensor.vector.hoist_accumulators:HoistAccumulatorsPass",
        "carry accumulators of loops in registers",
    ),
    "hoist-addresses": Entry(
        "stepwell.passes.loop.hoist_addresses:HoistAddressesPass", "move address arithmetic out of loops"
    ),
    "inline": Entry(
        "stepwell.passes.graph.functions.inline:InlinePass",
        "replace calls by the bodies of the functions",
        aliases=("Inline",),
    ),
    "legalize": Entry(
        "stepwell.passes.graph.legalize.legalize:LegalizePass",
        "replace ops by the rules of a named set",
        aliases=("Legalize",),
    ),
    "linalg-to-loops": Entry(
        "stepwell.lowering.linalg_to_loops:LinalgToLoopsPass", "lower linalg ops on buffers to loops"
    ),
    "match-patterns": Entry(
        "stepwell.passes.graph.partition.match_patterns:MatchPatternsPass",
        "print the matches of a file's patterns",
    ),
    "merge-composite": Entry(
        "stepwell.passes.graph.partition.merge_composite:MergeCompositePass",
        "wrap each match of a table of patterns in a composite",
        aliases=("MergeComposite",),
    ),
    "merge-regions": Entry(
        "stepwell.passes.graph.partition.merge_regions:MergeRegionsPass",
        "merge connected ops of the same backend into regions",
        aliases=("MergeCompilerRegions",),
    ),
    "pack-integers": Entry(
        "stepwell.passes.graph.layout.pack_integers:PackIntegersPass",
        "pack 8-bit operands of products into 32-bit elements",
    ),
    "pack-narrow-weights": Entry(
        "stepwell.passes.graph.layout.pack_narrow_weights:PackNarrowWeightsPass",
        "store weights of 2 or 4 bits an element several to a byte",
    ),
    "pack-weights": Entry(
        "stepwell.passes.graph.layout.pack_weights:PackWeightsPass",
        "pack constant matrices into panels in the order in which kernels read them",
    ),
    "pad-by-channel": Entry(
        "stepwell.passes.tensor.tile.pad_by_channel:PadByChannelPass",
        "pad the input of a window op one channel at a time",
    ),
    "pair-products": Entry(
        "stepwell.passes.tensor.schedule.pair_products:PairProductsPass",
        "pair bf16 factors along the sum for dot-product instructions",
    ),
    "partition-graph": Entry(
        "stepwell.passes.graph.partition.partition_graph:PartitionGraphPass",
        "outline each backend's connected ops as a function",
        aliases=("PartitionGraph",),
    ),
    "plan-memory": Entry(
        "stepwell.lowering.main_to_buffers.plan_memory:PlanMemoryPass",
        "assign every intermediate of @main an offset in one arena",
    ),
    "prefetch-rows": Entry(
        "stepwell.passes.loop.prefetch_rows:PrefetchRowsPass",
        "prefetch the next row of an operand during the current one",
    ),
    "print-call-graph": Entry(
        "stepwell.passes.graph.report.print_call_graph:PrintCallGraphPass",
        "print which function calls which",
        aliases=("PrintCallGraph",),
    ),
    "raise-to-row-ops": Entry(
        "stepwell.passes.graph.raising.raise_to_row_ops:RaiseToRowOpsPass",
        "recognize softmax, norms and activations that are written out as several ops",
    ),
    "remove-unused-functions": Entry(
        "stepwell.passes.graph.functions.remove_unused_functions:RemoveUnusedFunctionsPass",
        "erase functions that nothing reaches",
        aliases=("RemoveUnusedFunctions",),
    ),
    "rewrite-patterns": Entry(
        "stepwell.passes.graph.partition.rewrite_patterns:RewritePatternsPass",
        "apply the rewrite rules of a pattern file",
    ),
    "set-input-shapes": Entry(
        "stepwell.passes.onnx.set_input_shapes:SetInputShapesPass",
        "give open dimensions of inputs a fixed size",
    ),
    "simplify-expr": Entry(
        "stepwell.passes.graph.simplify.simplify_expr:SimplifyExprPass",
        "simplify ops by algebraic rules",
        aliases=("SimplifyExpr",),
    ),
    "simplify-inference": Entry(
        "stepwell.passes.graph.inference.simplify_inference:SimplifyInferencePass",
        "replace normalizations by arithmetic",
        aliases=("SimplifyInference",),
    ),
    "sink-reshapes": Entry(
        "stepwell.passes.tensor.sink_reshapes:SinkReshapesPass",
        "move collapse_shape after elementwise ops, which can share loops then",
    ),
    "tile-and-fuse": Entry(
        "stepwell.passes.tensor.tile.tile_and_fuse:TileAndFusePass", "build the tiled loops of each schedule"
    ),
    "stage-operands": Entry(
        "stepwell.passes.tensor.schedule.stage_operands:StageOperandsPass",
        "copy operands of products, transposed or widened, before they are read many times",
    ),
    "stream-stores": Entry(
        "stepwell.passes.loop.stream_stores:StreamStoresPass", "store large results past the caches"
    ),
    "time-kernels": Entry(
        "stepwell.passes.loop.time_kernels:TimeKernelsPass",
        "record the start and end time of each kernel in @main",
    ),
    "to-a-normal-form": Entry(
        "stepwell.passes.graph.functions.to_a_normal_form:ToANormalFormPass",
        "sort the ops of each block by order of evaluation",
        aliases=("ToANormalForm",),
    ),
    "to-basic-block-normal-form": Entry(
        "stepwell.passes.graph.functions.to_basic_block_normal_form:ToBasicBlockNormalFormPass",
        "move each op into the innermost block that contains its uses",
        aliases=("ToBasicBlockNormalForm",),
    ),
    "to-graph-normal-form": Entry(
        "stepwell.passes.graph.functions.to_graph_normal_form:ToGraphNormalFormPass",
        "sort the ops of each block into a canonical order",
        aliases=("ToGraphNormalForm",),
    ),
    "to-mixed-precision": Entry(
        "stepwell.passes.graph.inference.to_mixed_precision:ToMixedPrecisionPass",
        "compute contractions and the ops after them on 16-bit floats",
        aliases=("ToMixedPrecision",),
    ),
    "unroll-vectors": Entry(
        "stepwell.passes.tensor.vector.unroll_vectors:UnrollVectorsPass",
        "split vectors to the size of registers",
    ),
    "vectorize": Entry(
        "stepwell.passes.tensor.vector.vectorize:VectorizePass", "compute scheduled tiles on vectors"
    ),
    "winograd-conv": Entry(
        "stepwell.passes.graph.layout.winograd_conv:WinogradConvPass",
        "compute 3x3 convolutions by Winograd's transforms, with fewer products",
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
    """Maps the names of our passes and of plugins' (not xDSL's) to their one-line summaries."""
    plugged = {name: (cls.__doc__ or "").strip().partition("\n")[0] for name, cls in _PLUGGED_IN.items()}
    outside = {name: f"from {place}" for name, place in _outside_places().items()}
    return outside | plugged | {name: entry.summary for name, entry in PASSES.items()}


def all_passes() -> dict[str, str]:
    """Names and one-line summaries of all that a pipeline takes: ours, other names of ours, then xDSL's."""
    aliases = {alias: str(ArgSpec(name, spec.parameters)) for alias, (name, spec) in _aliases().items()}
    return dict(sorted(our_passes().items())) | aliases | dict.fromkeys(get_all_passes(), "xDSL's")


def canonical_name(name: str) -> str | None:
    """The registered name of a pass, given that name or an alias; None for an unknown pass."""
    if name in PASSES or name in _PLUGGED_IN or name in get_all_passes() or name in _outside_places():
        return name
    return _aliases()[name][0] if name in _aliases() else None


def resolve(spec: ArgSpec) -> ArgSpec:
    """A pipeline's spec with an alias replaced by the pass's name and the options that the alias implies."""
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
