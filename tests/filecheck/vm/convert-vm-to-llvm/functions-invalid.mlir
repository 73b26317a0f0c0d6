// RUN: stepwell-opt %s -p convert-vm-to-llvm --split-input-file --verify-diagnostics

// expected-error: there is no native code for @sizes: vm.shape_of
vm.func private @sizes (1) registers 2 {
  vm.shape_of r1, r0
  vm.ret r1
}
// -----
// expected-error: there is no native code for @tag: vm.ret of a machine integer
vm.func private @tag (1) registers 2 {
  vm.get_tag r1, r0
  vm.ret r1
}
// -----
// expected-error: there is no native code for @number: vm.switch of what is no machine integer
vm.func private @number (1) registers 1 {
  vm.switch r0, [^bb1]
^bb1:
  vm.ret r0
}
