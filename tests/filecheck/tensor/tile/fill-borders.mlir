// RUN: stepwell-opt %s -p fill-borders --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p fill-borders,fill-borders --split-input-file | filecheck %s

// Rows above and below, then the columns beside the image: each element is written once.
// CHECK-LABEL: @pad
// CHECK: %[[E:.*]] = tensor.empty() : tensor<2x7x10xf32>
// CHECK: %[[T:.*]] = linalg.fill {{.*}} -> tensor<2x1x10xf32>
// CHECK: %[[A:.*]] = tensor.insert_slice %[[T]] into %[[E]][0, 0, 0] [2, 1, 10] [1, 1, 1]
// CHECK: %[[B:.*]] = linalg.fill {{.*}} -> tensor<2x2x10xf32>
// CHECK: %[[C:.*]] = tensor.insert_slice %[[B]] into %[[A]][0, 5, 0] [2, 2, 10] [1, 1, 1]
// CHECK: %[[L:.*]] = linalg.fill {{.*}} -> tensor<2x4x2xf32>
// CHECK: %[[D:.*]] = tensor.insert_slice %[[L]] into %[[C]][0, 1, 0] [2, 4, 2] [1, 1, 1]
// CHECK: tensor.insert_slice %x into %[[D]][0, 1, 2] [2, 4, 8] [1, 1, 1]
func.func private @pad(%x: tensor<2x4x8xf32>) -> tensor<2x7x10xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x7x10xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x7x10xf32>) -> tensor<2x7x10xf32>
  %r = tensor.insert_slice %x into %f[0, 1, 2] [2, 4, 8] [1, 1, 1] : tensor<2x4x8xf32> into tensor<2x7x10xf32>
  func.return %r : tensor<2x7x10xf32>
}

// -----

// A dynamic dimension is taken whole; where the border lies at run time only, all is filled.
// CHECK-LABEL: @dynamic
// CHECK: linalg.fill {{.*}} -> tensor<?x1xf32>
// CHECK: tensor.insert_slice %x into %{{.*}}[0, 1] [%n, 8] [1, 1]
// CHECK: linalg.fill {{.*}} -> tensor<12xf32>
// CHECK: tensor.insert_slice %y into %{{.*}}[%n] [4] [1]
func.func private @dynamic(%x: tensor<?x8xf32>, %y: tensor<4xf32>, %n: index) -> (tensor<?x9xf32>, tensor<12xf32>) attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 2, symbols = ["n"]>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x9xf32>) -> tensor<?x9xf32>
  %r = tensor.insert_slice %x into %f[0, 1] [%n, 8] [1, 1] : tensor<?x8xf32> into tensor<?x9xf32>
  %d = tensor.empty() : tensor<12xf32>
  %g = linalg.fill ins(%zero : f32) outs(%d : tensor<12xf32>) -> tensor<12xf32>
  %s = tensor.insert_slice %y into %g[%n] [4] [1] : tensor<4xf32> into tensor<12xf32>
  func.return %r, %s : tensor<?x9xf32>, tensor<12xf32>
}

// -----

// A filled tensor that something else reads as well stays whole.
// CHECK-LABEL: @shared
// CHECK: linalg.fill {{.*}} -> tensor<6xf32>
// CHECK-NOT: linalg.fill
func.func private @shared(%x: tensor<4xf32>) -> (tensor<6xf32>, tensor<6xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 2>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %r = tensor.insert_slice %x into %f[1] [4] [1] : tensor<4xf32> into tensor<6xf32>
  func.return %r, %f : tensor<6xf32>, tensor<6xf32>
}
