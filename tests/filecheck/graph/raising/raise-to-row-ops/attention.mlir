// RUN: stepwell-opt %s -p raise-to-row-ops,dead-code-elimination | filecheck %s
// RUN: stepwell-opt %s -p 'raise-to-row-ops{only=attention},raise-to-row-ops,dead-code-elimination' | filecheck %s

// The scale is on q and on k, which comes as columns of what heads were cut from.
// CHECK-LABEL: @scaled_operands
// CHECK: %[[K:.*]] = graph.transpose %k perm [1, 0, 2] : tensor<40x3x64xf32> -> tensor<3x40x64xf32>
// CHECK-NEXT: graph.attention %q, %[[K]], %v scale 1.250000e-01 :
// CHECK-NEXT: func.return
func.func @scaled_operands(%q: tensor<3x16x64xf32>, %k: tensor<40x3x64xf32>, %v: tensor<3x40x64xf32>) -> tensor<3x16x64xf32> {
  %quarter = graph.constant dense<0.25> : tensor<1xf32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %t = graph.transpose %k perm [1, 2, 0] : tensor<40x3x64xf32> -> tensor<3x64x40xf32>
  %a = graph.multiply %q, %quarter : (tensor<3x16x64xf32>, tensor<1xf32>) -> tensor<3x16x64xf32>
  %b = graph.divide %t, %two : (tensor<3x64x40xf32>, tensor<f32>) -> tensor<3x64x40xf32>
  %c = graph.matmul %a, %b : (tensor<3x16x64xf32>, tensor<3x64x40xf32>) -> tensor<3x16x40xf32>
  %p = graph.softmax %c axis 2 : tensor<3x16x40xf32> -> tensor<3x16x40xf32>
  %y = graph.matmul %p, %v : (tensor<3x16x40xf32>, tensor<3x40x64xf32>) -> tensor<3x16x64xf32>
  func.return %y : tensor<3x16x64xf32>
}

// A quotient and a mask behind the product; open sizes, as many queries as keys; a softmax in parts.
// CHECK-LABEL: @masked
// CHECK-NEXT: graph.attention %q, %k, %v mask %m : tensor<?x1x1x?xf32, {{.*}}> scale 1.250000e-01 :
// CHECK-NEXT: func.return
func.func @masked(%q: tensor<?x4x?x64xf32, #graph.dims<["N", 4, "S", 64]>>, %k: tensor<?x4x?x64xf32, #graph.dims<["N", 4, "S", 64]>>, %v: tensor<?x4x?x64xf32, #graph.dims<["N", 4, "S", 64]>>, %m: tensor<?x1x1x?xf32, #graph.dims<["N", 1, 1, "S"]>>) -> tensor<?x4x?x64xf32, #graph.dims<["N", 4, "S", 64]>> {
  %eight = graph.constant dense<8.0> : tensor<f32>
  %a = graph.matmul %q, %k transpose_b true : (tensor<?x4x?x64xf32, #graph.dims<["N", 4, "S", 64]>>, tensor<?x4x?x64xf32, #graph.dims<["N", 4, "S", 64]>>) -> tensor<?x4x?x?xf32, #graph.dims<["N", 4, "S", "S"]>>
  %b = graph.divide %a, %eight : (tensor<?x4x?x?xf32, #graph.dims<["N", 4, "S", "S"]>>, tensor<f32>) -> tensor<?x4x?x?xf32, #graph.dims<["N", 4, "S", "S"]>>
  %c = graph.add %m, %b : (tensor<?x1x1x?xf32, #graph.dims<["N", 1, 1, "S"]>>, tensor<?x4x?x?xf32, #graph.dims<["N", 4, "S", "S"]>>) -> tensor<?x4x?x?xf32, #graph.dims<["N", 4, "S", "S"]>>
  %p = graph.softmax %c axis 3 : tensor<?x4x?x?xf32, #graph.dims<["N", 4, "S", "S"]>> -> tensor<?x4x?x?xf32, #graph.dims<["N", 4, "S", "S"]>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<["N", 4, "S", "S"]>>, tensor<?x4x?x64xf32, #graph.dims<["N", 4, "S", 64]>>) -> tensor<?x4x?x64xf32, #graph.dims<["N", 4, "S", 64]>>
  func.return %y : tensor<?x4x?x64xf32, #graph.dims<["N", 4, "S", 64]>>
}

// Zeros in rows that are masked all along, as in the body of ONNX's function; keys behind a view of heads.
// CHECK-LABEL: @zero_masked
// CHECK-NEXT: %[[K:.*]] = graph.reshape %k shape <[2, 3, 40, 8]>
// CHECK-NEXT: graph.attention %q, %[[K]], %v mask %m : tensor<16x40xf32> scale 1.000000e+00 zero_masked true :
// CHECK-NEXT: func.return
func.func @zero_masked(%q: tensor<2x3x16x8xf32>, %k: tensor<6x40x8xf32>, %v: tensor<2x3x40x8xf32>, %m: tensor<16x40xf32>) -> tensor<2x3x16x8xf32> {
  %low = graph.constant dense<0xFF800000> : tensor<1xf32>
  %zero = graph.constant dense<0.0> : tensor<1xf32>
  %t = graph.transpose %k perm [0, 2, 1] : tensor<6x40x8xf32> -> tensor<6x8x40xf32>
  %r = graph.reshape %t shape <[2, 3, 8, 40]> : tensor<6x8x40xf32> -> tensor<2x3x8x40xf32>
  %a = graph.matmul %q, %r : (tensor<2x3x16x8xf32>, tensor<2x3x8x40xf32>) -> tensor<2x3x16x40xf32>
  %c = graph.add %a, %m : (tensor<2x3x16x40xf32>, tensor<16x40xf32>) -> tensor<2x3x16x40xf32>
  %p = graph.softmax %c axis 3 : tensor<2x3x16x40xf32> -> tensor<2x3x16x40xf32>
  %top = graph.reduce %m kind "max" axes [1] keep_dims true : tensor<16x40xf32> -> tensor<16x1xf32>
  %all = graph.equal %top, %low : (tensor<16x1xf32>, tensor<1xf32>) -> tensor<16x1xi1>
  %w = graph.where %all, %zero, %p : (tensor<16x1xi1>, tensor<1xf32>, tensor<2x3x16x40xf32>) -> tensor<2x3x16x40xf32>
  %y = graph.matmul %w, %v : (tensor<2x3x16x40xf32>, tensor<2x3x40x8xf32>) -> tensor<2x3x16x8xf32>
  func.return %y : tensor<2x3x16x8xf32>
}

// Something else reads the weights.
// CHECK-LABEL: @weights_escape
// CHECK-NOT: graph.attention
func.func @weights_escape(%q: tensor<16x8xf32>, %k: tensor<8x40xf32>, %v: tensor<40x8xf32>) -> (tensor<16x8xf32>, tensor<16x40xf32>) {
  %a = graph.matmul %q, %k : (tensor<16x8xf32>, tensor<8x40xf32>) -> tensor<16x40xf32>
  %p = graph.softmax %a axis 1 : tensor<16x40xf32> -> tensor<16x40xf32>
  %y = graph.matmul %p, %v : (tensor<16x40xf32>, tensor<40x8xf32>) -> tensor<16x8xf32>
  func.return %y, %p : tensor<16x8xf32>, tensor<16x40xf32>
}

// A softmax over the queries.
// CHECK-LABEL: @other_axis
// CHECK-NOT: graph.attention
func.func @other_axis(%q: tensor<16x8xf32>, %k: tensor<8x40xf32>, %v: tensor<40x8xf32>) -> tensor<16x8xf32> {
  %a = graph.matmul %q, %k : (tensor<16x8xf32>, tensor<8x40xf32>) -> tensor<16x40xf32>
  %p = graph.softmax %a axis 0 : tensor<16x40xf32> -> tensor<16x40xf32>
  %y = graph.matmul %p, %v : (tensor<16x40xf32>, tensor<40x8xf32>) -> tensor<16x8xf32>
  func.return %y : tensor<16x8xf32>
}

// A step of a decoder, and an open number of queries on more keys: rows of products are faster.
// CHECK-LABEL: @few_queries
// CHECK-NOT: graph.attention
func.func @few_queries(%q: tensor<8x1x64xf32>, %k: tensor<8x64x40xf32>, %v: tensor<8x40x64xf32>) -> tensor<8x1x64xf32> {
  %a = graph.matmul %q, %k : (tensor<8x1x64xf32>, tensor<8x64x40xf32>) -> tensor<8x1x40xf32>
  %p = graph.softmax %a axis 2 : tensor<8x1x40xf32> -> tensor<8x1x40xf32>
  %y = graph.matmul %p, %v : (tensor<8x1x40xf32>, tensor<8x40x64xf32>) -> tensor<8x1x64xf32>
  func.return %y : tensor<8x1x64xf32>
}

// CHECK-LABEL: @cached
// CHECK-NOT: graph.attention
func.func @cached(%q: tensor<?x64xf32, #graph.dims<["S", 64]>>, %k: tensor<64x?xf32, #graph.dims<[64, "P + S"]>>, %v: tensor<?x64xf32, #graph.dims<["P + S", 64]>>) -> tensor<?x64xf32, #graph.dims<["S", 64]>> {
  %a = graph.matmul %q, %k : (tensor<?x64xf32, #graph.dims<["S", 64]>>, tensor<64x?xf32, #graph.dims<[64, "P + S"]>>) -> tensor<?x?xf32, #graph.dims<["S", "P + S"]>>
  %p = graph.softmax %a axis 1 : tensor<?x?xf32, #graph.dims<["S", "P + S"]>> -> tensor<?x?xf32, #graph.dims<["S", "P + S"]>>
  %y = graph.matmul %p, %v : (tensor<?x?xf32, #graph.dims<["S", "P + S"]>>, tensor<?x64xf32, #graph.dims<["P + S", 64]>>) -> tensor<?x64xf32, #graph.dims<["S", 64]>>
  func.return %y : tensor<?x64xf32, #graph.dims<["S", 64]>>
}

// Other types are not for the kernel; a mask whose size is another symbol may not broadcast.
// CHECK-LABEL: @narrow
// CHECK-NOT: graph.attention
func.func @narrow(%q: tensor<16x8xf16>, %k: tensor<8x40xf16>, %v: tensor<40x8xf16>) -> tensor<16x8xf16> {
  %a = graph.matmul %q, %k : (tensor<16x8xf16>, tensor<8x40xf16>) -> tensor<16x40xf16>
  %p = graph.softmax %a axis 1 : tensor<16x40xf16> -> tensor<16x40xf16>
  %y = graph.matmul %p, %v : (tensor<16x40xf16>, tensor<40x8xf16>) -> tensor<16x8xf16>
  func.return %y : tensor<16x8xf16>
}

// Columns of keys that a reshape made of others: what was transposed below it are no keys.
// CHECK-LABEL: @reshaped_columns
// CHECK: %[[T:.*]] = graph.transpose %k perm [0, 2, 1]
// CHECK: %[[R:.*]] = graph.reshape %[[T]] shape <[3, 64, 40]>
// CHECK: %[[K:.*]] = graph.transpose %[[R]] perm [0, 2, 1]
// CHECK: graph.attention %q, %[[K]], %v
func.func @reshaped_columns(%q: tensor<3x16x64xf32>, %k: tensor<6x40x32xf32>, %v: tensor<3x40x64xf32>) -> tensor<3x16x64xf32> {
  %t = graph.transpose %k perm [0, 2, 1] : tensor<6x40x32xf32> -> tensor<6x32x40xf32>
  %r = graph.reshape %t shape <[3, 64, 40]> : tensor<6x32x40xf32> -> tensor<3x64x40xf32>
  %a = graph.matmul %q, %r : (tensor<3x16x64xf32>, tensor<3x64x40xf32>) -> tensor<3x16x40xf32>
  %p = graph.softmax %a axis 2 : tensor<3x16x40xf32> -> tensor<3x16x40xf32>
  %y = graph.matmul %p, %v : (tensor<3x16x40xf32>, tensor<3x40x64xf32>) -> tensor<3x16x64xf32>
  func.return %y : tensor<3x16x64xf32>
}

// Scores that are divided by 0 are infinities, and no attention has this scale.
// CHECK-LABEL: @divided_by_zero
// CHECK: graph.softmax
// CHECK-NOT: graph.attention
func.func @divided_by_zero(%q: tensor<2x16x64xf32>, %k: tensor<2x64x40xf32>, %v: tensor<2x40x64xf32>) -> tensor<2x16x64xf32> {
  %c = graph.constant dense<0.0> : tensor<f32>
  %a = graph.matmul %q, %k : (tensor<2x16x64xf32>, tensor<2x64x40xf32>) -> tensor<2x16x40xf32>
  %b = graph.divide %a, %c : (tensor<2x16x40xf32>, tensor<f32>) -> tensor<2x16x40xf32>
  %e = graph.softmax %b axis 2 : tensor<2x16x40xf32> -> tensor<2x16x40xf32>
  %y = graph.matmul %e, %v : (tensor<2x16x40xf32>, tensor<2x40x64xf32>) -> tensor<2x16x64xf32>
  func.return %y : tensor<2x16x64xf32>
}
