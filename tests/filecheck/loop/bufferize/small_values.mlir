// RUN: stepwell-opt %s -p bufferize | filecheck %s

// CHECK-LABEL: @constants
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : memref<4xf32>)
// CHECK-COUNT-3: memref.store {{.*}} : memref<3xi64>
// CHECK: memref.load %{{.*}} : memref<3xi64>
func.func private @constants(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<1xi64>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 2>} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %same = arith.constant dense<0.5> : tensor<4xf32>
  %table = arith.constant dense<[3, 1, 2]> : tensor<3xi64>
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (-i + 3)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x, %same : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %v = tensor.extract %table[%c1] : tensor<3xi64>
  %one = tensor.from_elements %v : tensor<1xi64>
  func.return %r, %one : tensor<4xf32>, tensor<1xi64>
}

// Elements are read and written one by one; an op's body may read a whole tensor.
// CHECK-LABEL: @gather
// CHECK-SAME: (%[[X:[a-z]+]]: memref<5x4xf32>
// CHECK: ^{{.*}}(%[[I:.*]]: i64
// CHECK: memref.load %[[X]][%{{.*}}, %{{.*}}] : memref<5x4xf32>
// CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : memref<3x4xf32>
func.func private @gather(%x: tensor<5x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<3x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<3xi64>) outs(%e : tensor<3x4xf32>) {
  ^bb0(%row: i64, %o: f32):
    %at = arith.index_cast %row : i64 to index
    %column = linalg.index 1 : index
    %v = tensor.extract %x[%at, %column] : tensor<5x4xf32>
    linalg.yield %v : f32
  } -> tensor<3x4xf32>
  %s = tensor.insert %one into %r[%c2, %c2] : tensor<3x4xf32>
  func.return %s : tensor<3x4xf32>
}
