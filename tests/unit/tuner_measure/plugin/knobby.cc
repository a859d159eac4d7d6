// SPDX-License-Identifier: Apache-2.0
// A plugin for relu on f32 whose points are good and bad on purpose. The knob "how" is a way of
// going wrong, "work" the amount of extra work. The options of these names set the knobs' values,
// as in how=right,segv; the first ones are the plugin's own choice.
#include <byoc/plugin/sdk.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {
using namespace byoc::sdk;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == ',') out.emplace_back();
    else out.back() += c;
  }
  return out;
}

[[noreturn]] void hang() {
  volatile bool for_ever = true;
  while (for_ever) {
  }
  std::abort();
}

/// Allocates memory until there is no more. Uses little of it, for the sake of the machine.
void exhaust_memory() {
  for (;;) {
    volatile char* block = new char[size_t{64} << 20];  // lost on purpose
    block[0] = 1;
  }
}

class Relu : public Kernel {
 public:
  Relu(size_t n, std::string how, uint64_t work) : n_(n), how_(std::move(how)), work_(work) {}
  void run(const Call& call) const override {
    if (how_ == "segv") std::raise(SIGSEGV);
    if (how_ == "abort") std::abort();
    if (how_ == "exit") std::_Exit(7);
    if (how_ == "hang") hang();
    if (how_ == "memory") exhaust_memory();
    if (how_ == "fails") throw Error(BYOC_INTERNAL, "the kernel fails on purpose");
    if (how_ == "prints") std::printf("{\"error\":\"\",\"samples_ns\":[1]}\n"), std::fflush(stdout);
    volatile uint64_t step = 0;
    while (step < work_) step = step + 1;
    const float* x = call.in_data<float>(0);
    float* y = call.out_data<float>(0);
    const size_t end = how_ == "leaves_one" ? n_ - 1 : n_;
    for (size_t k = 0; k < end; ++k) y[k] = x[k] > 0 ? x[k] : 0;
    if (how_ == "wrong" || (how_ == "wrong_later" && ++runs_ > 3)) y[n_ / 2] += 1;
    if (how_ == "spoils_input") const_cast<float*>(x)[0] += 1;
  }

 private:
  size_t n_;
  std::string how_;
  uint64_t work_;
  mutable int runs_ = 0;
};

class Knobby : public Plugin {
 public:
  void open(const Options& options) override {
    how_ = split(options.get("how", "right,segv,hang,wrong"));
    work_ = split(options.get("work", "4000,1000,2000,8000"));
  }
  std::vector<Pattern> patterns() const override { return {{"relu", op("relu").dtype({"f32"})}}; }

  KnobSpace knobs(CompileRequest& request) override {
    const Graph& graph = request.functions.at(0).graph;
    if (graph.nodes.size() != 1) return {};
    const Type& type = graph.type(graph.nodes[0]);
    KnobSpace space;
    space.task = "relu " + type.text();
    space.kind = "relu";
    space.flops = static_cast<double>(type.elements());
    space.bytes = 2.0 * static_cast<double>(type.bytes());
    space.knobs = {{"how", how_}, {"work", work_}};
    space.guesses = {{{"how", how_[0]}, {"work", work_[0]}}};
    return space;
  }

  std::unique_ptr<Kernel> compile(Function& function) override {
    const Graph& graph = function.graph;
    if (graph.nodes.size() != 1) throw Declined("one relu at a time");
    auto value = [&](const char* knob, const std::string& own) {
      auto found = function.point.find(knob);
      return found == function.point.end() ? own : found->second;
    };
    const std::string how = value("how", how_[0]);
    if (how == "build_segv") std::raise(SIGSEGV);
    if (how == "build_hang") hang();
    if (how == "build_fails") throw Error(BYOC_INVALID_ARGUMENT, "the point fails on purpose");
    if (how == "load_segv" && function.from_artifact) std::raise(SIGSEGV);
    const auto n = static_cast<size_t>(graph.type(graph.nodes[0]).elements());
    return std::make_unique<Relu>(n, how, std::stoull(value("work", work_[0])));
  }

 private:
  std::vector<std::string> how_, work_;
};

}  // namespace

BYOC_PLUGIN(Knobby, "knobby", "1.0.0", .priority = 50)
