// RUN: stepwell-opt %s -p 'requantize-in-integers,dead-code-elimination,merge-composite{table=npu},annotate-target{backends=npu},merge-regions,partition-graph{bind-constants},convert-graph-to-npu' | filecheck %s
// RUN: not stepwell-opt %s -p 'requantize-in-integers,dead-code-elimination,merge-composite{table=npu},annotate-target{backends=npu},merge-regions,partition-graph{bind-constants},convert-graph-to-npu{config=tiny}' 2>&1 | filecheck %s --check-prefix=CONFIG

// CONFIG: error[bad-target]: config must be one of pynq, ultra96, or a file of JSON, found 'tiny'

// 2 channels are a block of 16; the padding is the zero point 0, as a signed byte.
// CHECK: graph.external @npu_0(%x)
// CHECK: npu.program @npu_0_layer0(%x: memref<16x1x16xi8>, %w: memref<4x16x16xi8>, %p: memref<3x1x16xi32>, %y: memref<16x1x16xi8>) config "pynq"
// CHECK: npu.load acc %p[0]
// CHECK: npu.gemm reset
// CHECK: npu.load inp %x[0] to 0 size [4, 4] stride 4 pad [1, 0, 1, 0] value -128
// CHECK: npu.load wgt %w[0] to 0 size [1, 4] stride 4
// CHECK: npu.alu mulshift
// CHECK: npu.alu add imm -121
// CHECK: npu.store %y[0]
// CHECK: npu.finish
func.func @main(%x: tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xui8> {
  %w = graph.constant dense<1> : tensor<2x2x2x2xi8>
  %c = graph.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %k = graph.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %q = graph.constant dense<2.0> : tensor<f32>
  %z = graph.constant dense<7> : tensor<ui8>
  %s = graph.conv_integer %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 0, 0] : (tensor<1x2x4x4xui8>, tensor<2x2x2x2xi8>) -> tensor<1x2x4x4xi32>
  %d = graph.dequantize %s, %c axis 1 to f32 : (tensor<1x2x4x4xi32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %b = graph.bias_add %d, %k axis 1 : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %y = graph.quantize %b, %q zero_point %z : tensor<ui8> to ui8 : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xui8>
  func.return %y : tensor<1x2x4x4xui8>
}
