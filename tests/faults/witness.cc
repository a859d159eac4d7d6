// SPDX-License-Identifier: Apache-2.0
// A plugin for f32 relu that writes the host's calls and their arguments to a file, a line per
// call. With an option it waits, in compile, load or run, until it is cancelled.
#include <byoc/plugin/sdk.h>

#include <chrono>
#include <fstream>
#include <thread>

namespace {
using namespace byoc::sdk;

std::string& record_file() {  // the last opened instance's: shutdown has none
  static std::string& path = *new std::string;
  return path;
}

void record(const std::string& line) {
  if (!record_file().empty()) std::ofstream(record_file(), std::ios::app) << line << "\n";
}

/// Returns on cancellation; gives up after 30 s.
template <class Cancelled>
void wait_for(const char* where, Cancelled&& cancelled) {
  using std::chrono::steady_clock;
  record(std::string("waiting in ") + where);
  auto end = steady_clock::now() + std::chrono::seconds(30);
  while (!cancelled()) {
    if (steady_clock::now() > end) throw Error(BYOC_INTERNAL, "was not cancelled");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw Error(BYOC_CANCELLED, "stopped waiting");
}

class WitnessedRelu : public Kernel {
 public:
  WitnessedRelu(size_t n, bool waits) : n_(n), waits_(waits) {}
  void run(const Call& call) const override {
    if (waits_) wait_for("run", [&] { return call.cancelled(); });
    const float* x = call.in_data<float>(0);
    float* y = call.out_data<float>(0);
    for (size_t k = 0; k < n_; ++k) y[k] = x[k] > 0 ? x[k] : 0;
  }

 private:
  size_t n_;
  bool waits_;
};

class Witness : public Plugin {
 public:
  ~Witness() override { record("close"); }
  void open(const Options& options) override {
    record_file() = options.get("record");
    wait_ = options.get("wait");
    record("open");
  }
  std::vector<Pattern> patterns() const override { return {{"relu", op("relu")}}; }
  std::unique_ptr<Kernel> compile(Function& function) override {
    const char* slot = function.from_artifact ? "load" : "compile";
    record(std::string(slot) + " flags=" + std::to_string(function.flags) +
           " threads=" + std::to_string(function.threads));
    function.cancel.progress(1, 2, "bearing witness");
    if (wait_ == slot) {
      wait_for(slot, [&] {
        function.cancel.progress(1, 2, "bearing witness");
        return function.cancel.is_requested();
      });
    }
    const Type& type = function.graph.types[function.graph.inputs[0].type];
    return std::make_unique<WitnessedRelu>(static_cast<size_t>(type.elements()), wait_ == "run");
  }
  std::string show(CompileRequest& request, std::string_view form) override {
    record("show flags=" + std::to_string(request.raw.flags));
    return "relu as " + std::string(form) + "\n";
  }
#if WITH_SHUTDOWN
  static void shutdown() {
    record("shutdown");
    if (WITH_SHUTDOWN == 2) throw Error(BYOC_INTERNAL, "a thread does not end");
  }
#endif

 private:
  std::string wait_;
};

}  // namespace

BYOC_PLUGIN(Witness, "witness", "1.0.0", .priority = 50)
