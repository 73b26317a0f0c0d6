// RUN: stepwell-opt %s -p simplify-inference | filecheck %s
// RUN: stepwell-opt %s -p 'simplify-inference{only=batch_norm}' | filecheck %s
// RUN: stepwell-opt %s -p simplify-inference,fold-constant,dead-code-elimination | filecheck %s --check-prefix=FOLDED
// RUN: not stepwell-opt %s -p 'simplify-inference{only=conv}' 2>&1 | filecheck %s --check-prefix=BAD
// BAD: error[bad-option]: simplify-inference has no rule for conv

// CHECK-LABEL: @main
// CHECK: %[[E:.*]] = graph.constant dense<{{.*}}> : tensor<f32>
// CHECK-NEXT: %[[V:.*]] = graph.add %{{.*}}, %[[E]]
// CHECK-NEXT: %[[R:.*]] = graph.rsqrt %[[V]]
// CHECK-NEXT: %[[S:.*]] = graph.multiply %{{.*}}, %[[R]]
// CHECK-NEXT: %[[M:.*]] = graph.multiply %{{.*}}, %[[S]]
// CHECK-NEXT: %[[B:.*]] = graph.subtract %{{.*}}, %[[M]]
// CHECK-NEXT: %[[T:.*]] = graph.expand_dims %[[S]] axes [1] : tensor<3xf32> -> tensor<3x1xf32>
// CHECK-NEXT: %[[X:.*]] = graph.multiply %x, %[[T]]
// CHECK-NEXT: graph.bias_add %[[X]], %[[B]] axis 1
// FOLDED-LABEL: @main
// FOLDED: graph.multiply
// FOLDED-NEXT: graph.bias_add
// FOLDED-NEXT: func.return
func.func @main(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %m = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %v = graph.constant dense<[4.0, 9.0, 16.0]> : tensor<3xf32>
  %y = graph.batch_norm %x mean %m variance %v scale %v bias %m eps 0.0 axis 1 : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  func.return %y : tensor<2x3x4xf32>
}
