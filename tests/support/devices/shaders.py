"""Launchers for source text of kernels by the system's C and C++ compiler; for WGSL by wgpu, too."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from stepwell import Target
from stepwell.lowering.emit_source import SourceKernel, emit_kernels
from tests.support.components import needs, needs_program

Launcher = Callable[[Operation, Sequence[int], Sequence[Any]], None]

# OpenCL C as C: a kernel is a function that one thread runs at a time, so that none may have a barrier.
_PRELUDE = """
#include <math.h>
#include <stdlib.h>
#include <string.h>
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint;
typedef unsigned long ulong;
static int sw_group[3], sw_local[3], sw_groups[3];
#define __kernel
#define __global
#define __attribute__(x)
#define get_group_id(i) sw_group[i]
#define get_local_id(i) sw_local[i]
#define get_num_groups(i) sw_groups[i]
static inline uint as_uint(float x) { uint n; memcpy(&n, &x, 4); return n; }
static inline int as_int(float x) { int n; memcpy(&n, &x, 4); return n; }
static inline float as_float(uint x) { float n; memcpy(&n, &x, 4); return n; }
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define floor floorf
#define ceil ceilf
#define sqrt sqrtf
#define trunc truncf
#define fabs fabsf
#define rint rintf
#define fma fmaf
"""


def _driver(kernel: SourceKernel) -> str:
    """A C function that runs a kernel for each thread of a grid."""
    head = kernel.text[kernel.text.index(f"void {kernel.name}(") :].partition(" {")[0]
    parameters = head.partition("(")[2].removesuffix(")")
    names = ", ".join(parameter.split()[-1].lstrip("*") for parameter in parameters.split(", "))
    x, y, z = kernel.block
    loops = _LOOPS.format(x=x, y=y, z=z)
    return f"""
void run_{kernel.name}(const int *grid, {parameters}) {{{loops}    {kernel.name}({names});
}}
"""


_LOOPS = """
  for (int i = 0; i < 3; i++) sw_groups[i] = grid[i];
  for (sw_group[2] = 0; sw_group[2] < grid[2]; sw_group[2]++)
  for (sw_group[1] = 0; sw_group[1] < grid[1]; sw_group[1]++)
  for (sw_group[0] = 0; sw_group[0] < grid[0]; sw_group[0]++)
  for (sw_local[2] = 0; sw_local[2] < {z}; sw_local[2]++)
  for (sw_local[1] = 0; sw_local[1] < {y}; sw_local[1]++)
  for (sw_local[0] = 0; sw_local[0] < {x}; sw_local[0]++)
"""


def _vector_types(lanes: Sequence[str], counts: Sequence[int]) -> str:
    """Structures for vectors of the languages, with an element of each name."""
    elements = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double")
    return "\n".join(
        f"typedef struct {{ {element} {', '.join(lanes[:count])}; }} {element}{count};"
        for element in elements
        for count in counts
    )


# MSL as C++: attributes are unknown ones, which a C++ compiler passes over.
_METAL = """
#include <cmath>
#include <cstring>
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint;
typedef unsigned long ulong;
struct uint3 { uint x, y, z; };
static int sw_group[3], sw_local[3], sw_groups[3];
#define kernel static
#define device
#define threadgroup static
#define constant const
namespace metal {
using std::ceil; using std::fabs; using std::floor; using std::fma; using std::max; using std::min;
using std::rint; using std::sqrt; using std::trunc;
template <typename T, typename U> T as_type(U x) { T n; memcpy(&n, &x, sizeof n); return n; }
}
"""


def _metal_driver(kernel: SourceKernel) -> str:
    """A C++ function that runs a kernel for each thread of a grid; it gets the numbers as a structure."""
    head = kernel.text[kernel.text.index(f"void {kernel.name}(") :].partition(") {")[0]
    parameters = [each.partition(" [[")[0] for each in head.partition("(")[2].split(", ")]
    pointers = [each for each in parameters if "*" in each]
    names = [each.split("*")[1] for each in pointers]
    numbers = "params" if kernel.scalars else "nothing"
    type = f"{kernel.name}_params" if kernel.scalars else "char"
    ids = {"thread_id": "sw_local", "block_id": "sw_group", "grid_dim": "sw_groups"}
    arguments = [*names, *(["*params"] if kernel.scalars else [])]
    arguments += [
        f"uint3{{(uint){ids[name]}[0], (uint){ids[name]}[1], (uint){ids[name]}[2]}}"
        for name in (each.split()[-1] for each in parameters if each.startswith("uint3 "))
    ]
    x, y, z = kernel.block
    loops = _LOOPS.format(x=x, y=y, z=z)
    declared = ", ".join(["const int *grid", *pointers, f"const {type} *{numbers}"])
    return f"""
extern "C" void run_{kernel.name}({declared}) {{{loops}    {kernel.name}({", ".join(arguments)});
}}
"""


def opencl_by_c(module: ModuleOp, folder: Path) -> Launcher:
    """A launcher of the module's kernels as OpenCL C, compiled as C."""
    needs_program("gcc")
    prelude = _PRELUDE + _vector_types([f"s{number:x}" for number in range(16)], (2, 4, 8, 16))
    libraries = {
        kernel.name: (kernel, _library("gcc", prelude + kernel.text + _driver(kernel), folder, kernel.name))
        for kernel in emit_kernels(module, Target("opencl"))
    }

    def launch(function: Operation, grid: Sequence[int], values: Sequence[Any]) -> None:
        kernel, library = libraries[_name(function)]
        getattr(library, f"run_{kernel.name}")(
            (ctypes.c_int * 3)(*grid), *_pointers(kernel, values), *_numbers(kernel, values)
        )

    return launch


def msl_by_cpp(module: ModuleOp, folder: Path) -> Launcher:
    """A launcher of the module's kernels as MSL, compiled as C++."""
    needs_program("g++")
    (folder / "metal_stdlib").write_text(_METAL + _vector_types("xyzw", (2, 4)))
    libraries = {
        kernel.name: (kernel, _library("g++", kernel.text + _metal_driver(kernel), folder, kernel.name))
        for kernel in emit_kernels(module, Target("metal"))
    }

    def launch(function: Operation, grid: Sequence[int], values: Sequence[Any]) -> None:
        kernel, library = libraries[_name(function)]
        numbers = b"".join(bytes(number) for number in _numbers(kernel, values))
        getattr(library, f"run_{kernel.name}")(
            (ctypes.c_int * 3)(*grid), *_pointers(kernel, values), ctypes.c_char_p(numbers)
        )

    return launch


# WGSL as C++: declarations change places with types, and vectors are templates, as they are written.
_WGSL = """
#include <cmath>
#include <cstring>
typedef unsigned int u32; typedef int i32; typedef float f32;
static int sw_group[3], sw_local[3], sw_groups[3];
using std::abs; using std::ceil; using std::floor; using std::fma; using std::max; using std::min;
using std::sqrt; using std::trunc;
#define round rint
template <typename T> using atomic = T;
template <typename T> struct vec2 {
  T x, y;
  vec2() {}
  vec2(T x, T y) : x(x), y(y) {}
  vec2(T x) : x(x), y(x) {}
};
template <typename T> struct vec3 { T x, y, z; vec3(T x, T y, T z) : x(x), y(y), z(z) {} };
template <typename T> struct vec4 {
  vec2<T> xy, zw;
  vec4(T a, T b, T c, T d) : xy(a, b), zw(c, d) {}
  vec4(vec2<T> a, vec2<T> b) : xy(a), zw(b) {}
};
#define EACH(O, R) template <typename T> R<decltype(T() O T())> operator O(vec2<T> a, vec2<T> b) { \\
  return R<decltype(T() O T())>(a.x O b.x, a.y O b.y); }
EACH(&, vec2) EACH(|, vec2) EACH(^, vec2) EACH(==, vec2) EACH(!=, vec2)
template <typename T> vec3<T> operator+(vec3<T> a, vec3<T> b) {
  return vec3<T>(a.x + b.x, a.y + b.y, a.z + b.z);
}
static bool all(vec2<bool> a) { return a.x && a.y; }
static bool any(vec2<bool> a) { return a.x || a.y; }
template <typename T> T select(T a, T b, bool is_b) { return is_b ? b : a; }
template <typename T, typename U> T bitcast(U x) { T n; memcpy(&n, &x, sizeof n); return n; }
static f32 clamp(f32 x, double a, double b) { return x < a ? a : x > b ? b : x; }
static u32 countLeadingZeros(u32 x) { return x ? __builtin_clz(x) : 32; }
static u32 countOneBits(u32 x) { return __builtin_popcount(x); }
static u32 atomicLoad(const u32 *x) { return *x; }
static void atomicAnd(u32 *x, u32 y) { *x &= y; }
static void atomicOr(u32 *x, u32 y) { *x |= y; }
"""
_TO_CPP: Sequence[tuple[str, str]] = (
    (r"^enable \w+;\n", ""),
    (r"@group\(0\) @binding\(\d+\) var<storage, \w+> (\w+): array<(.+)>;", r"static \2 *\1;"),
    (r"@group\(0\) @binding\(\d+\) var<uniform> params: Params;", "static Params params;"),
    (r"^  (\w+): (\w+),(.*)$", r"  \2 \1;\3"),
    (r"^(struct Params {\n(?:  .*\n)+})", r"\1;"),
    (r"^override (\w+): (\w+) = ", r"static \2 \1 = "),
    (r"^@compute .*\n", ""),
    (r"@builtin\(\w+\) (\w+): ([\w<>]+)", r"\2 \1"),
    (r"^fn (\w+)\((.*)\) -> (\S+) {", r"static \3 \1(\2) {"),
    (r"^fn ", "static void "),
    (r"([(,] ?)(\w+): ([\w<>]+)(?=[,)])", r"\1\3 \2"),
    (r"\blet (\w+): ([\w<>]+) = ", r"const \2 \1 = "),
    (r"\blet (\w+) = ", r"const auto \1 = "),
    (r"\bvar (\w+): array<(.+), (\d+)>;", r"\2 \1[\3];"),
    (r"\bvar (\w+): ([\w<>]+)", r"\2 \1"),
    (r"\bvar (\w+) = ", r"auto \1 = "),
)


def _wgsl_as_cpp(kernel: SourceKernel) -> str:
    """A kernel as C++, and a function that runs it for each thread of a grid."""
    text = kernel.text
    for pattern, replacement in _TO_CPP:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    buffers = re.findall(r"^static (\S+) \*(\w+);$", text, flags=re.MULTILINE)
    (head,) = re.findall(rf"^static void {kernel.name}\((.*)\) {{$", text, flags=re.MULTILINE)
    ids = {"thread_id": "sw_local", "block_id": "sw_group", "group_id": "sw_group", "grid_dim": "sw_groups"}
    names = [ids[name] for name in re.findall(r"vec3<u32> (\w+)", head)]
    arguments = ", ".join(f"vec3<u32>({name}[0], {name}[1], {name}[2])" for name in names)
    x, y, z = kernel.block
    declared = ", ".join(["const int *grid", *(f"void *{name}_" for _, name in buffers), "const void *words"])
    given = "".join(f"  {name} = ({type} *){name}_;\n" for type, name in buffers)
    given += "  memcpy(&params, words, sizeof params);\n" if "Params params;" in text else ""
    loops = _LOOPS.format(x=x, y=y, z=z)
    body = f"{given}{loops}    {kernel.name}({arguments});"
    return f'{_WGSL}{text}\nextern "C" void run_{kernel.name}({declared}) {{\n{body}\n}}\n'


def wgsl_by_cpp(module: ModuleOp, folder: Path) -> Launcher:
    """A launcher of the module's kernels as WGSL, compiled as C++."""
    needs_program("g++")
    libraries = {
        kernel.name: (kernel, _library("g++", _wgsl_as_cpp(kernel), folder, kernel.name))
        for kernel in emit_kernels(module, Target("webgpu"))
    }

    def launch(function: Operation, grid: Sequence[int], values: Sequence[Any]) -> None:
        kernel, library = libraries[_name(function)]
        words = uniform_words(kernel, values)
        getattr(library, f"run_{kernel.name}")(
            (ctypes.c_int * 3)(*grid), *_pointers(kernel, values), ctypes.c_void_p(words.ctypes.data)
        )

    return launch


def _library(compiler: str, text: str, folder: Path, name: str) -> ctypes.CDLL:
    """A shared library of a C or C++ text."""
    source = folder / f"{name}.{'c' if compiler == 'gcc' else 'cpp'}"
    library = source.with_suffix(".so")
    source.write_text(text)
    options = ["-O1", "-ffp-contract=off", "-fwrapv", "-shared", "-fPIC", "-w", f"-I{folder}"]
    line = [compiler, *options, str(source), "-o", str(library), "-lm"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


def _name(function: Operation) -> str:
    return function.properties["sym_name"].data  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


def _pointers(kernel: SourceKernel, values: Sequence[Any]) -> list[ctypes.c_void_p]:
    """The addresses of a kernel's buffers."""
    return [ctypes.c_void_p(values[number].ctypes.data) for number in kernel.buffers]


def _numbers(kernel: SourceKernel, values: Sequence[Any]) -> list[Any]:
    """The numbers that a kernel gets, of four bytes each."""
    return [
        _number(values[each.argument] if each.dim is None else values[each.argument].shape[each.dim])
        for each in kernel.scalars
    ]


def _number(value: Any) -> Any:
    return ctypes.c_float(float(value)) if isinstance(value, np.floating) else ctypes.c_int(int(value))


def uniform_words(kernel: SourceKernel, values: Sequence[Any]) -> Any:
    """The numbers that a kernel of WGSL gets, as whole vectors of four words."""
    words: list[Any] = []
    for scalar in kernel.scalars:
        value = values[scalar.argument]
        value = value if scalar.dim is None else value.shape[scalar.dim]
        words.append(
            np.float32(value).view(np.uint32) if scalar.type == "f32" else np.int32(value).view(np.uint32)
        )
    words += [np.uint32(0x7F800000)] * kernel.needs_infinity
    return np.array([*words, *[0] * (-len(words) % 4)], np.uint32)


class Gpu:
    """A device of wgpu."""

    def __init__(self) -> None:
        wgpu = needs("wgpu")
        self._wgpu = wgpu
        self.device = wgpu.gpu.request_adapter_sync(power_preference="high-performance").request_device_sync()
        self._pipelines: dict[str, Any] = {}

    def launcher(self, module: ModuleOp) -> Launcher:
        """A launcher of the module's kernels as WGSL."""
        kernels: Mapping[str, SourceKernel] = {k.name: k for k in emit_kernels(module, Target("webgpu"))}

        def launch(function: Operation, grid: Sequence[int], values: Sequence[Any]) -> None:
            self._run(kernels[function.properties["sym_name"].data], grid, values)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]

        return launch

    def _run(self, kernel: SourceKernel, grid: Sequence[int], values: Sequence[Any]) -> None:
        wgpu, device = self._wgpu, self.device
        usage = wgpu.BufferUsage
        arrays = [values[number] for number in kernel.buffers]
        buffers = [
            device.create_buffer_with_data(
                data=np.ascontiguousarray(array), usage=usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
            )
            for array in arrays
        ]
        padded = uniform_words(kernel, values)
        if padded.size:
            buffers.append(device.create_buffer_with_data(data=padded, usage=usage.UNIFORM))
        if kernel.text not in self._pipelines:
            shader = device.create_shader_module(code=kernel.text)
            self._pipelines[kernel.text] = device.create_compute_pipeline(
                layout="auto", compute={"module": shader, "entry_point": kernel.name}
            )
        pipeline = self._pipelines[kernel.text]
        entries = [
            {"binding": number, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
            for number, buffer in enumerate(buffers)
        ]
        group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
        encoder = device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(*grid)
        compute.end()
        device.queue.submit([encoder.finish()])
        for number, array, buffer in zip(kernel.buffers, arrays, buffers, strict=False):
            if number not in kernel.written:
                continue
            array[...] = np.frombuffer(device.queue.read_buffer(buffer), array.dtype)[: array.size].reshape(
                array.shape
            )
