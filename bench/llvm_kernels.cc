// SPDX-License-Identifier: Apache-2.0
// Measures the llvm plugin's kernels through the ABI against oneDNN's for the same shapes, in turns
// in one process on one thread, with the f32 FMA peak measured in between. Each llvm kernel is a
// Session of one step in the layouts that are usual inside a network: weights packed at compile,
// images in blocks of channels. Each oneDNN kernel is one primitive in the layouts that it chose,
// its weights packed in advance. Both are compared with sums in f64, computed in this file, before
// anything is timed.
#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/support/kernel_shapes.h"
#include "byoc/base/check.h"
#include "byoc/base/clock.h"
#include "byoc/compile.h"
#include "byoc/runtime/tensor.h"
#include "byoc/text/builder.h"
#include "core/machine/peak_loops.h"
#include "core/measure/session/timed_session.h"
#include "plugins/onednn/library/dnnl_compat.h"
#include "support/paths.h"

namespace byoc::bench {
namespace {

constexpr auto kF32 = dnnl::memory::data_type::f32;

template <class T>
T must(Result<T> result) {
  BYOC_CHECK(result.ok(), result.status().to_string());
  return *std::move(result);
}

// Images are in the blocks that the plugin lists for this machine, so that the Session has no
// layout transform.
int64_t block_of(const Shape& s) {
  const bool has_wide_vectors = __builtin_cpu_supports("avx512f") != 0;
  return has_wide_vectors && s.c % 16 == 0 && s.o % 16 == 0 ? 16 : 8;
}
size_t in_blocks(const Shape& s, int64_t c, int64_t cell, int64_t cells) {
  const int64_t block = block_of(s);
  return static_cast<size_t>((c / block * cells + cell) * block + c % block);
}

// Returns true for an image of few channels, where a network begins: it is plain. All others are in
// blocks, as inside a network.
bool is_plain(const Shape& s) { return s.c % 8 != 0; }

ValueId conv_of(FunctionBuilder& f, const Shape& s, const Data& data, ValueId x) {
  ValueId w = f.constant_f32({s.o, s.c / s.group, s.kernel, s.kernel}, data.weight);
  const int64_t block = block_of(s), inner = s.group == 1 && !is_plain(s) ? block : 1;
  w = f.call("layout_transform", {w},
             {{"src_layout", std::string("OIHW")}, {"dst_layout", cat("OIHW", inner, "i")}});
  w = f.call("layout_transform", {w},
             {{"src_layout", std::string("OIHWJ")}, {"dst_layout", cat("OIHWJ", block, "o")}});
  ValueId y = f.call(
      "conv2d_nchwc", {x, w},
      {{"strides", Ints{s.stride, s.stride}}, {"pads", Ints(4, s.pad())}, {"group", s.group}});
  return f.call("add", {y, f.constant_f32({1, s.o / block, 1, 1, block}, data.bias)});
}

IRModule module_of(const Shape& s, const Data& data) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x, y;
  if (s.is_matmul()) x = f.param("x", {DType::kF32, {s.size, s.c}});
  else if (is_plain(s)) x = f.param("x", {DType::kF32, {1, s.c, s.size, s.size}});
  else x = f.param("x", {DType::kF32, {1, s.c / block_of(s), s.size, s.size, block_of(s)}});
  switch (s.kind) {
    case Kind::kConv:
      y = f.call("relu", {conv_of(f, s, data, x)});
      break;
    case Kind::kMatmul:
      y = f.call("matmul", {x, f.constant_f32({s.c, s.o}, data.weight)});
      y = f.call("relu", {f.call("add", {y, f.constant_f32({s.o}, data.bias)})});
      break;
    case Kind::kMaxPool:
      y = f.call("max_pool", {x},
                 {{"kernel_shape", Ints{s.kernel, s.kernel, 1}},
                  {"strides", Ints{s.stride, s.stride, 1}},
                  {"pads", Ints{s.pad(), s.pad(), 0, s.pad(), s.pad(), 0}}});
      break;
    case Kind::kMean:
      y = f.call("mean", {x}, {{"axes", Ints{2, 3}}, {"keepdims", true}});
  }
  Status status = f.finish("main", {y});
  BYOC_CHECK(status.ok(), status.to_string());
  return module;
}

Tensor input_of(const Shape& s, const Data& data) {
  if (s.is_matmul() || is_plain(s)) {
    Tensor x =
        must(Tensor::make(s.is_matmul() ? TensorSpec{DType::kF32, {s.size, s.c}}
                                        : TensorSpec{DType::kF32, {1, s.c, s.size, s.size}}));
    std::memcpy(x.data(), data.x.data(), data.x.size() * sizeof(float));
    return x;
  }
  Tensor x = must(Tensor::make({DType::kF32, {1, s.c / block_of(s), s.size, s.size, block_of(s)}}));
  auto* values = reinterpret_cast<float*>(x.data());
  const int64_t cells = s.size * s.size;
  for (int64_t c = 0; c < s.c; ++c) {
    for (int64_t cell = 0; cell < cells; ++cell)
      values[in_blocks(s, c, cell, cells)] = data.x[static_cast<size_t>(c * cells + cell)];
  }
  return x;
}

std::unique_ptr<measure::TimedSession> ours(const Shape& s, const Data& data) {
  PluginSearch search;
  search.folders = {BYOC_PLUGIN_DIR};
  static const auto plugins = PluginSet::load(search);
  BuildOptions options{.plugins = plugins, .compilers = {"llvm"}, .strict = true};
  Executable executable = must(build(module_of(s, data), options));
  BYOC_CHECK(executable.program.steps.size() == 1, s.name, " has ", executable.program.steps.size(),
             " steps");
  auto session = must(Session::load(std::move(executable), plugins, {.threads = 1}));
  Tensor x = input_of(s, data);
  return must(measure::TimedSession::make(std::move(session), {&x, 1}));
}

/// One primitive of oneDNN, with all tensors in its own layouts.
class Onednn {
 public:
  Onednn(const Shape& s, const Data& data) : shape_(s) {
    if (s.is_matmul()) make_matmul(data);
    else if (s.kind == Kind::kConv) make_conv(data);
    else make_pool(data);
    stream_.wait();
  }
  void run() {
    primitive_.execute(stream_, args_);
    stream_.wait();
  }
  std::vector<float> result() {
    std::vector<float> out(static_cast<size_t>(shape_.o * shape_.cells()));
    dnnl::memory plain(described(out_dims()), engine_, out.data());
    dnnl::reorder(args_.at(DNNL_ARG_DST), plain).execute(stream_, args_.at(DNNL_ARG_DST), plain);
    stream_.wait();
    return out;
  }

 private:
  using Dims = std::vector<int64_t>;
  static onednn::Desc any(const Dims& dims) { return {dims, kF32, dnnl::memory::format_tag::any}; }
  static onednn::Desc described(const Dims& dims) {
    Dims strides(dims.size(), 1);
    for (size_t k = dims.size(); k-- > 1;) strides[k - 1] = strides[k] * dims[k];
    return {dims, kF32, strides};
  }
  Dims out_dims() const {
    return shape_.is_matmul() ? Dims{shape_.size, shape_.o}
                              : Dims{1, shape_.o, shape_.out(), shape_.out()};
  }
  static dnnl::primitive_attr relu() {
    dnnl::post_ops ops;
    onednn::append_eltwise(ops, dnnl::algorithm::eltwise_relu, 0, 0);
    dnnl::primitive_attr attr;
    attr.set_post_ops(ops);
    return attr;
  }
  dnnl::memory packed(const std::vector<float>& values, const Dims& dims,
                      const onednn::Desc& want) {
    dnnl::memory to(want, engine_);
    dnnl::memory from(described(dims), engine_, const_cast<float*>(values.data()));
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
    return to;
  }
  void make_matmul(const Data& data) {
    const Shape& s = shape_;
    const Dims x{s.size, s.c}, w{s.c, s.o}, bias{1, s.o};
    auto pd = onednn::describe<dnnl::matmul>(engine_, relu(), described(x), any(w), described(bias),
                                             described(out_dims()));
    primitive_ = dnnl::matmul(pd);
    args_ = {{DNNL_ARG_SRC, packed(data.x, x, pd.src_desc())},
             {DNNL_ARG_WEIGHTS, packed(data.weight, w, pd.weights_desc())},
             {DNNL_ARG_BIAS, packed(data.bias, bias, pd.bias_desc())},
             {DNNL_ARG_DST, dnnl::memory(pd.dst_desc(), engine_)}};
  }
  void make_conv(const Data& data) {
    const Shape& s = shape_;
    const Dims x{1, s.c, s.size, s.size}, bias{s.o};
    const Dims w = s.group == 1 ? Dims{s.o, s.c, s.kernel, s.kernel}
                                : Dims{s.group, s.o / s.group, s.c / s.group, s.kernel, s.kernel};
    const Dims strides(2, s.stride), dilation(2, 0), pads(2, s.pad());
    auto pd = onednn::describe<dnnl::convolution_forward>(
        engine_, relu(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        any(x), any(w), any(bias), any(out_dims()), strides, dilation, pads, pads);
    primitive_ = dnnl::convolution_forward(pd);
    args_ = {{DNNL_ARG_SRC, packed(data.x, x, pd.src_desc())},
             {DNNL_ARG_WEIGHTS, packed(data.weight, w, pd.weights_desc())},
             {DNNL_ARG_BIAS, packed(data.bias, bias, pd.bias_desc())},
             {DNNL_ARG_DST, dnnl::memory(pd.dst_desc(), engine_)}};
  }

  void make_pool(const Data& data) {
    const Shape& s = shape_;
    const Dims x{1, s.c, s.size, s.size}, kernel(2, s.kernel), pads(2, s.pad());
    // The layout that convolutions give their results.
    const auto tag =
        block_of(s) == 16 ? dnnl::memory::format_tag::nChw16c : dnnl::memory::format_tag::nChw8c;
    const onednn::Desc image{x, kF32, tag};
    auto pd = onednn::describe<onednn::PoolingForward>(
        engine_, dnnl::primitive_attr(), dnnl::prop_kind::forward_inference,
        s.kind == Kind::kMean ? dnnl::algorithm::pooling_avg_exclude_padding
                              : dnnl::algorithm::pooling_max,
        image, any(out_dims()), Dims(2, s.stride), kernel, Dims(2, 0), pads, pads);
    primitive_ = onednn::PoolingForward(pd);
    args_ = {{DNNL_ARG_SRC, packed(data.x, x, image)},
             {DNNL_ARG_DST, dnnl::memory(pd.dst_desc(), engine_)}};
  }

  const Shape& shape_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> args_;
};

void compare(const Shape& s, int rounds) {
  const Data data = make_data(s);
  auto timed = ours(s, data);
  Onednn onednn(s, data);
  onednn.run();
  const auto* y = reinterpret_cast<const float*>(timed->outputs()[0].data());
  const double our_error = error_of(s, data, [&](int64_t o, int64_t i) {
    return y[s.is_matmul() ? static_cast<size_t>(i * s.o + o) : in_blocks(s, o, i, s.cells())];
  });
  std::vector<float> theirs = onednn.result();
  const double their_error = error_of(s, data, [&](int64_t o, int64_t i) {
    return theirs[static_cast<size_t>(s.is_matmul() ? i * s.o + o : o * s.cells() + i)];
  });
  BYOC_CHECK(our_error < 1e-5 && their_error < 1e-5, s.name, ": errors of ", our_error, " and ",
             their_error, " of the largest value");
  // Several runs, so that most find the caches as they leave them, not as other processes do.
  const int turns = std::max(1, static_cast<int>(2e9 / s.flops()));
  auto time_of = [&](auto&& f) {
    const uint64_t begin_ns = now_ns();
    for (int k = 0; k < turns; ++k) f();
    return ns_since(begin_ns) / turns;
  };
  auto run_ours = [&] { BYOC_CHECK(timed->run().ok(), "a run failed"); };
  std::vector<double> our_share, their_share, ratio, rate, peaks;
  for (int k = 0; k < rounds; ++k) {
    const double a = time_of(run_ours), b = time_of([&] { onednn.run(); }),
                 peak = machine::rate_of(machine::has_avx512() ? machine::Peak::kF32x512
                                                               : machine::Peak::kF32x256);
    rate.push_back(s.flops() / a), peaks.push_back(peak), ratio.push_back(b / a);
    our_share.push_back(100 * s.flops() / a / peak);
    their_share.push_back(100 * s.flops() / b / peak);
  }
  auto median = [](const std::vector<double>& x) { return measure::spread_of(x).median; };
  const measure::Spread r = measure::spread_of(ratio);
  const measure::Spread our = measure::spread_of(our_share),
                        their = measure::spread_of(their_share);
  std::printf(
      "%-24s %6.1f  %6.1f %5.1f %% [%5.1f to %5.1f]  %6.1f %5.1f %% [%5.1f to %5.1f]  %5.2f [%.2f "
      "to %.2f]  %.0e\n",
      s.name, median(peaks), median(rate), our.median, our.p5, our.p95, median(rate) / r.median,
      their.median, their.p5, their.p95, r.median, r.p5, r.p95, our_error);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  int rounds = 25;
  std::string only;
  for (int k = 1; k < argc; ++k) {
    std::string arg = argv[k];
    if (arg == "--rounds" && k + 1 < argc) rounds = std::max(1, std::atoi(argv[++k]));
    else if (arg == "--only" && k + 1 < argc) only = argv[++k];
    else {
      const bool asked = arg == "--help" || arg == "-h";
      std::fprintf(asked ? stdout : stderr,
                   "usage: bench_llvm_kernels [--rounds N] [--only TEXT]\n\n"
                   "  bench_llvm_kernels --only 3x3 --rounds 50\n");
      return asked ? 0 : 2;
    }
  }
  omp_set_num_threads(1);
  std::printf(
      "one thread; medians of %d rounds; GFLOP/s, shares of what this loop gives in the same "
      "round:\n"
      "%s\n%-24s %6s  %-31s  %-31s  %s\n",
      rounds, machine::fma_loop(machine::has_avx512()), "", "peak", "llvm", "oneDNN",
      "oneDNN's time / llvm's");
  for (const Shape& shape : kShapes) {
    if (std::string(shape.name).find(only) != std::string::npos) compare(shape, rounds);
  }
  return 0;
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) { return byoc::bench::run(argc, argv); }
