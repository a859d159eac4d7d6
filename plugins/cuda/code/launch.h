// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of a function as they are launched, one after another on one stream.
#include <cstdint>
#include <string>
#include <vector>

namespace byoc::cuda {

/// The address that a kernel gets as a parameter.
struct Argument {
  enum Kind : uint8_t { kInput, kConstant, kOutput, kWorkspace, kFailure };
  Kind kind = kInput;
  uint64_t at = 0;  // the number of an input, constant or output; bytes in the workspace
  friend bool operator==(const Argument&, const Argument&) = default;
};

struct Launch {
  static constexpr size_t kMostArguments = 500;  // of 8 bytes: kernels get at most 4 KiB

  std::string kernel;  // its name in the PTX
  uint32_t groups = 1, threads = 1;
  std::vector<Argument> arguments;
  friend bool operator==(const Launch&, const Launch&) = default;
};

/// The launches of a function.
struct Program {
  std::vector<Launch> launches;
  uint64_t workspace_bytes = 0;
  std::vector<std::string> failures;  // ops of index errors: the first one has number 1
};

}  // namespace byoc::cuda
