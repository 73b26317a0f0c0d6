// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// expected-error: found 3 parameters in 2 registers of at most 65536
vm.func private @too_few (3) registers 2 {
  vm.ret r0
}
// -----
// expected-error: a function is private, or states its type
vm.func @untyped (1) registers 1 {
  vm.ret r0
}
// -----
// expected-error: expected 1 inputs in the type, found 2
vm.func @typed (1) registers 1 : (tensor<f32>, tensor<f32>) -> tensor<f32> {
  vm.ret r0
}
// -----
// expected-error: vm.names must have a name for each input of a public function
vm.func @names (1) registers 1 : (tensor<f32>) -> tensor<f32> attributes {vm.names = []} {
  vm.ret r0
}
// -----
// expected-error: vm.states must be an array of #vm.state
vm.func @main (1) registers 1 : (tensor<f32>) -> tensor<f32> attributes {vm.states = ["s"]} {
  vm.ret r0
}
// -----
// expected-error: states are values of the public function @main
vm.func @f (1) registers 1 : (tensor<f32>) -> tensor<f32> attributes {vm.states = [#vm.state<"s" input 0>]} {
  vm.ret r0
}
// -----
// expected-error: #vm.state<"s" input 0 output 1> is beyond the inputs or outputs
vm.func @main (1) registers 1 : (tensor<f32>) -> tensor<f32> attributes {vm.states = [#vm.state<"s" input 0 output 1>]} {
  vm.ret r0
}
// -----
// expected-error: the state 's' is tensor<f32> before a call and tensor<4xf32> after
vm.func @main (1) registers 1 : (tensor<f32>) -> tensor<4xf32> attributes {vm.states = [#vm.state<"s" input 0 output 0>]} {
  vm.ret r0
}
// -----
// expected-error: vm.names must be an array of strings
vm.func @names (1) registers 1 : (tensor<f32>) -> tensor<f32> attributes {vm.names = [1]} {
  vm.ret r0
}
// -----
vm.func private @open (1) registers 2 {
  // expected-error: terminates block in single-block region but is not a terminator
  vm.move r1, r0
}
// -----
vm.func private @after (1) registers 2 {
  // expected-error: 'vm.ret' must be the last operation in its parent block
  vm.ret r0
  vm.ret r0
}
// -----
// expected-error: expected at least one instruction in each block
vm.func private @nothing (1) registers 2 {
}
// -----
vm.func private @beyond (1) registers 2 {
  // expected-error: vm.move: r2 is beyond the 2 registers of the function
  vm.move r2, r0
  vm.ret r0
}
// -----
vm.func private @entry (1) registers 1 {
^bb0:
  // expected-error: vm.goto: goes on at the first block, which has no label
  vm.goto ^bb0
}
// -----
vm.func private @constant (0) registers 1 {
  // expected-error: vm.load_const: there is no constant #0
  vm.load_const r0, #0
  vm.ret r0
}
// -----
// expected-error: expected constant #0, found #1
vm.constant #1 = dense<0> : tensor<i64>
// -----
vm.func private @call (1) registers 1 {
  // expected-error: there is no function @g
  vm.tail_invoke @g(r0)
}
// -----
vm.func private @f (1) registers 1 {
  // expected-error: @f has 1 parameters, found 2 arguments
  vm.tail_invoke @f(r0, r0)
}
// -----
vm.func private @f (1) registers 2 {
  // expected-error: @f has 1 parameters, found 2 captures
  vm.alloc_closure r1, @f(r0, r0)
  vm.ret r1
}
// -----
vm.func private @f (1) registers 1 {
  // expected-error: there is no segment or host function @f
  vm.invoke_packed @f(r0) -> (r0)
  vm.ret r0
}
// -----
func.func private @s(tensor<f32>) -> tensor<f32> attributes {vm.segment}
vm.func private @f (1) registers 2 {
  // expected-error: @s has 1 results, found 2 registers
  vm.invoke_packed @s(r0) -> (r0, r1)
  vm.ret r0
}
// -----
vm.func private @f (1) registers 1 {
  // expected-error: there is no constructor @Pair::@Pair
  vm.alloc_adt r0, @Pair::@Pair(r0)
  vm.ret r0
}
// -----
adt.data @Pair {
  adt.constructor @Pair(tensor<f32>, tensor<f32>)
}
vm.func private @f (1) registers 1 {
  // expected-error: Pair has 2 fields, found 1
  vm.alloc_adt r0, @Pair::@Pair(r0)
  vm.ret r0
}
// -----
vm.func private @f (1) registers 1 {
  // expected-error: llvm.unreachable: is no instruction
  "llvm.unreachable"() : () -> ()
}
// -----
vm.func private @f (1) registers 1 {
  // expected-error: expected a register such as r0, found x0
  vm.move x0, r0
}
// -----
vm.func private @f (1) registers 2 {
  // expected-error: type must have known sizes, found tensor<?xf32>
  vm.alloc_tensor r1, r0 [0] : tensor<?xf32>
  vm.ret r1
}
// -----
vm.func private @f (1) registers 2 {
  // expected-error: expected 2 blocks, found 1
  "vm.if"() [^bb1] <{condition = 0 : i64}> : () -> ()
^bb1:
  vm.ret r0
}
// -----
vm.func private @f (1) registers 2 {
  // expected-error: expected at least one block
  "vm.switch"() <{tag = 0 : i64}> : () -> ()
}
// -----
vm.func private @f (1) registers 2 {
  // expected-error: to must not be negative, found -1
  "vm.move"() <{to = -1 : i64, value = 0 : i64}> : () -> ()
  vm.ret r0
}
// -----
vm.func private @f (1) registers 2 {
  // expected-error: expected a constant's number such as #0
  vm.load_const r0, 3
}
// -----
vm.func private @f (1) registers 2 {
  // expected-error: 9223372036854775808 has more than 64 bits
  vm.load_consti r0, 9223372036854775808
}
