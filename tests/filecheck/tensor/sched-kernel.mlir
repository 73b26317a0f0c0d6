// RUN: stepwell-opt %s --split-input-file | filecheck %s
// RUN: stepwell-opt %s --split-input-file | stepwell-opt --split-input-file | filecheck %s

// CHECK-LABEL: func.func private @symbolic(
// CHECK-SAME: attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, scratch = "64 * N", symbols = ["N", "M"]>}
func.func private @symbolic(%x: tensor<?xf32>, %y: tensor<4xf32>, %N: index, %M: index) -> tensor<?xf32>
    attributes {sched.kernel = #sched.kernel<symbols = ["N", "M"], outputs = 1, scratch = "64 * N", inputs = 2>} {
  func.return %x : tensor<?xf32>
}

// -----

// CHECK-LABEL: func.func private @no_inputs(
// CHECK-SAME: attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>}
func.func private @no_inputs() -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1, scratch = 0, symbols = []>} {
  %x = tensor.empty() : tensor<4xf32>
  func.return %x : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func private @on_buffers(
// CHECK-SAME: %scratch: memref<?xi8> {sched.align = 64 : i64}
// CHECK-SAME: attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, scratch = 160000, symbols = ["N"]>}
func.func private @on_buffers(%x: memref<?xf32>, %out: memref<4xf32>, %scratch: memref<?xi8> {sched.align = 64 : i64}, %N: index)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, scratch = 160000, symbols = ["N"]>} {
  func.return
}

// -----

// CHECK-LABEL: llvm.func @on_machine(
// CHECK-SAME: attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
llvm.func @on_machine(%args: !llvm.ptr, %dims: !llvm.ptr, %ctx: !llvm.ptr) -> i32 attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %ok = llvm.mlir.constant(0 : i32) : i32
  llvm.return %ok : i32
}

// -----

// CHECK-LABEL: @hints
// CHECK: math.exp {{.*}}{sched.not_positive}
// CHECK: arith.divf {{.*}}{sched.exact_division}
func.func @hints(%x: f32) -> f32 attributes {sched.unrolled} {
  %e = math.exp %x {sched.not_positive} : f32
  %d = arith.divf %e, %x {sched.exact_division} : f32
  func.return %d : f32
}

// -----

// CHECK-LABEL: func.func private @bounded(
// CHECK-SAME: attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N", "C" in 4 to 63]>}
func.func private @bounded(%x: tensor<?x?xf32>, %N: index, %C: index) -> tensor<?x?xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N", "C" in 4 to 63]>} {
  func.return %x : tensor<?x?xf32>
}
