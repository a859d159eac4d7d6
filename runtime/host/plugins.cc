// SPDX-License-Identifier: Apache-2.0
#include "byoc/host/plugins.h"

#include <bit>
#include <cstring>

#include "byoc/runtime/device_type.h"
#include "runtime/host/host.h"
#include "runtime/host/kernel_facts.h"
#include "runtime/host/packed.h"
#include "runtime/host/plugin_shutdown.h"
#include "runtime/isolate/remote_plugin.h"

namespace byoc {
namespace {

constexpr uint64_t kDefaultMaxOps = 4096, kMaxBlock = 64;
constexpr uint64_t kDefaultAlign = 64, kMaxDeviceAlign = 4096;

/// Returns errors that continue the text `layout 0`.
Result<WantedLayout> read_layout(const byoc_layout* raw) {
  if (!raw) return invalid("is a null pointer");
  if (raw->h.tag != BYOC_TAG_LAYOUT || raw->h.size < sizeof *raw)
    return invalid("is no byoc_layout");
  if (raw->op.n == 0 || !raw->op.p) return invalid("has no op");
  if (!std::has_single_bit(raw->block) || raw->block > kMaxBlock) {
    return invalid(cat("of ", text_of(raw->op), " has the block ", raw->block,
                       ", no power of two up to ", kMaxBlock));
  }
  return WantedLayout{text_of(raw->op), static_cast<int64_t>(raw->block)};
}

/// Returns errors that continue the text `device 0`.
Result<DeviceInfo> read_device(const byoc_device* raw) {
  if (!raw) return invalid("is a null pointer");
  if (raw->h.tag != BYOC_TAG_DEVICE || raw->h.size < sizeof *raw)
    return invalid("is no byoc_device");
  const DLDevice device = raw->device;
  const int type = device_type_of(device);
  if (type == kDLCPU || type <= 0 || device.device_id < 0)
    return invalid(cat("has the type ", type, " and the number ", device.device_id,
                       ", which are those of no device"));
  if ((raw->kinds & BYOC_MEMORY_DEVICE) == 0)
    return invalid(cat("has memory of the kinds ", raw->kinds, ", without BYOC_MEMORY_DEVICE"));
  const uint64_t align = raw->align == 0 ? kDefaultAlign : raw->align;
  if (!std::has_single_bit(align) || align > kMaxDeviceAlign)
    return invalid(cat("has the alignment ", align, ", no power of two up to ", kMaxDeviceAlign));
  return DeviceInfo{static_cast<uint32_t>(type),
                    static_cast<uint32_t>(device.device_id),
                    text_of(raw->name),
                    raw->kinds,
                    align,
                    raw->bytes,
                    text_of(raw->capabilities)};
}

}  // namespace

Plugin::~Plugin() {
  if (!instance_) return;
  {
    PluginCallScope scope(id_, "close");
    table_.close(instance_);
  }
  count_closed(table_);
  --host_counts().instances;
}

Result<std::unique_ptr<Plugin>> Plugin::open(const std::string& path, const byoc_plugin& table,
                                             std::string options_json) {
  auto plugin = std::unique_ptr<Plugin>(new Plugin);
  plugin->table_ = table;
  plugin->path_ = path;
  plugin->id_ = text_of(table.id);
  plugin->version_ = text_of(table.version);
  plugin->options_json_ = std::move(options_json);
  BYOC_TRY_STATUS(call_plugin(plugin->id_, "open", [&] {
    return table.open(host_table_of(plugin->id_), to_str(plugin->options_json_),
                      &plugin->instance_);
  }));
  if (!plugin->instance_) return plugin_defect(plugin->id_, "open gave no instance");
  count_opened(table);
  ++host_counts().instances;
  BYOC_TRY_STATUS(plugin->read_patterns());
  BYOC_TRY_STATUS(plugin->read_devices());
  return plugin;
}

/// Opens the plugin in a process of its own. The table has numbers and no slots.
Result<std::unique_ptr<Plugin>> Plugin::open_isolated(const std::string& path,
                                                      const std::string& id,
                                                      std::string options_json,
                                                      const IsolationLimits& limits) {
  auto plugin = std::unique_ptr<Plugin>(new Plugin);
  const isolate::HostServices services{
      status_of, [](std::string_view who, std::string_view what) { log_line(1, who, what); }};
  BYOC_TRY(plugin->remote_,
           isolate::RemotePlugin::start({path, id, options_json, limits, services}));
  const isolate::PluginFacts& facts = plugin->remote_->facts();
  plugin->path_ = path;
  plugin->id_ = id;
  plugin->version_ = facts.version;
  plugin->options_json_ = std::move(options_json);
  plugin->patterns_ = facts.patterns;
  plugin->table_.abi_minor = facts.abi_minor;
  plugin->table_.flags = facts.flags;
  plugin->table_.priority = facts.priority;
  plugin->table_.max_ops = facts.max_ops;
  plugin->table_.max_bytes = facts.max_bytes;
  return plugin;
}

bool Plugin::is_isolated() const { return remote_ != nullptr; }

Status Plugin::read_patterns() {
  const byoc_pattern* const* raw = nullptr;
  uint64_t n = 0;
  BYOC_TRY_STATUS(
      call_plugin(id_, "patterns", [&] { return table_.patterns(instance_, &raw, &n); }));
  if (n != 0 && !raw) return plugin_defect(id_, cat("gave ", n, " patterns at a null pointer"));
  for (uint64_t k = 0; k < n; ++k) {
    if (!raw[k] || raw[k]->h.tag != BYOC_TAG_PATTERN ||
        raw[k]->h.size < offsetof(byoc_pattern, priority)) {
      return plugin_defect(id_, cat("pattern ", k, " is no byoc_pattern"));
    }
    byoc_pattern pattern{};
    std::memcpy(&pattern, raw[k], std::min<size_t>(raw[k]->h.size, sizeof pattern));
    patterns_.push_back(
        {text_of(pattern.name), text_of(pattern.dag_json), pattern.priority, pattern.flags});
    if (patterns_.back().name.empty())
      return plugin_defect(id_, cat("pattern ", k, " has no name"));
  }
  return {};
}

/// Reads the devices. A device that is missing now is no defect: the plugin can still compile.
Status Plugin::read_devices() {
  if (table_.device == nullptr) return {};
  const byoc_device* const* raw = nullptr;
  uint64_t n = 0;
  devices_status_ =
      call_plugin(id_, "devices", [&] { return table_.device->devices(instance_, &raw, &n); });
  if (!devices_status_.ok()) return {};
  if (n != 0 && !raw) return plugin_defect(id_, cat("gave ", n, " devices at a null pointer"));
  for (uint64_t k = 0; k < n; ++k) {
    Result<DeviceInfo> device = read_device(raw[k]);
    if (!device.ok()) return plugin_defect(id_, cat("device ", k, " ", device.status().message()));
    devices_.push_back(*std::move(device));
  }
  return {};
}

int64_t Plugin::priority() const { return table_.priority; }
uint32_t Plugin::flags() const { return table_.flags; }
bool Plugin::takes_loops() const { return table_.flags & BYOC_PLUGIN_LOOPS; }
bool Plugin::takes_counted() const { return table_.flags & BYOC_PLUGIN_COUNTED; }
bool Plugin::takes_open_sizes() const { return table_.flags & BYOC_PLUGIN_OPEN_SIZES; }
bool Plugin::is_default_codegen() const { return table_.flags & BYOC_PLUGIN_DEFAULT; }
bool Plugin::is_horizontal() const { return table_.flags & BYOC_PLUGIN_HORIZONTAL; }
uint64_t Plugin::max_ops() const { return table_.max_ops ? table_.max_ops : kDefaultMaxOps; }
uint64_t Plugin::max_bytes() const { return table_.max_bytes; }
bool Plugin::has_judge() const {
  return remote_ ? remote_->facts().has_judge : table_.judge != nullptr;
}

/// Returns the name of the pattern, else the op of a candidate's one node.
std::string_view Plugin::candidate_name(uint32_t pattern, std::string_view candidate_json) const {
  if (pattern < patterns_.size()) return patterns_[pattern].name;
  constexpr std::string_view kOp = "\"op\":\"";
  const size_t at = candidate_json.find(kOp);
  if (at == std::string_view::npos) return {};
  candidate_json.remove_prefix(at + kOp.size());
  return candidate_json.substr(0, candidate_json.find('"'));
}

Result<Verdict> Plugin::judge(uint32_t pattern, std::string_view candidate_json,
                              const byoc_machine* machine) const {
  if (!has_judge()) return Verdict{Verdict::kYes, 0, ""};
  if (remote_) {
    return remote_->judge(pattern, candidate_json, candidate_name(pattern, candidate_json),
                          machine);
  }
  auto raw = with_header<byoc_verdict>(BYOC_TAG_VERDICT);
  raw.machine = machine;
  const PluginSlot slot("judge", candidate_name(pattern, candidate_json));
  BYOC_TRY_STATUS(call_plugin(
      id_, slot, [&] { return table_.judge(instance_, pattern, to_str(candidate_json), &raw); }));
  if (raw.accept > Verdict::kSlow)
    return plugin_defect(id_, cat("judge returned ", raw.accept, ", expected 0, 1 or 2"));
  Verdict verdict{static_cast<Verdict::Accept>(raw.accept), raw.est_ns, text_of(raw.reason)};
  if (verdict.reason.empty() && verdict.accept != Verdict::kYes) verdict.reason = "no reason given";
  return verdict;
}

Result<std::vector<WantedLayout>> Plugin::layouts(const std::string& target_json) const {
  std::vector<WantedLayout> out;
  if (remote_) return remote_->layouts(target_json);
  if (!table_.layouts) return out;
  const byoc_layout* const* raw = nullptr;
  uint64_t n = 0;
  std::lock_guard lock(mutex_);
  BYOC_TRY_STATUS(call_plugin(
      id_, "layouts", [&] { return table_.layouts(instance_, to_str(target_json), &raw, &n); }));
  if (n != 0 && !raw) return plugin_defect(id_, cat("gave ", n, " layouts at a null pointer"));
  for (uint64_t k = 0; k < n; ++k) {
    Result<WantedLayout> layout = read_layout(raw[k]);
    if (!layout.ok()) return plugin_defect(id_, cat("layout ", k, " ", layout.status().message()));
    out.push_back(*std::move(layout));
  }
  return out;
}

Result<uint32_t> Plugin::compat(const std::string& compat) const {
  if (remote_) return remote_->compat(compat);
  if (!table_.compat) return 0u;
  uint32_t level = 0;
  std::lock_guard lock(mutex_);
  BYOC_TRY_STATUS(
      call_plugin(id_, "compat", [&] { return table_.compat(instance_, to_str(compat), &level); }));
  if (level > 3) return plugin_defect(id_, cat("compat returned ", level, ", expected 0 to 3"));
  return level;
}

}  // namespace byoc
