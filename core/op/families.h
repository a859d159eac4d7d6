#pragma once
// One function per op family, defined in the file of that name; all_ops.cc calls each of them.
#include "byoc/op/registry.h"

namespace byoc::op {

void add_activation_ops(OpRegistry& ops);   // activation.cc: relu, gelu, sigmoid, clip, ...
void add_annotation_ops(OpRegistry& ops);   // annotation.cc: compiler_begin, compiler_end
void add_binary_ops(OpRegistry& ops);       // binary.cc: add, multiply, equal, power, ...
void add_elementwise_ops(OpRegistry& ops);  // elementwise.cc: abs, exp, floor, is_nan, ...

}  // namespace byoc::op
