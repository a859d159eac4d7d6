// SPDX-License-Identifier: Apache-2.0
#pragma once
// EPContext nodes: groups that byoc compiled, as nodes of a model of ONNX Runtime.
//
//   relu -> matmul -> add      ep.context_enable=1      EPContext (the program of all three nodes)
//
// The program is an artifact, in the node itself or in a file beside the model.
#include "frontends/onnxruntime/program/part.h"

namespace byoc::ort {

/// Makes the node of ONNX Runtime's `fused` node, which `part` runs, and the file of its program in
/// a model of files. Errors: slug "ort-context": no place for the file, a program that is too
/// large, or a library without the interface for models; those of byoc_program_save.
Result<OrtNode*> write_context(const Calls& calls, const OrtGraph* graph, const OrtNode* fused,
                               const Part& part, const Settings& settings);

/// Loads the program of the EPContext node that is all of `graph`. Nothing is compiled. Errors:
/// those of Program::of_bytes, slug "ort-context" for a node of another form, all with the node's
/// name and what to do.
Result<std::shared_ptr<Part>> read_context(const Calls& calls, const OrtGraph* graph,
                                           const Settings& settings);

}  // namespace byoc::ort
