// The llvm plugin's kernels through the ABI, beside oneDNN's for the same shapes, in turns in one
// process on one thread, with the f32 FMA peak measured in between. Each of ours is a Session of
// one step in the layouts that stand inside a network: weights packed at compile, images in blocks
// of channels. oneDNN's is one primitive in the layouts that it chose, its weights packed before.
// Both are compared with sums in f64, written out here, before anything is timed.
#include <omp.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "bench/fma_peak.h"
#include "byoc/base/check.h"
#include "byoc/compile.h"
#include "byoc/ir/builder.h"
#include "byoc/runtime/tensor.h"
#include "core/driver/bench/measure.h"
#include "plugins/onednn/dnnl_compat.h"

namespace byoc::bench {
namespace {

constexpr auto kF32 = dnnl::memory::data_type::f32;

template <class T>
T must(Result<T> result) {
  BYOC_CHECK(result.ok(), result.status().to_string());
  return *std::move(result);
}

// relu(conv(x, w) + bias) with one image; a product of matrices is a row of m cells.
struct Shape {
  const char* name;
  int64_t c, o, size, kernel, stride = 1, group = 1;
  bool is_matmul = false;  // [size, c] times [c, o]
  int64_t pad() const { return kernel / 2; }
  int64_t out() const { return is_matmul ? size : (size + 2 * pad() - kernel) / stride + 1; }
  int64_t cells() const { return is_matmul ? size : out() * out(); }
  double flops() const {
    return 2.0 * static_cast<double>(cells() * o * (c / group) * kernel * kernel);
  }
};

const Shape kShapes[] = {
    {"matmul 512x512x512", 512, 512, 512, 1, 1, 1, true},
    {"matmul 128x768x768", 768, 768, 128, 1, 1, 1, true},
    {"matmul 128x768x3072", 768, 3072, 128, 1, 1, 1, true},
    {"matmul 128x3072x768", 3072, 768, 128, 1, 1, 1, true},
    {"conv 3x3 64@56", 64, 64, 56, 3},
    {"conv 3x3 128@28", 128, 128, 28, 3},
    {"conv 3x3 256@14", 256, 256, 14, 3},
    {"conv 3x3 512@7", 512, 512, 7, 3},
    {"conv 3x3 /2 128@56", 128, 128, 56, 3, 2},
    {"conv 1x1 64-256@56", 64, 256, 56, 1},
    {"conv 1x1 256-64@56", 256, 64, 56, 1},
    {"conv 1x1 512-128@28", 512, 128, 28, 1},
    {"conv 1x1 1024-256@14", 1024, 256, 14, 1},
    {"conv 1x1 2048-512@7", 2048, 512, 7, 1},
    {"conv 1x1 /2 256-512@56", 256, 512, 56, 1, 2},
    {"depthwise 3x3 32@112", 32, 32, 112, 3, 1, 32},
    {"depthwise 3x3 144@56", 144, 144, 56, 3, 1, 144},
    {"depthwise 3x3 192@28", 192, 192, 28, 3, 1, 192},
    {"depthwise 3x3 576@14", 576, 576, 14, 3, 1, 576},
    {"depthwise 3x3 960@7", 960, 960, 7, 3, 1, 960},
    {"depthwise 3x3 /2 96@112", 96, 96, 112, 3, 2, 96},
    {"depthwise 3x3 /2 144@56", 144, 144, 56, 3, 2, 144},
    {"depthwise 3x3 /2 576@14", 576, 576, 14, 3, 2, 576},
    {"depthwise 5x5 240@28", 240, 240, 28, 5, 1, 240},
    {"depthwise 5x5 672@14", 672, 672, 14, 5, 1, 672},
    {"depthwise 5x5 /2 144@56", 144, 144, 56, 5, 2, 144},
    {"depthwise 5x5 /2 672@14", 672, 672, 14, 5, 2, 672},
};

struct Data {
  std::vector<float> x, weight, bias,
      expected;  // plain: [c, h, w] or [m, k], [o, c, k, k] or [k, n]
};

std::vector<float> random_values(size_t n, uint32_t seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> out(n);
  for (float& value : out) value = values(random);
  return out;
}

// One result: the terms of matrix row i, or of cell (i / out, i % out), with channel o.
double sum_at(const Shape& s, const Data& data, int64_t i, int64_t o) {
  double sum = data.bias[static_cast<size_t>(o)];
  if (s.is_matmul) {
    for (int64_t k = 0; k < s.c; ++k)
      sum += static_cast<double>(data.x[static_cast<size_t>(i * s.c + k)]) *
             static_cast<double>(data.weight[static_cast<size_t>(k * s.o + o)]);
    return std::max(sum, 0.0);
  }
  const int64_t per_group = s.c / s.group, first = o / (s.o / s.group) * per_group;
  for (int64_t k = 0; k < per_group; ++k) {
    for (int64_t kh = 0; kh < s.kernel; ++kh) {
      for (int64_t kw = 0; kw < s.kernel; ++kw) {
        const int64_t h = i / s.out() * s.stride + kh - s.pad();
        const int64_t w = i % s.out() * s.stride + kw - s.pad();
        if (h < 0 || h >= s.size || w < 0 || w >= s.size) continue;
        const int64_t at_w = ((o * per_group + k) * s.kernel + kh) * s.kernel + kw;
        sum += static_cast<double>(
                   data.x[static_cast<size_t>(((first + k) * s.size + h) * s.size + w)]) *
               static_cast<double>(data.weight[static_cast<size_t>(at_w)]);
      }
    }
  }
  return std::max(sum, 0.0);
}

Data make_data(const Shape& s) {
  const size_t cells = static_cast<size_t>(s.is_matmul ? s.size : s.size * s.size);
  Data out{random_values(static_cast<size_t>(s.c) * cells, 1),
           random_values(static_cast<size_t>(s.o * (s.c / s.group) * s.kernel * s.kernel), 2),
           random_values(static_cast<size_t>(s.o), 3),
           {}};
  for (int64_t o = 0; o < s.o; ++o) {
    for (int64_t i = 0; i < s.cells(); ++i)
      out.expected.push_back(static_cast<float>(sum_at(s, out, i, o)));
  }
  return out;
}

/// `value(o, i)`: the result at channel o and cell i. The largest error, of the largest value.
template <class Value>
double error_of(const Shape& s, const Data& data, Value&& value) {
  double error = 0, largest = 0;
  for (int64_t o = 0; o < s.o; ++o) {
    for (int64_t i = 0; i < s.cells(); ++i) {
      const double right = data.expected[static_cast<size_t>(o * s.cells() + i)];
      error = std::max(error, std::abs(static_cast<double>(value(o, i)) - right));
      largest = std::max(largest, right);
    }
  }
  return error / largest;
}

// In the blocks of NCHW8c, so that no transform stands in the Session.
constexpr int64_t kBlock = 8;
size_t in_blocks(int64_t c, int64_t cell, int64_t cells) {
  return static_cast<size_t>((c / kBlock * cells + cell) * kBlock + c % kBlock);
}

IRModule module_of(const Shape& s, const Data& data) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId y;
  if (s.is_matmul) {
    ValueId x = f.param("x", {DType::kF32, {s.size, s.c}});
    y = f.call("matmul", {x, f.constant_f32({s.c, s.o}, data.weight)});
    y = f.call("add", {y, f.constant_f32({s.o}, data.bias)});
  } else {
    ValueId x = f.param("x", {DType::kF32, {1, s.c / kBlock, s.size, s.size, kBlock}});
    ValueId w = f.constant_f32({s.o, s.c / s.group, s.kernel, s.kernel}, data.weight);
    const int64_t inner = s.group == 1 ? kBlock : 1;
    w = f.call("layout_transform", {w},
               {{"src_layout", std::string("OIHW")}, {"dst_layout", cat("OIHW", inner, "i")}});
    w = f.call("layout_transform", {w},
               {{"src_layout", std::string("OIHWJ")}, {"dst_layout", std::string("OIHWJ8o")}});
    y = f.call(
        "conv2d_nchwc", {x, w},
        {{"strides", Ints{s.stride, s.stride}}, {"pads", Ints(4, s.pad())}, {"group", s.group}});
    y = f.call("add", {y, f.constant_f32({1, s.o / kBlock, 1, 1, kBlock}, data.bias)});
  }
  Status status = f.finish("main", {f.call("relu", {y})});
  BYOC_CHECK(status.ok(), status.to_string());
  return module;
}

Tensor input_of(const Shape& s, const Data& data) {
  if (s.is_matmul) {
    Tensor x = must(Tensor::make({DType::kF32, {s.size, s.c}}));
    std::memcpy(x.data(), data.x.data(), data.x.size() * sizeof(float));
    return x;
  }
  Tensor x = must(Tensor::make({DType::kF32, {1, s.c / kBlock, s.size, s.size, kBlock}}));
  auto* values = reinterpret_cast<float*>(x.data());
  const int64_t cells = s.size * s.size;
  for (int64_t c = 0; c < s.c; ++c) {
    for (int64_t cell = 0; cell < cells; ++cell)
      values[in_blocks(c, cell, cells)] = data.x[static_cast<size_t>(c * cells + cell)];
  }
  return x;
}

std::unique_ptr<driver::Subject> ours(const Shape& s, const Data& data) {
  PluginSearch search;
  search.folders = {BYOC_PLUGIN_DIR};
  static const auto plugins = PluginSet::load(search);
  BuildOptions options{.plugins = plugins, .compilers = {"llvm"}, .strict = true};
  Executable executable = must(build(module_of(s, data), options));
  BYOC_CHECK(executable.program.steps.size() == 1, s.name, " has ", executable.program.steps.size(),
             " steps");
  auto session = must(Session::load(std::move(executable), plugins, {.threads = 1}));
  Tensor x = input_of(s, data);
  return must(driver::Subject::make(std::move(session), {&x, 1}));
}

/// One primitive of oneDNN's, everything in its layouts.
class Onednn {
 public:
  Onednn(const Shape& s, const Data& data) : shape_(s) {
    if (s.is_matmul) make_matmul(data);
    else make_conv(data);
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
    return shape_.is_matmul ? Dims{shape_.size, shape_.o}
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

  const Shape& shape_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> args_;
};

void compare(const Shape& s, int rounds) {
  const Data data = make_data(s);
  auto subject = ours(s, data);
  Onednn onednn(s, data);
  onednn.run();
  const auto* y = reinterpret_cast<const float*>(subject->outputs()[0].data());
  const double our_error = error_of(s, data, [&](int64_t o, int64_t i) {
    return y[s.is_matmul ? static_cast<size_t>(i * s.o + o) : in_blocks(o, i, s.cells())];
  });
  std::vector<float> theirs = onednn.result();
  const double their_error = error_of(s, data, [&](int64_t o, int64_t i) {
    return theirs[static_cast<size_t>(s.is_matmul ? i * s.o + o : o * s.cells() + i)];
  });
  BYOC_CHECK(our_error < 1e-5 && their_error < 1e-5, s.name, ": errors of ", our_error, " and ",
             their_error, " of the largest value");
  const int turns = std::max(1, static_cast<int>(2e8 / s.flops()));
  auto time_of = [&](auto&& f) {
    auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < turns; ++k) f();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
               .count() /
           turns;
  };
  auto run_ours = [&] { BYOC_CHECK(subject->run().ok(), "a run failed"); };
  std::vector<double> our_share, their_share, ratio, rate, peaks;
  for (int k = 0; k < rounds; ++k) {
    const double a = time_of(run_ours), b = time_of([&] { onednn.run(); }), peak = fma_rate(false);
    rate.push_back(s.flops() / a), peaks.push_back(peak), ratio.push_back(b / a);
    our_share.push_back(100 * s.flops() / a / peak);
    their_share.push_back(100 * s.flops() / b / peak);
  }
  auto median = [](const std::vector<double>& x) { return driver::spread_of(x).median; };
  const driver::Spread r = driver::spread_of(ratio);
  const driver::Spread our = driver::spread_of(our_share), their = driver::spread_of(their_share);
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
      rounds, fma_loop(), "", "peak", "llvm", "oneDNN", "oneDNN's time / llvm's");
  for (const Shape& shape : kShapes) {
    if (std::string(shape.name).find(only) != std::string::npos) compare(shape, rounds);
  }
  return 0;
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) { return byoc::bench::run(argc, argv); }
