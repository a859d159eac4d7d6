// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <set>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "runtime/cli/run.h"

namespace byoc::cli {
namespace {

constexpr size_t kMaxName = 100;

bool is_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::string safe_name(std::string name) {
  for (char& c : name) {
    if (!is_safe(c)) c = '_';
  }
  name.resize(std::min(name.size(), kMaxName));
  if (name.empty()) return "output";
  if (name[0] == '.' || name[0] == '-') name[0] = '_';
  return name;
}

OutputFormat npy_format() {
  return {".npy", [](const NamedTensor& output, const Tensor& tensor, const std::string& path) {
            return write_npy(tensor.view(), output.type.dtype, path);
          }};
}

std::vector<std::string> safe_file_names(const std::vector<NamedTensor>& tensors,
                                         std::string_view ending) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const NamedTensor& tensor : tensors) {
    std::string stem = safe_name(tensor.name), name = stem;
    for (int k = 1; !taken.insert(name).second; ++k) name = cat(stem, "_", k);
    names.push_back(cat(name, ending));
  }
  return names;
}

Result<std::vector<std::string>> write_outputs(const std::string& folder,
                                               const std::vector<NamedTensor>& outputs,
                                               const std::vector<Tensor>& tensors,
                                               const OutputFormat& format) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return system_error("cannot make folder", folder, error.value());
  std::vector<std::string> files = safe_file_names(outputs, format.ending);
  Json list = Json::array();
  for (size_t k = 0; k < outputs.size(); ++k) {
    BYOC_TRY_STATUS(format.write(outputs[k], tensors[k], cat(folder, "/", files[k])));
    list.push_back({{"name", outputs[k].name},
                    {"dtype", dtype_name(outputs[k].type.dtype)},
                    {"dims", tensors[k].spec().dims},
                    {"file", files[k]}});
  }
  Json json = {{"schema", "byoc.outputs/1"}, {"outputs", std::move(list)}};
  std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  BYOC_TRY_STATUS(write_file(folder + "/outputs.json", text));
  return files;
}

}  // namespace byoc::cli
