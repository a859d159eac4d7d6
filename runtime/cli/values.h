// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors as users write them: one grammar in all commands.
//   x=a.npy  x=a.pb      a file, read by what its ending names
//   x=f32[1,3,224,224]   random       f32[1,3]=0.5  every element       f32[3]=1,2,3  bool[2]=1,0
//   i64[]=7 x=zeros  x=random  x=0.5  x=1,2,3     with the expected type
// A single input needs no name.
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "byoc/runtime/artifact.h"
#include "byoc/runtime/tensor.h"

namespace byoc::cli {

/// Readers by file ending: ".npy" and those that a command adds.
using TensorReaders = std::map<std::string, std::function<Result<Tensor>(const std::string& path)>>;
TensorReaders npy_reader();

/// Splits "x=zeros" into {"x", "zeros"}. A name that occurs in `names` may hold any character;
/// without a name, and with a value that begins with a type or names a file, `name` is empty.
std::pair<std::string, std::string> split_binding(std::string_view text,
                                                  const std::vector<std::string>& names);

/// Parses the right-hand side alone. `wanted`: the expected type, or null when the text must give
/// it. Errors: slug "input-value", naming the value; a reader's errors.
Result<Tensor> parse_value(std::string_view text, const TensorSpec* wanted, uint64_t seed,
                           const TensorReaders& readers);

struct NamedInput {
  Tensor tensor;
  std::string source;  // "a.npy", or "random, seed 3"
};
/// Returns one tensor per input, in the model's order. An input that no binding names is random,
/// input k with seed + k; its integers of 32 and 64 bits are 0 or 1. Errors: slug "unknown-input"
/// with the nearest name, "input-twice", "input-dtype", "input-shape".
Result<std::vector<NamedInput>> make_inputs(const std::vector<NamedTensor>& wanted,
                                            const std::vector<std::string>& bindings, uint64_t seed,
                                            const TensorReaders& readers);

}  // namespace byoc::cli
