// SPDX-License-Identifier: Apache-2.0
#pragma once
// A shared library that adds passes, ops, rows of the ONNX importer and policies to the command
// byoc: `byoc compile net.onnx --pass-library libmine.so`. It is C++ against the headers of the
// same version of byoc, and calls the functions of byoc that loads it:
//   BYOC_LIBRARY(library) { library.add_pass({"mine", "", "what it does", run}, "merge_pads"); }
#include "byoc/extend/hooks.h"
#include "byoc/op/added.h"
#include "byoc/pass/pass.h"

namespace byoc::extend {

/// A pass and its place.
struct AddedPass {
  PassInfo info;      ///< name, arguments, doc and function
  std::string after;  ///< the pass of the pipeline that it follows; "": `byoc opt --passes` only
};

/// An operator of ONNX that is an op of byoc: the same operands in the same order, and attributes
/// of the same names. Attributes of the op that the node lacks have their defaults.
struct OnnxRow {
  std::string domain;   ///< "org.example"; not that of ONNX nor of ONNX Runtime
  std::string op_type;  ///< "Swish"
  std::string op;       ///< "example_swish"
};

/// The parts that a library adds. byoc adds all of it when every part is valid, else nothing.
struct Library {
  std::vector<AddedPass> passes;  ///< in order
  std::vector<OpDef> ops;         ///< names that no op of byoc has
  std::vector<OnnxRow> onnx;      ///< operators of ONNX
  Hooks hooks;  ///< those that are set replace byoc's, or those of libraries before

  /// Adds a pass, which runs after the last pass of the pipeline that is called `after`, at every
  /// level of optimisation.
  void add_pass(PassInfo info, std::string after = "") {
    passes.push_back({std::move(info), std::move(after)});
  }
};

/// Loads a library and adds what it has. Call it before models are read and before other threads
/// use byoc; a second call for the same file does nothing. The library stays loaded until the
/// process ends. Errors, slug "pass-library", naming the file: it cannot be read or loaded, is of
/// another version of byoc, has a name that is taken or a pass after one that does not exist, or
/// throws an exception.
Status load_library(const std::string& path);

/// The facts that a library and byoc must have in common. They are found in the file's bytes,
/// before the file is loaded.
struct Interface {
  char magic[16];       ///< kMagic
  char version[32];     ///< of byoc
  int32_t cxx_abi;      ///< of the compiler
  int32_t checks;       ///< the standard library's debug mode
  uint32_t layouts[8];  ///< sizes of types that cross
};
inline constexpr std::string_view kMagic = "BYOC-LIBRARY-01\n";  ///< the first bytes of the facts
/// Returns the facts of the code that calls it. `version` has at most 31 letters.
constexpr Interface interface_of(std::string_view version) {
  Interface out = {};
  for (size_t k = 0; k < kMagic.size(); ++k) out.magic[k] = kMagic[k];
  for (size_t k = 0; k < version.size() && k + 1 < sizeof out.version; ++k)
    out.version[k] = version[k];
  out.cxx_abi = __GXX_ABI_VERSION;
#ifdef _GLIBCXX_DEBUG
  out.checks = 1;
#endif
  const size_t layouts[] = {sizeof(Node),  sizeof(Function),    sizeof(IRModule), sizeof(Attrs),
                            sizeof(OpDef), sizeof(PassContext), sizeof(PassInfo), sizeof(Library)};
  for (size_t k = 0; k < std::size(layouts); ++k)
    out.layouts[k] = static_cast<uint32_t>(layouts[k]);
  return out;
}

}  // namespace byoc::extend

/// Begins the function that adds the parts of a library to `library`; once per library.
/// byoc_add_library of CMake defines BYOC_VERSION.
#define BYOC_LIBRARY(library)                                                                  \
  extern "C" __attribute__((                                                                   \
      used, visibility("default"))) constexpr byoc::extend::Interface byoc_library_interface = \
      byoc::extend::interface_of(BYOC_VERSION);                                                \
  extern "C" __attribute__((visibility("default"))) void byoc_library_add(                     \
      byoc::extend::Library& library)
