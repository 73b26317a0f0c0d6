// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func private @elements(%q: tensor<64x8xf16>) {
  // expected-error: elements must be f32, found tensor<64x8xf16>, tensor<64x8xf16>
  %y = linalg_ext.grid_attention %q, %q, %q into %q scale 0.5 : (tensor<64x8xf16>, tensor<64x8xf16>, tensor<64x8xf16>, tensor<64x8xf16>) -> tensor<64x8xf16>
  func.return
}

// -----

func.func private @depth(%q: memref<64x129xf32>) {
  // expected-error: keys and values must have known sizes of at most 128, found memref<64x129xf32> and memref<64x129xf32>
  linalg_ext.grid_attention %q, %q, %q into %q scale 0.5 : (memref<64x129xf32>, memref<64x129xf32>, memref<64x129xf32>, memref<64x129xf32>) -> ()
  func.return
}

// -----

func.func private @keys(%q: memref<64x8xf32>, %v: memref<63x8xf32>) {
  // expected-error: shapes do not fit: memref<64x8xf32>, memref<64x8xf32>, memref<63x8xf32>, memref<64x8xf32>
  linalg_ext.grid_attention %q, %q, %v into %q scale 0.5 : (memref<64x8xf32>, memref<64x8xf32>, memref<63x8xf32>, memref<64x8xf32>) -> ()
  func.return
}

// -----

func.func private @mask(%q: memref<64x8xf32>, %m: memref<2x1x64xf32>) {
  // expected-error: shapes do not fit
  linalg_ext.grid_attention %q, %q, %q into %q mask %m scale 0.5 : (memref<64x8xf32>, memref<64x8xf32>, memref<64x8xf32>, memref<64x8xf32>, memref<2x1x64xf32>) -> ()
  func.return
}

// -----

func.func private @result_of_buffers(%x: memref<4xf32>, %t: tensor<4xf32>) {
  // expected-error: linalg_ext.grid_scan is on tensors with a result like init, or on buffers with none
  linalg_ext.grid_scan %x into %t kind "sum" axis 0 exclusive false reverse false : (memref<4xf32>, tensor<4xf32>) -> ()
  func.return
}

// -----

func.func private @no_result(%t: tensor<4xf32>) {
  // expected-error: linalg_ext.grid_scan is on tensors with a result like init, or on buffers with none
  linalg_ext.grid_scan %t into %t kind "sum" axis 0 exclusive false reverse false : (tensor<4xf32>, tensor<4xf32>) -> ()
  func.return
}

// -----

func.func private @kind(%x: memref<4xf32>) {
  // expected-error: no scan of f32 of kind 'mean'
  linalg_ext.grid_scan %x into %x kind "mean" axis 0 exclusive false reverse false : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// -----

func.func private @scanned(%x: memref<4xf16>) {
  // expected-error: no scan of f16 of kind 'sum'
  linalg_ext.grid_scan %x into %x kind "sum" axis 0 exclusive false reverse false : (memref<4xf16>, memref<4xf16>) -> ()
  func.return
}

// -----

func.func private @axis(%x: memref<4xf32>) {
  // expected-error: a scan along axis 1 of memref<4xf32> into memref<4xf32>
  linalg_ext.grid_scan %x into %x kind "sum" axis 1 exclusive false reverse false : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
