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

// CHECK-LABEL: @paired
// CHECK: arith.truncf %a : f32 to bf16
// CHECK: arith.extui %{{.*}} : i16 to i32
// CHECK: arith.shli
// CHECK: arith.ori
// CHECK-NOT: pair_bfloats
func.func @paired(%a: f32, %b: f32) -> i32 {
  %r = arith.pair_bfloats %a, %b : f32 -> i32
  func.return %r : i32
}

// -----

// A power of two is a number of f64.
// CHECK-LABEL: @scaled
// CHECK: %[[X:.*]] = arith.extf %a : vector<4xf32> to vector<4xf64>
// CHECK: %[[P:.*]] = arith.bitcast %{{.*}} : vector<4xi64> to vector<4xf64>
// CHECK: %[[R:.*]] = arith.mulf %[[X]], %[[P]] : vector<4xf64>
// CHECK: arith.truncf %[[R]] : vector<4xf64> to vector<4xf32>
func.func @scaled(%a: vector<4xf32>, %n: vector<4xf32>) -> vector<4xf32> {
  %r = arith.scale %a, %n : vector<4xf32>
  func.return %r : vector<4xf32>
}

// -----

// CHECK-LABEL: @bfloats
// CHECK: %[[R:.*]] = arith.truncf %a : vector<16xf32> to vector<16xbf16>
// CHECK: vector.bitcast %[[R]] : vector<16xbf16> to vector<8xi32>
// CHECK-NOT: pack_bfloats
func.func @bfloats(%a: vector<16xf32>) -> vector<8xi32> {
  %r = arith.pack_bfloats %a : vector<16xf32> -> vector<8xi32>
  func.return %r : vector<8xi32>
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

// -----

// Branches yield tensors of the result's type; their size is the result's.
// CHECK-LABEL: @branch
// CHECK: %[[C:.*]] = tensor.extract %c[] : tensor<i1>
// CHECK: %[[R:.*]] = scf.if %[[C]] -> (tensor<?xf32>)
// CHECK: %[[A:.*]] = tensor.cast %x : tensor<2xf32> to tensor<?xf32>
// CHECK: scf.yield %[[A]]
// CHECK: %[[B:.*]] = tensor.cast %z : tensor<3xf32> to tensor<?xf32>
// CHECK: scf.yield %[[B]]
// CHECK: %[[N:.*]] = tensor.dim %[[R]]
// CHECK: func.call @k(%[[R]], %[[N]])
// CHECK-NOT: graph.
func.func @branch(%c: tensor<i1>, %x: tensor<2xf32>, %z: tensor<3xf32>) -> tensor<4xf32> {
  %y, %n = graph.if %c : tensor<i1> defines ["n"] -> (tensor<?xf32>, index) attributes {graph.signature = () -> (tensor<?xf32, #graph.dims<["n"]>>, index)} {
    graph.yield %x : tensor<2xf32>
  } else {
    graph.yield %z : tensor<3xf32>
  }
  %r = func.call @k(%y, %n) : (tensor<?xf32>, index) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}
func.func private @k(tensor<?xf32>, index) -> tensor<4xf32>

// -----

// The iteration's number is a tensor; the size that iterations change is that of the carried tensor.
// CHECK-LABEL: @counted
// CHECK: %[[E:.*]] = tensor.extract %n[] : tensor<i64>
// CHECK: %[[COUNT:.*]] = arith.index_cast %[[E]] : i64 to index
// CHECK: %[[X:.*]] = tensor.cast %x : tensor<2xf32> to tensor<?xf32>
// CHECK: %[[Y:.*]] = scf.for %[[I:.*]] = %{{.*}} to %[[COUNT]] step %{{.*}} iter_args(%[[S:.*]] = %[[X]])
// CHECK: %[[CAST:.*]] = arith.index_cast %[[I]] : index to i64
// CHECK: %[[NUMBER:.*]] = tensor.from_elements %[[CAST]] : tensor<i64>
// CHECK: %[[M:.*]] = tensor.dim %[[S]]
// CHECK: %[[T:.*]] = func.call @k(%[[S]], %[[NUMBER]], %[[M]])
// CHECK: scf.yield %[[T]]
// CHECK: %[[L:.*]] = tensor.dim %[[Y]]
// CHECK: tensor.from_elements %[[L]]
// CHECK-NOT: graph.
func.func @counted(%n: tensor<i64>, %x: tensor<2xf32>) -> tensor<?x1xf32> {
  %y, %last = graph.for %i to %n (%s = %x : tensor<2xf32> as tensor<?xf32>) carries ["m"] (%m) defines ["l"] -> (tensor<?xf32>, index) attributes {graph.signature = (tensor<?xf32, #graph.dims<["m"]>>) -> (tensor<?xf32, #graph.dims<["l"]>>, index)} {
    %t = func.call @k(%s, %i, %m) : (tensor<?xf32>, tensor<i64>, index) -> tensor<?xf32>
    graph.yield %t : tensor<?xf32>
  }
  %r = graph.reshape %y shape <["l", 1]> : tensor<?xf32> -> tensor<?x1xf32>
  func.return %r : tensor<?x1xf32>
}
func.func private @k(tensor<?xf32>, tensor<i64>, index) -> tensor<?xf32>

// -----

// CHECK-LABEL: @repeated
// CHECK: scf.while (%[[A:.*]] = %x) : (tensor<48xf32>) -> tensor<48xf32>
// CHECK: %[[C:.*]] = func.call @test(%[[A]])
// CHECK: %[[E:.*]] = tensor.extract %[[C]][] : tensor<i1>
// CHECK: scf.condition(%[[E]]) %[[A]]
// CHECK: %[[P:.*]] = tensor.extract %at[%{{.*}}] : tensor<1xi64>
// CHECK: %[[AT:.*]] = arith.index_cast %[[P]] : i64 to index
// CHECK: %[[Y:.*]] = tensor.insert_slice %u into %{{.*}}[%[[AT]]] [1] [1]
// CHECK: scf.yield %[[Y]]
// CHECK-NOT: graph.
func.func @repeated(%x: tensor<48xf32>, %u: tensor<1xf32>, %at: tensor<1xi64>) -> tensor<48xf32> {
  %y = graph.while (%a = %x : tensor<48xf32>) -> (tensor<48xf32>) {
    %c = func.call @test(%a) : (tensor<48xf32>) -> tensor<i1>
    graph.yield %c : tensor<i1>
  } do (%b: tensor<48xf32>) {
    %d = graph.insert_slice %u into %b at_value %at : tensor<1xi64> : (tensor<1xf32>, tensor<48xf32>) -> tensor<48xf32>
    graph.yield %d : tensor<48xf32>
  }
  func.return %y : tensor<48xf32>
}
func.func private @test(tensor<48xf32>) -> tensor<i1>
