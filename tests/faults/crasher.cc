// SPDX-License-Identifier: Apache-2.0
// A plugin for relu that ends the process: by the option `signal`, in the slot that the option `in`
// or BYOC_TEST_CRASH names (byoc-run passes no options; BYOC_TEST_SIGNAL is the signal). Besides
// signals: HANG, a slot that does not return; EXIT, one that ends the process with code 7; THROW,
// an exception; MEMORY, one that allocates without end; WRONG, a status with a code that
// does not exist.
#include <byoc/plugin/sdk.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace {
using namespace byoc::sdk;

[[noreturn]] void crash(const std::string& how) {
  volatile int zero = 0;
  volatile int* volatile nowhere = nullptr;
  if (how == "SEGV") *nowhere = 1;
  while (how == "HANG") std::this_thread::sleep_for(std::chrono::seconds(1));
  if (how == "EXIT") std::exit(7);
  if (how == "THROW") throw std::runtime_error("thrown by the plugin");
  if (how == "WRONG") throw Error(9999, "no such code");
  constexpr size_t kPiece = size_t{16} << 20;
  while (how == "MEMORY") std::memset(std::malloc(kPiece), 1, kPiece);
#if defined(__x86_64__)
  if (how == "FPE") zero = 1 / zero;
#endif
  if (how == "FPE") std::raise(SIGFPE);
  if (how == "BUS") std::raise(SIGBUS);
  if (how == "ILL") __builtin_trap();
  std::abort();
}

/// Uses up the stack: no stack has room for `depth` frames. The sum keeps the compiler from making
/// it a loop.
int overflow(volatile char* outer, uint64_t depth) {
  volatile char here[1024];
  here[0] = outer[0];
  return depth == 0 ? 0 : here[0] + overflow(here, depth - 1);
}

class CrashingRelu : public Kernel {
 public:
  CrashingRelu(size_t n, std::string in, std::string how)
      : n_(n), in_(std::move(in)), how_(std::move(how)) {}
  void run(const Call& call) const override {
    volatile char first = 1;
    if (in_ == "run" && how_ == "overflow") result_ = overflow(&first, uint64_t{1} << 40);
    if (in_ == "run") crash(how_);
    if (in_ == "worker") {
      host().parallel_for(1000, 1, [&](uint64_t, uint64_t, uint32_t worker) {
        if (worker == 1) crash(how_);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
    }
    const float* x = call.in_data<float>(0);
    float* y = call.out_data<float>(0);
    for (size_t k = 0; k < n_; ++k) y[k] = x[k] > 0 ? x[k] : 0;
  }

 private:
  size_t n_;
  mutable int result_ = 0;
  std::string in_, how_;
};

class Crasher : public Plugin {
 public:
  ~Crasher() override { crash_in("close"); }
  void open(const Options& options) override {
    const char* in = std::getenv("BYOC_TEST_CRASH");
    in_ = options.get("in", in != nullptr ? in : "");
    const char* how = std::getenv("BYOC_TEST_SIGNAL");
    how_ = options.get("signal", how != nullptr ? how : "SEGV");
    crash_in("open");
  }
  std::vector<Pattern> patterns() const override { return {{"relu", op("relu")}}; }
  Verdict judge(const Graph&) const override {
    crash_in("judge");
    return Verdict::yes();
  }
  std::unique_ptr<Kernel> compile(Function& function) override {
    crash_in(function.from_artifact ? "load" : "compile");
    const Type& type = function.graph.types[function.graph.inputs[0].type];
    return std::make_unique<CrashingRelu>(static_cast<size_t>(type.elements()), in_, how_);
  }

 private:
  void crash_in(const std::string& slot) const {
    if (in_ != slot) return;
    if (how_ == "overflow") {
      volatile char first = 1;
      result_ = overflow(&first, uint64_t{1} << 40);
    }
    crash(how_);
  }
  mutable int result_ = 0;
  std::string in_, how_;
};

}  // namespace

BYOC_PLUGIN(Crasher, "crasher", "1.0.0", .priority = 50)
