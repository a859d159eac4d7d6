// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds one oneDNN primitive for one unit of a region. oneDNN chooses formats (`any`) where a
// choice pays; the kernel then gets the format that a primitive requires of each argument, and
// reorders only where two formats differ.
#include <optional>

#include "exact/loop.h"
#include "library/dnnl_compat.h"
#include "primitives/choices.h"
#include "region/region.h"

namespace byoc::onednn {

struct Argument {
  int index = 0;  // DNNL_ARG_...
  int value = -1;
  /// True for a value seen in other dims than its own (grouped weights, a bias as a vector): it
  /// must be plain then.
  bool is_reshaped = false;
  Desc have;  // the layout that the unit was given, in those dims
  Desc want;
  /// The elements in `want`, where they are computed from several constants; else empty.
  std::vector<float> elements = {};
};

struct Built {
  dnnl::primitive primitive;
  std::vector<Argument> inputs;
  Desc out;                      // the result's layout, in its own dims
  std::optional<Desc> out_view;  // the same memory as the primitive sees it, in other dims
  bool is_view = false;          // no primitive: the result is the input's memory, seen as `out`
  bool is_nothing = false;       // no primitive: the result has no elements
  uint64_t offset = 0;           // a view's bytes after the input's first
  int sum = -1;                  // value that the result's memory must hold before
  int in_place = -1;             // value whose memory the result may take over
  Desc scratchpad;
  std::string implementation;  // a name of library/implementations.h
  Loop loop;                   // after the primitive, which may be none
  int64_t pieces = 0;          // of a loop that Choices::piece cuts; else 0
};

/// formats[v]: the present layout of value v. Throws Refusal with the reason, oneDNN's own where it
/// has one. Any choice builds what the default builds.
Built build_unit(const Region& region, const Unit& unit, const std::vector<Desc>& formats,
                 const dnnl::engine& engine, const Choices& choices = {});

/// Throws Refusal for a resize whose cells are others than oneDNN's.
void check_resize(const Region& region, const Unit& unit);

/// Kinds of primitives that take about equal shares of the machine's peaks.
enum class Kind : uint8_t {
  kConvolution,
  kTransposedConvolution,
  kProduct,
  kPool,
  kMeanPool,
  kElementwise,
  kNorm,
  kSoftmax,
  kReduction,
  kConcat,
  kMove,
  kView,
  kResize
};
/// Returns the kind of a unit's first op.
Kind kind_of(const Unit& unit);

using DataType = dnnl::memory::data_type;
/// Throws Refusal where oneDNN has no such type.
DataType data_type(sdk::DType dtype);
Desc plain_or_none(const Type& type);  // plain; nothing where oneDNN has no such type
Desc plain_desc(const Type& type);
Desc plain_desc(const Dims& dims, DataType type = DataType::f32);
Dims plain_strides(const Dims& dims);  // row-major, in elements
/// Makes every descriptor that has strides. A dim of extent 1 gets as its stride the span of the
/// dims after it, whatever a view left there: oneDNN's kernels read that stride to distinguish
/// layouts, and its cache of primitives does not compare it.
Desc strided_desc(const Dims& dims, DataType type, Dims strides);
/// Does the same for a descriptor that oneDNN made; those with blocks are returned unchanged.
Desc canonical(const Desc& desc, DataType type);
/// Returns the same memory in fewer dims, at least two, without leading ones: a matrix is one
/// constant, whatever the rank of the product that reads it. Layouts with blocks stay as they are.
Desc without_leading_ones(const Desc& desc);
/// Returns the strides with which strided memory reads row by row in other dims; nothing when there
/// are none.
std::optional<Dims> reshaped_strides(const Dims& dims, const Dims& strides, const Dims& to);

}  // namespace byoc::onednn
