// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops that append to sequences: the elements become rows of stacked outputs.
//   before: list = Loop(n, c, list0) { element = ...  list = SequenceInsert(list, element) }
//   after:  rows = Loop(n, c)        { row = ... }
#include <onnx/onnx_pb.h>

#include <vector>

#include "core/import/onnx/scopes.h"

namespace byoc::onnx_import {

/// Makes carried value k of a Loop a stacked output, the last one, for each k of `lists`, which are
/// in order. `carried` is the number of carried values; the node has as many outputs as the body
/// gives afterwards, of which some may have no name. Errors: kUnimplemented when the body does
/// anything but appending one element to the sequence.
Status stack_lists(onnx::NodeProto& loop, onnx::GraphProto& body, size_t carried,
                   const std::vector<size_t>& lists);

}  // namespace byoc::onnx_import
