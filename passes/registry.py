"""
The one lazy table of passes and conversions: name -> dotted name. Nothing is imported until it is asked for.

Conversions live in `lowering/`, which `passes/` may not import: this is one of the three references upward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.utils.arg_spec import ArgSpec, parse_spec

from stepwell.runtime.errors import StepwellError

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
        "stepwell.passes.graph.alter_op_layout:AlterOpLayoutPass",
        "the layout that the target wants for each convolution",
        aliases=("AlterOpLayout",),
    ),
    "annotate-target": Entry(
        "stepwell.passes.graph.annotate_target:AnnotateTargetPass",
        "say which backend takes which op",
        aliases=("AnnotateTarget",),
    ),
    "annotate-work": Entry(
        "stepwell.passes.graph.annotate_work:AnnotateWorkPass", "say what each kernel computes and moves"
    ),
    "approximate-math": Entry(
        "stepwell.passes.graph.approximate_math:ApproximateMathPass",
        "shorter polynomials for exp, tanh, sigmoid and erf",
        aliases=("FastMath",),
    ),
    "bufferize": Entry("stepwell.lowering.bufferize:BufferizePass", "put tensors of kernels in buffers"),
    "canonicalize-cast": Entry(
        "stepwell.passes.graph.canonicalize_cast:CanonicalizeCastPass",
        "a widening cast for each reader",
        aliases=("CanonicalizeCast",),
    ),
    "canonicalize-ops": Entry(
        "stepwell.passes.graph.canonicalize_ops:CanonicalizeOpsPass",
        "sugar written out",
        aliases=("CanonicalizeOps",),
    ),
    "check-indices": Entry(
        "stepwell.passes.graph.check_indices:CheckIndicesPass", "say at run time which index lies outside"
    ),
    "choose-schedules": Entry(
        "stepwell.lowering.schedules:ChooseSchedulesPass", "tiles, order and lanes for each kernel, by rules"
    ),
    "collapse-loops": Entry(
        "stepwell.passes.tensor.collapse_loops:CollapseLoopsPass", "merge loops that walk operands together"
    ),
    "combine-parallel": Entry(
        "stepwell.passes.graph.combine_parallel:CombineParallelPass",
        "contractions of one input as one",
        aliases=(
            "CombineParallelConv2D{op=conv}",
            "CombineParallelDense{op=matmul}",
            "CombineParallelBatchMatmul{op=batch_matmul}",
        ),
    ),
    "compute-in-products": Entry(
        "stepwell.lowering.schedules.compute_in_products:ComputeInProductsPass",
        "products by few rows compute the weights that they read",
    ),
    "convert-graph-to-linalg": Entry(
        "stepwell.lowering.graph_to_linalg:ConvertGraphToLinalgPass", "outline kernels, lower them to linalg"
    ),
    "convert-graph-to-onnx": Entry(
        "stepwell.lowering.graph_to_onnx:ConvertGraphToOnnxPass", "lower graph ops to operators of ONNX"
    ),
    "convert-layout": Entry(
        "stepwell.passes.graph.convert_layout:ConvertLayoutPass",
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
        "stepwell.passes.graph.count_macs:CountMacsPass", "print multiply-adds", aliases=("CountMacs",)
    ),
    "count-params": Entry(
        "stepwell.passes.graph.count_params:CountParamsPass", "print parameters", aliases=("CountParams",)
    ),
    "dead-code-elimination": Entry(
        "stepwell.passes.graph.dead_code_elimination:DeadCodeEliminationPass",
        "erase ops that nobody reads",
        aliases=("DeadCodeElimination",),
    ),
    "defuse-ops": Entry(
        "stepwell.passes.graph.defuse_ops:DefuseOpsPass", "take kernels apart again", aliases=("DefuseOps",)
    ),
    "detect-features": Entry(
        "stepwell.passes.graph.detect_features:DetectFeaturesPass",
        "print which parts of the graph level a module uses",
        aliases=("DetectFeatures",),
    ),
    "dynamic-to-static": Entry(
        "stepwell.passes.graph.dynamic_to_static:DynamicToStaticPass",
        "known shape operands become attributes",
        aliases=("DynamicToStatic",),
    ),
    "expand-math": Entry(
        "stepwell.passes.loop.expand_math:ExpandMathPass", "write transcendental functions out in arithmetic"
    ),
    "eliminate-common-subexpr": Entry(
        "stepwell.passes.graph.eliminate_common_subexpr:EliminateCommonSubexprPass",
        "compute once what is computed twice",
        aliases=("EliminateCommonSubexpr",),
    ),
    "expand-onnx-functions": Entry(
        "stepwell.frontend.expand_functions:ExpandOnnxFunctionsPass", "inline functions of models and of ONNX"
    ),
    "extract-fused-functions": Entry(
        "stepwell.passes.graph.extract_fused_functions:ExtractFusedFunctionsPass",
        "print each kernel as a function",
        aliases=("ExtractFusedFunctions",),
    ),
    "fill-borders": Entry(
        "stepwell.passes.tensor.fill_borders:FillBordersPass", "fill the border around what is inserted"
    ),
    "flatten-atrous-conv": Entry(
        "stepwell.passes.graph.flatten_atrous_conv:FlattenAtrousConvPass",
        "convolutions of interleaved images as dilated ones",
        aliases=("FlattenAtrousConv",),
    ),
    "fold-constant": Entry(
        "stepwell.passes.graph.fold_constant:FoldConstantPass",
        "compute what depends on constants only",
        aliases=("FoldConstant",),
    ),
    "fold-qdq": Entry(
        "stepwell.passes.graph.fold_qdq:FoldQdqPass", "compute on integers between dequantize and quantize"
    ),
    "fold-explicit-padding": Entry(
        "stepwell.passes.graph.fold_explicit_padding:FoldExplicitPaddingPass",
        "borders as pads of convolutions and pools",
        aliases=("FoldExplicitPadding",),
    ),
    "fold-scale-axis": Entry(
        "stepwell.passes.graph.fold_scale_axis:FoldScaleAxisPass",
        "multiply weights instead of what they meet",
        aliases=("BackwardFoldScaleAxis{direction=backward}", "ForwardFoldScaleAxis{direction=forward}"),
    ),
    "decompose-conv-transpose": Entry(
        "stepwell.passes.graph.decompose_conv_transpose:DecomposeConvTransposePass",
        "transposed convolutions as convolutions whose channels are pixels",
    ),
    "fuse-into-writes": Entry(
        "stepwell.passes.tensor.fuse_into_writes:FuseIntoWritesPass",
        "compute elementwise ops where loops write",
    ),
    "fuse-ops": Entry(
        "stepwell.passes.graph.fuse_ops:FuseOpsPass", "decide the kernels", aliases=("FuseOps",)
    ),
    "generalize-copies": Entry(
        "stepwell.passes.tensor.generalize_copies:GeneralizeCopiesPass", "copies of slices as elementwise ops"
    ),
    "hoist-accumulators": Entry(
        "stepwell.passes.tensor.hoist_accumulators:HoistAccumulatorsPass", "keep accumulators in registers"
    ),
    "hoist-addresses": Entry(
        "stepwell.passes.loop.hoist_addresses:HoistAddressesPass", "keep arithmetic of addresses out of loops"
    ),
    "inline": Entry(
        "stepwell.passes.graph.inline:InlinePass", "bodies in the place of calls", aliases=("Inline",)
    ),
    "legalize": Entry(
        "stepwell.passes.graph.legalize:LegalizePass",
        "ops as a named set of rules wants them",
        aliases=("Legalize",),
    ),
    "linalg-to-loops": Entry(
        "stepwell.lowering.linalg_to_loops:LinalgToLoopsPass", "loops for linalg ops on buffers"
    ),
    "match-patterns": Entry(
        "stepwell.passes.graph.match_patterns:MatchPatternsPass", "print where the patterns of a file match"
    ),
    "merge-composite": Entry(
        "stepwell.passes.graph.merge_composite:MergeCompositePass",
        "one op for each match of a table of patterns",
        aliases=("MergeComposite",),
    ),
    "merge-regions": Entry(
        "stepwell.passes.graph.merge_regions:MergeRegionsPass",
        "join what one backend takes",
        aliases=("MergeCompilerRegions",),
    ),
    "pack-integers": Entry(
        "stepwell.passes.graph.pack_integers:PackIntegersPass", "words of four bytes for products of bytes"
    ),
    "pack-narrow-weights": Entry(
        "stepwell.passes.graph.pack_narrow_weights:PackNarrowWeightsPass",
        "keep weights of 2 or 4 bits an element in shared bytes",
    ),
    "pack-weights": Entry(
        "stepwell.passes.graph.pack_weights:PackWeightsPass", "store constant matrices as kernels read them"
    ),
    "pad-by-channel": Entry(
        "stepwell.passes.tensor.pad_by_channel:PadByChannelPass",
        "pad what a window slides over one channel at a time",
    ),
    "pair-products": Entry(
        "stepwell.lowering.schedules.pair_products:PairProductsPass", "products of bf16 by pairs"
    ),
    "partition-graph": Entry(
        "stepwell.passes.graph.partition_graph:PartitionGraphPass",
        "a function for each part that a backend takes",
        aliases=("PartitionGraph",),
    ),
    "plan-memory": Entry(
        "stepwell.passes.loop.plan_memory:PlanMemoryPass", "put every intermediate of @main in one arena"
    ),
    "prefetch-rows": Entry(
        "stepwell.passes.loop.prefetch_rows:PrefetchRowsPass", "the next row comes while one is computed with"
    ),
    "print-call-graph": Entry(
        "stepwell.passes.graph.print_call_graph:PrintCallGraphPass",
        "print which function calls which",
        aliases=("PrintCallGraph",),
    ),
    "raise-to-row-ops": Entry(
        "stepwell.passes.graph.raise_to_row_ops:RaiseToRowOpsPass",
        "softmax, norms and activations written out in parts as one op",
    ),
    "remove-unused-functions": Entry(
        "stepwell.passes.graph.remove_unused_functions:RemoveUnusedFunctionsPass",
        "erase functions that nothing reaches",
        aliases=("RemoveUnusedFunctions",),
    ),
    "rewrite-patterns": Entry(
        "stepwell.passes.graph.rewrite_patterns:RewritePatternsPass", "apply the rules of a pattern file"
    ),
    "set-input-shapes": Entry(
        "stepwell.passes.onnx.set_input_shapes:SetInputShapesPass", "fix dimensions that a model leaves open"
    ),
    "simplify-expr": Entry(
        "stepwell.passes.graph.simplify_expr:SimplifyExprPass",
        "algebra on the graph",
        aliases=("SimplifyExpr",),
    ),
    "simplify-inference": Entry(
        "stepwell.passes.graph.simplify_inference:SimplifyInferencePass",
        "normalization as arithmetic",
        aliases=("SimplifyInference",),
    ),
    "sink-reshapes": Entry(
        "stepwell.passes.tensor.sink_reshapes:SinkReshapesPass", "let elementwise ops share split loops"
    ),
    "tile-and-fuse": Entry(
        "stepwell.passes.tensor.tile_and_fuse:TileAndFusePass", "build the loops that schedules ask for"
    ),
    "stage-operands": Entry(
        "stepwell.lowering.schedules.stage_operands:StageOperandsPass",
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
        "stepwell.passes.graph.normal_forms:ToANormalFormPass",
        "ops of each block in the order of evaluation",
        aliases=("ToANormalForm",),
    ),
    "to-basic-block-normal-form": Entry(
        "stepwell.passes.graph.to_basic_block_normal_form:ToBasicBlockNormalFormPass",
        "each op in the innermost scope of its uses",
        aliases=("ToBasicBlockNormalForm",),
    ),
    "to-graph-normal-form": Entry(
        "stepwell.passes.graph.normal_forms:ToGraphNormalFormPass",
        "ops of each block in a canonical order",
        aliases=("ToGraphNormalForm",),
    ),
    "to-mixed-precision": Entry(
        "stepwell.passes.graph.to_mixed_precision:ToMixedPrecisionPass",
        "contractions and what follows them on 16-bit floats",
        aliases=("ToMixedPrecision",),
    ),
    "unroll-vectors": Entry(
        "stepwell.passes.tensor.unroll_vectors:UnrollVectorsPass", "cut vectors to the size of registers"
    ),
    "vectorize": Entry("stepwell.passes.tensor.vectorize:VectorizePass", "compute tiles on vectors"),
    "winograd-conv": Entry(
        "stepwell.passes.graph.winograd_conv:WinogradConvPass", "3x3 convolutions with fewer products"
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


def our_passes() -> Mapping[str, str]:
    """Names and one-line summaries of all passes but xDSL's: ours, and those of plugins."""
    plugged = {name: (cls.__doc__ or "").strip().partition("\n")[0] for name, cls in _PLUGGED_IN.items()}
    outside = {name: f"from {place}" for name, place in _outside_places().items()}
    return outside | plugged | {name: entry.summary for name, entry in PASSES.items()}


def all_passes() -> dict[str, str]:
    """Names and one-line summaries of all that a pipeline takes: ours, other names of ours, then xDSL's."""
    aliases = {alias: str(ArgSpec(name, spec.parameters)) for alias, (name, spec) in _aliases().items()}
    return dict(sorted(our_passes().items())) | aliases | dict.fromkeys(get_all_passes(), "xDSL's")


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
    return _import_class(_outside_places()[found])


def _unknown(name: str) -> StepwellError:
    near = get_close_matches(
        name, [*PASSES, *_PLUGGED_IN, *_aliases(), *get_all_passes(), *_outside_places()]
    )
    hint = f"did you mean {', '.join(near)}? " if near else ""
    return StepwellError(
        "unknown-pass",
        None,
        f"no pass is named {name!r}",
        help=f"{hint}`stepwell-opt --list-passes` lists them all",
    )


def _import_class(place: str) -> type[ModulePass]:
    module, attribute = place.split(":")
    return cast(type[ModulePass], getattr(import_module(module), attribute))


@cache
def _outside_places() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


@cache
def _aliases() -> dict[str, tuple[str, ArgSpec]]:
    specs = [(name, parse_spec(alias)) for name, entry in PASSES.items() for alias in entry.aliases]
    return {spec.name: (name, spec) for name, spec in specs}
