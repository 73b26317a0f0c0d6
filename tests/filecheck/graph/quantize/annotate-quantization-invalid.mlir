// RUN: not stepwell-opt %s -p 'annotate-quantization{scheme=int3}' 2>&1 | filecheck %s --check-prefix SCHEME
// RUN: not stepwell-opt %s -p 'annotate-quantization{keep=matmul_1}' 2>&1 | filecheck %s --check-prefix KEEP
// RUN: not stepwell-opt %s -p 'annotate-quantization{only="conv_*"}' 2>&1 | filecheck %s --check-prefix ONLY

// SCHEME: error[bad-option]: there is no scheme 'int3' of activations 'u8'
// SCHEME: help: schemes are int8, w8
// KEEP: error[bad-option]: keep names no op that can be quantized: 'matmul_1'
// KEEP: help: did you mean matmul_0? there is matmul_0
// ONLY: error[bad-option]: only names no op that can be quantized: 'conv_*'
func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %m = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = graph.matmul %x, %m : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}
