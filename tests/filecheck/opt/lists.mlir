// RUN: stepwell-opt --list-passes | filecheck %s --check-prefix=PASSES
// RUN: stepwell-opt --list-dialects | filecheck %s --check-prefix=DIALECTS

// Ours first, then other names of them, then xDSL's.
// PASSES: {{^}}alter-op-layout
// PASSES: {{^}}fuse-ops
// PASSES: {{^}}BackwardFoldScaleAxis {{ *}}fold-scale-axis{direction="backward"}
// PASSES: {{^}}canonicalize {{ *}}xDSL's
// PASSES: {{^}}cse {{ *}}xDSL's
// DIALECTS: {{^}}adt{{$}}
// DIALECTS-NEXT: {{^}}amx{{$}}
// DIALECTS-NEXT: {{^}}arith{{$}}
// DIALECTS-NEXT: {{^}}coreml{{$}}
// DIALECTS-NEXT: {{^}}dev{{$}}
// DIALECTS-NEXT: {{^}}emitc{{$}}
// DIALECTS-NEXT: {{^}}gpu{{$}}
// DIALECTS-NEXT: {{^}}graph{{$}}
// DIALECTS: {{^}}vm{{$}}
// DIALECTS-NEXT: {{^}}acc {{ *}}xDSL's
// DIALECTS: {{^}}scf {{ *}}xDSL's
