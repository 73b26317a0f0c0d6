// RUN: not stepwell-opt %s -p 'choose-gpu-schedules{target=webgpu precision=tf32}' 2>&1 | filecheck %s --check-prefix=WITHOUT
// RUN: not stepwell-opt %s -p 'choose-gpu-schedules{target=cuda precision=bf16}' 2>&1 | filecheck %s --check-prefix=OTHER

// WITHOUT: error[bad-option]: precision is tf32, but webgpu has no TF32 products
// OTHER: error[bad-option]: precision of choose-gpu-schedules must be f32 or tf32, found 'bf16'
func.func @main(%x: memref<4xf32>) {
  func.return
}
