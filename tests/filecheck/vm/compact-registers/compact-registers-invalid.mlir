// RUN: stepwell-opt %s -p compact-registers --split-input-file --verify-diagnostics

// A function whose registers are not those that it declares is refused before its registers get numbers.
vm.func private @outside (1) registers 2 {
  // expected-error: r3 is beyond the 2 registers
  vm.get_field r3, r0 [1]
  vm.ret r3
}
// -----
// expected-error: found 3 parameters in 2 registers
vm.func private @parameters (3) registers 2 {
  vm.ret r0
}
