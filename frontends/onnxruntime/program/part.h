// SPDX-License-Identifier: Apache-2.0
#pragma once
// A group of nodes that byoc runs: its model, and the programs made of it.
#include <list>

#include "frontends/onnxruntime/graph/model.h"
#include "frontends/onnxruntime/program/program.h"

namespace byoc::ort {

/// A group as a model that compiles for sizes. Thread-safe.
///
/// It is one program, compiled with the part, for all sizes that its inputs leave open. Where byoc
/// needs numbers for sizes, and for inputs that the open program refuses, a program is made for the
/// dims of the inputs when a run first has them; of these kMostPrograms are kept, those used last.
class Part {
 public:
  static constexpr size_t kMostPrograms = 8;
  static constexpr int64_t kMostSize = 1024;

  /// Writes the model. Errors: the system's, slug "file".
  static Result<std::shared_ptr<Part>> make(const Graph& graph, const Group& group,
                                            std::shared_ptr<const Constants> constants,
                                            const Settings& settings);

  /// Makes a part of a program that was compiled before: it runs the sizes that the program has.
  static std::shared_ptr<Part> of_program(std::vector<std::string> inputs,
                                          std::vector<std::string> outputs,
                                          std::shared_ptr<Program> program);

  /// Reads the model as byoc does, for all sizes, or else for those up to kMostSize, where they are
  /// not numbers and a program per size is possible. Errors: those of byoc_partition. Not during
  /// other calls.
  Status check();
  /// Compiles a part that is one program. Errors: those of Program::make, but for open sizes, which
  /// then get a program each. Not during other calls.
  Status compile();
  /// Returns what byoc_explain does, as JSON; of a part that is one program.
  Result<std::string> explain() const;
  /// Lets the files of a static part go. Not during other calls.
  void close();

  /// Names in the graph, in the order of the program's inputs and outputs.
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  bool is_static() const { return model_.sizes.empty(); }
  /// True when one program has all sizes. Of a part that is not static: those that it takes.
  bool is_one_program() const { return is_one_; }
  /// True of a part made by of_program: it cannot be compiled for other sizes.
  bool was_compiled_before() const { return path_.empty(); }
  const Model& model() const { return model_; }

  using Dims = std::vector<int64_t>;
  /// The program of all sizes; null without one.
  const std::shared_ptr<Program>& program() const { return only_; }
  /// Returns the program for inputs of these dims. It is compiled by one thread while the others
  /// that have its sizes wait.
  Result<std::shared_ptr<Program>> program_for(const std::vector<Dims>& dims);

 private:
  Part() = default;
  Status read(bool has_bounds) const;
  /// True where there is no program per size: an EPContext node has one for all.
  bool must_be_one() const { return is_static() || settings_.contexts.is_enabled; }
  Result<std::shared_ptr<Program>> compile_for(const std::vector<Dims>& dims) const;

  Model model_;
  std::string path_;  // of the model's file
  std::vector<std::string> inputs_, outputs_;
  std::shared_ptr<const Constants> constants_;
  std::string content_;  // a key
  Settings settings_;
  bool is_one_ = true;
  std::shared_ptr<Program> only_;  // null while it is not compiled
  std::mutex compiling_, mutex_;
  std::list<std::pair<std::vector<Dims>, std::shared_ptr<Program>>> made_;  // used last: first
};

}  // namespace byoc::ort
