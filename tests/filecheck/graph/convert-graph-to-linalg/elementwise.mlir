// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// One generic op an op; a constant of one element stands in the body.
// CHECK-LABEL: func.func private @k0(%p: tensor<2x3xf32>, %q: tensor<3xf32>)
// CHECK: %[[INIT:.*]] = tensor.empty() : tensor<2x3xf32>
// CHECK: %[[SUM:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%p, %q : tensor<2x3xf32>, tensor<3xf32>) outs(%[[INIT]]
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[C:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT: linalg.yield %[[C]] : f32
// CHECK: linalg.generic {{.*}} ins(%[[SUM]] : tensor<2x3xf32>)
// CHECK: %[[K:.*]] = arith.constant 2.500000e-01 : f32
// CHECK: arith.mulf %{{.*}}, %[[K]] : f32
// CHECK-NOT: graph.
func.func @broadcast(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %y = graph.fused (%p = %x : tensor<2x3xf32>, %q = %b : tensor<3xf32>) -> (tensor<2x3xf32>) {
    %k = graph.constant dense<0.25> : tensor<1xf32>
    %0 = graph.add %p, %q : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %1 = graph.multiply %0, %k : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
    graph.yield %1 : tensor<2x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}

// A dimension of 1 is read at 0; a scalar has no indices.
// CHECK-LABEL: func.func private @k1
// CHECK: indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK: arith.select %{{.*}} : f16
func.func @where(%c: tensor<2x1xi1>, %a: tensor<1x3xf16>, %b: tensor<f16>) -> tensor<2x3xf16> {
  %y = graph.fused (%p = %c : tensor<2x1xi1>, %q = %a : tensor<1x3xf16>, %r = %b : tensor<f16>) -> (tensor<2x3xf16>) {
    %0 = graph.where %p, %q, %r : (tensor<2x1xi1>, tensor<1x3xf16>, tensor<f16>) -> tensor<2x3xf16>
    graph.yield %0 : tensor<2x3xf16>
  }
  func.return %y : tensor<2x3xf16>
}

// Narrow floats compute in f32.
// CHECK-LABEL: func.func private @k2
// CHECK: ^bb0(%[[X:.*]]: bf16, %{{.*}}: bf16):
// CHECK-NEXT: %[[W:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[W]] : f32
// CHECK-NEXT: %[[R:.*]] = arith.truncf %[[T]] : f32 to bf16
// CHECK-NEXT: linalg.yield %[[R]] : bf16
func.func @narrow(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %y = graph.fused (%p = %x : tensor<4xbf16>) -> (tensor<4xbf16>) {
    %0 = graph.tanh %p : tensor<4xbf16> -> tensor<4xbf16>
    graph.yield %0 : tensor<4xbf16>
  }
  func.return %y : tensor<4xbf16>
}

// Dividing guards against 0 and against the lowest number over -1, where the machine would trap.
// CHECK-LABEL: func.func private @k3
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: %[[SAFE:.*]] = arith.select %{{.*}}, %[[ONE]], %[[DIVISOR:.*]] : i32
// CHECK: arith.divsi %{{.*}}, %[[SAFE]] : i32
func.func @divide(%x: tensor<4xi32>) -> tensor<4xi32> {
  %y = graph.fused (%p = %x : tensor<4xi32>) -> (tensor<4xi32>) {
    %0 = graph.divide %p, %p : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    graph.yield %0 : tensor<4xi32>
  }
  func.return %y : tensor<4xi32>
}

// A constant divisor that cannot trap needs no guard, and unsigned numbers divide without sign.
// CHECK-LABEL: func.func private @k4
// CHECK: %[[THREE:.*]] = arith.constant 3 : i32
// CHECK-NEXT: arith.divui %{{.*}}, %[[THREE]] : i32
// CHECK-NOT: arith.select
func.func @divide_by_constant(%x: tensor<4xui32>) -> tensor<4xui32> {
  %y = graph.fused (%p = %x : tensor<4xui32>) -> (tensor<4xui32>) {
    %k = graph.constant dense<3> : tensor<ui32>
    %0 = graph.divide %p, %k : (tensor<4xui32>, tensor<ui32>) -> tensor<4xui32>
    graph.yield %0 : tensor<4xui32>
  }
  func.return %y : tensor<4xui32>
}

// Casts to integers saturate at 32 bits, as `arith.fptosi` of ours does, and lose the upper ones.
// CHECK-LABEL: func.func private @k5
// CHECK: arith.fptosi %{{.*}} : f32 to i32
// CHECK-NEXT: arith.trunci %{{.*}} : i32 to i8
func.func @cast(%x: tensor<4xf32>) -> tensor<4xi8> {
  %y = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xi8>) {
    %0 = graph.cast %p to i8 saturate true round "nearest" : tensor<4xf32> -> tensor<4xi8>
    graph.yield %0 : tensor<4xi8>
  }
  func.return %y : tensor<4xi8>
}

// A constant that is a kernel's result is a tensor.
// CHECK-LABEL: func.func private @k6
// CHECK: linalg.fill ins(%{{.*}} : f32)
func.func @constant() -> tensor<1xf32> {
  %y = graph.fused () -> (tensor<1xf32>) {
    %0 = graph.constant dense<2.0> : tensor<1xf32>
    graph.yield %0 : tensor<1xf32>
  }
  func.return %y : tensor<1xf32>
}

// Mish's gate needs no logarithm; a softplus that others read too stays.
// CHECK-LABEL: func.func private @k7
// CHECK: arith.minimumf
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[MORE:.*]] = arith.addf %[[E]], %[[TWO:.*]] : f32
// CHECK: %[[N:.*]] = arith.mulf %[[E]], %[[MORE]] : f32
// CHECK: %[[M:.*]] = arith.addf %[[N]], %[[TWO]] : f32
// CHECK: arith.divf %[[N]], %[[M]] : f32
// CHECK-NOT: math.log1p
// CHECK-LABEL: func.func private @k8
// CHECK: math.log1p
// CHECK: math.tanh
func.func @mish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = graph.softplus %p : tensor<4xf32> -> tensor<4xf32>
    %1 = graph.tanh %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = graph.multiply %p, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %2 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
func.func @gate(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %z = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = graph.softplus %p : tensor<4xf32> -> tensor<4xf32>
    %1 = graph.tanh %0 : tensor<4xf32> -> tensor<4xf32>
    graph.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}
