// RUN: stepwell-opt %s -p 'annotate-quantization,apply-calibration{table="%S/table.json"}' | filecheck %s
// RUN: stepwell-opt %s -p 'annotate-quantization{activation-type=s8},apply-calibration{table="%S/table.json"}' | filecheck %s --check-prefix SIGNED
// RUN: stepwell-opt %s -p 'annotate-quantization,apply-calibration{method=global}' | filecheck %s --check-prefix GLOBAL
// RUN: stepwell-opt %s -p 'annotate-quantization,apply-calibration{table="%S/table.json"},fold-qdq' | filecheck %s --check-prefix FOLDED

// The first worked cases: [-1, 3] has the scale 4 / 255 and the zero point 64; a channel 0.5, -1.27 the codes 50,
// -127; a channel of zeros the scale 1.
// CHECK-LABEL: @main
// CHECK-DAG: %[[S:.*]] = graph.constant dense<0.0156862754> : tensor<f32>
// CHECK-DAG: %[[Z:.*]] = graph.constant dense<64> : tensor<ui8>
// CHECK: %[[Q:.*]] = graph.quantize %x, %[[S]] zero_point %[[Z]] : tensor<ui8> to ui8
// CHECK: %[[D:.*]] = graph.dequantize %[[Q]], %[[S]] zero_point %[[Z]] : tensor<ui8> to f32
// CHECK-DAG: %[[W:.*]] = graph.constant dense<{{\[\[}}50, 0], [-127, 0]]> : tensor<2x2xi8>
// CHECK-DAG: %[[T:.*]] = graph.constant dense<[{{(0.01|1.000000e-02|0.00999999977)}}, 1.000000e+00]> : tensor<2xf32>
// CHECK: %[[V:.*]] = graph.dequantize %[[W]], %[[T]] axis 1 to f32
// CHECK: graph.matmul %[[D]], %[[V]]

// SIGNED-DAG: graph.constant dense<{{0.0236220472|2.362205e-02}}> : tensor<f32>
// SIGNED-DAG: graph.constant dense<0> : tensor<i8>

// GLOBAL-DAG: graph.constant dense<6.250000e-02> : tensor<f32>
// GLOBAL-DAG: graph.constant dense<128> : tensor<ui8>

// FOLDED: graph.matmul_integer
// FOLDED-NOT: graph.matmul %
func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %m = graph.constant dense<[[0.5, 0.0], [-1.27, 0.0]]> : tensor<2x2xf32>
  %0 = graph.matmul %x, %m : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}
