// RUN: stepwell-opt %s -p expand-forms | filecheck %s

// One product for all steps, whose number is open; each step multiplies the state, computes the cell and writes its
// row of the result.
// CHECK-LABEL: @whole
// CHECK: %[[T:.*]] = tensor.dim %x
// CHECK: %[[BYGATE:.*]] = tensor.expand_shape %w {{.*}} into tensor<1x3x4x8xf32>
// CHECK: %[[GATES:.*]] = linalg.generic {{.*}} ins(%x, %[[BYGATE]] : {{.*}}) outs(%{{.*}} : tensor<?x2x3x4xf32>)
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[T]] step %{{.*}} iter_args(%[[OUT:.*]] = %y0, %[[H:.*]] = %{{.*}})
// A reverse layer starts at the last step.
// CHECK: %[[LAST:.*]] = arith.subi %[[T]], %{{.*}} : index
// CHECK: %[[AT:.*]] = arith.subi %[[LAST]], %[[I]] : index
// CHECK: %[[SEEN:.*]] = tensor.extract_slice %[[GATES]][%[[AT]], 0, 0, 0] [1, 2, 3, 4]
// CHECK: linalg.generic {{.*}} ins(%[[H]], %{{.*}} : tensor<2x4xf32>, tensor<1x3x4x4xf32>)
// CHECK: math.tanh
// CHECK: tensor.insert_slice %{{.*}} into %[[OUT]][%[[AT]], 0, 0, 0] [1, 1, 2, 4]
// CHECK: scf.yield
// CHECK-NOT: unrealized_conversion_cast
func.func private @whole(%x: tensor<?x2x8xf32>, %w: tensor<1x12x8xf32>, %r: tensor<1x12x4xf32>, %y0: tensor<?x1x2x4xf32>, %h0: tensor<1x2x4xf32>) -> tensor<?x1x2x4xf32> {
  %y, %h = linalg_ext.rnn %x, %w, %r into %y0, %h0 : tensor<?x1x2x4xf32>, tensor<1x2x4xf32> cell "gru" direction "reverse" activations ["sigmoid", "tanh"] alphas [0.0, 0.0] betas [0.0, 0.0] linear_before_reset true : (tensor<?x2x8xf32>, tensor<1x12x8xf32>, tensor<1x12x4xf32>) -> tensor<?x1x2x4xf32>, tensor<1x2x4xf32>
  func.return %y : tensor<?x1x2x4xf32>
}

// A product for each block of three steps; the last block and the last step first.
// CHECK-LABEL: @blocks
// CHECK: scf.for %[[B:.*]] = %{{.*}} to %[[COUNT:.*]] step
// CHECK: %[[LAST:.*]] = arith.subi %[[COUNT]], %{{.*}} : index
// CHECK: %[[BLOCK:.*]] = arith.subi %[[LAST]], %[[B]] : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[BLOCK]], %{{.*}} : index
// CHECK: %[[SOME:.*]] = tensor.extract_slice %x[%[[FIRST]], 0, 0] [3, 2, 8]
// CHECK: linalg.generic {{.*}} ins(%[[SOME]], %{{.*}} outs(%{{.*}} : tensor<3x2x1x4xf32>)
// CHECK: scf.for
// CHECK: %[[AT:.*]] = arith.addi %[[FIRST]], %[[ROW:.*]] : index
// CHECK: tensor.extract_slice %{{.*}}[%[[ROW]], 0, 0, 0] [1, 2, 1, 4]
// CHECK: tensor.insert_slice %{{.*}}[%[[AT]], 0, 0, 0] [1, 1, 2, 4]
func.func private @blocks(%x: tensor<6x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>, %y0: tensor<6x1x2x4xf32>, %h0: tensor<1x2x4xf32>) -> tensor<6x1x2x4xf32> {
  %y, %h = linalg_ext.rnn %x, %w, %r into %y0, %h0 : tensor<6x1x2x4xf32>, tensor<1x2x4xf32> cell "rnn" direction "reverse" activations ["tanh"] alphas [0.0] betas [0.0] {sched.schedule = #sched.schedule<form = "blocks", sizes = {steps = 3}>} : (tensor<6x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<6x1x2x4xf32>, tensor<1x2x4xf32>
  func.return %y : tensor<6x1x2x4xf32>
}
