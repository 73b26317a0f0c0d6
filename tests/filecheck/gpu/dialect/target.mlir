// RUN: stepwell-opt %s | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// A target as an attribute, with and without a host.

// CHECK: a = #target.spec<"cuda", {arch = "sm_90"}>
// CHECK-SAME: b = #target.spec<"cuda", {arch = "sm_90", "max-block" = [64 : i64, 1 : i64, 1 : i64]}, host = #target.spec<"cpu", {mcpu = "armv7"}>>
// CHECK-SAME: c = #target.spec<"webgpu", {}>
builtin.module attributes {
  a = #target.spec<"cuda", {arch = "sm_90"}>,
  b = #target.spec<"cuda", {arch = "sm_90", "max-block" = [64, 1, 1]}, host = #target.spec<"cpu", {mcpu = "armv7"}>>,
  c = #target.spec<"webgpu">
} {}
