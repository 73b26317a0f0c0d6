// The prelude: data types and functions that a program uses without defining them.
// `link-prelude` copies those that a module names. The functions have the meaning of Relay's prelude.

// A list: an element and the rest, or nothing.
adt.data @List<"A"> {
  adt.constructor @Cons(!graph.var<"A">, !adt.data<@List, !graph.var<"A">>)
  adt.constructor @Nil()
}

// A value, or none.
adt.data @Option<"A"> {
  adt.constructor @Some(!graph.var<"A">)
  adt.constructor @None()
}

// A tree whose nodes have any number of children.
adt.data @Tree<"A"> {
  adt.constructor @Rose(!graph.var<"A">, !adt.data<@List, !adt.data<@Tree, !graph.var<"A">>>)
}

// A natural number: zero, or the successor of one.
adt.data @Nat {
  adt.constructor @Z()
  adt.constructor @S(!adt.data<@Nat>)
}

// The argument itself.
func.func private @id(%x: !graph.var<"A">) -> !graph.var<"A"> attributes {graph.type_params = #graph.params<["A"]>} {
  func.return %x : !graph.var<"A">
}

// The function that calls %g, then %f on its result.
func.func private @compose(%f: (!graph.var<"B">) -> !graph.var<"C">, %g: (!graph.var<"A">) -> !graph.var<"B">) -> ((!graph.var<"A">) -> !graph.var<"C">) attributes {graph.type_params = #graph.params<["A", "B", "C"]>} {
  %h = graph.lambda (%x: !graph.var<"A">) -> (!graph.var<"C">) {
    %y = graph.call %g(%x) : (!graph.var<"A">) -> !graph.var<"B">
    %z = graph.call %f(%y) : (!graph.var<"B">) -> !graph.var<"C">
    graph.yield %z : !graph.var<"C">
  }
  func.return %h : (!graph.var<"A">) -> !graph.var<"C">
}

// The function with its two arguments exchanged.
func.func private @flip(%f: (!graph.var<"A">, !graph.var<"B">) -> !graph.var<"C">) -> ((!graph.var<"B">, !graph.var<"A">) -> !graph.var<"C">) attributes {graph.type_params = #graph.params<["A", "B", "C"]>} {
  %h = graph.lambda (%b: !graph.var<"B">, %a: !graph.var<"A">) -> (!graph.var<"C">) {
    %y = graph.call %f(%a, %b) : (!graph.var<"A">, !graph.var<"B">) -> !graph.var<"C">
    graph.yield %y : !graph.var<"C">
  }
  func.return %h : (!graph.var<"B">, !graph.var<"A">) -> !graph.var<"C">
}

// The function that calls %f so many times, each on the result of the one before.
func.func private @iterate(%f: (!graph.var<"A">) -> !graph.var<"A">, %n: tensor<i64>) -> ((!graph.var<"A">) -> !graph.var<"A">) attributes {graph.type_params = #graph.params<["A"]>} {
  %zero = graph.constant dense<0> : tensor<i64>
  %done = graph.equal %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %h = graph.if %done : tensor<i1> -> ((!graph.var<"A">) -> !graph.var<"A">) {
    %same = graph.function @id<!graph.var<"A">> : (!graph.var<"A">) -> !graph.var<"A">
    graph.yield %same : (!graph.var<"A">) -> !graph.var<"A">
  } else {
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %rest = graph.call @iterate<!graph.var<"A">>(%f, %m) : ((!graph.var<"A">) -> !graph.var<"A">, tensor<i64>) -> ((!graph.var<"A">) -> !graph.var<"A">)
    %both = graph.call @compose<!graph.var<"A">, !graph.var<"A">, !graph.var<"A">>(%f, %rest) : ((!graph.var<"A">) -> !graph.var<"A">, (!graph.var<"A">) -> !graph.var<"A">) -> ((!graph.var<"A">) -> !graph.var<"A">)
    graph.yield %both : (!graph.var<"A">) -> !graph.var<"A">
  }
  func.return %h : (!graph.var<"A">) -> !graph.var<"A">
}

// The first element.
func.func private @hd(%xs: !adt.data<@List, !graph.var<"A">>) -> !graph.var<"A"> attributes {graph.type_params = #graph.params<["A"]>} {
  %r = adt.match partial %xs : !adt.data<@List, !graph.var<"A">> -> (!graph.var<"A">) case Cons(%x: !graph.var<"A">, _) {
    graph.yield %x : !graph.var<"A">
  }
  func.return %r : !graph.var<"A">
}

// The list without its first element.
func.func private @tl(%xs: !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">> attributes {graph.type_params = #graph.params<["A"]>} {
  %r = adt.match partial %xs : !adt.data<@List, !graph.var<"A">> -> (!adt.data<@List, !graph.var<"A">>) case Cons(_, %rest: !adt.data<@List, !graph.var<"A">>) {
    graph.yield %rest : !adt.data<@List, !graph.var<"A">>
  }
  func.return %r : !adt.data<@List, !graph.var<"A">>
}

// The element at an index, from 0.
func.func private @nth(%xs: !adt.data<@List, !graph.var<"A">>, %n: tensor<i64>) -> !graph.var<"A"> attributes {graph.type_params = #graph.params<["A"]>} {
  %zero = graph.constant dense<0> : tensor<i64>
  %done = graph.equal %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = graph.if %done : tensor<i1> -> (!graph.var<"A">) {
    %x = graph.call @hd<!graph.var<"A">>(%xs) : (!adt.data<@List, !graph.var<"A">>) -> !graph.var<"A">
    graph.yield %x : !graph.var<"A">
  } else {
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %rest = graph.call @tl<!graph.var<"A">>(%xs) : (!adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
    %x = graph.call @nth<!graph.var<"A">>(%rest, %m) : (!adt.data<@List, !graph.var<"A">>, tensor<i64>) -> !graph.var<"A">
    graph.yield %x : !graph.var<"A">
  }
  func.return %r : !graph.var<"A">
}

// The number of elements.
func.func private @length(%xs: !adt.data<@List, !graph.var<"A">>) -> tensor<i64> attributes {graph.type_params = #graph.params<["A"]>} {
  %r = adt.match %xs : !adt.data<@List, !graph.var<"A">> -> (tensor<i64>) case Cons(_, %rest: !adt.data<@List, !graph.var<"A">>) {
    %one = graph.constant dense<1> : tensor<i64>
    %n = graph.call @length<!graph.var<"A">>(%rest) : (!adt.data<@List, !graph.var<"A">>) -> tensor<i64>
    %m = graph.add %one, %n : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %m : tensor<i64>
  } case Nil {
    %zero = graph.constant dense<0> : tensor<i64>
    graph.yield %zero : tensor<i64>
  }
  func.return %r : tensor<i64>
}

// The list with another element at an index, from 0.
func.func private @update(%xs: !adt.data<@List, !graph.var<"A">>, %n: tensor<i64>, %v: !graph.var<"A">) -> !adt.data<@List, !graph.var<"A">> attributes {graph.type_params = #graph.params<["A"]>} {
  %zero = graph.constant dense<0> : tensor<i64>
  %done = graph.equal %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %rest = graph.call @tl<!graph.var<"A">>(%xs) : (!adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
  %r = graph.if %done : tensor<i1> -> (!adt.data<@List, !graph.var<"A">>) {
    %l = adt.make @List::@Cons(%v, %rest) : (!graph.var<"A">, !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
    graph.yield %l : !adt.data<@List, !graph.var<"A">>
  } else {
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %x = graph.call @hd<!graph.var<"A">>(%xs) : (!adt.data<@List, !graph.var<"A">>) -> !graph.var<"A">
    %new = graph.call @update<!graph.var<"A">>(%rest, %m, %v) : (!adt.data<@List, !graph.var<"A">>, tensor<i64>, !graph.var<"A">) -> !adt.data<@List, !graph.var<"A">>
    %l = adt.make @List::@Cons(%x, %new) : (!graph.var<"A">, !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
    graph.yield %l : !adt.data<@List, !graph.var<"A">>
  }
  func.return %r : !adt.data<@List, !graph.var<"A">>
}

// The list of %f of each element.
func.func private @map(%f: (!graph.var<"A">) -> !graph.var<"B">, %xs: !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"B">> attributes {graph.type_params = #graph.params<["A", "B"]>} {
  %r = adt.match %xs : !adt.data<@List, !graph.var<"A">> -> (!adt.data<@List, !graph.var<"B">>) case Cons(%x: !graph.var<"A">, %rest: !adt.data<@List, !graph.var<"A">>) {
    %y = graph.call %f(%x) : (!graph.var<"A">) -> !graph.var<"B">
    %ys = graph.call @map<!graph.var<"A">, !graph.var<"B">>(%f, %rest) : ((!graph.var<"A">) -> !graph.var<"B">, !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"B">>
    %l = adt.make @List::@Cons(%y, %ys) : (!graph.var<"B">, !adt.data<@List, !graph.var<"B">>) -> !adt.data<@List, !graph.var<"B">>
    graph.yield %l : !adt.data<@List, !graph.var<"B">>
  } case Nil {
    %l = adt.make @List::@Nil() : () -> !adt.data<@List, !graph.var<"B">>
    graph.yield %l : !adt.data<@List, !graph.var<"B">>
  }
  func.return %r : !adt.data<@List, !graph.var<"B">>
}

// %f of %acc and each element, from the first: f(f(acc, x0), x1).
func.func private @foldl(%f: (!graph.var<"A">, !graph.var<"B">) -> !graph.var<"A">, %acc: !graph.var<"A">, %xs: !adt.data<@List, !graph.var<"B">>) -> !graph.var<"A"> attributes {graph.type_params = #graph.params<["A", "B"]>} {
  %r = adt.match %xs : !adt.data<@List, !graph.var<"B">> -> (!graph.var<"A">) case Cons(%x: !graph.var<"B">, %rest: !adt.data<@List, !graph.var<"B">>) {
    %next = graph.call %f(%acc, %x) : (!graph.var<"A">, !graph.var<"B">) -> !graph.var<"A">
    %y = graph.call @foldl<!graph.var<"A">, !graph.var<"B">>(%f, %next, %rest) : ((!graph.var<"A">, !graph.var<"B">) -> !graph.var<"A">, !graph.var<"A">, !adt.data<@List, !graph.var<"B">>) -> !graph.var<"A">
    graph.yield %y : !graph.var<"A">
  } case Nil {
    graph.yield %acc : !graph.var<"A">
  }
  func.return %r : !graph.var<"A">
}

// %f of each element and %last, from the last: f(x0, f(x1, last)).
func.func private @foldr(%f: (!graph.var<"A">, !graph.var<"B">) -> !graph.var<"B">, %last: !graph.var<"B">, %xs: !adt.data<@List, !graph.var<"A">>) -> !graph.var<"B"> attributes {graph.type_params = #graph.params<["A", "B"]>} {
  %r = adt.match %xs : !adt.data<@List, !graph.var<"A">> -> (!graph.var<"B">) case Cons(%x: !graph.var<"A">, %rest: !adt.data<@List, !graph.var<"A">>) {
    %y = graph.call @foldr<!graph.var<"A">, !graph.var<"B">>(%f, %last, %rest) : ((!graph.var<"A">, !graph.var<"B">) -> !graph.var<"B">, !graph.var<"B">, !adt.data<@List, !graph.var<"A">>) -> !graph.var<"B">
    %z = graph.call %f(%x, %y) : (!graph.var<"A">, !graph.var<"B">) -> !graph.var<"B">
    graph.yield %z : !graph.var<"B">
  } case Nil {
    graph.yield %last : !graph.var<"B">
  }
  func.return %r : !graph.var<"B">
}

// As foldr, with the last element in the place of %last.
func.func private @foldr1(%f: (!graph.var<"A">, !graph.var<"A">) -> !graph.var<"A">, %xs: !adt.data<@List, !graph.var<"A">>) -> !graph.var<"A"> attributes {graph.type_params = #graph.params<["A"]>} {
  %r = adt.match partial %xs : !adt.data<@List, !graph.var<"A">> -> (!graph.var<"A">) case Cons(%x: !graph.var<"A">, Nil) {
    graph.yield %x : !graph.var<"A">
  } case Cons(%x: !graph.var<"A">, %rest: !adt.data<@List, !graph.var<"A">>) {
    %y = graph.call @foldr1<!graph.var<"A">>(%f, %rest) : ((!graph.var<"A">, !graph.var<"A">) -> !graph.var<"A">, !adt.data<@List, !graph.var<"A">>) -> !graph.var<"A">
    %z = graph.call %f(%x, %y) : (!graph.var<"A">, !graph.var<"A">) -> !graph.var<"A">
    graph.yield %z : !graph.var<"A">
  }
  func.return %r : !graph.var<"A">
}

// The sum of the elements, which are numbers.
func.func private @sum(%xs: !adt.data<@List, tensor<!graph.var<"E">>>) -> tensor<!graph.var<"E">> attributes {graph.type_params = #graph.params<["E": number]>} {
  %zero = graph.constant dense<0> : tensor<i64>
  %none = graph.cast %zero to !graph.var<"E"> saturate true round "nearest" : tensor<i64> -> tensor<!graph.var<"E">>
  %f = graph.lambda (%a: tensor<!graph.var<"E">>, %b: tensor<!graph.var<"E">>) -> (tensor<!graph.var<"E">>) {
    %c = graph.add %a, %b : (tensor<!graph.var<"E">>, tensor<!graph.var<"E">>) -> tensor<!graph.var<"E">>
    graph.yield %c : tensor<!graph.var<"E">>
  }
  %r = graph.call @foldl<tensor<!graph.var<"E">>, tensor<!graph.var<"E">>>(%f, %none, %xs) : ((tensor<!graph.var<"E">>, tensor<!graph.var<"E">>) -> tensor<!graph.var<"E">>, tensor<!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>) -> tensor<!graph.var<"E">>
  func.return %r : tensor<!graph.var<"E">>
}

// The elements of one list, then those of another.
func.func private @concat(%xs: !adt.data<@List, !graph.var<"A">>, %ys: !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">> attributes {graph.type_params = #graph.params<["A"]>} {
  %r = adt.match %xs : !adt.data<@List, !graph.var<"A">> -> (!adt.data<@List, !graph.var<"A">>) case Cons(%x: !graph.var<"A">, %rest: !adt.data<@List, !graph.var<"A">>) {
    %zs = graph.call @concat<!graph.var<"A">>(%rest, %ys) : (!adt.data<@List, !graph.var<"A">>, !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
    %l = adt.make @List::@Cons(%x, %zs) : (!graph.var<"A">, !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
    graph.yield %l : !adt.data<@List, !graph.var<"A">>
  } case Nil {
    graph.yield %ys : !adt.data<@List, !graph.var<"A">>
  }
  func.return %r : !adt.data<@List, !graph.var<"A">>
}

// The list with one more element at its end.
func.func private @append(%xs: !adt.data<@List, !graph.var<"A">>, %x: !graph.var<"A">) -> !adt.data<@List, !graph.var<"A">> attributes {graph.type_params = #graph.params<["A"]>} {
  %nil = adt.make @List::@Nil() : () -> !adt.data<@List, !graph.var<"A">>
  %last = adt.make @List::@Cons(%x, %nil) : (!graph.var<"A">, !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
  %r = graph.call @concat<!graph.var<"A">>(%xs, %last) : (!adt.data<@List, !graph.var<"A">>, !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
  func.return %r : !adt.data<@List, !graph.var<"A">>
}

// The elements for which %f is true.
func.func private @filter(%f: (!graph.var<"A">) -> tensor<i1>, %xs: !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">> attributes {graph.type_params = #graph.params<["A"]>} {
  %r = adt.match %xs : !adt.data<@List, !graph.var<"A">> -> (!adt.data<@List, !graph.var<"A">>) case Cons(%x: !graph.var<"A">, %rest: !adt.data<@List, !graph.var<"A">>) {
    %keep = graph.call %f(%x) : (!graph.var<"A">) -> tensor<i1>
    %others = graph.call @filter<!graph.var<"A">>(%f, %rest) : ((!graph.var<"A">) -> tensor<i1>, !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
    %l = graph.if %keep : tensor<i1> -> (!adt.data<@List, !graph.var<"A">>) {
      %m = adt.make @List::@Cons(%x, %others) : (!graph.var<"A">, !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
      graph.yield %m : !adt.data<@List, !graph.var<"A">>
    } else {
      graph.yield %others : !adt.data<@List, !graph.var<"A">>
    }
    graph.yield %l : !adt.data<@List, !graph.var<"A">>
  } case Nil {
    %l = adt.make @List::@Nil() : () -> !adt.data<@List, !graph.var<"A">>
    graph.yield %l : !adt.data<@List, !graph.var<"A">>
  }
  func.return %r : !adt.data<@List, !graph.var<"A">>
}

// The pairs of elements at equal places, as many as the shorter list has.
func.func private @zip(%xs: !adt.data<@List, !graph.var<"A">>, %ys: !adt.data<@List, !graph.var<"B">>) -> !adt.data<@List, tuple<!graph.var<"A">, !graph.var<"B">>> attributes {graph.type_params = #graph.params<["A", "B"]>} {
  %both = graph.tuple %xs, %ys : !adt.data<@List, !graph.var<"A">>, !adt.data<@List, !graph.var<"B">>
  %r = adt.match %both : tuple<!adt.data<@List, !graph.var<"A">>, !adt.data<@List, !graph.var<"B">>> -> (!adt.data<@List, tuple<!graph.var<"A">, !graph.var<"B">>>) case (Cons(%x: !graph.var<"A">, %as: !adt.data<@List, !graph.var<"A">>), Cons(%y: !graph.var<"B">, %bs: !adt.data<@List, !graph.var<"B">>)) {
    %pair = graph.tuple %x, %y : !graph.var<"A">, !graph.var<"B">
    %rest = graph.call @zip<!graph.var<"A">, !graph.var<"B">>(%as, %bs) : (!adt.data<@List, !graph.var<"A">>, !adt.data<@List, !graph.var<"B">>) -> !adt.data<@List, tuple<!graph.var<"A">, !graph.var<"B">>>
    %l = adt.make @List::@Cons(%pair, %rest) : (tuple<!graph.var<"A">, !graph.var<"B">>, !adt.data<@List, tuple<!graph.var<"A">, !graph.var<"B">>>) -> !adt.data<@List, tuple<!graph.var<"A">, !graph.var<"B">>>
    graph.yield %l : !adt.data<@List, tuple<!graph.var<"A">, !graph.var<"B">>>
  } case _ {
    %l = adt.make @List::@Nil() : () -> !adt.data<@List, tuple<!graph.var<"A">, !graph.var<"B">>>
    graph.yield %l : !adt.data<@List, tuple<!graph.var<"A">, !graph.var<"B">>>
  }
  func.return %r : !adt.data<@List, tuple<!graph.var<"A">, !graph.var<"B">>>
}

// The list in reverse order.
func.func private @rev(%xs: !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">> attributes {graph.type_params = #graph.params<["A"]>} {
  %nil = adt.make @List::@Nil() : () -> !adt.data<@List, !graph.var<"A">>
  %f = graph.lambda (%done: !adt.data<@List, !graph.var<"A">>, %x: !graph.var<"A">) -> (!adt.data<@List, !graph.var<"A">>) {
    %l = adt.make @List::@Cons(%x, %done) : (!graph.var<"A">, !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
    graph.yield %l : !adt.data<@List, !graph.var<"A">>
  }
  %r = graph.call @foldl<!adt.data<@List, !graph.var<"A">>, !graph.var<"A">>(%f, %nil, %xs) : ((!adt.data<@List, !graph.var<"A">>, !graph.var<"A">) -> !adt.data<@List, !graph.var<"A">>, !adt.data<@List, !graph.var<"A">>, !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
  func.return %r : !adt.data<@List, !graph.var<"A">>
}

// The first elements, at most so many.
func.func private @take(%xs: !adt.data<@List, !graph.var<"A">>, %n: tensor<i64>) -> !adt.data<@List, !graph.var<"A">> attributes {graph.type_params = #graph.params<["A"]>} {
  %zero = graph.constant dense<0> : tensor<i64>
  %more = graph.less %zero, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = graph.if %more : tensor<i1> -> (!adt.data<@List, !graph.var<"A">>) {
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %l = adt.match %xs : !adt.data<@List, !graph.var<"A">> -> (!adt.data<@List, !graph.var<"A">>) case Cons(%x: !graph.var<"A">, %rest: !adt.data<@List, !graph.var<"A">>) {
      %others = graph.call @take<!graph.var<"A">>(%rest, %m) : (!adt.data<@List, !graph.var<"A">>, tensor<i64>) -> !adt.data<@List, !graph.var<"A">>
      %k = adt.make @List::@Cons(%x, %others) : (!graph.var<"A">, !adt.data<@List, !graph.var<"A">>) -> !adt.data<@List, !graph.var<"A">>
      graph.yield %k : !adt.data<@List, !graph.var<"A">>
    } case Nil {
      graph.yield %xs : !adt.data<@List, !graph.var<"A">>
    }
    graph.yield %l : !adt.data<@List, !graph.var<"A">>
  } else {
    %nil = adt.make @List::@Nil() : () -> !adt.data<@List, !graph.var<"A">>
    graph.yield %nil : !adt.data<@List, !graph.var<"A">>
  }
  func.return %r : !adt.data<@List, !graph.var<"A">>
}

// The elements after the first ones, of which so many are left out.
func.func private @drop(%xs: !adt.data<@List, !graph.var<"A">>, %n: tensor<i64>) -> !adt.data<@List, !graph.var<"A">> attributes {graph.type_params = #graph.params<["A"]>} {
  %zero = graph.constant dense<0> : tensor<i64>
  %more = graph.less %zero, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = graph.if %more : tensor<i1> -> (!adt.data<@List, !graph.var<"A">>) {
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %l = adt.match %xs : !adt.data<@List, !graph.var<"A">> -> (!adt.data<@List, !graph.var<"A">>) case Cons(_, %rest: !adt.data<@List, !graph.var<"A">>) {
      %others = graph.call @drop<!graph.var<"A">>(%rest, %m) : (!adt.data<@List, !graph.var<"A">>, tensor<i64>) -> !adt.data<@List, !graph.var<"A">>
      graph.yield %others : !adt.data<@List, !graph.var<"A">>
    } case Nil {
      graph.yield %xs : !adt.data<@List, !graph.var<"A">>
    }
    graph.yield %l : !adt.data<@List, !graph.var<"A">>
  } else {
    graph.yield %xs : !adt.data<@List, !graph.var<"A">>
  }
  func.return %r : !adt.data<@List, !graph.var<"A">>
}

// Goes from the last element to the first: %f of the state and an element gives the next state and an element
// of the new list.
func.func private @map_accumr(%f: (!graph.var<"A">, !graph.var<"B">) -> tuple<!graph.var<"A">, !graph.var<"C">>, %init: !graph.var<"A">, %xs: !adt.data<@List, !graph.var<"B">>) -> tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>> attributes {graph.type_params = #graph.params<["A", "B", "C"]>} {
  %nil = adt.make @List::@Nil() : () -> !adt.data<@List, !graph.var<"C">>
  %start = graph.tuple %init, %nil : !graph.var<"A">, !adt.data<@List, !graph.var<"C">>
  %g = graph.lambda (%x: !graph.var<"B">, %acc: tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>) -> (tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>) {
    %state = graph.get %acc [0] : tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>> -> !graph.var<"A">
    %done = graph.get %acc [1] : tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>> -> !adt.data<@List, !graph.var<"C">>
    %out = graph.call %f(%state, %x) : (!graph.var<"A">, !graph.var<"B">) -> tuple<!graph.var<"A">, !graph.var<"C">>
    %next = graph.get %out [0] : tuple<!graph.var<"A">, !graph.var<"C">> -> !graph.var<"A">
    %y = graph.get %out [1] : tuple<!graph.var<"A">, !graph.var<"C">> -> !graph.var<"C">
    %l = adt.make @List::@Cons(%y, %done) : (!graph.var<"C">, !adt.data<@List, !graph.var<"C">>) -> !adt.data<@List, !graph.var<"C">>
    %t = graph.tuple %next, %l : !graph.var<"A">, !adt.data<@List, !graph.var<"C">>
    graph.yield %t : tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>
  }
  %r = graph.call @foldr<!graph.var<"B">, tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>>(%g, %start, %xs) : ((!graph.var<"B">, tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>) -> tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>, tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>, !adt.data<@List, !graph.var<"B">>) -> tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>
  func.return %r : tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>
}

// As map_accumr from the first element to the last; the new list is in reverse order.
func.func private @map_accuml(%f: (!graph.var<"A">, !graph.var<"B">) -> tuple<!graph.var<"A">, !graph.var<"C">>, %init: !graph.var<"A">, %xs: !adt.data<@List, !graph.var<"B">>) -> tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>> attributes {graph.type_params = #graph.params<["A", "B", "C"]>} {
  %nil = adt.make @List::@Nil() : () -> !adt.data<@List, !graph.var<"C">>
  %start = graph.tuple %init, %nil : !graph.var<"A">, !adt.data<@List, !graph.var<"C">>
  %g = graph.lambda (%acc: tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>, %x: !graph.var<"B">) -> (tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>) {
    %state = graph.get %acc [0] : tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>> -> !graph.var<"A">
    %done = graph.get %acc [1] : tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>> -> !adt.data<@List, !graph.var<"C">>
    %out = graph.call %f(%state, %x) : (!graph.var<"A">, !graph.var<"B">) -> tuple<!graph.var<"A">, !graph.var<"C">>
    %next = graph.get %out [0] : tuple<!graph.var<"A">, !graph.var<"C">> -> !graph.var<"A">
    %y = graph.get %out [1] : tuple<!graph.var<"A">, !graph.var<"C">> -> !graph.var<"C">
    %l = adt.make @List::@Cons(%y, %done) : (!graph.var<"C">, !adt.data<@List, !graph.var<"C">>) -> !adt.data<@List, !graph.var<"C">>
    %t = graph.tuple %next, %l : !graph.var<"A">, !adt.data<@List, !graph.var<"C">>
    graph.yield %t : tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>
  }
  %r = graph.call @foldl<tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>, !graph.var<"B">>(%g, %start, %xs) : ((tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>, !graph.var<"B">) -> tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>, tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>, !adt.data<@List, !graph.var<"B">>) -> tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>
  func.return %r : tuple<!graph.var<"A">, !adt.data<@List, !graph.var<"C">>>
}

// The list that %f makes, until it gives none: of a state the next state and an element.
func.func private @unfoldr(%f: (!graph.var<"A">) -> !adt.data<@Option, tuple<!graph.var<"A">, !graph.var<"B">>>, %s: !graph.var<"A">) -> !adt.data<@List, !graph.var<"B">> attributes {graph.type_params = #graph.params<["A", "B"]>} {
  %next = graph.call %f(%s) : (!graph.var<"A">) -> !adt.data<@Option, tuple<!graph.var<"A">, !graph.var<"B">>>
  %r = adt.match %next : !adt.data<@Option, tuple<!graph.var<"A">, !graph.var<"B">>> -> (!adt.data<@List, !graph.var<"B">>) case Some((%t: !graph.var<"A">, %y: !graph.var<"B">)) {
    %ys = graph.call @unfoldr<!graph.var<"A">, !graph.var<"B">>(%f, %t) : ((!graph.var<"A">) -> !adt.data<@Option, tuple<!graph.var<"A">, !graph.var<"B">>>, !graph.var<"A">) -> !adt.data<@List, !graph.var<"B">>
    %l = adt.make @List::@Cons(%y, %ys) : (!graph.var<"B">, !adt.data<@List, !graph.var<"B">>) -> !adt.data<@List, !graph.var<"B">>
    graph.yield %l : !adt.data<@List, !graph.var<"B">>
  } case None {
    %l = adt.make @List::@Nil() : () -> !adt.data<@List, !graph.var<"B">>
    graph.yield %l : !adt.data<@List, !graph.var<"B">>
  }
  func.return %r : !adt.data<@List, !graph.var<"B">>
}

// As unfoldr, in reverse order.
func.func private @unfoldl(%f: (!graph.var<"A">) -> !adt.data<@Option, tuple<!graph.var<"A">, !graph.var<"B">>>, %s: !graph.var<"A">) -> !adt.data<@List, !graph.var<"B">> attributes {graph.type_params = #graph.params<["A", "B"]>} {
  %nil = adt.make @List::@Nil() : () -> !adt.data<@List, !graph.var<"B">>
  %r = graph.call @unfoldl_onto<!graph.var<"A">, !graph.var<"B">>(%f, %s, %nil) : ((!graph.var<"A">) -> !adt.data<@Option, tuple<!graph.var<"A">, !graph.var<"B">>>, !graph.var<"A">, !adt.data<@List, !graph.var<"B">>) -> !adt.data<@List, !graph.var<"B">>
  func.return %r : !adt.data<@List, !graph.var<"B">>
}

// As unfoldl, before the elements of a list.
func.func private @unfoldl_onto(%f: (!graph.var<"A">) -> !adt.data<@Option, tuple<!graph.var<"A">, !graph.var<"B">>>, %s: !graph.var<"A">, %done: !adt.data<@List, !graph.var<"B">>) -> !adt.data<@List, !graph.var<"B">> attributes {graph.type_params = #graph.params<["A", "B"]>} {
  %next = graph.call %f(%s) : (!graph.var<"A">) -> !adt.data<@Option, tuple<!graph.var<"A">, !graph.var<"B">>>
  %r = adt.match %next : !adt.data<@Option, tuple<!graph.var<"A">, !graph.var<"B">>> -> (!adt.data<@List, !graph.var<"B">>) case Some((%t: !graph.var<"A">, %y: !graph.var<"B">)) {
    %l = adt.make @List::@Cons(%y, %done) : (!graph.var<"B">, !adt.data<@List, !graph.var<"B">>) -> !adt.data<@List, !graph.var<"B">>
    %ys = graph.call @unfoldl_onto<!graph.var<"A">, !graph.var<"B">>(%f, %t, %l) : ((!graph.var<"A">) -> !adt.data<@Option, tuple<!graph.var<"A">, !graph.var<"B">>>, !graph.var<"A">, !adt.data<@List, !graph.var<"B">>) -> !adt.data<@List, !graph.var<"B">>
    graph.yield %ys : !adt.data<@List, !graph.var<"B">>
  } case None {
    graph.yield %done : !adt.data<@List, !graph.var<"B">>
  }
  func.return %r : !adt.data<@List, !graph.var<"B">>
}

// The tree of %f of each value.
func.func private @tmap(%f: (!graph.var<"A">) -> !graph.var<"B">, %t: !adt.data<@Tree, !graph.var<"A">>) -> !adt.data<@Tree, !graph.var<"B">> attributes {graph.type_params = #graph.params<["A", "B"]>} {
  %r = adt.match %t : !adt.data<@Tree, !graph.var<"A">> -> (!adt.data<@Tree, !graph.var<"B">>) case Rose(%x: !graph.var<"A">, %children: !adt.data<@List, !adt.data<@Tree, !graph.var<"A">>>) {
    %y = graph.call %f(%x) : (!graph.var<"A">) -> !graph.var<"B">
    %g = graph.lambda (%c: !adt.data<@Tree, !graph.var<"A">>) -> (!adt.data<@Tree, !graph.var<"B">>) {
      %d = graph.call @tmap<!graph.var<"A">, !graph.var<"B">>(%f, %c) : ((!graph.var<"A">) -> !graph.var<"B">, !adt.data<@Tree, !graph.var<"A">>) -> !adt.data<@Tree, !graph.var<"B">>
      graph.yield %d : !adt.data<@Tree, !graph.var<"B">>
    }
    %new = graph.call @map<!adt.data<@Tree, !graph.var<"A">>, !adt.data<@Tree, !graph.var<"B">>>(%g, %children) : ((!adt.data<@Tree, !graph.var<"A">>) -> !adt.data<@Tree, !graph.var<"B">>, !adt.data<@List, !adt.data<@Tree, !graph.var<"A">>>) -> !adt.data<@List, !adt.data<@Tree, !graph.var<"B">>>
    %u = adt.make @Tree::@Rose(%y, %new) : (!graph.var<"B">, !adt.data<@List, !adt.data<@Tree, !graph.var<"B">>>) -> !adt.data<@Tree, !graph.var<"B">>
    graph.yield %u : !adt.data<@Tree, !graph.var<"B">>
  }
  func.return %r : !adt.data<@Tree, !graph.var<"B">>
}

// %f of each value and the results of its children, from the leaves.
func.func private @tfold(%f: (!graph.var<"A">, !adt.data<@List, !graph.var<"B">>) -> !graph.var<"B">, %t: !adt.data<@Tree, !graph.var<"A">>) -> !graph.var<"B"> attributes {graph.type_params = #graph.params<["A", "B"]>} {
  %r = adt.match %t : !adt.data<@Tree, !graph.var<"A">> -> (!graph.var<"B">) case Rose(%x: !graph.var<"A">, %children: !adt.data<@List, !adt.data<@Tree, !graph.var<"A">>>) {
    %g = graph.lambda (%c: !adt.data<@Tree, !graph.var<"A">>) -> (!graph.var<"B">) {
      %d = graph.call @tfold<!graph.var<"A">, !graph.var<"B">>(%f, %c) : ((!graph.var<"A">, !adt.data<@List, !graph.var<"B">>) -> !graph.var<"B">, !adt.data<@Tree, !graph.var<"A">>) -> !graph.var<"B">
      graph.yield %d : !graph.var<"B">
    }
    %results = graph.call @map<!adt.data<@Tree, !graph.var<"A">>, !graph.var<"B">>(%g, %children) : ((!adt.data<@Tree, !graph.var<"A">>) -> !graph.var<"B">, !adt.data<@List, !adt.data<@Tree, !graph.var<"A">>>) -> !adt.data<@List, !graph.var<"B">>
    %y = graph.call %f(%x, %results) : (!graph.var<"A">, !adt.data<@List, !graph.var<"B">>) -> !graph.var<"B">
    graph.yield %y : !graph.var<"B">
  }
  func.return %r : !graph.var<"B">
}

// The number of nodes of a tree.
func.func private @size(%t: !adt.data<@Tree, !graph.var<"A">>) -> tensor<i64> attributes {graph.type_params = #graph.params<["A"]>} {
  %r = adt.match %t : !adt.data<@Tree, !graph.var<"A">> -> (tensor<i64>) case Rose(_, %children: !adt.data<@List, !adt.data<@Tree, !graph.var<"A">>>) {
    %one = graph.constant dense<1> : tensor<i64>
    %g = graph.function @size<!graph.var<"A">> : (!adt.data<@Tree, !graph.var<"A">>) -> tensor<i64>
    %sizes = graph.call @map<!adt.data<@Tree, !graph.var<"A">>, tensor<i64>>(%g, %children) : ((!adt.data<@Tree, !graph.var<"A">>) -> tensor<i64>, !adt.data<@List, !adt.data<@Tree, !graph.var<"A">>>) -> !adt.data<@List, tensor<i64>>
    %total = graph.call @sum<i64>(%sizes) : (!adt.data<@List, tensor<i64>>) -> tensor<i64>
    %n = graph.add %one, %total : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %n : tensor<i64>
  }
  func.return %r : tensor<i64>
}

// The tensor of the elements of a list of scalars.
func.func private @stack(%xs: !adt.data<@List, tensor<!graph.var<"E">>>) -> tensor<?x!graph.var<"E">> attributes {graph.type_params = #graph.params<["E": number]>} {
  %n = graph.call @length<tensor<!graph.var<"E">>>(%xs) : (!adt.data<@List, tensor<!graph.var<"E">>>) -> tensor<i64>
  %t, %rest = graph.call @stack_first<!graph.var<"E">>(%xs, %n) : (!adt.data<@List, tensor<!graph.var<"E">>>, tensor<i64>) -> (tensor<?x!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>)
  func.return %t : tensor<?x!graph.var<"E">>
}

// As stack of so many elements, half of them at a time; and the elements after these.
func.func private @stack_first(%xs: !adt.data<@List, tensor<!graph.var<"E">>>, %n: tensor<i64>) -> (tensor<?x!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>) attributes {graph.type_params = #graph.params<["E": number]>} {
  %one = graph.constant dense<1> : tensor<i64>
  %several = graph.less %one, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %t, %rest = graph.if %several : tensor<i1> -> (tensor<?x!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>) {
    %two = graph.constant dense<2> : tensor<i64>
    %half = graph.divide %n, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %other = graph.subtract %n, %half : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %a, %ys = graph.call @stack_first<!graph.var<"E">>(%xs, %half) : (!adt.data<@List, tensor<!graph.var<"E">>>, tensor<i64>) -> (tensor<?x!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>)
    %b, %zs = graph.call @stack_first<!graph.var<"E">>(%ys, %other) : (!adt.data<@List, tensor<!graph.var<"E">>>, tensor<i64>) -> (tensor<?x!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>)
    %ab = graph.concat %a, %b axis 0 : (tensor<?x!graph.var<"E">>, tensor<?x!graph.var<"E">>) -> tensor<?x!graph.var<"E">>
    graph.yield %ab, %zs : tensor<?x!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>
  } else {
    %a, %ys = adt.match %xs : !adt.data<@List, tensor<!graph.var<"E">>> -> (tensor<?x!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>) case Cons(%x: tensor<!graph.var<"E">>, %tail: !adt.data<@List, tensor<!graph.var<"E">>>) {
      %y = graph.expand_dims %x axes [0] : tensor<!graph.var<"E">> -> tensor<1x!graph.var<"E">>
      graph.yield %y, %tail : tensor<1x!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>
    } case Nil {
      %zero = graph.constant dense<> : tensor<0xi64>
      %none = graph.cast %zero to !graph.var<"E"> saturate true round "nearest" : tensor<0xi64> -> tensor<0x!graph.var<"E">>
      graph.yield %none, %xs : tensor<0x!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>
    }
    graph.yield %a, %ys : tensor<?x!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>
  }
  func.return %t, %rest : tensor<?x!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>
}

// The elements of a tensor of one dimension, as a list of scalars.
func.func private @unstack(%x: tensor<?x!graph.var<"E">, #graph.dims<["N"]>>) -> !adt.data<@List, tensor<!graph.var<"E">>> attributes {graph.type_params = #graph.params<["E": number]>} {
  %shape = graph.extents <["N"]> -> tensor<1xi64>
  %n = graph.squeeze %shape axes [0] : tensor<1xi64> -> tensor<i64>
  %nil = adt.make @List::@Nil() : () -> !adt.data<@List, tensor<!graph.var<"E">>>
  %r = graph.call @unstack_onto<!graph.var<"E">>(%x, %n, %nil) : (tensor<?x!graph.var<"E">, #graph.dims<["N"]>>, tensor<i64>, !adt.data<@List, tensor<!graph.var<"E">>>) -> !adt.data<@List, tensor<!graph.var<"E">>>
  func.return %r : !adt.data<@List, tensor<!graph.var<"E">>>
}

// As unstack of the first elements, so many, before those of a list.
func.func private @unstack_onto(%x: tensor<?x!graph.var<"E">, #graph.dims<["N"]>>, %n: tensor<i64>, %done: !adt.data<@List, tensor<!graph.var<"E">>>) -> !adt.data<@List, tensor<!graph.var<"E">>> attributes {graph.type_params = #graph.params<["E": number]>} {
  %zero = graph.constant dense<0> : tensor<i64>
  %more = graph.less %zero, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = graph.if %more : tensor<i1> -> (!adt.data<@List, tensor<!graph.var<"E">>>) {
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %e = graph.gather %x, %m axis 0 batch_dims 0 bounds "check" : (tensor<?x!graph.var<"E">, #graph.dims<["N"]>>, tensor<i64>) -> tensor<!graph.var<"E">>
    %l = adt.make @List::@Cons(%e, %done) : (tensor<!graph.var<"E">>, !adt.data<@List, tensor<!graph.var<"E">>>) -> !adt.data<@List, tensor<!graph.var<"E">>>
    %k = graph.call @unstack_onto<!graph.var<"E">>(%x, %m, %l) : (tensor<?x!graph.var<"E">, #graph.dims<["N"]>>, tensor<i64>, !adt.data<@List, tensor<!graph.var<"E">>>) -> !adt.data<@List, tensor<!graph.var<"E">>>
    graph.yield %k : !adt.data<@List, tensor<!graph.var<"E">>>
  } else {
    graph.yield %done : !adt.data<@List, tensor<!graph.var<"E">>>
  }
  func.return %r : !adt.data<@List, tensor<!graph.var<"E">>>
}
