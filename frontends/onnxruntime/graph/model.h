// SPDX-License-Identifier: Apache-2.0
#pragma once
// Groups of nodes as ONNX models, with the constants of a graph in one file beside them.
#include <filesystem>
#include <string>

#include "byoc/base/buffer.h"
#include "frontends/onnxruntime/graph/groups.h"

namespace byoc::ort {

/// A folder that is removed with its contents.
class TemporaryFolder {
 public:
  /// Errors: the system's, slug "file".
  static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;  // empty: moved away
};

/// A group as a model. Values have names of their own: inputs are "v0" and so on, whatever the
/// names in the graph are.
struct Model {
  /// A size of inputs that is not a number.
  struct Size {
    std::string symbol;  ///< "s0", its name in the model
    std::string name;    ///< its name in the graph; may be ""
  };
  std::string bytes;                         ///< of the file
  std::vector<std::string> inputs, outputs;  ///< names in the model, in the order of the group
  std::vector<Size> sizes;                   ///< none: all inputs have numbers
  std::vector<int32_t> constants;            ///< the values in the file of constants
};

/// The constants of a graph, in a file.
class Constants {
 public:
  /// Writes the large constants that the nodes read. Errors: the system's, slug "file".
  static Result<std::shared_ptr<const Constants>> write(const Graph& graph);
  const std::filesystem::path& folder() const { return folder_.path(); }
  /// Returns the place of a constant in the file; -1: it is in the model itself.
  int64_t offset_of(int32_t value) const { return offsets_[static_cast<size_t>(value)]; }

 private:
  explicit Constants(TemporaryFolder folder) : folder_(std::move(folder)) {}
  TemporaryFolder folder_;
  std::vector<int64_t> offsets_;
};

/// Names of nodes in models begin with this, the node's number in the graph and a blank, so that
/// messages about a model can be related to the graph.
inline constexpr std::string_view kNodePrefix = "ort#";
/// Returns the numbers of the nodes that a text names, each once.
std::vector<uint32_t> nodes_named_in(std::string_view text);
/// Returns the text with the names that the nodes have in the graph.
std::string with_names_of_graph(std::string_view text);
/// Does the same with the message and the place of an error.
Status with_names_of_graph(const Status& status);

Model write_model(const Graph& graph, const Group& group, const Constants& constants);

/// Returns a key of the contents of a model and its constants.
ContentKey key_of(const Graph& graph, const Model& model);

}  // namespace byoc::ort
