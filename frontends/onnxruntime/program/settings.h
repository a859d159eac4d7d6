// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of byoc that a user sets in a session of ONNX Runtime.
#include <map>
#include <string>

#include "frontends/onnxruntime/api/slots.h"
#include "frontends/onnxruntime/program/handles.h"

namespace byoc::ort {

/// ONNX Runtime's own entries for models with EPContext nodes.
struct ContextSettings {
  bool is_enabled = false;   ///< ep.context_enable: such a model is written
  bool is_embedded = false;  ///< ep.context_embed_mode: it holds the programs, not names of files
  std::string path;  ///< ep.context_file_path: of the model; "": beside the model that is read
};

/// Entries "byoc.NAME" of the session, and options NAME of the provider, which ONNX Runtime keeps
/// as "ep.byoc.NAME". An option of the provider wins.
struct Settings {
  std::string cache_dir;     ///< byoc.cache_dir: a folder of artifacts; "": none
  std::string explain_file;  ///< byoc.explain: the file of reasons; "": none
  ContextSettings contexts;
  /// All others: options of compiling by name, as "compiler", "threads".
  std::map<std::string, std::string> compiling;
  /// Returns the options of compiling as a handle of the C API. A list is one value.
  Result<OptionsHandle> options() const;
  std::string to_text() const;  ///< "compiler=llvm\nthreads=2\n"
};

/// Reads the entries of a session. Errors: slug "usage" for a name that compiling has no option of.
Result<Settings> read_settings(const Calls& calls, const OrtSessionOptions* session);

}  // namespace byoc::ort
