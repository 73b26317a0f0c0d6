// RUN: stepwell-opt %s -p fuse-ops | filecheck %s

// An elementwise formula joins the product before it, one that moves elements does not.
// CHECK-LABEL: @epilogue
// CHECK: graph.fused {{.*}} attributes {kind = "contraction"} {
// CHECK: graph.matmul
// CHECK: graph.expression "double"
// CHECK: graph.fused {{.*}} attributes {kind = "single"} {
// CHECK: graph.expression "mirror"
func.func @epilogue(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %y = graph.expression "double" (%i < "4", %j < "4") reads (%a = %p ["4", "4"]) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = tensor.extract %a[%i, %j] : tensor<4x4xf32>
    %1 = arith.addf %0, %0 : f32
    graph.yield %1 : f32
  }
  %z = graph.expression "mirror" (%i < "4", %j < "4") reads (%a = %y ["4", "4"]) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = tensor.extract %a[%j, %i] : tensor<4x4xf32>
    graph.yield %0 : f32
  }
  func.return %z : tensor<4x4xf32>
}

// A sum of rows, and what divides these by it, are one kernel.
// CHECK-LABEL: @rows
// CHECK: graph.fused {{.*}} attributes {kind = "rows"} {
// CHECK: graph.expression "total"
// CHECK: graph.expression "share"
// CHECK: graph.yield
func.func @rows(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = graph.expression "total" (%i < "4") reduce (%r < "8") reads (%a = %x ["4", "8"]) : (tensor<4x8xf32>) -> tensor<4xf32> {
    %0 = tensor.extract %a[%i, %r] : tensor<4x8xf32>
    graph.yield %0 : f32
  } combine [0.0 : f32] {
  ^bb0(%u: f32, %v: f32):
    %1 = arith.addf %u, %v : f32
    graph.yield %1 : f32
  }
  %y = graph.expression "share" (%i < "4", %j < "8") reads (%a = %x ["4", "8"], %b = %s ["4"]) : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32> {
    %0 = tensor.extract %a[%i, %j] : tensor<4x8xf32>
    %1 = tensor.extract %b[%i] : tensor<4xf32>
    %2 = arith.divf %0, %1 : f32
    graph.yield %2 : f32
  }
  func.return %y : tensor<4x8xf32>
}

// A column of numbers is not spread along rows.
// CHECK-LABEL: @columns
// CHECK: graph.fused
// CHECK: graph.expression "total"
// CHECK: graph.fused
// CHECK: graph.expression "share"
func.func @columns(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = graph.expression "total" (%i < "8") reduce (%r < "8") reads (%a = %x ["8", "8"]) : (tensor<8x8xf32>) -> tensor<8xf32> {
    %0 = tensor.extract %a[%i, %r] : tensor<8x8xf32>
    graph.yield %0 : f32
  } combine [0.0 : f32] {
  ^bb0(%u: f32, %v: f32):
    %1 = arith.addf %u, %v : f32
    graph.yield %1 : f32
  }
  %y = graph.expression "share" (%i < "8", %j < "8") reads (%a = %x ["8", "8"], %b = %s ["8"]) : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32> {
    %0 = tensor.extract %a[%i, %j] : tensor<8x8xf32>
    %1 = tensor.extract %b[%j] : tensor<8xf32>
    %2 = arith.divf %0, %1 : f32
    graph.yield %2 : f32
  }
  func.return %y : tensor<8x8xf32>
}
