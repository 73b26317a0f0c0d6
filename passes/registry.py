"""
The lazy table of passes and conversions: name -> dotted name, imported at the first use.

Conversions are in `lowering/`, which `passes/` may not import: this is one of the three references upward.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import TypeVar, cast, overload

from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.utils.arg_spec import ArgSpec, parse_spec

from stepwell.runtime.collector import compiler_imports
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.packages import entry_points
from stepwell.runtime.plugins import INSTALLED, Registry, is_keyed, place_of

PassT = TypeVar("PassT", bound=ModulePass)

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


_TABLE: Mapping[str, Mapping[str, tuple[str, *tuple[str, ...]]]] = {
    "passes.graph.layout": {
        "alter-op-layout": ("choose a layout for each convolution, by the target", "AlterOpLayout"),
        "apply-strategies": ("replace ops by formulas of plugins that a user chose or that cost less",),
        "convert-layout": ("store feature maps in another layout between convolutions", "ConvertLayout"),
        "decompose-conv-transpose": (
            "replace transposed convolutions by convolutions whose channels are result pixels",
        ),
        "force-strategies": ("mark nodes with the strategy that a user chose",),
        "pack-bfloats": ("pack operands of bf16 products in pairs, in 32-bit elements",),
        "pack-integers": ("pack 8-bit operands of products into 32-bit elements",),
        "pack-narrow-weights": ("store weights of 2 or 4 bits packed in bytes",),
        "pack-nbits": ("let products read constant weights of 2, 4 or 8 bits packed, in panels",),
        "pack-weights": ("pack constant matrices into panels in the order in which kernels read them",),
        "put-channels-first": ("convert models with channels last to the order NCHW",),
        "winograd-conv": ("compute 3x3 convolutions by Winograd's transforms, with fewer products",),
    },
    "passes.graph.partition": {
        "annotate-target": ("annotate each op with the backend that computes it", "AnnotateTarget"),
        "match-patterns": ("print the matches of a file's patterns",),
        "merge-composite": ("wrap each match of a table of patterns in a composite", "MergeComposite"),
        "merge-regions": ("merge connected ops of the same backend into regions", "MergeCompilerRegions"),
        "partition-graph": ("outline each backend's connected ops as a function", "PartitionGraph"),
        "rewrite-patterns": ("apply the rewrite rules of a pattern file",),
    },
    "passes.vm": {"compact-registers": ("let values that are never live at once share a register",)},
    "passes.graph.data": {
        "link-prelude": ("copy the definitions of the prelude that a module uses into it",),
        "unmatched-cases": ("print values that no case of a match covers",),
        "simplify-match": ("write matches on nested patterns as matches on one constructor at a time",),
    },
    "passes.graph.types": {
        "infer-types": ("find the types that holes stand for", "InferType"),
        "infer-effects": ("annotate each function with the effects of its calls",),
        "monomorphize": ("copy polymorphic functions for the types that they are used at",),
    },
    "passes.graph.placement": {
        "annotate-devices": ("pin the matches of a table's patterns to a device",),
        "place-devices": ("give each op a device, and copy values between devices", "PlanDevices"),
        "fold-device-copies": ("remove unnecessary copies between devices",),
        "narrow-constant-indices": ("give constant indices 32 bits, which every device has",),
        "pin-composites": ("pin composites of an accelerator's table to it, or dissolve them",),
        "pin-supported-ops": ("pin each op to a device that can compute it, or to the host",),
        "remove-placement": ("remove the marks of placement, once each device has its part",),
    },
    "passes.graph.states": {
        "append-to-states": ("write a call's new elements into a growing state, in place",),
        "choose-tokens": ("return the most probable tokens of a decoder in place of its logits",),
        "group-heads": ("let heads that share keys read them from a state once",),
        "bind-states": ("turn inputs and outputs into states, which persist between calls",),
    },
    "passes.graph.gradients": {
        "append-loss": ("let a model take targets and return the loss",),
        "count-draws": ("draw random numbers from a seed and a counter of calls, which is a state",),
        "append-optimizer": ("turn a function that returns a loss into a training step",),
        "gradient": (
            "write out the functions that derivatives stand for",
            "Gradient",
            "FirstOrderGradient{mode=first-order}",
            "first-order-gradient{mode=first-order}",
        ),
    },
    "passes.graph.report": {
        "annotate-work": ("annotate each kernel with its operations and its bytes read and written",),
        "count-macs": ("print the number of multiply-adds", "CountMacs"),
        "count-params": ("print the number of parameters", "CountParams"),
        "detect-features": ("print which features of the graph level a module uses", "DetectFeatures"),
        "print-call-graph": ("print which function calls which", "PrintCallGraph"),
    },
    "passes.graph.inference": {
        "approximate-math": ("replace exp, tanh, sigmoid and erf by short polynomials", "FastMath"),
        "combine-parallel": (
            "merge contractions that share an input into one",
            "CombineParallelConv2D{op=conv}",
            "CombineParallelDense{op=matmul}",
            "CombineParallelBatchMatmul{op=batch_matmul}",
        ),
        "fold-scale-axis": (
            "multiply constant weights by a channel scale instead of activations",
            "BackwardFoldScaleAxis{direction=backward}",
            "ForwardFoldScaleAxis{direction=forward}",
        ),
        "simplify-inference": ("replace normalizations by arithmetic", "SimplifyInference"),
        "to-mixed-precision": (
            "compute contractions and the ops after them on 16-bit floats",
            "ToMixedPrecision",
        ),
    },
    "passes.graph.kernels": {"bind-kernels": ("bind kernels that users wrote as text to their ops",)},
    "lowering": {
        "bufferize": ("turn tensors of kernels into buffers",),
        "convert-coreml-to-graph": ("lower each operation of Core ML to graph ops",),
        "convert-gpu-to-nvvm": ("lower kernels to functions with NVIDIA's intrinsics",),
        "convert-gpu-to-rocdl": ("lower kernels to functions with AMD's intrinsics",),
        "convert-graph-to-linalg": ("outline kernels and lower them to linalg",),
        "convert-graph-to-vm": ("lower functional programs to bytecode",),
        "convert-graph-to-onnx": ("lower graph ops to operators of ONNX",),
        "convert-linalg-to-amx": ("lower 8-bit products to AMX tile registers",),
        "convert-loops-to-emitc": ("lower loops on buffers to the operators and statements of C",),
        "convert-loops-to-llvm": ("lower loops on buffers to the llvm dialect",),
        "convert-mxnet-to-graph": ("lower each operator of MXNet to graph ops",),
        "convert-onnx-to-graph": ("lower each ONNX operator to graph ops",),
        "convert-paddle-to-graph": ("lower each operator of Paddle to graph ops",),
        "convert-stablehlo-to-graph": ("lower each operation of StableHLO to graph ops",),
        "convert-tflite-to-graph": ("lower each operator of TFLite to graph ops",),
        "convert-torch-to-graph": ("lower each overload of PyTorch to graph ops",),
        "convert-vm-to-llvm": ("lower instructions on registers to native functions",),
        "convert-parallel-loops-to-gpu": ("replace parallel loops that are mapped to a GPU by launches",),
        "convert-plugins-to-graph": ("lower ops of plugins to graph ops",),
        "linalg-to-loops": ("lower linalg ops on buffers to loops",),
    },
    "passes.upstream": {
        "generalize-named-ops": ("write named ops of linalg as linalg.generic",),
        "outline-kernels": ("split a function on tensors from other tools into kernels and @main",),
        "to-upstream": ("write a program in ops and attributes that upstream MLIR knows",),
    },
    "passes.torch": {
        "functionalize-torch": ("replace writes into values of PyTorch programs by new values",)
    },
    "passes.graph.simplify": {
        "canonicalize-cast": ("clone widening casts for each of their users", "CanonicalizeCast"),
        "canonicalize-ops": ("write bias_add as an addition that broadcasts", "CanonicalizeOps"),
        "dead-code-elimination": (
            "erase ops without effects whose results are unused",
            "DeadCodeElimination",
        ),
        "dynamic-to-static": ("replace shape operands of known value by attributes", "DynamicToStatic"),
        "eliminate-common-subexpr": ("merge equal ops on equal operands", "EliminateCommonSubexpr"),
        "flatten-atrous-conv": (
            "replace space-to-batch, convolution and batch-to-space by a dilated convolution",
            "FlattenAtrousConv",
        ),
        "fold-constant": ("evaluate ops whose operands are constants", "FoldConstant"),
        "fold-explicit-padding": (
            "merge pad ops into the pads of convolutions and pools",
            "FoldExplicitPadding",
        ),
        "simplify-expr": (
            "simplify ops by algebraic patterns",
            "SimplifyExpr",
            "LazyGradientInit",
            "simplify-gradients",
        ),
    },
    "passes.graph.legalize": {
        "check-indices": ("check the indices of gathers and scatters at run time",),
        "legalize": ("replace ops by the patterns of a named set", "Legalize"),
    },
    "passes.tensor.schedule": {
        "choose-forms": ("choose the form and sizes of each op of linalg_ext, by estimated cycles",),
        "choose-schedules": (
            "choose tile sizes, loop order and vector lanes for each kernel, by heuristics",
        ),
        "compute-in-products": ("compute a weight matrix inside a product of few rows that reads it",),
        "pair-products": ("pair bf16 factors along the sum for dot-product instructions",),
        "stage-operands": (
            "copy operands of products, transposed or widened, before they are read many times",
        ),
    },
    "passes.tensor.sharing": {
        "share-kernels": ("join kernels that differ in extents of outer loops into one function",)
    },
    "passes.tensor.forms": {
        "expand-forms": ("expand ops of linalg_ext into loops, by the form of their schedules",)
    },
    "passes.tensor": {
        "collapse-loops": ("merge adjacent dimensions of structured ops into one loop",),
        "fuse-into-writes": ("fuse elementwise ops into the loops that write their operand",),
        "generalize-copies": ("copy inserted slices by elementwise ops",),
        "sink-reshapes": ("move collapse_shape after elementwise ops, which can share loops then",),
    },
    "passes.graph.fusion": {
        "defuse-ops": ("inline the bodies of kernels again", "DefuseOps"),
        "extract-fused-functions": ("print each kernel as a function", "ExtractFusedFunctions"),
        "fuse-ops": ("group ops into kernels", "FuseOps"),
    },
    "passes.loop.math": {"expand-math": ("expand transcendental functions into arithmetic",)},
    "frontend": {"expand-onnx-functions": ("inline functions of the model and of ONNX",)},
    "passes.tensor.tile": {
        "fill-borders": ("fill only the elements that an insertion does not overwrite",),
        "pad-by-channel": ("pad the input of a window op one channel at a time",),
        "tile-and-fuse": ("build the tiled loops of each schedule",),
    },
    "passes.graph.quantize": {
        "annotate-quantization": ("add observers to the values that a scheme quantizes", "QuantizeAnnotate"),
        "apply-calibration": ("quantize observed values, with scales from a table", "QuantizeRealize"),
        "collect-statistics": ("return the ranges or histograms of observed values",),
        "drop-observers": ("remove observers",),
        "fold-qdq": ("compute ops between dequantize and quantize on integers",),
        "requantize-in-integers": ("convert integer sums to bytes by an integer product and a shift",),
    },
    "passes.tensor.script": {
        "apply-schedule": ("give kernels the schedules of scripts",),
        "export-transform-script": ("write schedules as steps of MLIR's transform dialect",),
        "schedule-to-script": ("write the schedules of kernels as scripts",),
    },
    "passes.tensor.script.raising": {
        "raise-loops-to-linalg": ("replace loops over tensors by structured ops",)
    },
    "passes.tensor.vector": {
        "hoist-accumulators": ("carry accumulators of loops in registers",),
        "unroll-vectors": ("split vectors to the size of registers",),
        "vectorize": ("compute scheduled tiles on vectors",),
    },
    "passes.loop.gpu": {
        "choose-gpu-schedules": ("give ops schedules of blocks and threads that fit the target",),
        "count-operations": ("record the arithmetic operations of each loop nest, for profiles",),
        "gpu-kernel-outlining": ("move the bodies of launches into kernel functions",),
        "map-loops-to-gpu": ("map the iterations of parallel loops to blocks of threads",),
        "tile-to-grid": ("lower ops with schedules of blocks and threads to grids",),
        "use-rounding-ops": ("use rounding ops where expand-math rounds by adding a large constant",),
    },
    "passes.loop.gpu.kernels": {
        "expand-all-reduce": ("write reductions over a block as exchanges and memory of the block",),
        "insert-gpu-barriers": ("add barriers between conflicting accesses to memory of a block",),
        "narrow-indices": ("compute indices in 32 bits where buffers are small enough",),
        "pipeline-copies": ("copy the next tiles of operands during the products of the current ones",),
        "place-stack-in-private": ("give stack memory of kernels its address space on GPUs of AMD",),
        "use-dynamic-shared-memory": ("let launches pass memory of blocks that is too large to declare",),
        "verify-gpu": ("check kernels against the limits of their target",),
    },
    "passes.loop.scalarize": {"scalarize-vectors": ("compute vectors lane by lane on scalars",)},
    "passes.loop": {
        "bound-stack": ("move large arrays of kernels from the stack to scratch memory",),
        "check-bounds": ("prove that loads and stores are in bounds, or guard them by conditions",),
        "hoist-addresses": ("move address arithmetic out of loops",),
        "hoist-conditions": ("test conditions that no iteration changes before the loop",),
        "mark-in-place": ("mark results that kernels can write over an operand",),
        "partition-loops": ("split loops where a comparison of the index changes",),
        "prefetch-rows": ("prefetch the next row of an operand during the current one",),
        "simplify-indices": ("replace index arithmetic whose result the ranges of loops determine",),
        "split-loops": ("split innermost loops into blocks of iterations",),
        "stage-overwritten": ("copy elements that an iteration reads before a result overwrites them",),
        "stream-stores": ("store large results by stores that bypass the caches",),
        "time-kernels": ("record the start and end time of each kernel in @main",),
        "unroll-loops": ("unroll short loops",),
    },
    "passes.graph.functions": {
        "defunctionalize": ("replace function values by data", "Defunctionalization"),
        "eta-expand": ("write functions and constructors that are values as lambdas", "EtaExpand"),
        "inline": ("replace calls by the bodies of the functions", "Inline"),
        "lambda-lift": ("turn each lambda into a function", "LambdaLift"),
        "loops-to-calls": ("turn loops into recursive functions",),
        "outline-dataflow": ("move runs of tensor ops into functions",),
        "partial-evaluate": (
            "compute known values at compile time, and unfold calls of known functions",
            "PartialEvaluate",
        ),
        "remove-unused-functions": ("erase functions that nothing reaches", "RemoveUnusedFunctions"),
        "specialize-functions": ("copy functions for the known functions among their arguments",),
        "tail-calls-to-loops": ("turn tail-recursive functions on tensors into loops",),
        "to-a-normal-form": ("sort the ops of each block by order of evaluation", "ToANormalForm"),
        "to-basic-block-normal-form": (
            "move each op into the innermost block that contains its uses",
            "ToBasicBlockNormalForm",
        ),
        "to-cps": ("give each function its continuation as a parameter", "ToCPS"),
        "to-graph-normal-form": ("sort the ops of each block into a canonical order", "ToGraphNormalForm"),
        "un-cps": ("define functions without continuations by those that take them", "UnCPS"),
    },
    "lowering.backends.npu": {
        "add-npu-waits": ("let instructions of an npu wait for conflicting accesses of other stages",),
        "assign-tokens": ("let the stages of an npu wait for each other by tokens",),
        "convert-graph-to-npu": ("lower the parts of a model for an npu to its programs",),
        "decode-npu": ("decode the bytes of npu programs into instructions",),
        "encode-npu": ("encode npu programs as bytes",),
        "npu-double-buffer": ("give consecutive tiles of an npu different halves of the buffers",),
        "npu-fuse-uops": ("merge neighbouring instructions of an npu with equal loops",),
    },
    "lowering.main_to_buffers": {
        "add-entry": ("add the function by which programs in C call @main",),
        "plan-memory": ("assign every intermediate of @main an offset in one arena",),
    },
    "passes.graph.raising": {
        "raise-to-row-ops": ("recognize softmax, norms and activations that are written out as several ops",)
    },
    "passes.onnx": {
        "fold-batch-norm": ("multiply batch normalizations into the convolutions before them",),
        "lift-parameters": ("turn float initializers into arguments, so that they can change",),
        "quantize-nodes": ("quantize operands of nodes as a plan says",),
        "scale-channels": (
            "divide activations of products by a factor for each channel, and multiply weights",
        ),
        "set-input-shapes": ("give open dimensions of inputs a fixed size",),
        "to-training-mode": ("let dropout and batch normalization behave as in training",),
    },
}
"""
By folder: each pass with its summary, then TVM's names of it with the options that each implies, such as
`"X{direction=forward}"`. The file bears the pass's name; that of a conversion is a folder without `convert-`.
"""
_ACRONYMS = {"Amx": "AMX", "Llvm": "LLVM"}


def _entry(folder: str, name: str, summary: str, *aliases: str) -> Entry:
    module = (name.removeprefix("convert-") if folder == "lowering" else name).replace("-", "_")
    class_name = "".join(_ACRONYMS.get(word, word) for word in name.title().split("-"))
    return Entry(f"stepwell.{folder}.{module}:{class_name}Pass", summary, aliases)


PASSES: Mapping[str, Entry] = {
    name: _entry(folder, name, *row)
    for name, folder, row in sorted(
        (n, folder, row) for folder, rows in _TABLE.items() for n, row in rows.items()
    )
}
"""All passes and conversions of ours, in the order of their names."""

_PLUGGED_IN: Registry[str, type[ModulePass]] = Registry("a pass named")


@overload
def register_pass(pass_class: type[PassT]) -> type[PassT]: ...


@overload
def register_pass(pass_class: str) -> Callable[[type[PassT]], type[PassT]]: ...


def register_pass(pass_class: type[PassT] | str) -> type[PassT] | Callable[[type[PassT]], type[PassT]]:
    """
    Add a pass of a plugin, for this process: a decorator of its class, also as `@register_pass("a-name")`.

    Raises: StepwellError `name-taken` for a name that another pass has, `bad-plugin` for what is no pass.
    """
    if isinstance(pass_class, str):
        return partial(_register, name=pass_class)
    return _register(pass_class)


def _register(pass_class: type[PassT], name: str | None = None) -> type[PassT]:
    """Add a pass class under its own name or a given one."""
    decorated = cast("object", pass_class)
    if not isinstance(decorated, type) or not issubclass(decorated, ModulePass):
        message = f"@register_pass decorates a class that inherits from Pass, found {decorated!r}"
        raise StepwellError("bad-plugin", place_of(pass_class), message)
    if name is None:
        name = getattr(pass_class, "name", None)
    if not isinstance(name, str):
        help = f'give it the name by which it is called: `name = "{decorated.__name__.lower()}"`'
        message = f"class {decorated.__name__} has no `name`"
        raise StepwellError("bad-plugin", place_of(decorated), message, help=help)
    if (own := vars(pass_class).get("name", name)) != name:
        message = f"class {decorated.__name__} is registered as {name!r}, and its `name` is {own!r}"
        raise StepwellError("bad-plugin", place_of(decorated), message, help="remove one of the two")
    pass_class.name = name
    if name in PASSES or name in get_all_passes():
        raise _PLUGGED_IN.taken(name, pass_class)
    _PLUGGED_IN.add(name, pass_class, pass_class)
    return pass_class


def is_ours(name: str) -> bool:
    """Whether a pass is ours or one of xDSL's: neither of a plugin nor registered by hand."""
    return name not in _PLUGGED_IN and name not in _outside_places()


def is_registered_by_hand(name: str) -> bool:
    """Whether a pass was registered by code that is no plugin."""
    return name in _PLUGGED_IN and not is_keyed(_PLUGGED_IN[name])


def our_passes() -> Mapping[str, str]:
    """Maps the names of our passes and of plugins' (not xDSL's) to their one-line summaries."""
    plugged = {name: (cls.__doc__ or "").strip().partition("\n")[0] for name, cls in _PLUGGED_IN.items()}
    outside = {name: f"from {place}" for name, place in _outside_places().items()}
    return outside | plugged | {name: entry.summary for name, entry in PASSES.items()}


def all_passes() -> dict[str, str]:
    """Names and one-line summaries of all passes of pipelines: ours, other names of ours, then xDSL's."""
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
    help = f"{hint}`stepwell-opt --list-passes` lists them all; `--load` adds those of a plugin"
    return StepwellError("unknown-pass", None, f"no pass is named {name!r}", help=help)


def _import_class(place: str) -> type[ModulePass]:
    name, attribute = place.split(":")
    if (module := sys.modules.get(name)) is None:
        with compiler_imports():
            module = import_module(name)
    return cast(type[ModulePass], getattr(module, attribute))


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
    return {point.name: point.value for point in entry_points(ENTRY_POINTS)}


@cache
def _aliases() -> dict[str, tuple[str, ArgSpec]]:
    specs = [(name, parse_spec(alias)) for name, entry in PASSES.items() for alias in entry.aliases]
    return {spec.name: (name, spec) for name, spec in specs}
