// RUN: stepwell-opt %s -p narrow-constant-indices | filecheck %s

// CHECK-LABEL: @main
// CHECK-NEXT: %i = graph.constant dense<[2, 0]> : tensor<2xi32>
// CHECK-NEXT: graph.gather %x, %i axis 0 batch_dims 0 bounds "check" : (tensor<4xf32>, tensor<2xi32>) -> tensor<2xf32>
// CHECK-NEXT: graph.gather %x, %i axis 0 batch_dims 0 bounds "check" : (tensor<4xf32>, tensor<2xi32>) -> tensor<2xf32>
func.func @main(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %i = graph.constant dense<[2, 0]> : tensor<2xi64>
  %y = graph.gather %x, %i axis 0 batch_dims 0 bounds "check" : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  %z = graph.gather %x, %i axis 0 batch_dims 0 bounds "check" : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %y, %z : tensor<2xf32>, tensor<2xf32>
}

// What other ops read stays, an array that is gathered from too; so do indices that 32 bits are not enough for.
// CHECK-LABEL: @others
// CHECK-DAG: %[[I:.*]] = graph.constant dense<[2, 0]> : tensor<2xi64>
// CHECK-DAG: %[[S:.*]] = graph.constant dense<[2, 0]> : tensor<2xi32>
// CHECK-DAG: %[[L:.*]] = graph.constant dense<4294967296> : tensor<1xi64>
// CHECK: graph.gather %[[I]], %[[S]] axis 0
// CHECK: graph.gather %x, %[[L]] axis 0
// CHECK: graph.gather %x, %d axis 0
// CHECK: func.return %{{.*}}, %[[I]]
func.func @others(%x: tensor<4xf32>, %d: tensor<2xi64>) -> (tensor<2xi64>, tensor<1xf32>, tensor<2xf32>, tensor<2xi64>) {
  %i = graph.constant dense<[2, 0]> : tensor<2xi64>
  %l = graph.constant dense<4294967296> : tensor<1xi64>
  %y = graph.gather %i, %i axis 0 batch_dims 0 bounds "check" : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %z = graph.gather %x, %l axis 0 batch_dims 0 bounds "check" : (tensor<4xf32>, tensor<1xi64>) -> tensor<1xf32>
  %w = graph.gather %x, %d axis 0 batch_dims 0 bounds "check" : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %y, %z, %w, %i : tensor<2xi64>, tensor<1xf32>, tensor<2xf32>, tensor<2xi64>
}
