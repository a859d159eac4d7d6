// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "byoc/base/check.h"
#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "core/tools/replay/replay_case.h"

namespace byoc::driver {
namespace fs = std::filesystem;
namespace {

Status make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return system_error("cannot make folder", folder, error.value());
  return {};
}

/// Makes the folder. An earlier replay folder is reused, and its manifest removed first.
Status make_room(const std::string& folder) {
  std::error_code error;
  bool taken = fs::exists(folder, error) &&
               (!fs::is_directory(folder, error) || !fs::is_empty(folder, error));
  if (taken && !is_replay_folder(folder)) {
    return Status(Code::kAlreadyExists, cat(folder, " exists and is no replay folder"))
        .with_slug("replay-exists")
        .with_help("name a folder that is empty or does not exist");
  }
  if (taken) fs::remove(folder + "/manifest.json", error);
  return make_folder(folder);
}

Result<Json> write_tensors(const std::vector<ReplayTensor>& tensors, const std::string& folder,
                           const std::string& kind) {
  Json list = Json::array();
  if (!tensors.empty()) BYOC_TRY_STATUS(make_folder(cat(folder, "/", kind)));
  for (size_t k = 0; k < tensors.size(); ++k) {
    std::string file = cat(kind, "/", k, ".npy");
    const TensorSpec& spec = tensors[k].tensor.spec();
    BYOC_TRY_STATUS(write_npy(tensors[k].tensor.view(), spec.dtype, cat(folder, "/", file)));
    list.push_back({{"name", tensors[k].name}, {"type", cat(spec)}, {"file", file}});
  }
  return list;
}

/// Adds the steps of rounding that each output may be apart, where there are any.
void add_limits(const std::vector<Limit>& limits, Json& outputs) {
  for (size_t k = 0; k < std::min(limits.size(), outputs.size()); ++k) {
    const Limit& limit = limits[k];
    if (limit.steps == 0) continue;
    outputs[k]["limit"] = {
        {"steps", limit.steps}, {"sizes", limit.sizes}, {"axis", limit.axis}, {"why", limit.why}};
  }
}

Result<Json> write_constants(const ReplayCase& replay, const std::string& folder) {
  BYOC_CHECK(replay.buffers.size() == replay.constants.size(), replay.buffers.size(),
             " buffers for ", replay.constants.size(), " constants");
  Json list = Json::array();
  if (!replay.constants.empty()) BYOC_TRY_STATUS(make_folder(folder + "/constants"));
  for (size_t k = 0; k < replay.constants.size(); ++k) {
    const ExternalConstant& constant = replay.constants[k];
    // Two constants of different types may have equal bytes.
    std::string file = cat("constants/", k, ".npy");
    DLTensor view{.data = const_cast<std::byte*>(replay.buffers[k]->data()),
                  .device = {kDLCPU, 0},
                  .ndim = static_cast<int32_t>(constant.type.dims.size()),
                  .dtype = to_dlpack(constant.type.dtype),
                  .shape = const_cast<int64_t*>(constant.type.dims.data()),
                  .strides = nullptr,
                  .byte_offset = 0};
    BYOC_TRY_STATUS(write_npy(view, constant.type.dtype, cat(folder, "/", file)));
    list.push_back({{"name", constant.name},
                    {"key", constant.key.hex()},
                    {"type", cat(constant.type)},
                    {"file", file}});
  }
  return list;
}

/// Returns the members of the manifest that are no tensors. "point", "options" and "sizes" are left
/// out without one, so that such folders are the same as those of earlier versions.
Json manifest_of(const ReplayCase& replay) {
  Json out = {{"schema", "byoc.replay-folder/1"},
              {"producer", replay.producer},
              {"model", replay.model},
              {"symbol", replay.symbol},
              {"nodes", replay.nodes},
              {"plugin",
               {{"id", replay.plugin},
                {"version", replay.plugin_version},
                {"options", replay.plugin_options}}},
              {"reference", replay.reference},
              {"target", replay.target_json},
              {"threads", replay.threads},
              {"tolerance", replay.tolerance < 0 ? Json() : Json(replay.tolerance)},
              {"graph", "graph.json"}};
  if (!replay.point_json.empty()) out["point"] = replay.point_json;
  if (!replay.sizes.empty()) out["sizes"] = replay.sizes;
  if (replay.options_json != "{}") out["options"] = Json::parse(replay.options_json);
  return out;
}

}  // namespace

bool is_replay_folder(const std::string& folder) {
  std::error_code error;
  return fs::is_regular_file(folder + "/manifest.json", error);
}

Status write_replay(const ReplayCase& replay, const std::string& folder) {
  BYOC_TRY_STATUS(make_room(folder));
  Json manifest = manifest_of(replay);
  BYOC_TRY_STATUS(write_file(folder + "/graph.json", replay.graph_json + "\n"));
  BYOC_TRY(manifest["constants"], write_constants(replay, folder));
  BYOC_TRY(manifest["inputs"], write_tensors(replay.inputs, folder, "inputs"));
  BYOC_TRY(manifest["outputs"], write_tensors(replay.outputs, folder, "outputs"));
  add_limits(replay.limits, manifest["outputs"]);
  return write_file(folder + "/manifest.json",
                    manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace byoc::driver
