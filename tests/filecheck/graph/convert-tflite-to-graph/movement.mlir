// RUN: stepwell-opt %s -p convert-tflite-to-graph | filecheck %s

// Shapes that are computed from those of inputs are known: [N, 6] here, from the shape of %x.
// CHECK-LABEL: @computed
// CHECK: graph.reshape %x shape <["N", 6]> : {{.*}} -> tensor<?x6xf32, #graph.dims<["N", 6]>>
func.func @computed(%x: tensor<?x2x3xf32, #graph.dims<["N", 2, 3]>>) -> tensor<?x6xf32> {
  %zero = "tflite.weight"() <{value = dense<[0]> : tensor<1xi32>}> : () -> tensor<1xi32>
  %one = "tflite.weight"() <{value = dense<[1]> : tensor<1xi32>}> : () -> tensor<1xi32>
  %six = "tflite.weight"() <{value = dense<6> : tensor<i32>}> : () -> tensor<i32>
  %s = "tflite.shape"(%x) {out_type = i32} : (tensor<?x2x3xf32, #graph.dims<["N", 2, 3]>>) -> tensor<3xi32>
  %n = "tflite.strided_slice"(%s, %zero, %one, %one) {shrink_axis_mask = 1 : i64} : (tensor<3xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<i32>
  %p = "tflite.pack"(%n, %six) {values_count = 2 : i64} : (tensor<i32>, tensor<i32>) -> tensor<2xi32>
  %y = "tflite.reshape"(%x, %p) : (tensor<?x2x3xf32, #graph.dims<["N", 2, 3]>>, tensor<2xi32>) -> tensor<?x6xf32>
  func.return %y : tensor<?x6xf32>
}
// Masks leave bounds out, drop axes, and add new ones; steps down have the limit -1.
// CHECK-LABEL: @slices
// CHECK: %[[A:.*]] = graph.slice %x starts <[1, 4]> limits <[2, -1]> steps [1, -2]
// CHECK: graph.reshape %[[A]] shape <[3]>
// CHECK: %[[B:.*]] = graph.slice %x starts <[0, 1]> limits <[4, 3]> steps [1, 1]
// CHECK: graph.reshape %[[B]] shape <[1, 4, 2]>
func.func @slices(%x: tensor<4x5xf32>) {
  %b = "tflite.weight"() <{value = dense<[1, 4]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %e = "tflite.weight"() <{value = dense<[2, 0]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %s = "tflite.weight"() <{value = dense<[1, -2]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %0 = "tflite.strided_slice"(%x, %b, %e, %s) {shrink_axis_mask = 1 : i64, end_mask = 2 : i64} : (tensor<4x5xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<3xf32>
  %c = "tflite.weight"() <{value = dense<[0, 0, 1]> : tensor<3xi32>}> : () -> tensor<3xi32>
  %f = "tflite.weight"() <{value = dense<[0, 0, 3]> : tensor<3xi32>}> : () -> tensor<3xi32>
  %t = "tflite.weight"() <{value = dense<[1, 1, 1]> : tensor<3xi32>}> : () -> tensor<3xi32>
  %1 = "tflite.strided_slice"(%x, %c, %f, %t) {new_axis_mask = 1 : i64, ellipsis_mask = 2 : i64} : (tensor<4x5xf32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<1x4x2xf32>
  func.return
}
