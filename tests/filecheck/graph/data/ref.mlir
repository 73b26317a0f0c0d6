// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @cells
func.func @cells(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  // CHECK: %[[R:.*]] = ref.new %x : tensor<f32> -> !ref.cell<tensor<f32>>
  %r = ref.new %x : tensor<f32> -> !ref.cell<tensor<f32>>
  // CHECK: ref.write %[[R]], %y : !ref.cell<tensor<f32>>, tensor<f32>
  ref.write %r, %y : !ref.cell<tensor<f32>>, tensor<f32>
  // CHECK: ref.read %[[R]] : !ref.cell<tensor<f32>> -> tensor<f32>
  %v = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
  func.return %v : tensor<f32>
}
