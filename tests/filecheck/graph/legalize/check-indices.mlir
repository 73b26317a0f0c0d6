// RUN: stepwell-opt %s -p 'check-indices' | filecheck %s
// RUN: stepwell-opt %s -p 'check-indices,fuse-ops' | filecheck %s
// CHECK-LABEL: @reads
func.func @reads(%x: tensor<?x4xf32, #graph.dims<["N", 4]>>, %i: tensor<2xi64>) -> tensor<2x4xf32> {
  // CHECK: graph.check_indices %i within <["N"]> : tensor<2xi64>
  // CHECK-NEXT: graph.fused
  %y = graph.fused (%a = %x : tensor<?x4xf32, #graph.dims<["N", 4]>>, %b = %i : tensor<2xi64>) -> (tensor<2x4xf32>) {
    %g = graph.gather %a, %b axis 0 batch_dims 0 bounds "check"
      : (tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<2xi64>) -> tensor<2x4xf32>
    graph.yield %g : tensor<2x4xf32>
  }
  func.return %y : tensor<2x4xf32>
}
// CHECK-LABEL: @constants_that_lie_inside
func.func @constants_that_lie_inside(%x: tensor<8x4xf32>) -> tensor<2x4xf32> {
  // CHECK-NOT: graph.check_indices
  %i = graph.constant dense<[-8, 7]> : tensor<2xi64>
  %y = graph.fused (%a = %x : tensor<8x4xf32>, %b = %i : tensor<2xi64>) -> (tensor<2x4xf32>) {
    %g = graph.gather %a, %b axis 0 batch_dims 0 bounds "check"
      : (tensor<8x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
    graph.yield %g : tensor<2x4xf32>
  }
  func.return %y : tensor<2x4xf32>
}
// An offset that may leave no room is checked before the kernel, or the op; not those that sizes prove, or marked ones.
// CHECK-LABEL: @updates
func.func @updates(%u: tensor<2x1xf32>, %x: tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>, %at: tensor<2xi64>)
    -> tensor<8x?xf32, #graph.dims<[8, "N + 1"]>> {
  %p, %q = graph.bind_sizes %at names ["p", "q"] : tensor<2xi64> -> index, index
  // CHECK: graph.bind_sizes
  // CHECK-NEXT: graph.check_offsets <["p", "q"]> up_to <[6, "N"]>
  // CHECK-NEXT: graph.fused
  %a = graph.fused (%v = %u : tensor<2x1xf32>, %y = %x : tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>)
      -> (tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>) {
    %i = graph.insert_slice %v into %y at <["p", "q"]>
      : (tensor<2x1xf32>, tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>) -> tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>
    graph.yield %i : tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>
  }
  // CHECK: graph.check_offsets <["p - 1"]> up_to <[6]>
  // CHECK-NEXT: {{graph.insert_slice|graph.fused}}
  %b = graph.insert_slice %u into %a at <["p - 1", "N"]>
    : (tensor<2x1xf32>, tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>) -> tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>
  // CHECK-NOT: graph.check_offsets
  %c = graph.insert_slice %u into %b at <[6, 0]>
    : (tensor<2x1xf32>, tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>) -> tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>
  %d = graph.insert_slice %u into %c at <["p", 0]> {graph.in_bounds}
    : (tensor<2x1xf32>, tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>) -> tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>
  func.return %d : tensor<8x?xf32, #graph.dims<[8, "N + 1"]>>
}
// Bounds of a slice: as they are for a step forwards, one more backwards. A clamped one is within the tensor.
// CHECK-LABEL: @slices
func.func @slices(%x: tensor<8x?xf32, #graph.dims<[8, "N"]>>, %at: tensor<2xi64>) -> (tensor<3x2xf32>, tensor<?x3xf32, #graph.dims<["min(8, q)", 3]>>) {
  %p, %q = graph.bind_sizes %at names ["p", "q"] : tensor<2xi64> -> index, index
  // CHECK: graph.check_offsets <["p", "p + 3", "q + 1", "q - 1"]> up_to <[8, 8, "N", "N"]>
  // CHECK-NEXT: {{graph.slice|graph.fused}}
  %y = graph.slice %x starts <["p", "q"]> limits <["p + 3", "q - 2"]> steps [1, -1] : tensor<8x?xf32, #graph.dims<[8, "N"]>> -> tensor<3x2xf32>
  // CHECK: graph.check_offsets <[3]> up_to <["N"]>
  // CHECK-NEXT: {{graph.slice|graph.fused}}
  %z = graph.slice %x starts <[0, 0]> limits <["min(8, q)", 3]> steps [1, 1] : tensor<8x?xf32, #graph.dims<[8, "N"]>> -> tensor<?x3xf32, #graph.dims<["min(8, q)", 3]>>
  // CHECK-NOT: graph.check_offsets
  %w = graph.slice %z starts <[0, 1]> limits <["min(8, q)", 2]> steps [1, 1] : tensor<?x3xf32, #graph.dims<["min(8, q)", 3]>> -> tensor<?x1xf32, #graph.dims<["min(8, q)", 1]>>
  func.return %y, %z : tensor<3x2xf32>, tensor<?x3xf32, #graph.dims<["min(8, q)", 3]>>
}
// A constant of one element, which kernels have a copy of: its check has one before the kernel.
// CHECK-LABEL: @constant_in_kernel
// CHECK: %[[I:.*]] = graph.constant dense<5> : tensor<i64>
// CHECK-NEXT: graph.check_indices %[[I]] within <["N"]>
// CHECK-NEXT: graph.fused
func.func @constant_in_kernel(%x: tensor<?x3xf32, #graph.dims<["N", 3]>>) -> tensor<3xf32> {
  %y = graph.fused (%a = %x : tensor<?x3xf32, #graph.dims<["N", 3]>>) -> (tensor<3xf32>) {
    %i = graph.constant dense<5> : tensor<i64>
    %g = graph.gather %a, %i axis 0 batch_dims 0 bounds "check" : (tensor<?x3xf32, #graph.dims<["N", 3]>>, tensor<i64>) -> tensor<3xf32>
    graph.yield %g : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}

// Each branch has a check of its own; what is checked before both is not checked again, nor by a second run.
// RUN: stepwell-opt %s -p 'check-indices,check-indices' | filecheck %s
// CHECK-LABEL: @branches
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>, %i: tensor<2xi64>, %j: tensor<2xi64>) -> tensor<2xf32> {
  // CHECK: graph.check_indices %j within <[4]>
  %z = graph.fused (%a = %x : tensor<4xf32>, %b = %j : tensor<2xi64>) -> (tensor<2xf32>) {
    %g = graph.gather %a, %b axis 0 batch_dims 0 bounds "check" : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
    graph.yield %g : tensor<2xf32>
  }
  // CHECK: graph.if
  // CHECK-NEXT: graph.check_indices %i within <[4]>
  // CHECK-NEXT: graph.fused
  // CHECK: else
  // CHECK-NEXT: graph.check_indices %i within <[4]>
  // CHECK-NEXT: graph.fused
  // CHECK-NOT: graph.check_indices
  %y = graph.if %c : tensor<i1> -> (tensor<2xf32>) {
    %t = graph.fused (%a = %x : tensor<4xf32>, %b = %i : tensor<2xi64>) -> (tensor<2xf32>) {
      %g = graph.gather %a, %b axis 0 batch_dims 0 bounds "check" : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
      graph.yield %g : tensor<2xf32>
    }
    graph.yield %t : tensor<2xf32>
  } else {
    %e = graph.fused (%a = %x : tensor<4xf32>, %b = %i : tensor<2xi64>, %d = %j : tensor<2xi64>) -> (tensor<2xf32>) {
      %g = graph.gather %a, %b axis 0 batch_dims 0 bounds "check" : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
      %h = graph.gather %a, %d axis 0 batch_dims 0 bounds "check" : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
      %s = graph.subtract %g, %h : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      graph.yield %s : tensor<2xf32>
    }
    graph.yield %e : tensor<2xf32>
  }
  func.return %y : tensor<2xf32>
}
