// SPDX-License-Identifier: Apache-2.0
// A plugin of a device with memory of its own: f32 relu and add without broadcasting. The device is
// pretended: its memory is of the host, and each of its streams is a thread. Put the calls of your
// driver into Queue, QueueEvent and the last functions of the plugin.
// `byoc new-plugin NAME --device` makes a copy of it under another name to start from.
#include <byoc/plugin/sdk.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>

namespace {
using namespace byoc::sdk;

constexpr DLDevice kDevice = {kDLExtDev, 0};

/// The end of some work.
struct Mark {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_reached = false;

  void reach() {
    {
      std::lock_guard lock(mutex);
      is_reached = true;
    }
    changed.notify_all();
  }
  bool wait(uint64_t ns) {
    constexpr uint64_t kMost = 1'000'000'000;  // the host calls again
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::nanoseconds(std::min(ns, kMost)),
                            [&] { return is_reached; });
  }
};

class QueueEvent : public Event {
 public:
  bool sync(uint64_t timeout_ns) override { return mark == nullptr || mark->wait(timeout_ns); }
  std::shared_ptr<Mark> mark;  // as recorded last; null: never
};

/// A thread that works off a queue.
class Queue : public Stream {
 public:
  Queue() : thread_([this] { work(); }) {}
  ~Queue() override {
    {
      std::lock_guard lock(mutex_);
      is_dropped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void enqueue(std::function<void()> work) {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  void record(Event& event) override {
    auto mark = std::make_shared<Mark>();
    static_cast<QueueEvent&>(event).mark = mark;
    enqueue([mark] { mark->reach(); });
  }
  void wait(Event& event) override {
    constexpr uint64_t kLookNs = 1'000'000;  // whether the stream is dropped
    const std::shared_ptr<Mark> mark = static_cast<QueueEvent&>(event).mark;
    if (mark == nullptr) return;
    enqueue([this, mark] {
      while (!is_dropped() && !mark->wait(kLookNs)) {
      }
    });
  }

 private:
  bool is_dropped() {
    std::lock_guard lock(mutex_);
    return is_dropped_;
  }
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return is_dropped_ || !queue_.empty(); });
      if (is_dropped_) return;
      const std::function<void()> next = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool is_dropped_ = false;
  std::thread thread_;  // after what it uses
};

bool is_known(const Node& node) {
  return (node.op == "relu" || node.op == "add") && node.attrs.unknown({}).empty();
}

/// A region as a list of steps, on memory of the device.
class ExampleKernel : public Kernel {
 public:
  explicit ExampleKernel(Function& function) : outputs_(function.graph.outputs) {
    const Graph& graph = function.graph;
    for (size_t k = 0; k < graph.constants.size(); ++k)
      constants_.push_back(static_cast<const float*>(function.constants.on_device(k)));
    for (size_t k = 0; k < graph.nodes.size(); ++k) {
      const Node& node = graph.nodes[k];
      if (!is_known(node))
        throw Declined("no loop for \"" + node.op + "\"", static_cast<int64_t>(k));
      const auto elements = static_cast<uint64_t>(graph.type(node).elements());
      steps_.push_back({node.op == "relu", node.args[0], node.args.back(), elements,
                        workspace_bytes_ / sizeof(float)});
      workspace_bytes_ += (elements * sizeof(float) + 63) / 64 * 64;
    }
  }

  KernelInfo info() const override {
    KernelInfo info;
    info.device = kDevice;
    info.flags = BYOC_KERNEL_ASYNC | BYOC_KERNEL_MAY_ALLOC;
    info.workspace_bytes = workspace_bytes_;
    info.implementation = "loops on the device";
    return info;
  }

  /// Copies the addresses, which are borrowed for the call, and enqueues the work.
  void run(const Call& call) const override {
    std::vector<const float*> inputs;
    std::vector<float*> outputs;
    for (uint32_t k = 0; k < call.n_in(); ++k) inputs.push_back(call.in_data<float>(k));
    for (uint32_t k = 0; k < call.n_out(); ++k) outputs.push_back(call.out_data<float>(k));
    auto* scratch = static_cast<float*>(call.workspace());
    stream_of<Queue>(call.raw()).enqueue([this, inputs, outputs, scratch] {
      compute(inputs, outputs, scratch);
    });
  }

 private:
  struct Step {
    bool is_relu;
    Operand a, b;
    uint64_t elements, at;  // the place of the result in the workspace
  };

  void compute(const std::vector<const float*>& inputs, const std::vector<float*>& outputs,
               float* scratch) const {
    auto source = [&](const Operand& operand) -> const float* {
      if (operand.kind == Operand::kInput) return inputs[operand.index];
      if (operand.kind == Operand::kConstant) return constants_[operand.index];
      return scratch + steps_[operand.index].at;
    };
    for (const Step& step : steps_) {
      const float *a = source(step.a), *b = source(step.b);
      float* out = scratch + step.at;
      for (uint64_t k = 0; k < step.elements; ++k)
        out[k] = step.is_relu ? (a[k] < 0 ? 0 : a[k]) : a[k] + b[k];
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      const Step& step = steps_[outputs_[k].index];
      std::memcpy(outputs[k], scratch + step.at, step.elements * sizeof(float));
    }
  }

  std::vector<Operand> outputs_;
  std::vector<Step> steps_;
  std::vector<const float*> constants_;
  uint64_t workspace_bytes_ = 0;
};

class Example : public Plugin, public Devices {
  std::vector<Pattern> patterns() const override {
    return {{"relu", op("relu").dtype({"f32"})}, {"add", op("add").dtype({"f32"})}};
  }
  Verdict judge(const Graph& match) const override {
    const Node& node = match.nodes.at(0);
    const Type& result = match.type(node);
    if (!is_known(node)) return Verdict::no("unknown attributes");
    for (const Operand& operand : node.args) {
      if (!result.is_static() || match.type(operand).dims != result.dims)
        return Verdict::no("no broadcasting, has " + match.type(operand).text());
    }
    return Verdict::yes();
  }
  std::unique_ptr<Kernel> compile(Function& function) override {
    return std::make_unique<ExampleKernel>(function);
  }

  // Throw Error(BYOC_UNAVAILABLE, reason) where the driver is missing or too old.
  std::vector<DeviceRow> devices() override {
    return {{.device = kDevice, .name = "pretended device", .align = 256}};
  }
  void* allocate(DLDevice, uint64_t bytes, uint64_t align) override {
    return std::aligned_alloc(align, (bytes + align - 1) / align * align);
  }
  void release(DLDevice, void* memory) noexcept override { std::free(memory); }
  void copy(const byoc_copy& copy, Stream* stream) override {
    auto work = [to = copy.dst, from = copy.src, n = copy.bytes] { std::memcpy(to, from, n); };
    if (stream == nullptr) work();
    else static_cast<Queue*>(stream)->enqueue(work);
  }
  std::unique_ptr<Stream> make_stream(DLDevice) override { return std::make_unique<Queue>(); }
  std::unique_ptr<Event> make_event(DLDevice) override { return std::make_unique<QueueEvent>(); }
};

}  // namespace

BYOC_PLUGIN(Example, "example_device", "0.1.0")
