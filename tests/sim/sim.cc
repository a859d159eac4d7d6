// SPDX-License-Identifier: Apache-2.0
// The plugin "sim": a device that is always there. It wraps a plugin of the host, whose kernels it
// runs on threads of its own and in memory that the host cannot access. instance.h has its options.
#include <dlfcn.h>

#include <set>

#include "byoc/plugin/manifest.h"
#include "tests/sim/instance.h"

BYOC_MANIFEST("sim", "1.0.0");

namespace sim {
namespace {

byoc_host wrapped_host;  // the host's services as the wrapped plugin gets them
byoc_plugin inner;       // the table of the wrapped plugin
std::mutex opening;      // guards the two while they are set

Instance& self(byoc_instance* instance) { return *reinterpret_cast<Instance*>(instance); }

// ---- Constants: the wrapped plugin reads those on the device at their other address.

struct Constant {
  byoc_const raw;
  DLTensor view;
};
thread_local std::set<const void*> mirrored;  // refs of this load that are Constants

byoc_status* const_keep(byoc_const_ref* ref, byoc_held* out) noexcept {
  if (!mirrored.contains(ref)) return the_host->const_keep(ref, out);
  const auto* constant = reinterpret_cast<const Constant*>(ref);
  *out = {&constant->view, nullptr, [](void*) {}};  // lives as long as the module
  return nullptr;
}

struct Kernel;
struct Module {
  Instance* owner;
  byoc_module* wrapped = nullptr;
  std::vector<std::unique_ptr<Constant>> constants;
  std::vector<std::unique_ptr<Kernel>> kernels;
};

struct Kernel {
  Instance* owner;
  byoc_kernel* wrapped;
  byoc_kernel_info info{};
  std::vector<uint8_t> const_use;
  std::mutex serial;
};

byoc_status* open(const byoc_host*, byoc_str options, byoc_instance** out) noexcept {
  try {
    auto made = std::make_unique<Instance>(Settings({options.p, options.n}));
    for (const auto& device : made->devices)
      if (!device->memory.is_mapped()) return fail(BYOC_RESOURCE_EXHAUSTED, "no memory to map");
    std::lock_guard lock(opening);
    void* library = copy_of(made->settings.wraps);
    if (library == nullptr) return fail(BYOC_NOT_FOUND, std::string("wraps: ") + ::dlerror());
    wrapped_host = *the_host;
    wrapped_host.const_keep = const_keep;
    const byoc_plugin* table = nullptr;
    auto entry = reinterpret_cast<byoc_plugin_entry_fn>(::dlsym(library, BYOC_ENTRY_SYMBOL));
    if (entry == nullptr) return fail(BYOC_NOT_FOUND, "wraps: it is no plugin");
    if (byoc_status* status = entry(&wrapped_host, &table)) return status;
    inner = {};
    std::memcpy(&inner, table, std::min<size_t>(table->h.size, sizeof inner));
    const std::string others = made->settings.others.dump();
    if (byoc_status* status = inner.open(&wrapped_host, text_of(others), &made->wrapped))
      return status;
    *out = reinterpret_cast<byoc_instance*>(made.release());
    return nullptr;
  } catch (const std::exception& e) {
    return fail(BYOC_INVALID_ARGUMENT, e.what());
  }
}

void close(byoc_instance* instance) noexcept {
  inner.close(self(instance).wrapped);
  delete &self(instance);
}
byoc_status* patterns(byoc_instance* instance, const byoc_pattern* const** out,
                      uint64_t* n) noexcept {
  return inner.patterns(self(instance).wrapped, out, n);
}
byoc_status* judge(byoc_instance* instance, uint32_t pattern, byoc_str json,
                   byoc_verdict* io) noexcept {
  if (inner.judge != nullptr) return inner.judge(self(instance).wrapped, pattern, json, io);
  io->accept = 1;
  return nullptr;
}
byoc_status* compat(byoc_instance* instance, byoc_str text, uint32_t* level) noexcept {
  if (inner.compat != nullptr) return inner.compat(self(instance).wrapped, text, level);
  *level = 0;
  return nullptr;
}

byoc_status* compile(byoc_instance* instance, const byoc_compile* request,
                     byoc_module** out) noexcept {
  auto made = std::make_unique<Module>();
  made->owner = &self(instance);
  if (byoc_status* status = inner.compile(made->owner->wrapped, request, &made->wrapped))
    return status;
  *out = reinterpret_cast<byoc_module*>(made.release());
  return nullptr;
}

byoc_status* load(byoc_instance* instance, const byoc_load* request, byoc_module** out) noexcept {
  auto made = std::make_unique<Module>();
  made->owner = &self(instance);
  std::vector<const byoc_const*> constants;
  mirrored.clear();
  for (uint64_t k = 0; k < request->n_consts; ++k) {
    const byoc_const& given = *request->consts[k];
    constants.push_back(&given);
    if (given.device_data == nullptr) continue;
    auto mirror = std::make_unique<Constant>(Constant{given, *given.view});
    for (const auto& device : made->owner->devices)
      if (device->memory.contains(given.device_data))
        mirror->view.data = device->memory.alias(given.device_data);
    mirror->view.byte_offset = 0;
    mirror->raw.view = &mirror->view;
    mirror->raw.ref = reinterpret_cast<byoc_const_ref*>(mirror.get());
    mirrored.insert(mirror.get());
    constants.back() = &mirror->raw;
    made->constants.push_back(std::move(mirror));
  }
  byoc_load passed = *request;
  passed.consts = constants.data();
  byoc_status* status = inner.load(made->owner->wrapped, &passed, &made->wrapped);
  mirrored.clear();
  if (status != nullptr) return status;
  *out = reinterpret_cast<byoc_module*>(made.release());
  return nullptr;
}

byoc_status* save(const byoc_module* module, byoc_save* io) noexcept {
  if (byoc_status* status = inner.save(reinterpret_cast<const Module*>(module)->wrapped, io))
    return status;
  if ((io->flags & BYOC_MODULE_NATIVE) == 0) return nullptr;
  return fail(BYOC_UNIMPLEMENTED, "wraps a plugin whose modules are native code");
}
void release(byoc_module* module) noexcept {
  auto* mine = reinterpret_cast<Module*>(module);
  inner.release(mine->wrapped);
  delete mine;
}

byoc_status* kernel(byoc_module* module, byoc_str symbol, byoc_kernel** out) noexcept {
  auto& mine = *reinterpret_cast<Module*>(module);
  auto made = std::make_unique<Kernel>();
  made->owner = mine.owner;
  made->info.h = {sizeof made->info, BYOC_TAG_KERNEL_INFO, nullptr};
  if (byoc_status* status = inner.kernel(mine.wrapped, symbol, &made->wrapped)) return status;
  if (byoc_status* status = inner.info(made->wrapped, &made->info)) return status;
  made->const_use.assign(made->info.const_use, made->info.const_use + made->info.n_consts);
  for (uint8_t& use : made->const_use)
    if (use == BYOC_CONST_KEPT) use = BYOC_CONST_DEVICE;
  *out = reinterpret_cast<byoc_kernel*>(made.get());
  mine.kernels.push_back(std::move(made));
  return nullptr;
}

byoc_status* info(const byoc_kernel* kernel, byoc_kernel_info* io) noexcept {
  const auto& mine = *reinterpret_cast<const Kernel*>(kernel);
  const byoc_hdr header = io->h;
  *io = mine.info;
  io->h = header;
  io->const_use = mine.const_use.data();
  io->device = {kDLExtDev, 0};
  io->flags =
      (io->flags & ~uint64_t{BYOC_KERNEL_SERIAL}) | BYOC_KERNEL_ASYNC | BYOC_KERNEL_MAY_ALLOC;
  io->inplace_pairs = nullptr;
  io->n_inplace = 0;
  return nullptr;
}

// ---- Work

struct Queue {  // byoc_stream
  Instance* owner;
  Device* device;
  std::unique_ptr<Stream> stream;
};
struct Event {  // byoc_event
  Instance* owner;
  Device* device;
  std::shared_ptr<Mark> mark = std::make_shared<Mark>();
};
Queue& self(byoc_stream* stream) { return *reinterpret_cast<Queue*>(stream); }
Event& self(byoc_event* event) { return *reinterpret_cast<Event*>(event); }

uint64_t bytes_of(const DLTensor& view) {
  uint64_t n = view.dtype.bits / 8;
  for (int32_t k = 0; k < view.ndim; ++k) n *= static_cast<uint64_t>(view.shape[k]);
  return n;
}

/// A call whose arguments are where kernels use them.
struct Job {
  std::vector<DLTensor> views;
  std::vector<const DLTensor*> pointers;
  byoc_call call;
};

byoc_status* copy_call(const Kernel& kernel, const byoc_call& call, Memory& memory, Job& job) {
  job.call = call;
  for (uint32_t k = 0; k < call.n_args; ++k) {
    DLTensor& view = job.views.emplace_back(*call.args[k]);
    if (view.device.device_type != kDLExtDev)
      return fail(BYOC_INTERNAL, "an argument is on the host");
    if (bytes_of(view) != 0 && !memory.contains(view.data))
      return fail(BYOC_INTERNAL, "an argument is outside of the device's memory");
    if (kernel.owner->settings.fault == "peek" && k == 0)
      (void)*static_cast<volatile const char*>(view.data);
    view.data = memory.alias(view.data);
    view.device = {kDLCPU, 0};
  }
  for (const DLTensor& view : job.views) job.pointers.push_back(&view);
  job.call.args = job.pointers.data();
  job.call.flags = 0;
  job.call.stream = nullptr;
  job.call.cancel = nullptr;
  if (call.workspace != nullptr) job.call.workspace = memory.alias(call.workspace);
  return nullptr;
}

byoc_status* compute(Kernel& kernel, Device& device, const Job& job,
                     const std::function<bool()>& is_dropped) {
  Instance& owner = *kernel.owner;
  if (byoc_status* status = owner.begin_work(device)) return status;
  if (++owner.kernels == owner.settings.hang_at) {
    while (!is_dropped()) spend(100);
    return nullptr;
  }
  const Timed timed(owner.counts().kernel_ns);
  for (size_t k = kernel.info.n_in; k < job.views.size(); ++k)
    std::memset(job.views[k].data, 0xff, bytes_of(job.views[k]));
  spend(owner.settings.kernel_us);
  std::unique_lock lock(kernel.serial, std::defer_lock);
  if ((kernel.info.flags & BYOC_KERNEL_SERIAL) != 0) lock.lock();
  ++owner.counts().kernels;
  return inner.run(kernel.wrapped, &job.call);
}

byoc_status* run(byoc_kernel* handle, const byoc_call* call) noexcept {
  auto& kernel = *reinterpret_cast<Kernel*>(handle);
  Queue& queue = self(static_cast<byoc_stream*>(call->stream));
  auto job = std::make_shared<Job>();
  if (byoc_status* status = copy_call(kernel, *call, queue.device->memory, *job)) return status;
  queue.stream->enqueue([&kernel, &device = *queue.device, job](const auto& is_dropped) {
    return compute(kernel, device, *job, is_dropped);
  });
  return nullptr;
}

// ---- The slots of devices

byoc_status* devices(byoc_instance* instance, const byoc_device* const** out,
                     uint64_t* n) noexcept {
  Instance& mine = self(instance);
  if (mine.settings.driver == "old")
    return fail(BYOC_UNAVAILABLE, "the driver is 1.0, at least 2.0 is needed");
  *out = mine.rows.data();
  *n = mine.rows.size();
  return nullptr;
}

byoc_status* dev_alloc(byoc_instance* instance, DLDevice id, uint32_t, uint64_t n, uint64_t align,
                       void** out) noexcept {
  Device& device = self(instance).device(id);
  {
    std::lock_guard lock(device.clock.mutex);
    if (device.clock.is_lost) return Instance::lost(device);
  }
  *out = device.memory.allocate(n, align);
  if (*out != nullptr && self(instance).settings.fault == "align")
    *out = static_cast<char*>(*out) + 8;
  if (*out != nullptr) return nullptr;
  return fail(BYOC_RESOURCE_EXHAUSTED,
              "the " + device.name + " has no memory for " + std::to_string(n) + " bytes");
}
void dev_free(byoc_instance* instance, DLDevice id, void* memory) noexcept {
  if (memory != nullptr) self(instance).device(id).memory.release(memory);
}

void count_copy(Counts& counts, const byoc_copy& job, bool goes_in) {
  (goes_in ? counts.in_bytes : counts.out_bytes) += job.bytes;
  ++(goes_in ? counts.in_copies : counts.out_copies);
}

byoc_status* copy(byoc_instance* instance, const byoc_copy* given) noexcept {
  Instance& owner = self(instance);
  const byoc_copy job = *given;
  const bool to_device = job.dst_device.device_type == kDLExtDev;
  const bool from_device = job.src_device.device_type == kDLExtDev;
  Device& device = owner.device(to_device ? job.dst_device : job.src_device);
  if (to_device != from_device) count_copy(owner.counts(), job, to_device);
  const bool is_lazy = owner.settings.fault == "stale" && to_device && owner.counts().in_copies > 1;
  auto work = [&owner, &device, job, to_device, from_device, is_lazy](const auto&) -> byoc_status* {
    if (byoc_status* status = owner.begin_work(device)) return status;
    const Timed timed(to_device ? owner.counts().in_ns : owner.counts().out_ns);
    char* to = to_device ? device.memory.alias(job.dst) : static_cast<char*>(job.dst);
    const char* from =
        from_device ? device.memory.alias(job.src) : static_cast<const char*>(job.src);
    if (!is_lazy) std::memset(to, 0xff, job.bytes);
    spend(owner.settings.copy_us + owner.settings.copy_us_per_mib * job.bytes / (1 << 20));
    if (!is_lazy) std::memcpy(to, from, job.bytes);
    return nullptr;
  };
  if (job.stream == nullptr) return work([] { return false; });
  self(job.stream).stream->enqueue(std::move(work));
  return nullptr;
}

byoc_status* stream_new(byoc_instance* instance, DLDevice id, byoc_stream** out) noexcept {
  Instance& owner = self(instance);
  Device& device = owner.device(id);
  const uint64_t seed = owner.settings.seed * 1000 + ++owner.streams;
  auto made = std::make_unique<Queue>(Queue{&owner, &device, nullptr});
  {
    std::lock_guard lock(device.clock.mutex);
    if (device.clock.is_lost) return Instance::lost(device);
  }
  made->stream = std::make_unique<Stream>(device.clock, *the_host, owner.settings.delay_us, seed);
  *out = reinterpret_cast<byoc_stream*>(made.release());
  return nullptr;
}
void stream_free(byoc_stream* stream) noexcept {
  Queue* queue = &self(stream);
  if (queue->owner->settings.fault != "drop") {
    delete queue;
    return;
  }
  std::thread([queue] {
    spend(10'000);
    delete queue;
  }).detach();
}

byoc_status* event_new(byoc_instance* instance, DLDevice id, byoc_event** out) noexcept {
  auto* made = new Event{&self(instance), &self(instance).device(id)};
  if (made->owner->settings.fault == "unrecorded") made->mark->is_reached = false;
  *out = reinterpret_cast<byoc_event*>(made);
  return nullptr;
}
void event_free(byoc_event* event) noexcept {
  if (event != nullptr) delete &self(event);
}
byoc_status* event_record(byoc_event* event, byoc_stream* stream) noexcept {
  self(event).mark = std::make_shared<Mark>(Mark{false});
  self(stream).stream->record(self(event).mark);
  return nullptr;
}
byoc_status* event_wait(byoc_event* event, byoc_stream* stream) noexcept {
  if (self(stream).owner->settings.fault != "wait") self(stream).stream->wait(self(event).mark);
  return nullptr;
}
byoc_status* event_sync(byoc_event* handle, uint64_t timeout_ns) noexcept {
  Event& event = self(handle);
  if (event.owner->settings.fault == "sync") return nullptr;
  Clock& clock = event.device->clock;
  std::unique_lock lock(clock.mutex);
  Mark& mark = *event.mark;
  const auto most = std::chrono::nanoseconds(std::min<uint64_t>(timeout_ns, 1'000'000'000));
  if (!clock.changed.wait_for(lock, most, [&] { return mark.is_reached || clock.is_lost; }))
    return fail(BYOC_DEADLINE_EXCEEDED, "not yet");
  if (mark.error != nullptr) return std::exchange(mark.error, nullptr);
  if (clock.is_lost) return Instance::lost(*event.device);
  return mark.has_failed ? fail(BYOC_ABORTED, "earlier work of the stream has failed") : nullptr;
}

constexpr byoc_device_table kDevices = {
    .h = {sizeof(byoc_device_table), BYOC_TAG_DEVICE_TABLE, nullptr},
    .devices = devices,
    .dev_alloc = dev_alloc,
    .dev_free = dev_free,
    .copy = copy,
    .stream_new = stream_new,
    .stream_free = stream_free,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_sync = event_sync};

const byoc_plugin kTable = {.h = {sizeof(byoc_plugin), BYOC_TAG_PLUGIN, nullptr},
                            .abi_major = BYOC_ABI_MAJOR,
                            .abi_minor = BYOC_ABI_MINOR,
                            .min_host_minor = 10,
                            .flags = BYOC_PLUGIN_OPEN_SIZES,
                            .id = {"sim", 3},
                            .version = {"1.0.0", 5},
                            .open = open,
                            .close = close,
                            .patterns = patterns,
                            .judge = judge,
                            .compile = compile,
                            .load = load,
                            .save = save,
                            .kernel = kernel,
                            .info = info,
                            .run = run,
                            .compat = compat,
                            .release = release,
                            .device = &kDevices};

}  // namespace
}  // namespace sim

extern "C" byoc_status* byoc_plugin_entry_v1(const byoc_host* host,
                                             const byoc_plugin** out) noexcept {
  sim::the_host = host;
  *out = &sim::kTable;
  return nullptr;
}
