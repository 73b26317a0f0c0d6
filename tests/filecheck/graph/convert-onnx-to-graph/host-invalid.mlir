// RUN: stepwell-opt %s -p convert-onnx-to-graph --split-input-file --verify-diagnostics

func.func @optional() {
  // expected-error: Optional needs a value or a type
  %0 = "onnx.Optional"() : () -> !onnx.any
  func.return
}
// -----
func.func @image(%x: tensor<?xui8>) {
  // expected-error: ImageDecoder: unknown pixel format 'CMYK'
  %0 = "onnx.ImageDecoder"(%x) <{pixel_format = "CMYK"}> : (tensor<?xui8>) -> !onnx.any
  func.return
}
// -----
func.func @no_map(%x: tensor<3xf32>) {
  // expected-error: CastMap takes a map, found tensor<3xf32>
  %0 = "onnx.ml.CastMap"(%x) : (tensor<3xf32>) -> !onnx.any
  func.return
}
