// SPDX-License-Identifier: Apache-2.0
// relu of f32, and a sum of a value and a constant, by a plugin that accesses one element outside
// of a tensor: the_fault is the place. The values of its results are right.
#include <byoc/plugin/sdk.h>

#include <algorithm>

#include "faults/fault.h"

namespace {
using namespace byoc::sdk;

// Touches an element as code does that a compiler cannot leave out.
void read(const float* at) { (void)*const_cast<const volatile float*>(at); }
void write(float* at) { *const_cast<volatile float*>(at) = 0; }

class Outside : public Kernel {
 public:
  explicit Outside(Function& function) : elements_(function.graph.output_type(0).elements()) {
    if (function.graph.nodes.size() != 1) throw Declined("one op at a time");
    if (!function.graph.constants.empty()) constant_ = function.constants.keep(0);
    is_sum_ = !function.graph.constants.empty();
  }
  KernelInfo info() const override { return {.workspace_bytes = 64}; }
  void run(const Call& call) const override {
    const float* x = call.in_data<float>(0);
    float* y = call.out_data<float>(0);
    const float* b = is_sum_ ? constant_.data<float>() : nullptr;
    for (int64_t k = 0; k < elements_; ++k) y[k] = is_sum_ ? x[k] + b[k] : x[k] < 0 ? 0 : x[k];
    if (the_fault == kRead) read(x + elements_);
    if (the_fault == kWrite) write(y + elements_);
    if (the_fault == kBefore) read(x - 1024);  // a page
    if (the_fault == kInput) write(const_cast<float*>(x));
    if (the_fault == kConstant && is_sum_) read(b + elements_ + 15);  // past 64 bytes, too
    if (the_fault == kWorkspace) write(static_cast<float*>(call.workspace()) + 16);
  }

 private:
  int64_t elements_;
  bool is_sum_ = false;
  Held constant_;
};

class OutsidePlugin : public Plugin {
  std::vector<Pattern> patterns() const override {
    return {{"relu", op("relu", {any("x")}).dtype({"f32"})},
            {"add", op("add", {any("x"), constant("b")}).dtype({"f32"})}};
  }
  Verdict judge(const Graph& match) const override {
    const Type& result = match.type(match.nodes.at(0));
    for (const Operand& operand : match.nodes[0].args) {
      if (!result.is_static() || match.type(operand).dims != result.dims)
        return Verdict::no("no broadcasting, has " + match.type(operand).text());
    }
    return result.elements() == 0 ? Verdict::no("no elements") : Verdict::yes();
  }
  std::unique_ptr<Kernel> compile(Function& function) override {
    return std::make_unique<Outside>(function);
  }
};

}  // namespace

BYOC_PLUGIN(OutsidePlugin, "outside", "1.0.0")
