// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{@host is the device that calls the program: it is not declared}}
dev.device @host #target.spec<"cpu", {}>

// -----

// expected-error @below {{the target must be a #target.spec, found "cuda"}}
dev.device @gpu0 "cuda"

// -----

// expected-error @below {{no target is named 'cudda'}}
dev.device @gpu0 #target.spec<"cudda", {}>

// -----

// expected-error @below {{an array of a device is that of a tensor, found i32}}
func.func @array(%x: !dev.array<i32>) {
  func.return
}

// -----

func.func @cell(%x: tuple<tensor<4xf32>, i32>) {
  // expected-error @below {{a tensor is copied, or a tuple of tensors, found tuple<tensor<4xf32>, i32>}}
  %y = dev.copy %x from @host to @gpu0 : tuple<tensor<4xf32>, i32>
  func.return
}
