"""The messages of a Core ML model that the reader takes, with the numbers of their fields."""

from __future__ import annotations

from stepwell.frontend.protobuf import parse_schema

SCHEMA = parse_schema("""
Model: 1 specificationVersion int, 2 description ModelDescription, 502 mlProgram Program,
    202 pipeline Other, 200 pipelineClassifier Other, 201 pipelineRegressor Other,
    302 treeEnsembleRegressor Other, 303 neuralNetworkRegressor Other, 402 treeEnsembleClassifier Other,
    403 neuralNetworkClassifier Other,
    500 neuralNetwork Other, 300 glmRegressor Other, 400 glmClassifier Other
Other:
ModelDescription: 21 defaultFunctionName string
Program: 1 version int, 2 functions {Function}
Function: 1 inputs [NamedValueType], 2 opset string, 3 block_specializations {Block}
Block: 1 inputs [NamedValueType], 2 outputs [string], 3 operations [Operation]
Operation: 1 type string, 2 inputs {Argument}, 3 outputs [NamedValueType], 4 blocks [Block],
    5 attributes {Value}
Argument: 1 arguments [Binding]
Binding: 1 name string, 2 value Value
NamedValueType: 1 name string, 2 type ValueType
ValueType: 1 tensorType TensorType, 2 listType ListType, 3 tupleType Other, 4 dictionaryType Other,
    5 stateType Other
ListType: 1 type ValueType, 2 length Dimension
TensorType: 1 dataType int, 2 rank int, 3 dimensions [Dimension]
Dimension: 1 constant ConstantDimension, 2 unknown UnknownDimension
ConstantDimension: 1 size int
UnknownDimension: 1 variadic bool
Value: 2 type ValueType, 3 immediateValue ImmediateValue, 5 blobFileValue BlobFileValue
ImmediateValue: 1 tensor TensorValue, 2 tuple Other, 3 list Other, 4 dictionary Other
TensorValue: 1 floats RepeatedFloats, 2 ints RepeatedInts, 3 bools RepeatedBools, 4 strings RepeatedStrings,
    5 longInts RepeatedLongInts, 6 doubles RepeatedDoubles, 7 bytes RepeatedBytes
RepeatedFloats: 1 values [float]
RepeatedInts: 1 values [int]
RepeatedBools: 1 values [bool]
RepeatedStrings: 1 values [string]
RepeatedLongInts: 1 values [int]
RepeatedDoubles: 1 values [double]
RepeatedBytes: 1 values bytes
BlobFileValue: 1 fileName string, 2 offset int
""")
"""Field numbers are those of `Model.proto` and `MIL.proto`; a test compares both."""
ELEMENTS = {
    1: "bool",
    10: "float16",
    11: "float32",
    12: "float64",
    13: "bfloat16",
    21: "int8",
    22: "int16",
    23: "int32",
    24: "int64",
    25: "int4",
    31: "uint8",
    32: "uint16",
    33: "uint32",
    34: "uint64",
    35: "uint4",
    36: "uint2",
}
"""The element types by their numbers; 2 is a string, which is no tensor for us."""
STRING = 2
