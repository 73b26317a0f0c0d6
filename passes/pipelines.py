"""
The pipelines of all levels as data: each step with the reason for it and for its place, as text for `-p`.

Names are text: nothing is imported until it runs. A pass that another one needs is written out before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from stepwell.passes.registry import load_pass
from stepwell.runtime.machine.precisions import F32, TF32

LEVELS = ("onnx", "graph", "linalg", "vector", "loops", "llvm", "ll", "asm")
"""What a program can be written as, from the model down."""


Level = Literal["graph", "tensor", "loop", "llvm"]
"""The level of a pass, which is the level of its pipeline."""


class Step(NamedTuple):
    """A pass of a pipeline, with its options."""

    text: str
    reason: str
    level: int = 0
    """
    The lowest optimization level that it runs at, that of the pass or higher: 0 keeps every digit, 1 may
    round in other places, 2 stores data as kernels like it best, 3 is all else that is not approximate.
    """

    @property
    def name(self) -> str:
        """The name of the pass."""
        return self.text.partition("{")[0]


# fmt: off
MODEL = (
    Step("convert-onnx-to-graph", "gives each operator one meaning, whatever the opset of the model"),
    Step("append-to-states", "writes new positions into states before a pass moves the joins of old and new"),
)
MARKERS = ("PLUGINS", "BACKENDS", "PRECISION")
"""Steps that stand for passes of plugins and of partitioning, and for that of another precision."""
PROGRAM = (
    Step("link-prelude", "copies the data types and functions that later passes look up in the module"),
    Step("infer-types", "finds the types that holes stand for, before any other pass needs them"),
    Step("gradient", "writes out derivatives while functions still have their names"),
    Step("monomorphize", "gives every value one type, before bodies are put together"),
    Step("partial-evaluate{budget=10000}", "follows closures and cells, which inline does not see through"),
    Step("inline", "leaves calls of recursive functions and of function values alone"),
    Step("simplify-match", "tests a tag at a time; makings that inlining has brought into sight fold"),
    Step("tail-calls-to-loops", "makes loops of recursion on tensors, whose helpers are inlined by now"),
    Step("inline", "puts the functions that are loops now into their callers"),
    Step("dead-code-elimination", "removes functions that are values no more, and what computes nothing"),
    Step("remove-unused-functions", "leaves what @main reaches"),
)
"""What a program with functions goes through first; where none is left, it is compiled as any other."""
BYTECODE = (
    Step("eta-expand{functions=false}", "makes functions of constructors that are values"),
    Step("lambda-lift", "gives each lambda's body a function, whose tensor ops are segments too"),
    Step("outline-dataflow", "leaves calls, data and cells, between segments that are compiled as @main is"),
    Step("convert-graph-to-vm", "makes instructions of what is left"),
    Step("compact-registers", "makes frames small, and frees values before calls, for both executors"),
)
"""From a program with recursion, function values, data or cells to bytecode and segments."""
NATIVE_FUNCTIONS = (Step("convert-vm-to-llvm", "makes machine code's functions of instructions"),)
"""From bytecode to native functions."""
# In capitals: what depends on the target and on options.
GRAPH = (
    Step("fold-qdq", "finds operators between dequantize and quantize before other passes separate them", 1),
    Step("fold-constant", "computes what depends on constants alone, such as the arithmetic of shapes"),
    Step("dynamic-to-static", "makes attributes of shape operands that are constants or follow from inputs"),
    Step("flatten-atrous-conv", "recognizes dilated convolutions before simplify-expr merges their views", 1),
    Step("simplify-expr", "removes what does nothing, and leaves the forms that later passes look for", 1),
    Step("fold-explicit-padding", "lets convolutions and pools pad; the pads are attributes by now"),
    Step("raise-to-row-ops", "finds softmax, norms, activations and attention in the parts of exporters", 1),
    Step("simplify-inference{only=batch_norm}", "makes a scale and an offset of each batch norm", 1),
    Step("fold-constant", "computes these, since fold-scale-axis moves constants alone", 1),
    Step("fold-scale-axis{direction=backward}", "multiplies scales into the weights before them", 1),
    Step("fold-scale-axis{direction=forward}", "multiplies the other scales into the weights after them", 1),
    Step("combine-parallel", "joins contractions of one input, now that their weights are final", 3),
    Step("PLUGINS", "runs the passes that plugins require, between two runs of simplify-expr"),
    Step("convert-plugins-to-graph", "lowers the ops of plugins, after whose passes nothing knows them"),
    Step("simplify-expr", "removes what the rewrites since the first time made superfluous", 1),
    Step("PRECISION", "rounds operands of products, now that nothing is multiplied into weights any more"),
    Step("fold-constant", "computes the weights that were multiplied or joined", 1),
    Step("fold-qdq", "finds what simplification has brought together", 1),
    Step("eliminate-common-subexpr", "computes equal ops once, before they are in different kernels"),
    Step("group-heads", "lets products read states themselves, before fusion makes kernels of copies", 1),
    Step("BACKENDS", "backends get their part before anything is done for kernels of our own"),
    Step("legalize{set=kernels}", "writes attention as products and softmax where no kernel computes it", 1),
    Step("legalize{set=wide-convs}", "computes convolutions of 16-bit floats in f32, which have layouts", 1),
    Step("legalize{set=transposed-products}", "lets products read a transposed operand itself", 1),
    Step("fold-constant", "computes the weights that these patterns convert", 1),
    Step("decompose-conv-transpose", "makes convolutions, which the next passes know, of transposed ones", 1),
    Step("pack-integers{lanes=LANES shorts=SHORTS}", "packs bytes for instructions that sum 4 products", 2),
    Step("convert-layout{block=LANES winograd=REDUCED}", "stores feature maps in blocks of a vector", 2),
    Step("winograd-conv{mode=WINOGRAD lanes=LANES}", "saves products of 3x3 convolutions on blocks", 2),
    Step("pack-bfloats{lanes=LANES}", "packs bf16 for instructions that sum 2 products, in final layouts", 2),
    Step("combine-parallel{op=quantized_matmul min_branches=2}", "joins short products of one input", 2),
    Step("pack-nbits{lanes=LANES digits=DIGITS activations=ACTIVATIONS}", "keeps few bits packed", 2),
    Step("pack-weights{lanes=LANES}", "stores the matrices that are left in panels, which kernels read", 2),
    Step("fold-constant", "computes the packed weights", 2),
    Step("pack-narrow-weights", "stores weights of 2 and 4 bits packed, when no pass computes them any more"),
    Step("eliminate-common-subexpr", "keeps one copy of weights that were packed for several users", 2),
    Step("dead-code-elimination", "erases what nothing reads, so that fusion does not see it as a reader"),
    Step("canonicalize-cast", "gives each reader its own cast, which then joins the kernel of the reader"),
    Step("bind-kernels", "takes the matches of kernels that plugins bring, before kernels are formed"),
    Step("fuse-ops", "decides the kernels; nothing moves an op from one to another after it"),
    Step("check-indices", "checks the indices of gathers and scatters before their kernels"),
)
PARTITION = (
    Step("merge-composite{table=BACKEND}", "makes one op of each subgraph that the backend knows"),
    Step("annotate-target{backends=BACKENDS}", "gives each op to the first backend that takes it"),
    Step("merge-regions", "joins neighbours of one backend, since each part costs a call"),
    Step("partition-graph{bind-constants}", "moves each region to a function, which the backend compiles"),
)
PLACEMENT = (
    Step("narrow-constant-indices", "makes constant indices such that every device has, before it is asked"),
    Step("pin-supported-ops{device=DEVICE strict=STRICT}", "leaves to the host what the device lacks"),
    Step("place-devices{default=DEVICE}", "copies values to the devices of their users"),
    Step("fold-device-copies", "removes copies of constants and of copies"),
    Step("annotate-target{by=device}", "makes the device of each op its target, as a backend is"),
    Step("merge-regions", "joins neighbours on one device, since each part copies what it reads"),
    Step("partition-graph{bind-constants}", "moves each region to a function, which its device compiles"),
    Step("remove-placement", "removes what the later passes of the host do not know"),
)
TOKENS = (
    Step("choose-tokens", "takes logits when their kernel is that of the program without it"),
    Step("fuse-ops", "makes a kernel of the choice"),
)
"""For a second function of a decoder, after all of level 1."""
WORK = (Step("annotate-work", "counts the work of each kernel, for run --profile only"),)
KERNELS = (Step("convert-graph-to-linalg", "outlines each kernel as a function on tensors that @main calls"),)
SHARE = (
    Step("share-kernels", "joins kernels that differ in extents of outer loops, before any is compiled"),
)
SCHEDULE = (
    Step("choose-forms", "gives each op of linalg_ext a way to compute it, as an attribute to edit"),
    Step("expand-forms", "writes its loops before other passes fuse, copy and schedule what is in them"),
    Step("sink-reshapes", "moves reshapes after elementwise ops, which can then share loops"),
    Step("compute-in-products", "lets products by few rows compute weights, before these get loops"),
    Step("fuse-into-writes", "computes elementwise ops where loops write their operand"),
    Step("pad-by-channel", "pads one channel at a time where a window reads each channel alone"),
    Step("pair-products", "packs pairs of bf16 for targets whose one instruction adds two products"),
    Step("stage-operands", "copies operands that a product reads slowly: transposed, or of 16 bits"),
    Step("fill-borders", "fills the padding around an inserted slice, not the whole tensor"),
    Step("generalize-copies", "makes elementwise ops of copies: choose-schedules sees nothing else"),
    Step("collapse-loops", "merges loops, so that schedules see long rows; last of those that change ops"),
    Step("choose-schedules", "gives each heavy op tiles, an order and lanes, as an attribute to edit"),
    Step("tile-and-fuse", "builds the loops of the schedules, with producers and consumers inside"),
    Step("vectorize", "computes the tiles on vectors"),
    Step("hoist-accumulators", "keeps sums in registers across iterations, now that tiles are vectors"),
    Step("unroll-vectors", "cuts vectors to the length of registers"),
)
LOOPS = (
    Step("bufferize", "puts tensors in buffers: arguments, scratch memory, the stack"),
    Step("convert-linalg-to-amx", "multiplies bytes in tile registers, before they become plain loops"),
    Step("linalg-to-loops", "writes loops for what no schedule has tiled"),
    Step("check-bounds{marked=true}", "tests loads and stores of scripts compiled with debug=True"),
)
ON_LOOPS = (
    Step("stream-stores", "stores what no cache can contain past the caches; all stores exist by now"),
    Step("prefetch-rows", "fetches the next row while exp and the like of this one, still single ops, run"),
    Step("expand-math", "writes exp and the like in arithmetic; convert-loops-to-llvm would call them"),
    Step("mark-in-place", "finds results that may be over an operand; no pass moves accesses after it"),
)
MAIN = (Step("plan-memory", "gives each intermediate of @main an offset in one arena"),)
CLOCKS = (Step("time-kernels", "reads a clock around each kernel call, for run --profile only"),)
LLVM = (
    Step("convert-loops-to-llvm", "makes pointers, calls and branches of buffers and loops"),
)
SMALL_STACK = (
    Step("stage-overwritten", "copies pixels of products, whose results can be over their operands then"),
    ON_LOOPS[-1],
    Step("bound-stack{bytes=256 sequential=true}", "keeps arrays off the small stacks of devices"),
)
TO_C = (
    Step("scalarize-vectors", "computes lane by lane: C has no vectors"),
    Step("convert-loops-to-emitc", "makes operators and statements of C of what is left"),
)
"""From loops on buffers to C, for `-o FILE.c`."""
ON_LLVM = (
    Step("hoist-addresses", "moves arithmetic of addresses out of loops; it is explicit only here"),
)
GPU = (
    Step("choose-forms", "gives each op of linalg_ext a way to compute it"),
    Step("expand-forms", "writes its loops before they are in buffers"),
    Step("bufferize{alignment=256}", "puts tensors in buffers of the device, where WebGPU may bind them"),
    Step("count-operations", "notes the arithmetic of each op, which the next passes join and split"),
    Step("choose-gpu-schedules", "gives ops tiles for blocks and threads, as an attribute to edit"),
    Step("tile-to-grid", "makes grids of these, with later ops inside: an op that is left gets its own"),
    Step("linalg-to-loops{parallel=true}", "makes one grid of all parallel dimensions of an op"),
    Step("expand-math{mcpu=x86-64 calls=false}", "writes exp, sin, … for multiply-adds that may round twice"),
    Step("use-rounding-ops", "rounds by an op what shaders' compilers would not round, once it is written"),
    Step("map-loops-to-gpu", "gives the points of each grid to blocks of threads"),
    Step("convert-parallel-loops-to-gpu", "makes launches of the grids"),
    Step("gpu-kernel-outlining", "moves what threads run to modules of the device"),
    Step("expand-all-reduce", "exchanges what the threads of a block add up, before barriers separate that"),
    Step("pipeline-copies", "loads the next tiles during products, before barriers separate the two"),
    Step("insert-gpu-barriers", "lets threads wait for what others put in memory of the block"),
    Step("use-dynamic-shared-memory", "lets launches pass memory that code may not declare: sizes are final"),
    Step("plan-memory{alignment=256}", "gives each intermediate an offset in one arena of the device"),
)
"""From kernels on tensors to kernels of the gpu level, one for each nest of loops."""
NVVM = (
    Step("narrow-indices", "computes indices in 32 bits, the width of a GPU, while they are known as such"),
    Step("convert-gpu-to-nvvm", "leaves what threads run, with intrinsics of NVIDIA"),
    Step("convert-loops-to-llvm", "makes branches of loops and addresses of indices"),
    Step("hoist-addresses", "moves arithmetic of addresses out of loops; it is explicit only here"),
)
"""From kernels of the gpu level to functions of the device on level 4."""
ROCDL = (
    NVVM[0],
    Step("convert-gpu-to-rocdl", "leaves what threads run, with intrinsics of AMD"),
    *NVVM[2:],
    Step("place-stack-in-private", "gives memory on the stack the address space that LLVM asks for there"),
)
"""The same for GPUs of AMD."""
NPU = (
    Step("npu-fuse-uops", "makes one instruction of products for all blocks of channels of a tile"),
    Step("npu-double-buffer", "puts every second tile elsewhere, before instructions wait for each other"),
    Step("add-npu-waits", "lets instructions wait for what they need of other stages, now that it is known"),
    Step("assign-tokens", "leaves what the queues between stages have of that"),
)
"""From programs of the accelerator in order to those that its stages run at once."""
# fmt: on

NEEDED = frozenset(
    (
        *(
            "append-to-states",
            "choose-tokens",
            "convert-coreml-to-graph",
            "convert-paddle-to-graph",
            "convert-onnx-to-graph",
            *("convert-mxnet-to-graph", "convert-tflite-to-graph"),
        ),
        *("convert-stablehlo-to-graph", "convert-torch-to-graph", "put-channels-first"),
        *("convert-plugins-to-graph", *(step.name for step in (*PARTITION, *PLACEMENT))),
        *("fuse-ops", "check-indices", "annotate-work", "convert-graph-to-linalg", "expand-forms"),
        *("unroll-vectors", "bufferize", "linalg-to-loops", "expand-math", "plan-memory", "time-kernels"),
        *("convert-loops-to-llvm", "add-npu-waits"),
    )
)
"""The passes that no compilation does without: `--pass-limit` skips all others."""
OF_KERNELS_BY_LEVEL: Sequence[tuple[Level, Sequence[Step]]] = (
    ("tensor", SCHEDULE),
    ("loop", (*LOOPS, *ON_LOOPS)),
    ("llvm", (*LLVM, *ON_LLVM)),
)
OF_KERNELS = tuple(step for _, steps in OF_KERNELS_BY_LEVEL for step in steps)
"""From a kernel on tensors to level 4."""
KERNEL_RUNS = len(OF_KERNELS)


def text_of(steps: Iterable[Step]) -> str:
    """A pipeline as `stepwell-opt -p` takes it, in one line."""
    return ",".join(step.text for step in steps)


FROM_MODELS: Mapping[str, str] = {
    "coreml": "convert-coreml-to-graph",
    "mxnet": "convert-mxnet-to-graph",
    "onnx": MODEL[0].text,
    "paddle": "convert-paddle-to-graph",
    "stablehlo": "convert-stablehlo-to-graph",
    "tflite": "convert-tflite-to-graph,put-channels-first",
    "torch": "functionalize-torch,convert-torch-to-graph",
}
"""The conversion of each dialect of models to level 1."""
STATES_PIPELINE = text_of(MODEL[1:])
"""The passes after each of these conversions."""
TOKENS_PIPELINE = text_of(TOKENS)
FROM_ONNX, WORK_PIPELINE, TO_KERNELS = FROM_MODELS["onnx"], text_of(WORK), text_of(KERNELS)
PROGRAM_PIPELINE, BYTECODE_PIPELINE = text_of(PROGRAM), text_of(BYTECODE)
REFERENCE_PIPELINE = text_of(PROGRAM[:4])
"""What the interpreter needs of `PROGRAM`."""
NATIVE_PIPELINE = text_of(NATIVE_FUNCTIONS)
SCHEDULE_PIPELINE, LLVM_PIPELINE = text_of(SCHEDULE), text_of((*LLVM, *ON_LLVM))
LOOP_PIPELINE, C_PIPELINE = text_of((*LOOPS, *ON_LOOPS)), text_of(TO_C)
SMALL_LOOP_PIPELINE = text_of((*LOOPS, *ON_LOOPS[:-1], *SMALL_STACK))
"""Level 3 of a kernel for devices with small stacks."""
SHARE_PIPELINE, PROGRAM_SCHEDULE_PIPELINE = text_of(SHARE), text_of((*SHARE, *SCHEDULE))
"""What is for all kernels of a program together; and with it level 2 of a whole program."""
MAIN_PIPELINE, GPU_PIPELINE, NPU_PIPELINE = text_of(MAIN), text_of(GPU), text_of(NPU)
NVVM_PIPELINE, ROCDL_PIPELINE = text_of(NVVM), text_of(ROCDL)
PROGRAM_LOOP_PIPELINE = text_of((*LOOPS, *ON_LOOPS, *MAIN))
"""Level 3 of kernels and `@main` in one module."""
SMALL_PROGRAM_LOOP_PIPELINE = text_of((*LOOPS, *ON_LOOPS[:-1], *SMALL_STACK, *MAIN))
"""The same for C source."""


def schedule_steps(after: str | None = None, until: str | None = None) -> Sequence[Step]:
    """A part of `SCHEDULE`: the passes after one, up to and with another."""
    names = [step.name for step in SCHEDULE]
    first = 0 if after is None else names.index(after) + 1
    return SCHEDULE[first:] if until is None else SCHEDULE[first : names.index(until) + 1]


def main_steps(timed: bool) -> Sequence[Step]:
    """The passes of `@main` alone, after its kernels."""
    return (*MAIN, *(CLOCKS if timed else ()), *LLVM, *ON_LLVM)


def main_pipeline(*, keep: bool = False, timed: bool = False) -> str:
    """Level 3 of `@main`: `keep` gives each value memory of its own, `timed` reads clocks around calls."""
    plan = [step._replace(text=f"{step.text}{{keep=true}}") for step in MAIN] if keep else MAIN
    return text_of([*plan, *(CLOCKS if timed else ())])


def gpu_pipeline(precision: str = F32) -> str:
    """From kernels on tensors to those of the gpu level, with products of `f32` or of `tf32`."""
    if precision != TF32:
        return text_of(GPU)
    name = "choose-gpu-schedules"
    chosen = f"{name}{{precision={precision}}}"
    return text_of(step._replace(text=chosen) if step.name == name else step for step in GPU)


def level_of_pass(text: str) -> Level | None:
    """The level of a pass: of the first pipeline with it, else of its folder."""
    name = text.partition("{")[0]
    every: Sequence[tuple[Level, Sequence[Step]]] = (
        ("graph", (*MODEL, *GRAPH, *PARTITION, *PLACEMENT, *WORK)),
        ("tensor", (*KERNELS, *SHARE)),
        *OF_KERNELS_BY_LEVEL,
        ("loop", (*MAIN, *CLOCKS)),
    )
    for level, steps in every:
        if any(step.name == name for step in steps):
            return level
    folders = load_pass(name).__module__.split(".") if name else ()
    return next((level for level in get_args(Level) if level in folders), None)


def all_levels(graph: Sequence[Step], *, profile: bool = False) -> Mapping[str, Sequence[Step]]:
    """The pipelines from a model to machine code in their order, with `graph` on level 1."""
    return {
        "0 to 1": MODEL,
        "1": [*graph, *(WORK if profile else ())],
        "1 to 2": KERNELS,
        "2": [*SHARE, *SCHEDULE],
        "2 to 3": LOOPS,
        "3": ON_LOOPS,
        "3, of @main": [*MAIN, *(CLOCKS if profile else ())],
        "3 to 4": LLVM,
        "4": ON_LLVM,
    }


def explained(levels: Mapping[str, Sequence[Step]]) -> str:
    """Pipelines as one text for `-p`, a line for each step with its reason as a comment; then in one line."""
    every = [step for steps in levels.values() for step in steps]
    width = max(len(step.text) for step in every) + 1
    lines: list[str] = []
    for level, steps in levels.items():
        lines.append(f"// level {level}")
        for step in steps:
            text = step.text if step is every[-1] else f"{step.text},"
            lines.append(f"{text:{width}}  // {step.reason}")
    return "\n".join([*lines, "// the same in one line:", f"// {text_of(every)}"])
