// RUN: stepwell-opt %s -p simplify-expr --split-input-file | filecheck %s

// A dilation as large as the image: only the point in the middle meets it.
// CHECK-LABEL: func.func @middle
// CHECK: %[[POINT:.*]] = graph.slice %w starts <[0, 0, 1, 1]> limits <[6, 4, 2, 2]> steps [1, 1, 1, 1]
// CHECK-NEXT: graph.conv %x, %[[POINT]] strides [1, 1] dilations [8, 8] pads [0, 0, 0, 0]
func.func @middle(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<1x6x8x8xf32> {
  %y = graph.conv %x, %w strides [1, 1] dilations [8, 8] pads [8, 8, 8, 8]
    : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x8x8xf32>
  func.return %y : tensor<1x6x8x8xf32>
}

// -----

// One axis at a time, and one side: the first of three rows sees pads alone.
// CHECK-LABEL: func.func @one_side
// CHECK: graph.slice %w starts <[0, 0, 1, 0]> limits <[6, 4, 3, 3]>
// CHECK-NEXT: graph.conv {{.*}} pads [0, 1, 1, 1]
func.func @one_side(%x: tensor<1x4x4x8xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<1x6x2x8xf32> {
  %y = graph.conv %x, %w strides [1, 1] dilations [3, 1] pads [3, 1, 1, 1]
    : (tensor<1x4x4x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x2x8xf32>
  func.return %y : tensor<1x6x2x8xf32>
}

// -----

// The first row meets the image's first; an open size says nothing; and a pad that no point needs stays.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: graph.slice
// CHECK: return
func.func @kept(%x: tensor<1x4x8x8xf32>, %o: tensor<1x4x?x8xf32, #graph.dims<[1, 4, "H", 8]>>,
                %w: tensor<6x4x3x1xf32>)
    -> (tensor<1x6x8x8xf32>, tensor<1x6x?x8xf32, #graph.dims<[1, 6, "H", 8]>>, tensor<1x6x17x8xf32>) {
  %y = graph.conv %x, %w strides [1, 1] dilations [7, 1] pads [7, 0, 7, 0]
    : (tensor<1x4x8x8xf32>, tensor<6x4x3x1xf32>) -> tensor<1x6x8x8xf32>
  %z = graph.conv %o, %w strides [1, 1] dilations [8, 1] pads [8, 0, 8, 0]
    : (tensor<1x4x?x8xf32, #graph.dims<[1, 4, "H", 8]>>, tensor<6x4x3x1xf32>)
    -> tensor<1x6x?x8xf32, #graph.dims<[1, 6, "H", 8]>>
  %u = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [11, 0, 0, 0]
    : (tensor<1x4x8x8xf32>, tensor<6x4x3x1xf32>) -> tensor<1x6x17x8xf32>
  func.return %y, %z, %u : tensor<1x6x8x8xf32>, tensor<1x6x?x8xf32, #graph.dims<[1, 6, "H", 8]>>, tensor<1x6x17x8xf32>
}

// -----

// A linear resize to half the size is a mean of four; not of odd sizes, and not with elements at the corners.
// CHECK-LABEL: func.func @halves
// CHECK: graph.pool %x kind "avg" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0]
// CHECK: graph.resize %z shape <[1, 2, 3, 3]>
// CHECK: graph.resize %x shape <[1, 2, 3, 4]>
func.func @halves(%x: tensor<1x2x6x8xf32>, %z: tensor<1x2x6x7xf32>)
    -> (tensor<1x2x3x4xf32>, tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32>) {
  %a = graph.resize %x shape <[1, 2, 3, 4]> mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0
    : tensor<1x2x6x8xf32> -> tensor<1x2x3x4xf32>
  %b = graph.resize %z shape <[1, 2, 3, 3]> mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0
    : tensor<1x2x6x7xf32> -> tensor<1x2x3x3xf32>
  %c = graph.resize %x shape <[1, 2, 3, 4]> mode "linear" coordinate "align_corners" nearest "floor" cubic_a 0.0 extrapolation 0.0
    : tensor<1x2x6x8xf32> -> tensor<1x2x3x4xf32>
  func.return %a, %b, %c : tensor<1x2x3x4xf32>, tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32>
}
