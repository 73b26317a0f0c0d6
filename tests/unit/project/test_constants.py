"""
Numbers that decide about speed are rows of the tables in `dialects/costs/`, or listed here with the reason.

A number at the top of a module in a folder that has had tuned numbers is a fact of an instruction set or of a
format, a number of an algorithm's accuracy, or a bound of size; if it decides about speed, it is a row.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import pytest

from benchmarks.cases.constants import WAYS
from benchmarks.constants import IN_PLACE, Measured, changes_code, main, measure, report, row_named, rows
from stepwell.dialects.costs.kernels import THREADS
from stepwell.dialects.costs.schedules import TILES
from stepwell.dialects.costs.table import overridden
from stepwell.runtime.rpc.interleaved import Latency
from tests.support.imports import ROOT

FOLDERS = (
    "dialects/linalg_builder",
    "dialects/tensor_ir",
    "passes",
    "lowering/bufferize",
    "lowering/graph_to_linalg",
    "lowering/kernels",
    "lowering/linalg_to_amx",
    "lowering/loops_to_llvm",
    "runtime/files",
    "runtime/machine",
)
# Polynomials and bit patterns of functions; formats of files, objects and the system: no number is tuned.
NO_COSTS = (
    "passes/loop/math/",
    "runtime/files/artifact",
    "runtime/files/exported",
    "runtime/files/container.py",
)
OTHERS: Mapping[str, str] = {
    "facts of instruction sets, the ABI and the system": """
        dialects/tensor_ir/transposes.py _PART_BYTES
        lowering/kernels/pool_code.py _LINUX_FUTEX
        lowering/linalg_to_amx/convert.py _SIDE _ORDER
        lowering/loops_to_llvm/byte_products.py _EVEN_BYTES _UPPER_HALF
        lowering/loops_to_llvm/math_functions.py _CURRENT_ROUNDING
        lowering/loops_to_llvm/memory.py _STACK_ALIGNMENT
        lowering/loops_to_llvm/tiles.py _CONFIGURATION_BYTES _PALETTE _FIRST_WIDTH _FIRST_HEIGHT _WORD_BYTES
        passes/graph/layout/pack_shorts.py _PARTS
        passes/graph/layout/pack_nbits.py _WIDTHS _MOST_STEPS
        passes/graph/layout/rows_of_bytes.py _GREATEST
        passes/tensor/forms/nbits_bytes.py _ONE_SHORTS
        passes/tensor/forms/nbits_groups.py ONE_BYTES
        passes/tensor/forms/nbits_digits.py _DIGITS _DIGIT_BITS _FRACTION_BITS _EXPONENT _ONE_TWICE
        passes/graph/layout/packed_bytes.py PARTS_OF_I32
        passes/graph/legalize/transposed_products.py _WIDE_BYTES
        passes/loop/gpu/mapped_loops.py WARP
        passes/loop/gpu/attention_tiles.py _LANES _FRAGMENT_LANES _FRAGMENT_SHIFT _F32_BYTES
        passes/loop/gpu/attention_thread.py STEP
        passes/loop/gpu/attention_grid.py _CHAIN
        passes/loop/gpu/kernels/narrow_indices.py _MOST_ELEMS
        passes/loop/gpu/product_warps.py _LANES_OF_ROW
        passes/loop/gpu/row_grid.py _LEAST_SUBGROUP
        passes/loop/gpu/product_copies.py WIDEST_BYTES _BANKS
        passes/loop/gpu/kernels/use_dynamic_shared_memory.py _ALIGNMENT
        passes/graph/placement/narrow_constant_indices.py _LEAST _MOST _POSITION
        lowering/loops_to_llvm/async_copies.py _WIDEST
        passes/loop/gpu/tile_choices.py _REGISTER_FILE _FEW_THREADS _BYTES _ROWS_OF_ELEMENT
        passes/upstream/arithmetic.py _BITS
        passes/loop/stream_stores.py _LINE_BYTES _VECTOR_BYTES
        passes/tensor/schedule/tile_product.py _ROWS _COLUMNS
        runtime/machine/cpu_features.py _VECTORS _MASKS _TILES _EXTENDED AARCH64
        runtime/memory.py _LARGE_PAGE
        runtime/machine/pool.py _CACHE_LINE
        runtime/machine/pool_state.py STATE_BYTES HANDLE_BYTES RECORD_BYTES
        runtime/machine/target.py F32_BYTES _REGISTERS_OF_DIGITS
        runtime/machine/tile_check.py TILE_PRODUCTS VECTORS VECTOR_PRODUCTS
        runtime/machine/tile_permission.py _SYS_ARCH_PRCTL _XFEATURE_XTILEDATA _ARCH_REQ_XCOMP_PERM
        runtime/memory.py _PAGE_BYTES
    """,
    "facts of element types and accuracy": """
        lowering/graph_to_linalg/quantized.py _ONE_BINADE _ONE_BINADE_BITS
        lowering/graph_to_linalg/reduction.py _ABOVE_ALL
        dialects/linalg_builder/small_floats.py _F32_FRACTION _F32_BIAS
        lowering/graph_to_linalg/vectors/suppression.py _POSITION_BITS
        lowering/loops_to_llvm/half.py _SIGN _REBIAS _F32_INFINITY
        passes/graph/constant_operands.py _RELATIVE_WIDE _RELATIVE_NARROW
        passes/graph/inference/approximate_math.py _POWER_OF_2 _ERF
        passes/graph/inference/scale_patterns.py SMALLEST_DIVISOR LARGEST_DIVISOR
        passes/graph/layout/winograd_windows.py MAX_CHANNELS
        passes/graph/layout/pack_nbits.py _FLOAT_ROWS
        passes/onnx/weight_forms.py _FLOAT
        passes/graph/simplify/algebra_patterns.py _FLOATS
        passes/graph/quantize/requantize_in_integers.py MULTIPLIER_BITS FRACTION_BITS _LARGEST_RATIO _BYTE
        passes/loop/gpu/use_rounding_ops.py _ROUNDER
        passes/tensor/fuse_into_writes.py _BITS_A_BYTE
    """,
    "the form of data and code, on which other code relies": """
        passes/graph/placement/by_cost.py _PICOSECONDS
        passes/graph/placement/minimum_cut.py ENDLESS SOURCE SINK
        passes/loop/partition_loops.py _BELOW _UP_TO _ABOVE _FROM
        passes/tensor/schedule/form_cycles.py _PASSES _LOADS
        lowering/kernels/fingerprint.py _KEY_BYTES
        passes/context.py DEFAULT_OPT_LEVEL
        passes/analysis/channel_parts.py _GAINS
        passes/onnx/lift_parameters.py _FIXED
        passes/graph/states/cache_ops.py _AXIS_OF_TOKENS
        passes/graph/states/group_heads.py _RANK
        passes/graph/states/made_inputs.py _TOKENS
        passes/graph/layout/feature_map_layouts.py FEATURE_MAP_RANKS
        passes/trace_events.py PROCESS
        runtime/files/cache.py _DIGEST_BYTES
        runtime/files/weight_check.py _BLOCK_BYTES _MASK
        runtime/files/weight_file.py ALIGNMENT
        runtime/files/weights.py HASH_CHARS
    """,
    "bounds of size: of the compiler's time, of code, memory and files, and of messages": """
        passes/graph/placement/shape_arithmetic.py MOST_ELEMENTS
        passes/graph/placement/pin_supported_ops.py _MOST_LISTED
        dialects/tensor_ir/sizes.py MAX_OPERANDS
        passes/analysis/scripts/replay.py MOST_STEPS
        passes/analysis/scripts/storing.py MOST_FACTOR
        dialects/tensor_ir/rewrites/same_formula.py MOST_STEPS
        passes/tensor/script/raising/dependences.py _FEW
        passes/tensor/script/raising/races.py _FEW
        passes/loop/gpu/kernels/pipeline_copies.py _TILES
        passes/loop/hoist_conditions.py _MOST_OPS
        passes/loop/loop_indices.py _MOST_DEPTH
        passes/loop/unroll_loops.py _MOST_OPS
        passes/tensor/tile/tile_and_fuse.py _MOST_COPIES
        dialects/tensor_ir/vector_values.py MAX_ELEMENTS MAX_STEPS
        lowering/bufferize/allocation.py MAX_STACK_BYTES_OF_ALL
        lowering/bufferize/elements.py MAX_STORED_ELEMS
        lowering/bufferize/index_forms.py _MAX_CHARS
        passes/analysis/arena.py _TYPICAL_SIZE
        passes/analysis/untyped_values.py MOST_LISTED
        passes/analysis/symbolic_values.py MAX_ELEMS
        passes/analysis/overwriting.py _MOST_PAIRS
        passes/graph/inlining.py MAX_OPS MOST_NESTED
        passes/graph/decision_trees.py MAX_TESTS MAX_DEPTH MAX_STEPS
        passes/graph/data/simplify_match.py MAX_NESTED
        passes/graph/functions/returned_functions.py _MOST_TYPES
        passes/graph/gradients/derivatives/resize.py MAX_ELEMS
        passes/graph/functions/computed_ops.py MOST_ELEMENTS
        passes/onnx/to_training_mode.py _OPSET
        passes/graph/fusion/groups.py _MOST_STEPS _MOST_READERS
        passes/graph/layout/layout_rewrites.py _FAR
        passes/graph/layout/winograd_conv.py _FEWEST_BYTES _CHANNELS_AT_ONCE _TILE_OF_PAIRS
        passes/analysis/tangents.py MOST_TYPES
        passes/graph/instances.py MOST_INSTANCES
        passes/analysis/function_names.py MOST_LETTERS _DIGEST_LETTERS
        passes/graph/simplify/algebra_patterns.py _LARGEST_ZEROS_BYTES
        passes/tensor/forms/resize_ratio.py _MOST
        passes/tensor/forms/tree_loops.py MOST_TARGETS
        passes/text_diff.py MAX_DIFF_LINES
        lowering/kernels/source_digest.py _BUFFER_BYTES _SETTLED_NS
        runtime/files/cache.py MAX_BYTES _TRIM_EVERY
        runtime/files/model_cache.py MAX_BYTES
        runtime/files/unreadable.py _MOST_NAMES
        runtime/files/weight_file.py MAX_HEADER_BYTES MAX_RANK
        runtime/machine/pool_state.py RING_RECORDS
        runtime/machine/pool.py _JOIN_SECONDS _STACK_BYTES MAX_THREADS
    """,
    "how the tile check and the rates of tiles are measured": """
        runtime/machine/tile_check.py _ROUNDS _STEPS
        runtime/machine/tile_rates.py _STEPS _ROUNDS _ROUND_SECONDS
    """,
    "what GPUs wait for: no GPU has measured these yet, `benchmarks/gpu.py` will": """
        passes/loop/gpu/chains.py _MOST
        passes/loop/gpu/tile_choices.py _KNOWN_REGISTERS _ENOUGH_BLOCKS _MOST_WASTE _FEWEST
        passes/loop/gpu/tile_choices.py _LEAST_OF_FRAGMENTS
        passes/loop/gpu/tile_choices.py _ELEMENTWISE_THREADS _ROW_THREADS _SHORT_ROW _SQUARE
        passes/loop/gpu/tile_choices.py _STEPS_OF_PART _LEAST_BYTES _MOST_STAGES
        passes/loop/gpu/tile_choices.py _LEAST_OF_VECTORS _MOST_LANES _MOST_OUTPUTS
        passes/loop/gpu/product_grid.py _THREADS
        passes/loop/gpu/attention_tiles.py _MOST_WASTE
        passes/loop/gpu/attention_thread.py _LOADS
    """,
}
"""The other numbers, by reason: in each line a file and its names."""


def numbers() -> Iterator[str]:
    """The numbers at the top of modules, as `file:NAME`; tuples and tables of numbers are numbers too."""
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    for file in [*files, ROOT / "runtime/memory.py"]:
        name = file.relative_to(ROOT).as_posix()
        if not name.startswith(NO_COSTS):
            yield from (f"{name}:{constant}" for constant in _constants(ast.parse(file.read_text())))


def _constants(module: ast.Module) -> Iterator[str]:
    for statement in module.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _is_number(statement.value):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
            yield from names


def _is_number(value: ast.expr | None) -> bool:
    """Whether an expression is a number, computes one, or is a tuple or table of numbers."""
    if isinstance(value, ast.Constant):
        return type(value.value) in (int, float)
    if isinstance(value, ast.BinOp):
        parts = [part for part in (value.left, value.right) if not isinstance(part, ast.Name | ast.Attribute)]
        return bool(parts) and all(map(_is_number, parts))
    if isinstance(value, ast.Tuple | ast.List):
        return bool(value.elts) and all(map(_is_number, value.elts))
    if isinstance(value, ast.Dict):
        return bool(value.values) and all(map(_is_number, value.values))
    return isinstance(value, ast.UnaryOp) and _is_number(value.operand)


def test_every_number_is_a_row_or_has_a_reason() -> None:
    lines = [line.split() for text in OTHERS.values() for line in text.strip().splitlines()]
    listed = [f"{file}:{name}" for file, *names in lines for name in names]
    in_place = [f"{row.module.removeprefix('stepwell.').replace('.', '/')}.py:{row.name}" for row in IN_PLACE]
    found = [*numbers()]
    new = [name for name in found if name not in {*listed, *in_place}]
    assert not new, f"make rows of dialects/costs of these, or list them with a reason: {new}"
    assert not (gone := [name for name in (*listed, *in_place) if name not in found]), gone
    assert len(listed) == len({*listed})


def test_every_row_has_a_unit_a_cpu_and_a_way_to_measure_it() -> None:
    for row in rows():
        assert row.unit and row.cpu and type(row.value) in (int, float), row
        assert row.key in WAYS, f"benchmarks.cases.constants has no way to measure {row.key}"
    assert len({row.key for row in rows()}) == len(rows()) > 100
    assert {*WAYS} <= {row.key for row in rows()}


def test_an_override_ends_with_its_block() -> None:
    with pytest.raises(ZeroDivisionError), overridden(THREADS, chunks=3):
        assert THREADS.chunks == 3
        raise ZeroDivisionError
    assert THREADS.chunks == 16
    with pytest.raises(AttributeError, match="chunk_count"), overridden(THREADS, chunk_count=3):
        pass
    with pytest.raises(AttributeError, match="chunks is a constant"):
        THREADS.chunks = 3


def test_a_constant_is_measured_by_kernels_that_depend_on_it() -> None:
    row = row_named("tiles.tail_lanes")
    assert not any(changes_code(row, (16, 16)).values())
    found = measure(row, (8, 16), 1)
    assert all(case.differs for case in found)
    assert "| tiles.tail_lanes | 8 | 16 now |" in report(row, found, (8, 16))
    assert row.value == TILES.tail_lanes == 16


def test_names_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"did you mean tiles\.max_rows"):
        main(["tiles.max_row"])
    assert main(["products.amx_rows"]) == 0
    assert "AMX" in capsys.readouterr().out


FASTER = [((1.0, 0.9, 0.8), 24), ((1.0, 1.0, 0.99), 16), ((0.9, 1.0, 1.1), 8)]


@pytest.mark.parametrize(("times", "best"), FASTER)
def test_another_value_is_better_where_it_is_faster_beyond_the_spread(
    times: tuple[float, ...], best: int
) -> None:
    row, values = row_named("tiles.tail_lanes"), (8.0, 16.0, 24.0)
    taken = {value: Latency((time, time, time)) for value, time in zip(values, times, strict=True)}
    assert f"best: {best} lanes" in report(row, [Measured("a case", 16, taken, {})], values)
    noisy = {value: Latency((time, 2 - time, 1.0)) for value, time in zip(values, times, strict=True)}
    assert "best: 16 lanes, as now" in report(row, [Measured("a case", 16, noisy, {})], values)
