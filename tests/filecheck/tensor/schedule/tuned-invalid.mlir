// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// expected-error: sched.tuned must be a sched.script as text, or lists of schedules, for `forms` and `tiles`
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>, sched.tuned = {tiles = [4 : i64]}} {
  func.return %x : tensor<4xf32>
}

// -----

// expected-error: sched.tuned must be a sched.script as text, or lists of schedules, for `forms` and `tiles`
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>, sched.tuned = {loops = []}} {
  func.return %x : tensor<4xf32>
}

// -----

// expected-error: sched.tuned is an attribute of func.func
"linalg.yield"() {sched.tuned = {tiles = []}} : () -> ()

// -----

// expected-error: sched.tuned must be a sched.script as text
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>, sched.tuned = "import os"} {
  func.return %x : tensor<4xf32>
}
