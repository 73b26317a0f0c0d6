// Beam search: of all continuations of the best hypotheses, the best ones are kept, step by step. `@search` knows nothing
// of the decoder: that is a function from a token and a state to logarithms of probabilities and the next state. Here it
// is a small recurrent network; its weights are arguments, and so are the width of the beam and the number of steps.
//
//   stepwell run examples/beam_search.mlir --inputs-json F.json     # F.json: {"width": 4, "steps": 8, "first": 1}

!N = tensor<i64>
!F = tensor<f32>
!Scores = tensor<64xf32>
!Tokens = !adt.data<@List, !N>
!State = tensor<1x32xf32>
!Embedding = tensor<64x32xf32>
!Recurrent = tensor<32x32xf32>
!Output = tensor<32x64xf32>
!S = !graph.var<"S">
!HypothesisOfS = !adt.data<@Hypothesis, !S>
!ExtensionsOfS = !adt.data<@Extensions, !S>
!ListOfH = !adt.data<@List, !HypothesisOfS>
!ListOfE = !adt.data<@List, !ExtensionsOfS>
!Decoder = (!N, !S) -> tuple<!Scores, !S>

// A score, the tokens with the last one first, and the state of the decoder after them.
adt.data @Hypothesis<"S"> {
  adt.constructor @Hypothesis(!F, !Tokens, !S)
}

// A hypothesis with the score of each token that may come next: the best of them, and those not taken yet.
adt.data @Extensions<"S"> {
  adt.constructor @Extensions(!F, !Scores, !Tokens, !S)
}

// The best hypotheses with their scores, from the best one. Token 0 ends a hypothesis.
func.func @main(%first: !N, %width: !N, %steps: !N, %e: !Embedding, %u: !Recurrent, %o: !Output) -> !adt.data<@List, tuple<!F, !Tokens>> {
  %decoder = graph.lambda (%token: !N, %h: !State) -> (tuple<!Scores, !State>) {
    %x = graph.gather %e, %token axis 0 batch_dims 0 bounds "check" : (!Embedding, !N) -> tensor<32xf32>
    %p = graph.matmul %h, %u : (!State, !Recurrent) -> !State
    %s = graph.add %p, %x : (!State, tensor<32xf32>) -> !State
    %next = graph.tanh %s : !State -> !State
    %logits = graph.matmul %next, %o : (!State, !Output) -> tensor<1x64xf32>
    %l = graph.log_softmax %logits axis 1 : tensor<1x64xf32> -> tensor<1x64xf32>
    %scores = graph.reshape %l shape <[64]> : tensor<1x64xf32> -> !Scores
    %result = graph.tuple %scores, %next : !Scores, !State
    graph.yield %result : tuple<!Scores, !State>
  }
  %zero = graph.constant dense<0.0> : !F
  %state = graph.full %zero shape <[1, 32]> : !F -> !State
  %found = graph.call @best_sequences<!State>(%decoder, %state, %first, %width, %steps) : ((!N, !State) -> tuple<!Scores, !State>, !State, !N, !N, !N) -> !adt.data<@List, tuple<!F, !Tokens>>
  func.return %found : !adt.data<@List, tuple<!F, !Tokens>>
}

// The search from one token, and its hypotheses without the decoder's states.
func.func private @best_sequences(%decoder: !Decoder, %state: !S, %first: !N, %width: !N, %steps: !N) -> !adt.data<@List, tuple<!F, !Tokens>> attributes {graph.type_params = #graph.params<["S"]>} {
  %zero = graph.constant dense<0.0> : !F
  %none = adt.make @List::@Nil() : () -> !Tokens
  %tokens = adt.make @List::@Cons(%first, %none) : (!N, !Tokens) -> !Tokens
  %start = adt.make @Hypothesis::@Hypothesis(%zero, %tokens, %state) : (!F, !Tokens, !S) -> !HypothesisOfS
  %nil = adt.make @List::@Nil() : () -> !ListOfH
  %beam = adt.make @List::@Cons(%start, %nil) : (!HypothesisOfS, !ListOfH) -> !ListOfH
  %found = graph.call @search<!S>(%decoder, %beam, %width, %steps) : (!Decoder, !ListOfH, !N, !N) -> !ListOfH
  %result = graph.lambda (%h: !HypothesisOfS) -> (tuple<!F, !Tokens>) {
    %r = adt.match %h : !HypothesisOfS -> (tuple<!F, !Tokens>) case Hypothesis(%score: !F, %last: !Tokens, _) {
      %in_order = graph.call @rev<!N>(%last) : (!Tokens) -> !Tokens
      %pair = graph.tuple %score, %in_order : !F, !Tokens
      graph.yield %pair : tuple<!F, !Tokens>
    }
    graph.yield %r : tuple<!F, !Tokens>
  }
  %results = graph.call @map<!HypothesisOfS, tuple<!F, !Tokens>>(%result, %found) : ((!HypothesisOfS) -> tuple<!F, !Tokens>, !ListOfH) -> !adt.data<@List, tuple<!F, !Tokens>>
  func.return %results : !adt.data<@List, tuple<!F, !Tokens>>
}

// The beam after so many steps.
func.func private @search(%decoder: !Decoder, %beam: !ListOfH, %width: !N, %steps: !N) -> !ListOfH attributes {graph.type_params = #graph.params<["S"]>} {
  %zero = graph.constant dense<0> : !N
  %is_done = graph.equal %steps, %zero : (!N, !N) -> tensor<i1>
  %found = graph.if %is_done : tensor<i1> -> (!ListOfH) {
    graph.yield %beam : !ListOfH
  } else {
    %extend = graph.lambda (%h: !HypothesisOfS) -> (!ExtensionsOfS) {
      %x = graph.call @extensions<!S>(%decoder, %h) : (!Decoder, !HypothesisOfS) -> !ExtensionsOfS
      graph.yield %x : !ExtensionsOfS
    }
    %extensions = graph.call @map<!HypothesisOfS, !ExtensionsOfS>(%extend, %beam) : ((!HypothesisOfS) -> !ExtensionsOfS, !ListOfH) -> !ListOfE
    %next = graph.call @best<!S>(%extensions, %width) : (!ListOfE, !N) -> !ListOfH
    %one = graph.constant dense<1> : !N
    %left = graph.subtract %steps, %one : (!N, !N) -> !N
    %rest = graph.call @search<!S>(%decoder, %next, %width, %left) : (!Decoder, !ListOfH, !N, !N) -> !ListOfH
    graph.yield %rest : !ListOfH
  }
  func.return %found : !ListOfH
}

// The scores of a hypothesis with each token after it: of one that has ended, itself alone.
func.func private @extensions(%decoder: !Decoder, %h: !HypothesisOfS) -> !ExtensionsOfS attributes {graph.type_params = #graph.params<["S"]>} {
  %r = adt.match %h : !HypothesisOfS -> (!ExtensionsOfS) case Hypothesis(%score: !F, %tokens: !Tokens, %state: !S) {
    %last = graph.call @hd<!N>(%tokens) : (!Tokens) -> !N
    %end = graph.constant dense<0> : !N
    %has_ended = graph.equal %last, %end : (!N, !N) -> tensor<i1>
    %scores, %next = graph.if %has_ended : tensor<i1> -> (!Scores, !S) {
      %index = graph.iota shape <[64]> axis 0 of i64 -> tensor<64xi64>
      %is_end = graph.equal %index, %end : (tensor<64xi64>, !N) -> tensor<64xi1>
      %never = graph.constant dense<0xFF800000> : !F
      %itself = graph.where %is_end, %score, %never : (tensor<64xi1>, !F, !F) -> !Scores
      graph.yield %itself, %state : !Scores, !S
    } else {
      %made = graph.call %decoder(%last, %state) : (!N, !S) -> tuple<!Scores, !S>
      %logs = graph.get %made [0] : tuple<!Scores, !S> -> !Scores
      %new = graph.get %made [1] : tuple<!Scores, !S> -> !S
      %sums = graph.add %logs, %score : (!Scores, !F) -> !Scores
      graph.yield %sums, %new : !Scores, !S
    }
    %best = graph.reduce %scores kind "max" axes [0] keep_dims false : !Scores -> !F
    %x = adt.make @Extensions::@Extensions(%best, %scores, %tokens, %next) : (!F, !Scores, !Tokens, !S) -> !ExtensionsOfS
    graph.yield %x : !ExtensionsOfS
  }
  func.return %r : !ExtensionsOfS
}

// The best hypotheses of all extensions, at most so many: the best one, then the best without it.
func.func private @best(%extensions: !ListOfE, %count: !N) -> !ListOfH attributes {graph.type_params = #graph.params<["S"]>} {
  %zero = graph.constant dense<0> : !N
  %is_done = graph.equal %count, %zero : (!N, !N) -> tensor<i1>
  %found = graph.if %is_done : tensor<i1> -> (!ListOfH) {
    %nil = adt.make @List::@Nil() : () -> !ListOfH
    graph.yield %nil : !ListOfH
  } else {
    %better = graph.function @better_first<!S> : (!ExtensionsOfS, !ListOfE) -> !ListOfE
    %none = adt.make @List::@Nil() : () -> !ListOfE
    %ordered = graph.call @foldr<!ExtensionsOfS, !ListOfE>(%better, %none, %extensions) : ((!ExtensionsOfS, !ListOfE) -> !ListOfE, !ListOfE, !ListOfE) -> !ListOfE
    %hypotheses = adt.match partial %ordered : !ListOfE -> (!ListOfH) case Cons(Extensions(%score: !F, %scores: !Scores, %tokens: !Tokens, %state: !S), %others: !ListOfE) {
      %token = graph.argmax %scores axis 0 keep_dims false select_last false : !Scores -> !N
      %longer = adt.make @List::@Cons(%token, %tokens) : (!N, !Tokens) -> !Tokens
      %new = adt.make @Hypothesis::@Hypothesis(%score, %longer, %state) : (!F, !Tokens, !S) -> !HypothesisOfS
      %index = graph.iota shape <[64]> axis 0 of i64 -> tensor<64xi64>
      %is_taken = graph.equal %index, %token : (tensor<64xi64>, !N) -> tensor<64xi1>
      %never = graph.constant dense<0xFF800000> : !F
      %left = graph.where %is_taken, %never, %scores : (tensor<64xi1>, !F, !Scores) -> !Scores
      %best = graph.reduce %left kind "max" axes [0] keep_dims false : !Scores -> !F
      %x = adt.make @Extensions::@Extensions(%best, %left, %tokens, %state) : (!F, !Scores, !Tokens, !S) -> !ExtensionsOfS
      %rest = adt.make @List::@Cons(%x, %others) : (!ExtensionsOfS, !ListOfE) -> !ListOfE
      %one = graph.constant dense<1> : !N
      %fewer = graph.subtract %count, %one : (!N, !N) -> !N
      %more = graph.call @best<!S>(%rest, %fewer) : (!ListOfE, !N) -> !ListOfH
      %all = adt.make @List::@Cons(%new, %more) : (!HypothesisOfS, !ListOfH) -> !ListOfH
      graph.yield %all : !ListOfH
    }
    graph.yield %hypotheses : !ListOfH
  }
  func.return %found : !ListOfH
}

// A list with one more element: first what has the better extension, the new element or the first one.
func.func private @better_first(%x: !ExtensionsOfS, %xs: !ListOfE) -> !ListOfE attributes {graph.type_params = #graph.params<["S"]>} {
  %r = adt.match %xs : !ListOfE -> (!ListOfE) case Nil {
    %l = adt.make @List::@Cons(%x, %xs) : (!ExtensionsOfS, !ListOfE) -> !ListOfE
    graph.yield %l : !ListOfE
  } case Cons(%y: !ExtensionsOfS, %rest: !ListOfE) {
    %a = graph.call @best_of<!S>(%x) : (!ExtensionsOfS) -> !F
    %b = graph.call @best_of<!S>(%y) : (!ExtensionsOfS) -> !F
    %is_worse = graph.less %a, %b : (!F, !F) -> tensor<i1>
    %l = graph.if %is_worse : tensor<i1> -> (!ListOfE) {
      %others = adt.make @List::@Cons(%x, %rest) : (!ExtensionsOfS, !ListOfE) -> !ListOfE
      %m = adt.make @List::@Cons(%y, %others) : (!ExtensionsOfS, !ListOfE) -> !ListOfE
      graph.yield %m : !ListOfE
    } else {
      %m = adt.make @List::@Cons(%x, %xs) : (!ExtensionsOfS, !ListOfE) -> !ListOfE
      graph.yield %m : !ListOfE
    }
    graph.yield %l : !ListOfE
  }
  func.return %r : !ListOfE
}

// The score of the best extension.
func.func private @best_of(%x: !ExtensionsOfS) -> !F attributes {graph.type_params = #graph.params<["S"]>} {
  %r = adt.match %x : !ExtensionsOfS -> (!F) case Extensions(%score: !F, _, _, _) {
    graph.yield %score : !F
  }
  func.return %r : !F
}
