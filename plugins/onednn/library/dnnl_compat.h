// SPDX-License-Identifier: Apache-2.0
#pragma once
// One spelling for oneDNN 2.6 and 3.x. All differences between the two versions are in this file.
#include <dnnl.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace byoc::onednn {

using Desc = dnnl::memory::desc;

#if DNNL_VERSION_MAJOR >= 3
using PoolingForward = dnnl::pooling_forward;
using SoftmaxForward = dnnl::softmax_forward;
#else
using PoolingForward = dnnl::pooling_v2_forward;
using SoftmaxForward = dnnl::softmax_v2_forward;
#endif

/// Returns the version of the loaded library, "2.6.3", which may differ from that of the headers.
inline std::string dnnl_version_text() {
  const dnnl_version_t& v = *dnnl_version();
  return std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
}

/// Returns the instruction set that oneDNN generates code for on this machine, "avx2", including
/// ONEDNN_MAX_CPU_ISA. The numbers are the same in both versions; one without a name here is
/// returned as a number.
inline std::string isa_text() {
  switch (int isa = dnnl_get_effective_cpu_isa(); isa) {
    case dnnl_cpu_isa_sse41:
      return "sse41";
    case dnnl_cpu_isa_avx:
      return "avx";
    case dnnl_cpu_isa_avx2:
      return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
      return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core:
      return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "avx512_core_bf16";
    default:
      return "isa" + std::to_string(isa);
  }
}

/// Results of 2.x that differ from the ops' definition and those of 3.x do not; README.md lists
/// them, and the differences that both versions have.
constexpr bool kOneGeneratorPerFunction = DNNL_VERSION_MAJOR < 3;  // in a chain of post-ops

namespace compat {

struct Result {
  Desc desc;
};

template <class T>
std::tuple<const T&> spread(const T& argument) {
  return {argument};
}
#if DNNL_VERSION_MAJOR >= 3
inline std::tuple<const Desc&> spread(const Result& result) { return {result.desc}; }
#else
inline std::tuple<> spread(const Result&) { return {}; }
#endif

}  // namespace compat

/// An argument of `describe` that 3.x has and 2.x does not: the result's layout, where 2.x takes
/// the source's.
inline compat::Result result(const Desc& desc) { return {desc}; }

/// describe<dnnl::eltwise_forward>(engine, attr, kind, algorithm, source, result(source), ...): the
/// arguments of 3.x, in its order. Throws dnnl::error.
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe(const dnnl::engine& engine,
                                            const dnnl::primitive_attr& attr, const Args&... args) {
  auto make = [&](const auto&... all) {
#if DNNL_VERSION_MAJOR >= 3
    return typename Primitive::primitive_desc(engine, all..., attr);
#else
    return typename Primitive::primitive_desc(typename Primitive::desc(all...), attr, engine);
#endif
  };
  return std::apply(make, std::tuple_cat(compat::spread(args)...));
}

inline dnnl::concat::primitive_desc describe_concat(const dnnl::engine& engine,
                                                    const dnnl::primitive_attr& attr, int axis,
                                                    const std::vector<Desc>& sources) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, axis, sources, attr};
#else
  return {axis, sources, engine, attr};
#endif
}

inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm how, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(how, alpha, beta);
#else
  ops.append_eltwise(1.0f, how, alpha, beta);
#endif
}

/// Attributes of integers. 3.x scales operands and the result one by one, which is not wired up.
constexpr bool kHasOutputScales = DNNL_VERSION_MAJOR < 3;
inline void set_output_scales([[maybe_unused]] dnnl::primitive_attr& attr,
                              [[maybe_unused]] int mask,
                              [[maybe_unused]] const std::vector<float>& scales) {
#if DNNL_VERSION_MAJOR < 3
  attr.set_output_scales(mask, scales);
#endif
}
inline void set_scale([[maybe_unused]] dnnl::primitive_attr& attr, [[maybe_unused]] int arg,
                      [[maybe_unused]] float scale) {
#if DNNL_VERSION_MAJOR < 3
  attr.set_scales(arg, 0, {scale});
#endif
}
inline void set_zero_point([[maybe_unused]] dnnl::primitive_attr& attr, [[maybe_unused]] int arg,
                           [[maybe_unused]] int32_t zero_point) {
#if DNNL_VERSION_MAJOR < 3
  attr.set_zero_points(arg, 0, {zero_point});
#endif
}

inline std::vector<int64_t> dims_of(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_dims();
#else
  return desc.dims();
#endif
}

/// Returns the same layout of elements of another type.
inline Desc with_type(const Desc& desc, [[maybe_unused]] dnnl::memory::data_type type) {
#if DNNL_VERSION_MAJOR >= 3
  return desc;  // integers are not wired up
#else
  Desc out = desc;
  out.data.data_type = static_cast<dnnl_data_type_t>(type);
  return out;
#endif
}

/// Strides of the outer dims, and the blocks inside of them, outermost first.
struct Blocking {
  std::vector<int64_t> strides, block_sizes, block_dims;
};
/// Returns the blocking; empty for layouts that are not of this kind.
inline Blocking blocking_of(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return {};
  return {desc.get_strides(), desc.get_inner_blks(), desc.get_inner_idxs()};
#else
  if (desc.data.format_kind != dnnl_blocked) return {};
  const dnnl_blocking_desc_t& b = desc.data.format_desc.blocking;
  return {{b.strides, b.strides + desc.data.ndims},
          {b.inner_blks, b.inner_blks + b.inner_nblks},
          {b.inner_idxs, b.inner_idxs + b.inner_nblks}};
#endif
}

/// Returns whether a reorder brings elements back from this layout: sums that a kernel keeps beside
/// weights of integers are not lost, but oneDNN reads such layouts only in its kernels.
inline bool is_reversible(const Desc& desc) {
#if DNNL_VERSION_MAJOR < 3
  if (desc.data.extra.flags != 0) return false;
#endif
  return !blocking_of(desc).strides.empty();
}

/// Returns strides in elements; nothing when the layout has blocks or is none.
inline std::optional<std::vector<int64_t>> plain_strides_of(const Desc& desc) {
  Blocking layout = blocking_of(desc);
  if (layout.strides.empty() || !layout.block_sizes.empty()) return std::nullopt;
  return layout.strides;
}

/// Returns how many times as many elements a layout has as its dims: its blocks are whole.
inline double filled_blocks(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  const auto dims = desc.get_dims(), padded = desc.get_padded_dims();
  const size_t rank = dims.size();
#else
  const auto &dims = desc.data.dims, &padded = desc.data.padded_dims;
  const auto rank = static_cast<size_t>(desc.data.ndims);
#endif
  double out = 1;
  for (size_t d = 0; d < rank; ++d)
    out *= dims[d] > 0 ? static_cast<double>(padded[d]) / static_cast<double>(dims[d]) : 1;
  return out;
}

/// Returns a text that is equal for equal layouts, in all processes with this version of oneDNN.
inline std::string layout_text(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  std::string text = std::to_string(static_cast<int>(desc.get_data_type())) + "/" +
                     std::to_string(static_cast<int>(desc.get_format_kind())) + "/" +
                     std::to_string(desc.get_submemory_offset()) + "/" +
                     std::to_string(desc.get_size());
  for (const auto& numbers : {desc.get_dims(), desc.get_padded_dims(), desc.get_strides(),
                              desc.get_inner_blks(), desc.get_inner_idxs()}) {
    text += ';';
    for (int64_t number : numbers) text += std::to_string(number) + ",";
  }
  return text;
#else
  const dnnl_memory_desc_t& d = desc.data;
  std::string text =
      std::to_string(d.data_type) + "/" + std::to_string(d.format_kind) + "/" +
      std::to_string(d.offset0) + "/" + std::to_string(desc.get_size()) + "/" +
      std::to_string(d.extra.flags) + "/" + std::to_string(d.extra.compensation_mask) + "/" +
      std::to_string(d.extra.scale_adjust) + "/" + std::to_string(d.extra.asymm_compensation_mask);
  auto add = [&](const dnnl_dim_t* numbers, int n) {
    text += ';';
    for (int k = 0; k < n; ++k) text += std::to_string(numbers[k]) + ",";
  };
  add(d.dims, d.ndims), add(d.padded_dims, d.ndims), add(d.padded_offsets, d.ndims);
  if (d.format_kind != dnnl_blocked) {  // a layout of one kernel, which only oneDNN can read
    const auto* bytes = reinterpret_cast<const char*>(&d.format_desc);
    return text.append(bytes, sizeof d.format_desc);
  }
  const dnnl_blocking_desc_t& b = d.format_desc.blocking;
  add(b.strides, d.ndims), add(b.inner_blks, b.inner_nblks), add(b.inner_idxs, b.inner_nblks);
  return text;
#endif
}

}  // namespace byoc::onednn
