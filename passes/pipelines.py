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
"""The levels that a program can be written on, from the model down."""


Level = Literal["graph", "tensor", "loop", "llvm"]
"""The level of a pass, which is the level of its pipeline."""


class Step(NamedTuple):
    """A pass of a pipeline, with its options."""

    text: str
    reason: str
    level: int = 0
    """
    The lowest optimization level that it runs at, that of the pass or higher: 0 keeps every digit, 1 may
    round in other places, 2 stores data as kernels read it fastest, 3 is all else that is not approximate.
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
    Step("simplify-match", "tests one tag at a time; constructors that inlining has exposed fold"),
    Step("tail-calls-to-loops", "turns recursion on tensors into loops; its helpers are inlined by now"),
    Step("inline", "inlines the functions that have become loops"),
    Step("dead-code-elimination", "removes functions that are no longer values, and unused ops"),
    Step("remove-unused-functions", "removes functions that @main does not reach"),
)
"""The first passes of a program with functions; if none remain, it is compiled as any other."""
BYTECODE = (
    Step("eta-expand{functions=false}", "turns constructors that are values into functions"),
    Step("lambda-lift", "gives each lambda's body a function, whose tensor ops are segments too"),
    Step("outline-dataflow", "moves tensor ops to segments, compiled as @main is; calls, data, cells stay"),
    Step("convert-graph-to-vm", "turns the remaining ops into instructions"),
    Step("compact-registers", "makes frames small, and frees values before calls, for both executors"),
)
"""From a program with recursion, function values, data or cells to bytecode and segments."""
NATIVE_FUNCTIONS = (Step("convert-vm-to-llvm", "turns instructions into native functions"),)
"""From bytecode to native functions."""
# In capitals: what depends on the target and on options.
GRAPH = (
    Step("fold-qdq", "finds operators between dequantize and quantize before other passes separate them", 1),
    Step("fold-constant", "computes ops on constants alone, such as the arithmetic of shapes"),
    Step("dynamic-to-static", "turns shape operands that are known or follow from inputs into attributes"),
    Step("flatten-atrous-conv", "recognizes dilated convolutions before simplify-expr merges their views", 1),
    Step("simplify-expr", "removes ops without effect, and leaves the forms that later passes look for", 1),
    Step("fold-explicit-padding", "lets convolutions and pools pad; the pads are attributes by now"),
    Step("raise-to-row-ops", "finds softmax, norms, activations and attention in the ops of exporters", 1),
    Step("simplify-inference{only=batch_norm}", "turns each batch norm into a scale and an offset", 1),
    Step("fold-constant", "computes these scales, since fold-scale-axis moves constants only", 1),
    Step("fold-scale-axis{direction=backward}", "multiplies scales into the weights before them", 1),
    Step("fold-scale-axis{direction=forward}", "multiplies the other scales into the weights after them", 1),
    Step("combine-parallel", "joins contractions of one input, now that their weights are final", 3),
    Step("PLUGINS", "runs the passes that plugins require, between two runs of simplify-expr"),
    Step("convert-plugins-to-graph", "lowers the ops of plugins, which no later pass knows"),
    Step("simplify-expr", "removes ops that became superfluous since its first run", 1),
    Step("PRECISION", "rounds operands of products, now that nothing is multiplied into weights any more"),
    Step("fold-constant", "computes the weights that were multiplied or joined", 1),
    Step("fold-qdq", "finds more operators, which simplification has brought together", 1),
    Step("eliminate-common-subexpr", "computes equal ops once, before they are in different kernels"),
    Step("group-heads", "lets products read states themselves, before fusion makes kernels of copies", 1),
    Step("BACKENDS", "gives backends their part before any pass prepares kernels of our own"),
    Step("legalize{set=kernels}", "writes attention as products and softmax where no kernel computes it", 1),
    Step("legalize{set=wide-convs}", "computes convolutions of 16-bit floats in f32, which have layouts", 1),
    Step("legalize{set=transposed-products}", "lets products read a transposed operand itself", 1),
    Step("fold-constant", "computes the weights that these patterns convert", 1),
    Step("decompose-conv-transpose", "turns them into convolutions, which the next passes know", 1),
    Step("pack-integers{lanes=LANES shorts=SHORTS}", "packs bytes for instructions that sum 4 products", 2),
    Step("convert-layout{block=LANES winograd=REDUCED}", "stores feature maps in blocks of a vector", 2),
    Step("winograd-conv{mode=WINOGRAD lanes=LANES}", "saves products of 3x3 convolutions on blocks", 2),
    Step("pack-bfloats{lanes=LANES}", "packs bf16 for instructions that sum 2 products, in final layouts", 2),
    Step("combine-parallel{op=quantized_matmul min_branches=2}", "joins short products of one input", 2),
    Step("pack-nbits{lanes=LANES digits=DIGITS activations=ACTIVATIONS}", "keeps few bits packed", 2),
    Step("pack-weights{lanes=LANES}", "stores the other matrices in panels, which kernels read", 2),
    Step("fold-constant", "computes the packed weights", 2),
    Step("pack-narrow-weights", "stores weights of 2 and 4 bits packed, when no pass computes them any more"),
    Step("eliminate-common-subexpr", "keeps one copy of weights that were packed for several users", 2),
    Step("dead-code-elimination", "erases unused ops, so that fusion does not count them as users"),
    Step("canonicalize-cast", "gives each reader its own cast, which then joins the kernel of the reader"),
    Step("bind-kernels", "binds the kernels of plugins to their matches, before kernels are formed"),
    Step("fuse-ops", "decides the kernels; no later pass moves an op from one to another"),
    Step("check-indices", "checks the indices of gathers and scatters before their kernels"),
)
PARTITION = (
    Step("merge-composite{table=BACKEND}", "makes one op of each subgraph that the backend knows"),
    Step("annotate-target{backends=BACKENDS}", "gives each op to the first backend that supports it"),
    Step("merge-regions", "joins neighbours of one backend, since each part costs a call"),
    Step("partition-graph{bind-constants}", "moves each region to a function, which the backend compiles"),
)
PLACEMENT = (
    Step("narrow-constant-indices", "gives constant indices 32 bits, which every device supports"),
    Step("pin-supported-ops{device=DEVICE strict=STRICT}", "leaves ops that the device lacks to the host"),
    Step("place-devices{default=DEVICE}", "copies values to the devices of their users"),
    Step("fold-device-copies", "removes copies of constants and of copies"),
    Step("annotate-target{by=device}", "treats the device of each op as a backend"),
    Step("merge-regions", "joins neighbours on one device, since each part copies what it reads"),
    Step("partition-graph{bind-constants}", "moves each region to a function, which its device compiles"),
    Step("remove-placement", "removes the marks that later passes of the host do not know"),
)
TOKENS = (
    Step("choose-tokens", "comes last, so that the logits' kernel is the same as in the first function"),
    Step("fuse-ops", "makes the choice a kernel"),
)
"""For a second function of a decoder, after all of level 1."""
WORK = (Step("annotate-work", "counts the work of each kernel, for run --profile only"),)
KERNELS = (Step("convert-graph-to-linalg", "outlines each kernel as a function on tensors that @main calls"),)
SHARE = (
    Step("share-kernels", "joins kernels that differ in extents of outer loops, before any is compiled"),
)
SCHEDULE = (
    Step("choose-forms", "gives each op of linalg_ext a way to compute it, as an attribute to edit"),
    Step("expand-forms", "writes these loops before other passes fuse, copy and schedule the ops in them"),
    Step("sink-reshapes", "moves reshapes after elementwise ops, which can then share loops"),
    Step("compute-in-products", "lets products of few rows compute weights, before weights get loops"),
    Step("fuse-into-writes", "fuses elementwise ops into the loops that write their operand"),
    Step("pad-by-channel", "pads one channel at a time where a window reads each channel alone"),
    Step("pair-products", "packs pairs of bf16 for targets whose one instruction adds two products"),
    Step("stage-operands", "copies operands that a product reads slowly: transposed, or of 16 bits"),
    Step("fill-borders", "fills the padding around an inserted slice, not the whole tensor"),
    Step("generalize-copies", "turns copies into elementwise ops, which choose-schedules can schedule"),
    Step("collapse-loops", "merges loops into long rows for schedules; the last of those that change ops"),
    Step("choose-schedules", "gives each heavy op tiles, an order and lanes, as an attribute to edit"),
    Step("tile-and-fuse", "builds the loops of the schedules, with producers and consumers inside"),
    Step("vectorize", "computes the tiles on vectors"),
    Step("hoist-accumulators", "keeps sums in registers across iterations, now that tiles are vectors"),
    Step("unroll-vectors", "cuts vectors to the length of registers"),
)
LOOPS = (
    Step("bufferize", "puts tensors in buffers: arguments, scratch memory, the stack"),
    Step("convert-linalg-to-amx", "multiplies bytes in tile registers, before they become plain loops"),
    Step("linalg-to-loops", "writes loops for ops that no schedule has tiled"),
    Step("check-bounds{marked=true}", "tests loads and stores of scripts compiled with debug=True"),
)
ON_LOOPS = (
    Step("stream-stores", "lets stores of large results bypass the caches; all stores exist by now"),
    Step("prefetch-rows", "prefetches the next row during exp and the like, which are still single ops"),
    Step("expand-math", "writes exp and the like in arithmetic; convert-loops-to-llvm would call them"),
    Step("mark-in-place", "finds results that can overwrite an operand; no later pass moves accesses"),
)
MAIN = (Step("plan-memory", "gives each intermediate of @main an offset in one arena"),)
CLOCKS = (Step("time-kernels", "reads a clock around each kernel call, for run --profile only"),)
LLVM = (
    Step("convert-loops-to-llvm", "turns buffers and loops into pointers, calls and branches"),
)
SMALL_STACK = (
    Step("stage-overwritten", "copies pixels of products, so that results can overwrite their operands"),
    ON_LOOPS[-1],
    Step("bound-stack{bytes=256 sequential=true}", "keeps arrays off the small stacks of devices"),
)
TO_C = (
    Step("scalarize-vectors", "computes lane by lane: C has no vectors"),
    Step("convert-loops-to-emitc", "turns the remaining ops into operators and statements of C"),
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
    Step("tile-to-grid", "turns these into grids, with later ops inside; every other op gets its own"),
    Step("linalg-to-loops{parallel=true}", "turns all parallel dimensions of an op into one grid"),
    Step("expand-math{mcpu=x86-64 calls=false}", "writes exp, sin, … for multiply-adds that may round twice"),
    Step("use-rounding-ops", "rounds by ops: compilers of shaders would drop the additions that round"),
    Step("map-loops-to-gpu", "maps the points of each grid to blocks of threads"),
    Step("convert-parallel-loops-to-gpu", "turns the grids into launches"),
    Step("gpu-kernel-outlining", "moves the code of threads to modules of the device"),
    Step("expand-all-reduce", "adds up over the threads of a block by exchanges, before barriers are placed"),
    Step("pipeline-copies", "loads the next tiles during products, before barriers separate the two"),
    Step("insert-gpu-barriers", "lets threads wait for elements that others write to memory of the block"),
    Step("use-dynamic-shared-memory", "lets launches pass memory too large to declare; sizes are final"),
    Step("plan-memory{alignment=256}", "gives each intermediate an offset in one arena of the device"),
)
"""From kernels on tensors to kernels of the gpu level, one for each nest of loops."""
NVVM = (
    Step("narrow-indices", "computes indices in 32 bits, the width of a GPU, while they are known as such"),
    Step("convert-gpu-to-nvvm", "turns kernels into functions with NVIDIA's intrinsics"),
    Step("convert-loops-to-llvm", "turns loops into branches and indices into addresses"),
    Step("hoist-addresses", "moves arithmetic of addresses out of loops; it is explicit only here"),
)
"""From kernels of the gpu level to functions of the device on level 4."""
ROCDL = (
    NVVM[0],
    Step("convert-gpu-to-rocdl", "turns kernels into functions with AMD's intrinsics"),
    *NVVM[2:],
    Step("place-stack-in-private", "gives memory on the stack the address space that LLVM requires there"),
)
"""The same for GPUs of AMD."""
NPU = (
    Step("npu-fuse-uops", "merges products for all blocks of channels of a tile into one instruction"),
    Step("npu-double-buffer", "puts every second tile elsewhere, before instructions wait for each other"),
    Step("add-npu-waits", "lets instructions wait for other stages, now that all accesses are known"),
    Step("assign-tokens", "expresses these waits by tokens in the queues between stages"),
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
"""The passes that every compilation needs: `--pass-limit` skips all others."""
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
"""The part of `PROGRAM` that the interpreter needs."""
NATIVE_PIPELINE = text_of(NATIVE_FUNCTIONS)
SCHEDULE_PIPELINE, LLVM_PIPELINE = text_of(SCHEDULE), text_of((*LLVM, *ON_LLVM))
LOOP_PIPELINE, C_PIPELINE = text_of((*LOOPS, *ON_LOOPS)), text_of(TO_C)
SMALL_LOOP_PIPELINE = text_of((*LOOPS, *ON_LOOPS[:-1], *SMALL_STACK))
"""Level 3 of a kernel for devices with small stacks."""
SHARE_PIPELINE, PROGRAM_SCHEDULE_PIPELINE = text_of(SHARE), text_of((*SHARE, *SCHEDULE))
"""The passes over all kernels together; and, beginning with these, level 2 of a whole program."""
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
