// RUN: stepwell-opt %s -p fold-qdq | filecheck %s

// Bytes are moved; a dequantize and a quantize of one scale meet, and are nothing.
// CHECK-LABEL: @moves
func.func @moves(%x: tensor<2x6xui8>) -> tensor<1x3x4xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  // CHECK: %[[A:.*]] = graph.transpose %x
  // CHECK: %[[B:.*]] = graph.reshape %[[A]]
  // CHECK: %[[C:.*]] = graph.expand_dims %[[B]]
  // CHECK-NOT: quantize
  // CHECK: func.return %[[C]]
  %0 = graph.dequantize %x, %s to f32 : (tensor<2x6xui8>, tensor<f32>) -> tensor<2x6xf32>
  %1 = graph.transpose %0 perm [1, 0] : tensor<2x6xf32> -> tensor<6x2xf32>
  %2 = graph.reshape %1 shape <[3, 4]> : tensor<6x2xf32> -> tensor<3x4xf32>
  %3 = graph.expand_dims %2 axes [0] : tensor<3x4xf32> -> tensor<1x3x4xf32>
  %4 = graph.quantize %3, %s to ui8 : (tensor<1x3x4xf32>, tensor<f32>) -> tensor<1x3x4xui8>
  func.return %4 : tensor<1x3x4xui8>
}

// Rows of a table are gathered as bytes; the other reader keeps its numbers.
// CHECK-LABEL: @readers
// CHECK-DAG: %[[G:.*]] = graph.gather %x, %i
// CHECK-DAG: graph.dequantize %[[G]]
// CHECK-DAG: %[[D:.*]] = graph.dequantize %x
// CHECK-DAG: graph.softmax %[[D]]
func.func @readers(%x: tensor<8x4xi8>, %i: tensor<3xi64>) -> (tensor<3x4xf32>, tensor<8x4xf32>) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.dequantize %x, %s to f32 : (tensor<8x4xi8>, tensor<f32>) -> tensor<8x4xf32>
  %1 = graph.gather %0, %i axis 0 batch_dims 0 bounds "check" : (tensor<8x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %2 = graph.softmax %0 axis 1 : tensor<8x4xf32> -> tensor<8x4xf32>
  func.return %1, %2 : tensor<3x4xf32>, tensor<8x4xf32>
}

// A scale for each channel moves with its axis: an exported weight that is transposed is a weight of bytes.
// CHECK-LABEL: @weight
// CHECK: graph.matmul_integer
// CHECK-NOT: graph.matmul %
func.func @weight(%x: tensor<8x4xui8>) -> tensor<8x2xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %w = graph.constant dense<[[1, -2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8>
  %t = graph.constant dense<[0.25, 2.0]> : tensor<2xf32>
  %0 = graph.dequantize %x, %s to f32 : (tensor<8x4xui8>, tensor<f32>) -> tensor<8x4xf32>
  %1 = graph.dequantize %w, %t axis 0 to f32 : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  %2 = graph.transpose %1 perm [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
  %3 = graph.matmul %0, %2 : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  func.return %3 : tensor<8x2xf32>
}

// The fill 0 is the zero point, 1.0 is the byte 5; 0.25 is none, and a pad of a convolution is its own.
// CHECK-LABEL: @pads
// CHECK-DAG: graph.pad %x with %{{.*}} : tensor<ui8> pads <[1, 1]> mode "constant"
// CHECK-DAG: graph.constant dense<5> : tensor<ui8>
// CHECK-DAG: graph.pad %x with %{{.*}} : tensor<ui8> pads <[2, 0]> mode "constant"
// CHECK-DAG: graph.pad %{{.*}} with %{{.*}} : tensor<f32> pads <[0, 2]> mode "constant"
// CHECK-DAG: graph.pad %{{.*}} -> tensor<1x1x6x6xf32>
func.func @pads(%x: tensor<4xui8>, %y: tensor<1x1x4x4xui8>, %w: tensor<1x1x3x3xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<1x1x4x4xf32>) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<3> : tensor<ui8>
  %one = graph.constant dense<1.0> : tensor<f32>
  %quarter = graph.constant dense<0.25> : tensor<f32>
  %0 = graph.dequantize %x, %s zero_point %z : tensor<ui8> to f32 : (tensor<4xui8>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.pad %0 pads <[1, 1]> mode "constant" : tensor<4xf32> -> tensor<6xf32>
  %2 = graph.pad %0 with %one : tensor<f32> pads <[2, 0]> mode "constant" : tensor<4xf32> -> tensor<6xf32>
  %3 = graph.pad %0 with %quarter : tensor<f32> pads <[0, 2]> mode "constant" : tensor<4xf32> -> tensor<6xf32>
  %4 = graph.dequantize %y, %s zero_point %z : tensor<ui8> to f32 : (tensor<1x1x4x4xui8>, tensor<f32>) -> tensor<1x1x4x4xf32>
  %5 = graph.pad %4 pads <[0, 0, 1, 1, 0, 0, 1, 1]> mode "constant" : tensor<1x1x4x4xf32> -> tensor<1x1x6x6xf32>
  %6 = graph.conv %5, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x6x6xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  func.return %1, %2, %3, %6 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<1x1x4x4xf32>
}

// Scales 0.1 and 0.2 joined at 0.2: the first part is requantized, the second copied.
// CHECK-LABEL: @concat
// CHECK: %[[A:.*]] = graph.dequantize %x
// CHECK: %[[Q:.*]] = graph.quantize %[[A]]
// CHECK-NOT: quantize
// CHECK: %[[C:.*]] = graph.concat %[[Q]], %y axis 0 : (tensor<2xui8>, tensor<3xui8>) -> tensor<5xui8>
// CHECK: func.return %[[C]]
func.func @concat(%x: tensor<2xui8>, %y: tensor<3xui8>) -> tensor<5xui8> {
  %s = graph.constant dense<0.1> : tensor<f32>
  %t = graph.constant dense<0.2> : tensor<f32>
  %0 = graph.dequantize %x, %s to f32 : (tensor<2xui8>, tensor<f32>) -> tensor<2xf32>
  %1 = graph.dequantize %y, %t to f32 : (tensor<3xui8>, tensor<f32>) -> tensor<3xf32>
  %2 = graph.concat %0, %1 axis 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  %3 = graph.quantize %2, %t to ui8 : (tensor<5xf32>, tensor<f32>) -> tensor<5xui8>
  func.return %3 : tensor<5xui8>
}

// Equal scales join as bytes; other types or zero points do not, where the result is read in floats.
// CHECK-LABEL: @concats
// CHECK-DAG: graph.concat %x, %x axis 0
// CHECK-DAG: graph.concat %{{.*}} -> tensor<5xf32>
func.func @concats(%x: tensor<2xui8>, %y: tensor<3xi8>) -> (tensor<4xf32>, tensor<5xf32>) {
  %s = graph.constant dense<0.1> : tensor<f32>
  %0 = graph.dequantize %x, %s to f32 : (tensor<2xui8>, tensor<f32>) -> tensor<2xf32>
  %1 = graph.dequantize %y, %s to f32 : (tensor<3xi8>, tensor<f32>) -> tensor<3xf32>
  %2 = graph.concat %0, %0 axis 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %3 = graph.concat %0, %1 axis 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  func.return %2, %3 : tensor<4xf32>, tensor<5xf32>
}

// Bounds become bytes between one scale: 6.0 is 15; between two scales the clip stays.
// CHECK-LABEL: @clips
// CHECK-DAG: %[[HI:.*]] = graph.constant dense<15> : tensor<ui8>
// CHECK-DAG: graph.clip %x hi %[[HI]]
// CHECK-DAG: graph.clip %{{.*}} -> tensor<4xf32>
func.func @clips(%x: tensor<4xui8>) -> (tensor<4xui8>, tensor<4xui8>) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<0.25> : tensor<f32>
  %z = graph.constant dense<3> : tensor<ui8>
  %six = graph.constant dense<6.0> : tensor<f32>
  %0 = graph.dequantize %x, %s zero_point %z : tensor<ui8> to f32 : (tensor<4xui8>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.clip %0 hi %six : tensor<f32> : tensor<4xf32> -> tensor<4xf32>
  %2 = graph.quantize %1, %s zero_point %z : tensor<ui8> to ui8 : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8>
  %3 = graph.quantize %1, %t zero_point %z : tensor<ui8> to ui8 : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8>
  func.return %2, %3 : tensor<4xui8>, tensor<4xui8>
}

// A number beside the input, here 3.25, is no byte: the resize stays in floats.
// CHECK-LABEL: @extrapolated
// CHECK: graph.dequantize %x
// CHECK-NEXT: graph.resize {{.*}} coordinate "tf_crop_and_resize" {{.*}} -> tensor<1x1x6x6xf32>
func.func @extrapolated(%x: tensor<1x1x4x4xui8>, %s: tensor<f32>) -> tensor<1x1x6x6xf32> {
  %a = graph.dequantize %x, %s to f32 : (tensor<1x1x4x4xui8>, tensor<f32>) -> tensor<1x1x4x4xf32>
  %y = graph.resize %a shape <[1, 1, 6, 6]> mode "nearest" coordinate "tf_crop_and_resize" nearest "floor" cubic_a -7.5e-1 roi [0.0, 0.0, -0.5, -0.5, 1.0, 1.0, 1.5, 1.5] extrapolation 3.25 : tensor<1x1x4x4xf32> -> tensor<1x1x6x6xf32>
  func.return %y : tensor<1x1x6x6xf32>
}

// A negative scale turns the order around: extrema, clips and saturation are of the numbers, not of the bytes.
// CHECK-LABEL: @negative_scale
// CHECK: graph.pool {{.*}} : tensor<1x1x4x4xf32>
// CHECK: graph.clip {{.*}} : tensor<1x1x4x4xf32>
// CHECK: graph.relu
func.func @negative_scale(%x: tensor<1x1x4x4xui8>, %v: tensor<4xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x4x4xui8>, tensor<4xui8>) {
  %s = graph.constant dense<-0.5> : tensor<f32>
  %hi = graph.constant dense<-1.0> : tensor<f32>
  %a = graph.dequantize %x, %s to f32 : (tensor<1x1x4x4xui8>, tensor<f32>) -> tensor<1x1x4x4xf32>
  %p = graph.pool %a kind "max" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] : tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>
  %b = graph.clip %a hi %hi : tensor<f32> : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %c = graph.quantize %b, %s to ui8 saturate true : (tensor<1x1x4x4xf32>, tensor<f32>) -> tensor<1x1x4x4xui8>
  %r = graph.relu %v : tensor<4xf32> -> tensor<4xf32>
  %q = graph.quantize %r, %s to ui8 saturate true : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8>
  func.return %p, %c, %q : tensor<1x1x2x2xf32>, tensor<1x1x4x4xui8>, tensor<4xui8>
}

// Numbers of 16 bits stay what they are: constants divided by the scale would be f32.
// CHECK-LABEL: @half
// CHECK: graph.add {{.*}}xf16>
// CHECK-NEXT: graph.quantize
func.func @half(%x: tensor<4xui8>) -> tensor<4xui8> {
  %s = graph.constant dense<0.5> : tensor<f16>
  %t = graph.constant dense<0.25> : tensor<f32>
  %b = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf16>
  %a = graph.dequantize %x, %s to f16 : (tensor<4xui8>, tensor<f16>) -> tensor<4xf16>
  %c = graph.add %a, %b : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %y = graph.quantize %c, %t to ui8 saturate true : (tensor<4xf16>, tensor<f32>) -> tensor<4xui8>
  func.return %y : tensor<4xui8>
}
