// RUN: stepwell-opt %s -p to-upstream --split-input-file | filecheck %s

// CHECK-LABEL: @views
// CHECK: %[[S:.*]] = arith.constant dense<[2, 4]> : tensor<2xindex>
// CHECK: tensor.reshape %x(%[[S]])
// CHECK: %[[O:.*]] = arith.constant dense<[1, 2, 4]> : tensor<3xindex>
// CHECK: tensor.reshape %{{.*}}(%[[O]])
// CHECK-NOT: graph.
func.func @views(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<1x2x4xf32> {graph.name = "y"}) attributes {onnx.graph_name = "g"} {
  %v = graph.reshape %x shape <[2, 4]> : tensor<8xf32> -> tensor<2x4xf32>
  %y = graph.expand_dims %v axes [0] : tensor<2x4xf32> -> tensor<1x2x4xf32>
  func.return %y : tensor<1x2x4xf32>
}

// -----

// CHECK-LABEL: @open_sizes
// CHECK: tensor.from_elements %N, %{{.*}} : tensor<2xindex>
// CHECK: tensor.reshape
// CHECK: arith.cmpi eq
// CHECK: cf.assert %{{.*}}, "sizes differ"
// CHECK-NOT: graph.
func.func @open_sizes(%x: tensor<?xf32>, %N: index) -> tensor<?x1xf32> attributes {sched.program = #sched.program<symbols = ["N"]>} {
  %v = graph.reshape %x shape <["N", 1]> : tensor<?xf32> -> tensor<?x1xf32>
  graph.assert "N" equals "4", "sizes differ"
  func.return %v : tensor<?x1xf32>
}

// -----

// CHECK-LABEL: @constants
// CHECK: arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NOT: graph.
func.func @constants() -> tensor<2xf32> {
  %w = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  func.return %w : tensor<2xf32>
}

// -----

// Four products of bytes: the sum begins with the third operand.
// CHECK-LABEL: @bytes
// CHECK: arith.shli %a
// CHECK: arith.shrui
// CHECK: arith.shrsi
// CHECK: arith.muli
// CHECK: arith.addi %acc
// CHECK-NOT: dot_bytes
func.func @bytes(%a: i32, %b: i32, %acc: i32) -> i32 {
  %r = arith.dot_bytes %a, %b, %acc : i32
  func.return %r : i32
}

// -----

// MLIR's strides are those of the source, where merged dimensions are 1; users get ours by casts.
// CHECK-LABEL: @collapsed
// CHECK: memref.collapse_shape
// CHECK-SAME: strided<[8, 1]>
// CHECK: memref.cast
// CHECK: memref.cast
func.func @collapsed(%x: memref<1x2x2xf32, strided<[8, 2, 1]>>) -> memref<1x4xf32, strided<[1, 1]>> {
  %y = memref.collapse_shape %x [[0], [1, 2]] : memref<1x2x2xf32, strided<[8, 2, 1]>> into memref<1x4xf32, strided<[1, 1]>>
  func.return %y : memref<1x4xf32, strided<[1, 1]>>
}
