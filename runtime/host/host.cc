// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "byoc/base/clock.h"
#include "byoc/base/env.h"
#include "byoc/base/version.h"
#include "byoc/host/plugins.h"
#include "byoc/runtime/tensor.h"
#include "runtime/host/packed.h"
#include "runtime/host/spans.h"
#include "runtime/host/threads.h"

struct byoc_status {
  uint32_t code = BYOC_UNKNOWN;
  int64_t function = -1, node = -1;
  std::string file, message;
  uint32_t line = 0;
  byoc::Status whole = {};  // not OK: the Status that take_status returns
};

namespace byoc {
namespace {

constexpr const char* kNoMemory = "no-memory";

constexpr std::string_view kLevels[] = {"error", "warning", "info", "debug", "trace"};

std::string_view view_of(byoc_str text) { return text.p ? std::string_view(text.p, text.n) : ""; }

/// Returns the status that is used when there is no memory for another; it is never freed. Its
/// message fits in the string itself.
byoc_status& out_of_memory() {
  static byoc_status& status =
      *new byoc_status{BYOC_RESOURCE_EXHAUSTED, -1, -1, "", "out of memory", 0};
  return status;
}

byoc_status* status_new(byoc_host_ctx*, uint32_t code, int64_t function, int64_t node,
                        const char* file, uint32_t line, byoc_str message) noexcept {
  try {
    auto status = std::make_unique<byoc_status>();
    status->code = code;
    status->function = function;
    status->node = node;
    status->file = file ? file : "";
    status->line = line;
    status->message = view_of(message);
    ++host_counts().statuses;
    return status.release();
  } catch (...) {  // no memory, or a length out of range
    return &out_of_memory();
  }
}

void status_free(byoc_status* status) noexcept {
  if (status == nullptr || status == &out_of_memory()) return;
  --host_counts().statuses;
  delete status;
}

void log_from_plugin(byoc_host_ctx*, uint32_t level, byoc_str who, byoc_str message) noexcept {
  try {
    log_line(level, view_of(who), view_of(message));
  } catch (...) {  // no memory: the line is lost
  }
}

void* allocate(byoc_host_ctx*, uint64_t n, uint64_t align) noexcept {
  align = std::max<uint64_t>(align, alignof(std::max_align_t));
  if (!std::has_single_bit(align) || n > UINT64_MAX - 2 * align) return nullptr;
  void* memory = std::aligned_alloc(align, (std::max<uint64_t>(n, 1) + align - 1) / align * align);
  if (memory) ++host_counts().allocations;
  return memory;
}

void deallocate(byoc_host_ctx*, void* memory) noexcept {
  if (memory) --host_counts().allocations;
  std::free(memory);
}

uint32_t host_workers(byoc_host_ctx*) noexcept { return max_workers(); }

int32_t host_parallel_for(byoc_host_ctx*, uint64_t n, uint64_t grain, byoc_range_fn fn,
                          void* u) noexcept {
  return parallel_for(n, grain, fn, u);
}

uint32_t cancelled(const byoc_cancel* cancel) noexcept {
  return cancel && cancel->cancelled.load(std::memory_order_relaxed);
}

void progress(const byoc_cancel* cancel, uint32_t permille, byoc_str what) noexcept {
  if (cancel == nullptr) return;
  auto* state = const_cast<byoc_cancel*>(cancel);
  try {
    std::lock_guard lock(state->mutex);
    if (state->show) state->show(std::min(permille, 1000u), view_of(what));
  } catch (...) {  // no memory: the line is lost
  }
}

uint64_t host_now_ns(byoc_host_ctx*) noexcept { return now_ns(); }

void span(byoc_host_ctx*, uint64_t call_id, int64_t node, byoc_str name, uint64_t begin_ns,
          uint64_t end_ns, const byoc_str* details, uint64_t n) noexcept {
  record_span(call_id, {node, name, begin_ns, end_ns, details, n});
}

/// Keeps a constant: copies its view, because the table that lent it is destroyed.
byoc_status* const_keep(byoc_const_ref* ref, byoc_held* out) noexcept {
  try {
    if (!ref->buffer->verify()) {
      const std::string message = cat("the constant ", ref->buffer->key(), " is damaged");
      return host_table()->status_new(nullptr, BYOC_DATA_LOSS, -1, -1, nullptr, 0, to_str(message));
    }
    auto kept = std::make_unique<byoc_const_ref>(*ref);
    kept->view.shape = kept->dims.data();
    auto release = [](void* ctx) {
      --host_counts().held;
      delete static_cast<byoc_const_ref*>(ctx);
    };
    const DLTensor* view = &kept->view;
    *out = {view, kept.release(), release};
    ++host_counts().held;
    return nullptr;
  } catch (...) {
    return &out_of_memory();
  }
}

byoc_host make_host_table() {
  byoc_host host{};
  host.h = {sizeof(byoc_host), BYOC_TAG_HOST, nullptr};
  host.abi_major = BYOC_ABI_MAJOR;
  host.abi_minor = BYOC_ABI_MINOR;
  host.version = {version().data(), version().size()};
  host.status_new = status_new, host.status_free = status_free;
  host.log = log_from_plugin;
  host.alloc = allocate, host.free = deallocate;
  host.max_workers = host_workers, host.parallel_for = host_parallel_for;
  host.cancelled = cancelled, host.progress = progress;
  host.now_ns = host_now_ns, host.span = span;
  host.const_keep = const_keep, host.packed_get = packed_get;
  out_of_memory();  // made while there is memory
  return host;
}

}  // namespace

const byoc_host* host_table() {
  static const byoc_host host = make_host_table();
  return &host;
}

byoc_status* status_of(const Status& status) noexcept {
  try {
    auto out = std::make_unique<byoc_status>();
    out->whole = status;
    ++host_counts().statuses;
    return out.release();
  } catch (...) {
    return &out_of_memory();
  }
}

HostCounts& host_counts() {
  static HostCounts counts;
  return counts;
}

Status take_status(byoc_status* status, std::string_view plugin, int64_t* function, int64_t* node) {
  if (function) *function = status ? status->function : -1;
  if (node) *node = status ? status->node : -1;
  if (!status) return {};
  if (!status->whole.ok()) {
    Status whole = status->whole;
    status_free(status);
    return whole;
  }
  bool known = status->code > BYOC_OK && status->code <= BYOC_BAD_GRAPH;
  Status ours(
      known ? static_cast<Code>(status->code) : Code::kUnknown,
      cat(plugin, ": ", status->message.empty() ? "failed without a message" : status->message));
  ours =
      std::move(ours).with_slug(ours.code() == Code::kResourceExhausted ? kNoMemory : kPluginError);
  if (!status->file.empty())
    log_line(3, plugin, cat(status->message, " (", status->file, ":", status->line, ")"));
  status_free(status);
  return ours;
}

Status escaped_exception(std::string_view plugin, std::string_view slot) noexcept {
  std::string what = "of unknown type";
  try {
    throw;
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
  }
  return Status(Code::kInternal, cat(plugin, ": threw an exception out of ", slot, ": ", what))
      .with_slug("plugin-defect")
      .with_help("a defect of the plugin: no exception may cross the ABI");
}

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free,
              "signal handlers touch them");

Cancellation::Cancellation() : state_(std::make_unique<byoc_cancel>()) {}
Cancellation::~Cancellation() = default;
void Cancellation::cancel() noexcept { state_->cancelled = true; }
bool Cancellation::is_cancelled() const noexcept {
  return state_->cancelled.load(std::memory_order_relaxed);
}
bool Cancellation::is_polled() const noexcept { return state_->scopes != 0; }
void Cancellation::set_progress(ShowProgress show) {
  std::lock_guard lock(state_->mutex);
  state_->show = std::move(show);
}

Cancellation::Scope::Scope(const Cancellation* cancellation)
    : state_(cancellation ? cancellation->state_.get() : nullptr) {
  if (state_) ++state_->scopes;
}
Cancellation::Scope::~Scope() {
  if (state_) --state_->scopes;
}

Status unless_cancelled(const Cancellation* cancel, std::string_view plugin, Status status) {
  if (!cancel || !cancel->is_cancelled()) return status;
  return Status(Code::kCancelled, cat(plugin, ": interrupted")).with_slug("interrupted");
}

Status ConstantTable::add(const ExternalConstant& constant,
                          const std::shared_ptr<const Buffer>& buffer, const void* on_device) {
  BYOC_TRY(int64_t bytes, size_bytes(constant.type));
  if (!buffer || buffer->size() != static_cast<size_t>(bytes)) {
    return Status(Code::kInternal,
                  cat("constant \"", constant.name, "\" is ", constant.type, ", ", bytes,
                      " bytes, and ", buffer ? buffer->size() : 0, " are there"));
  }
  auto ref = std::make_unique<byoc_const_ref>();
  ref->buffer = buffer;
  ref->dims = constant.type.dims;
  ref->view.data = const_cast<std::byte*>(buffer->data());
  ref->view.device = {kDLCPU, 0};
  ref->view.ndim = static_cast<int32_t>(ref->dims.size());
  ref->view.dtype = to_dlpack(constant.type.dtype);
  ref->view.shape = ref->dims.data();
  byoc_const raw{};
  raw.h = {sizeof raw, BYOC_TAG_CONST, nullptr};
  raw.name = {constant.name.data(), constant.name.size()};
  raw.ref = ref.get();
  raw.view = &ref->view;
  raw.device_data = on_device;
  std::memcpy(raw.key, constant.key.bytes.data(), sizeof raw.key);
  refs_.push_back(std::move(ref));
  constants_.push_back(raw);
  return {};
}

const byoc_const* const* ConstantTable::data() {
  pointers_.clear();
  for (const byoc_const& constant : constants_) pointers_.push_back(&constant);
  return pointers_.data();
}

uint32_t log_level(std::string_view setting, std::string_view who) {
  uint32_t level = 1;
  while (!setting.empty()) {
    std::string_view item = setting.substr(0, setting.find(','));
    setting.remove_prefix(std::min(setting.size(), item.size() + 1));
    size_t equals = item.find('=');
    if (equals != std::string_view::npos) {
      if (item.substr(0, equals) != who) continue;
      item.remove_prefix(equals + 1);
    }
    for (uint32_t k = 0; k < std::size(kLevels); ++k) {
      if (kLevels[k] == item) level = k;
    }
  }
  return level;
}

void log_line(uint32_t level, std::string_view who, std::string_view message) {
  level = std::min<uint32_t>(level, std::size(kLevels) - 1);
  static const std::string& setting = *new std::string(env_value("BYOC_LOG"));
  if (level > log_level(setting, who)) return;
  std::string line = cat(who, ": ", kLevels[level], ": ", message, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace byoc
