// RUN: stepwell-opt %s -p dynamic-to-static,dead-code-elimination | filecheck %s

// The shape becomes an attribute, and what follows knows its type.
// CHECK-LABEL: @reshape
// CHECK-SAME: -> tensor<6x2xf32>
// CHECK-NEXT: %[[Y:.*]] = graph.reshape %x shape <[2, 6]> : tensor<3x4xf32> -> tensor<2x6xf32>
// CHECK-NEXT: %[[Z:.*]] = graph.transpose %[[Y]] perm [1, 0] : tensor<2x6xf32> -> tensor<6x2xf32>
// CHECK-NEXT: func.return %[[Z]] : tensor<6x2xf32>
func.func @reshape(%x: tensor<3x4xf32>) -> tensor<?x?xf32> {
  %s = graph.constant dense<[2, 6]> : tensor<2xi64>
  %y = graph.reshape %x shape_value %s : tensor<2xi64> : tensor<3x4xf32> -> tensor<?x?xf32>
  %z = graph.transpose %y perm [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
  func.return %z : tensor<?x?xf32>
}

// One of two operands; symbols count as known.
// CHECK-LABEL: @slice
// CHECK: graph.slice %x starts_value %s : tensor<1xi64> limits <["N"]> steps [1]
func.func @slice(%x: tensor<?xf32, #graph.dims<["N"]>>, %s: tensor<1xi64>) -> tensor<?xf32> {
  %n = graph.extents <["N"]> -> tensor<1xi64>
  %y = graph.slice %x starts_value %s : tensor<1xi64> limits_value %n : tensor<1xi64> steps [1] : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
