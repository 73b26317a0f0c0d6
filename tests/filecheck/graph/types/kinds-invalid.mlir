// RUN: stepwell-opt %s --split-input-file --verify-diagnostics
// Types of wrong kinds, wherever a function or a data type names them.

// expected-error: the type variable A is of kind type, and an element of a tensor
func.func @a(%x: tensor<4x!graph.var<"A">>) attributes {graph.type_params = #graph.params<["A"]>} {
  func.return
}
// -----
// expected-error: @List takes 1 type arguments, found 0
func.func @b(%x: !adt.data<@List>) {
  func.return
}
// -----
// expected-error: @List takes 1 type arguments, found 2
func.func @c(%x: !adt.data<@List, i64, i64>) {
  func.return
}
// -----
// expected-error: there is no data type @Lisst
func.func @d(%x: !adt.data<@Lisst, i64>) {
  func.return
}
// -----
// expected-error: the type variable A is not declared: there are none
func.func @e(%x: !graph.var<"A">) {
  func.return
}
// -----
// expected-error: a tensor has no elements of type !ref.cell<i64>
func.func @f(%x: tensor<4x!ref.cell<i64>>) {
  func.return
}
// -----
adt.data @D {
  // expected-error: @List takes 1 type arguments, found 0
  adt.constructor @C(!adt.data<@List>)
}
// -----
// expected-error: a tensor has no elements of type !adt.data<@Nat>
func.func @i(%x: tensor<4x!adt.data<@Nat>>) {
  func.return
}
// -----
adt.data @Shape<"E": float> {
  adt.constructor @Circle(tensor<!graph.var<"E">>)
}
// expected-error: the type argument i64 is for E, whose kind is float
func.func @shape(%x: !adt.data<@Shape, i64>) {
  func.return
}
// -----
adt.data @Shape<"E": float> {
  adt.constructor @Circle(tensor<!graph.var<"E">>)
}
// expected-error: the type argument !graph.var<"F"> is for E, whose kind is float
func.func @wider(%x: !adt.data<@Shape, !graph.var<"F">>) attributes {graph.type_params = #graph.params<["F": number]>} {
  func.return
}
