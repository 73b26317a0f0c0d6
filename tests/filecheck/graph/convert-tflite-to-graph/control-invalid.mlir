// RUN: stepwell-opt %s -p convert-tflite-to-graph --split-input-file --verify-diagnostics

func.func @ranks(%c: tensor<i1>, %x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error: tflite.if: the branches give tensor<4xf32> and tensor<f32>, which have no common type
  %y = "tflite.if"(%c) ({
    "tflite.return"(%x) : (tensor<4xf32>) -> ()
  }, {
    "tflite.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<i1>) -> tensor<*xf32>
  func.return
}
// -----
func.func @iteration(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error: tflite.while: carried value 0 changes from tensor<4xf32> to tensor<1x4xf32>
  %y = "tflite.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    "tflite.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%b: tensor<4xf32>):
    %d = "tflite.reshape"(%b) {new_shape = [1, 4]} : (tensor<4xf32>) -> tensor<1x4xf32>
    "tflite.return"(%d) : (tensor<1x4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<*xf32>
  func.return
}
// -----
func.func @result(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error: tflite.if makes tensor<4xf32>, and the program records tensor<5xf32>
  %y = "tflite.if"(%c) ({
    "tflite.return"(%x) : (tensor<4xf32>) -> ()
  }, {
    "tflite.return"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<5xf32>
  func.return
}
// -----
func.func @count(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error: tflite.while: 1 values are carried, and an iteration gives 2
  %y = "tflite.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    "tflite.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%b: tensor<4xf32>):
    "tflite.return"(%b, %b) : (tensor<4xf32>, tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @inside(%c: tensor<i1>, %x: tensor<4xf32>) {
  %y = "tflite.if"(%c) ({
    // expected-error: no conversion for densify
    %a = "tflite.densify"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "tflite.return"(%a) : (tensor<4xf32>) -> ()
  }, {
    "tflite.return"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  func.return
}
