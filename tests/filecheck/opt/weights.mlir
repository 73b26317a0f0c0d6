// RUN: stepwell-opt %S/../../models/gru_seq.onnx -o %t.mlir && stepwell-opt %t.mlir -p convert-onnx-to-graph -o %t.graph.mlir && cat %t.graph.mlir | filecheck %s
// CHECK: graph.constant #graph.weight<
