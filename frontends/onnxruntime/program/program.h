// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models compiled by byoc, kept in a folder, and loaded for runs.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frontends/onnxruntime/program/settings.h"

namespace byoc::ort {

/// A model's file, and what else decides about the compiled program.
struct CompileRequest {
  std::string path;                 ///< of the .onnx file
  std::string content;              ///< a key of the model's content; for the folder of artifacts
  std::vector<std::string> shapes;  ///< "v0=1x3": inputs whose dims are not all numbers
};

/// A compiled model. Thread-safe: each run has a context of its own, which later runs use again.
class Program {
 public:
  /// Takes the program from settings.cache_dir, or compiles it and keeps it there. Errors: those
  /// of byoc_compile_model and byoc_session_new.
  static Result<std::shared_ptr<Program>> make(const CompileRequest& request,
                                               const Settings& settings);

  /// Loads an artifact, of a file or of its bytes. Errors: those of byoc_program_load and
  /// byoc_session_new.
  static Result<std::shared_ptr<Program>> of_file(const std::string& path,
                                                  const Settings& settings);
  static Result<std::shared_ptr<Program>> of_bytes(std::string_view bytes,
                                                   const Settings& settings);
  /// Writes the artifact, of a program that settings.contexts has enabled. Errors: those of
  /// byoc_program_save.
  Status save(const std::string& path) const;

  const byoc_session* session() const { return session_.get(); }
  bool was_kept() const { return was_kept_; }  ///< true when it came from the folder

  /// A context of one run; goes back to the program at its end.
  class Lease {
   public:
    Lease(Program& program, ContextHandle context)
        : program_(program), context_(std::move(context)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    byoc_context* get() const { return context_.get(); }

   private:
    Program& program_;
    ContextHandle context_;
  };
  /// Errors: kResourceExhausted.
  Result<Lease> lease();

 private:
  Status load(ProgramHandle program, const Settings& settings);

  ProgramHandle program_;  // null unless it may be saved
  SessionHandle session_;
  bool was_kept_ = false;
  std::mutex mutex_;
  std::vector<ContextHandle> free_;
};

}  // namespace byoc::ort
