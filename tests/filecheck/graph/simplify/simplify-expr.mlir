// RUN: stepwell-opt %s -p simplify-expr,dead-code-elimination | filecheck %s

// The permutations do not commute: composed the wrong way round, they would not give the identity.
// CHECK-LABEL: @inverse_transposes
// CHECK-NEXT: func.return %x
func.func @inverse_transposes(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %a = graph.transpose %x perm [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %b = graph.transpose %a perm [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
  func.return %b : tensor<2x3x4xf32>
}

// What something else reads stays.
// CHECK-LABEL: @shared
// CHECK-NEXT: %[[A:.*]] = graph.transpose %x perm [1, 2, 0]
// CHECK-NEXT: %[[B:.*]] = graph.transpose %x perm [1, 0, 2]
// CHECK-NEXT: func.return %[[A]], %[[B]]
func.func @shared(%x: tensor<2x3x4xf32>) -> (tensor<3x4x2xf32>, tensor<3x2x4xf32>) {
  %a = graph.transpose %x perm [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %b = graph.transpose %a perm [0, 2, 1] : tensor<3x4x2xf32> -> tensor<3x2x4xf32>
  func.return %a, %b : tensor<3x4x2xf32>, tensor<3x2x4xf32>
}

// CHECK-LABEL: @views
// CHECK-NEXT: %[[Y:.*]] = graph.reshape %x shape <["N", 6]>
// CHECK-NEXT: func.return %[[Y]]
func.func @views(%x: tensor<?x2x3xf32, #graph.dims<["N", 2, 3]>>) -> tensor<?x6xf32, #graph.dims<["N", 6]>> {
  %a = graph.expand_dims %x axes [0] : tensor<?x2x3xf32, #graph.dims<["N", 2, 3]>> -> tensor<1x?x2x3xf32, #graph.dims<[1, "N", 2, 3]>>
  %b = graph.transpose %a perm [1, 2, 3, 0] : tensor<1x?x2x3xf32, #graph.dims<[1, "N", 2, 3]>> -> tensor<?x2x3x1xf32, #graph.dims<["N", 2, 3, 1]>>
  %c = graph.squeeze %b axes [3] : tensor<?x2x3x1xf32, #graph.dims<["N", 2, 3, 1]>> -> tensor<?x2x3xf32, #graph.dims<["N", 2, 3]>>
  %y = graph.reshape %c shape <["N", 6]> : tensor<?x2x3xf32, #graph.dims<["N", 2, 3]>> -> tensor<?x6xf32, #graph.dims<["N", 6]>>
  func.return %y : tensor<?x6xf32, #graph.dims<["N", 6]>>
}

// A padding that crops as much as it adds moves elements: it stays.
// CHECK-LABEL: @shift
// CHECK-NEXT: graph.pad
// CHECK-NEXT: graph.slice
func.func @shift(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = graph.pad %x pads <[1, -1]> mode "constant" : tensor<4xf32> -> tensor<4xf32>
  %b = graph.slice %x starts <[3]> limits <[-1]> steps [-1] : tensor<4xf32> -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// x + 0, 1 * x and x / 1 go; 0 - x and 1 / x do not, nor an addition that broadcasts.
// CHECK-LABEL: @neutral
// CHECK-DAG: %[[Z:.*]] = graph.constant dense<0.0{{.*}}> : tensor<f32>
// CHECK-DAG: %[[O:.*]] = graph.constant dense<1.0{{.*}}> : tensor<f32>
// CHECK: %[[A:.*]] = graph.subtract %[[Z]], %x
// CHECK-NEXT: %[[B:.*]] = graph.divide %[[O]], %[[A]]
// CHECK-NEXT: %[[C:.*]] = graph.add %[[B]], %
// CHECK-NEXT: func.return %[[C]]
func.func @neutral(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %zeros = graph.constant dense<[[0.0], [0.0]]> : tensor<2x1xf32>
  %a = graph.add %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = graph.multiply %one, %a : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %c = graph.divide %b, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = graph.subtract %zero, %c : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %e = graph.divide %one, %d : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %f = graph.add %e, %zeros : (tensor<4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  func.return %f : tensor<2x4xf32>
}

// A slice before a transpose has the axes of the input: this permutation is not its own inverse.
// CHECK-LABEL: @slice_before_transpose
// CHECK: %[[S:.*]] = graph.slice %x starts <[0, 0, 2]> limits <[2, 3, 4]> steps [1, 2, 1] : tensor<2x3x4xf32> -> tensor<2x2x2xf32>
// CHECK: graph.transpose %[[S]] perm [1, 2, 0] : tensor<2x2x2xf32>
func.func @slice_before_transpose(%x: tensor<2x3x4xf32>) -> tensor<2x2x2xf32> {
  %t = graph.transpose %x perm [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %y = graph.slice %t starts <[0, 2, 0]> limits <[3, 4, 2]> steps [2, 1, 1] : tensor<3x4x2xf32> -> tensor<2x2x2xf32>
  func.return %y : tensor<2x2x2xf32>
}

// How exporters write attention's three inputs: one slice and one transpose of each is left.
// CHECK-LABEL: @heads
// CHECK-NOT: graph.gather
// CHECK-DAG: %[[A:.*]] = graph.slice %{{.*}} starts <[0, 0, 0, 0]> limits <["S", 1, 2, 4]>
// CHECK-DAG: %[[B:.*]] = graph.slice %{{.*}} starts <[0, 1, 0, 0]> limits <["S", 2, 2, 4]>
// CHECK-DAG: graph.transpose %[[A]] perm
// CHECK-DAG: graph.transpose %[[B]] perm
// CHECK-NOT: graph.transpose
func.func @heads(%x: tensor<?x24xf32, #graph.dims<["S", 24]>>) -> (tensor<2x?x4xf32, #graph.dims<[2, "S", 4]>>, tensor<2x?x4xf32, #graph.dims<[2, "S", 4]>>) {
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %r = graph.reshape %x shape <["S", 3, 8]> : tensor<?x24xf32, #graph.dims<["S", 24]>> -> tensor<?x3x8xf32, #graph.dims<["S", 3, 8]>>
  %t = graph.transpose %r perm [1, 0, 2] : tensor<?x3x8xf32, #graph.dims<["S", 3, 8]>> -> tensor<3x?x8xf32, #graph.dims<[3, "S", 8]>>
  %q = graph.gather %t, %zero axis 0 batch_dims 0 bounds "check" : (tensor<3x?x8xf32, #graph.dims<[3, "S", 8]>>, tensor<i64>) -> tensor<?x8xf32, #graph.dims<["S", 8]>>
  %k = graph.gather %t, %one axis 0 batch_dims 0 bounds "check" : (tensor<3x?x8xf32, #graph.dims<[3, "S", 8]>>, tensor<i64>) -> tensor<?x8xf32, #graph.dims<["S", 8]>>
  %q2 = graph.reshape %q shape <["S", 2, 4]> : tensor<?x8xf32, #graph.dims<["S", 8]>> -> tensor<?x2x4xf32, #graph.dims<["S", 2, 4]>>
  %k2 = graph.reshape %k shape <["S", 2, 4]> : tensor<?x8xf32, #graph.dims<["S", 8]>> -> tensor<?x2x4xf32, #graph.dims<["S", 2, 4]>>
  %q3 = graph.transpose %q2 perm [1, 0, 2] : tensor<?x2x4xf32, #graph.dims<["S", 2, 4]>> -> tensor<2x?x4xf32, #graph.dims<[2, "S", 4]>>
  %k3 = graph.transpose %k2 perm [1, 0, 2] : tensor<?x2x4xf32, #graph.dims<["S", 2, 4]>> -> tensor<2x?x4xf32, #graph.dims<[2, "S", 4]>>
  func.return %q3, %k3 : tensor<2x?x4xf32, #graph.dims<[2, "S", 4]>>, tensor<2x?x4xf32, #graph.dims<[2, "S", 4]>>
}

// Constants merge along a chain; a division by one becomes part of the product. What is read twice stays.
// CHECK-LABEL: @merge
// CHECK: %[[C:.*]] = graph.constant dense<1.500000e+00> : tensor<f32>
// CHECK-NEXT: %[[M:.*]] = graph.multiply %x, %[[C]]
// CHECK-NEXT: func.return %[[M]]
func.func @merge(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = graph.constant dense<2.0> : tensor<f32>
  %three = graph.constant dense<3.0> : tensor<f32>
  %a = graph.divide %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = graph.multiply %three, %a : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// A large constant that is added and taken away again rounds to whole numbers; 0 and others merge.
// CHECK-LABEL: @rounds
// CHECK: %[[S:.*]] = graph.add %x, %
// CHECK-NEXT: %[[R:.*]] = graph.add %[[S]], %
// CHECK-NEXT: %[[A:.*]] = graph.add %x, %
// CHECK-NEXT: func.return %[[R]], %[[A]]
func.func @rounds(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = graph.constant dense<12582912.0> : tensor<f32>
  %d = graph.constant dense<-12582912.0> : tensor<f32>
  %a = graph.add %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %r = graph.add %a, %d : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %e = graph.add %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %f = graph.add %e, %d : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %r, %f : tensor<4xf32>, tensor<4xf32>
}

// Of one number it saves nothing: a scale keeps the digits that its zero point rests on.
// CHECK-LABEL: @single_quotient
// CHECK: graph.divide
func.func @single_quotient(%range: tensor<f32>) -> tensor<f32> {
  %steps = graph.constant dense<255.0> : tensor<f32>
  %scale = graph.divide %range, %steps : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %scale : tensor<f32>
}

// A reciprocal that is infinite, or too small for all its digits, is not taken; nor a division of integers.
// CHECK-LABEL: @divisions
// CHECK-COUNT-3: graph.divide
func.func @divisions(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %huge = graph.constant dense<3.0e38> : tensor<f32>
  %two = graph.constant dense<2> : tensor<i32>
  %a = graph.divide %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = graph.divide %x, %huge : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = graph.divide %n, %two : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// Nor is one of a quotient that becomes a whole number: 41 * (1 / 41) is less than 1.
// CHECK-LABEL: @rows
// CHECK-COUNT-2: graph.divide
func.func @rows(%x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %c = graph.constant dense<41.0> : tensor<f32>
  %a = graph.divide %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = graph.divide %z, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %f = graph.floor %a : tensor<4xf32> -> tensor<4xf32>
  %n = graph.cast %b to i64 saturate true round "nearest" : tensor<4xf32> -> tensor<4xi64>
  func.return %f, %n : tensor<4xf32>, tensor<4xi64>
}

// Two products through views of different shapes: neither takes the other's place, for ever.
// CHECK-LABEL: @products_of_two_shapes
func.func @products_of_two_shapes(%a: tensor<6x5xf32>, %b: tensor<3x10xf32>) -> tensor<30xf32> {
  %p = graph.exp %a : tensor<6x5xf32> -> tensor<6x5xf32>
  %q = graph.exp %b : tensor<3x10xf32> -> tensor<3x10xf32>
  %v = graph.reshape %p shape <[30]> : tensor<6x5xf32> -> tensor<30xf32>
  %w = graph.reshape %q shape <[30]> : tensor<3x10xf32> -> tensor<30xf32>
  // CHECK: graph.add {{.*}} : (tensor<30xf32>, tensor<30xf32>) -> tensor<30xf32>
  %y = graph.add %v, %w : (tensor<30xf32>, tensor<30xf32>) -> tensor<30xf32>
  func.return %y : tensor<30xf32>
}

// Changes of layout cancel, but not those that pad three channels to four.
// CHECK-LABEL: @layout_changes
// CHECK-NEXT: %[[A:.*]] = graph.layout_transform %z from "NCHW" to "NCHW4c"
// CHECK-NEXT: %[[B:.*]] = graph.layout_transform %[[A]] from "NCHW4c" to "NCHW"
// CHECK-NEXT: func.return %x, %[[B]]
func.func @layout_changes(%x: tensor<1x4x5x6xf32>, %z: tensor<1x3x5x6xf32>) -> (tensor<1x4x5x6xf32>, tensor<1x4x5x6xf32>) {
  %0 = graph.layout_transform %x from "NCHW" to "NCHW4c" : tensor<1x4x5x6xf32> -> tensor<1x1x5x6x4xf32>
  %1 = graph.layout_transform %0 from "NCHW4c" to "NHWC" : tensor<1x1x5x6x4xf32> -> tensor<1x5x6x4xf32>
  %y = graph.layout_transform %1 from "NHWC" to "NCHW" : tensor<1x5x6x4xf32> -> tensor<1x4x5x6xf32>
  %2 = graph.layout_transform %z from "NCHW" to "NCHW4c" : tensor<1x3x5x6xf32> -> tensor<1x1x5x6x4xf32>
  %w = graph.layout_transform %2 from "NCHW4c" to "NCHW" : tensor<1x1x5x6x4xf32> -> tensor<1x4x5x6xf32>
  func.return %y, %w : tensor<1x4x5x6xf32>, tensor<1x4x5x6xf32>
}

// The contraction wins over the other product: once, they do not take turns.
// CHECK-LABEL: @view_of_contraction
// CHECK: %[[P:.*]] = graph.matmul %a, %b
// CHECK: graph.subtract %{{.*}}, %[[P]] : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: graph.reshape
// CHECK-NEXT: func.return
func.func @view_of_contraction(%a: tensor<4x6xf32>, %b: tensor<6x1xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %p = graph.matmul %a, %b : (tensor<4x6xf32>, tensor<6x1xf32>) -> tensor<4x1xf32>
  %v = graph.reshape %p shape <[4]> : tensor<4x1xf32> -> tensor<4xf32>
  %e = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %y = graph.subtract %e, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
