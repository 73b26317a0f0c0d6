// RUN: stepwell-opt %s | filecheck %s

// Operands are in the order of the program's; attributes that have their default are left out.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<?x3x8x8xf32, #graph.dims<["N", 3, 8, 8]>>, %w: tensor<4x3x1x1xf32>) {
  // CHECK: "paddle.conv2d"(%x, %w) {strides = [2 : i64, 2 : i64], padding_algorithm = "SAME"}
  %y = "paddle.conv2d"(%x, %w) {strides = [2 : i64, 2 : i64], padding_algorithm = "SAME"} : (tensor<?x3x8x8xf32, #graph.dims<["N", 3, 8, 8]>>, tensor<4x3x1x1xf32>) -> tensor<?x4x4x4xf32>
  // CHECK: %[[A:.*]] = "paddle.full"() {shape = [1 : i64], value = 1 : i64, dtype = "int32"} : () -> tensor<1xi32>
  %a = "paddle.full"() {shape = [1 : i64], value = 1 : i64, dtype = "int32"} : () -> tensor<1xi32>
  // CHECK: "paddle.split_with_num"(%{{.*}}, %[[A]]) {num = 2 : i64} : (tensor<?x4x4x4xf32>, tensor<1xi32>) -> (tensor<?x2x4x4xf32>, tensor<?x2x4x4xf32>)
  %b, %c = "paddle.split_with_num"(%y, %a) {num = 2 : i64} : (tensor<?x4x4x4xf32>, tensor<1xi32>) -> (tensor<?x2x4x4xf32>, tensor<?x2x4x4xf32>)
  // CHECK: "paddle.operator"(%{{.*}}) <{target = "yolo_box"}> : (tensor<?x2x4x4xf32>) -> tensor<?x2xf32>
  %o = "paddle.operator"(%b) <{target = "yolo_box"}> : (tensor<?x2x4x4xf32>) -> tensor<?x2xf32>
  func.return
}
// CHECK-LABEL: func.func @choice
func.func @choice(%c: tensor<i1>, %x: tensor<4xf32>) {
  // CHECK: "paddle.if"(%c) ({
  // CHECK-NEXT: "paddle.return"(%x) : (tensor<4xf32>) -> ()
  %y = "paddle.if"(%c) ({
    "paddle.return"(%x) : (tensor<4xf32>) -> ()
  }, {
    "paddle.return"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  func.return
}
