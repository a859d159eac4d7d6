#pragma once
// One unit of a region -> one oneDNN primitive. Formats are oneDNN's choice (`any`) where a choice
// pays; what a primitive then wants of each argument is told to the kernel, which reorders only
// where two disagree.
#include <optional>

#include "dnnl_compat.h"
#include "region.h"

namespace byoc::onednn {

struct Argument {
  int index = 0;  // DNNL_ARG_...
  int value = -1;
  /// The value seen in other dims than its own (grouped weights, a bias as a vector): it must be
  /// plain then.
  bool is_reshaped = false;
  Desc have;  // how the unit was told it stands, in those dims
  Desc want;
};

/// Rows that oneDNN computes otherwise than the op is defined, computed again.
struct Repair {
  void (*rows)(const float* in, float* out, int64_t count, int64_t length) = nullptr;
  int64_t count = 0, length = 0;
};

struct Built {
  dnnl::primitive primitive;
  std::vector<Argument> inputs;
  Desc out;                      // of the result, in its own dims
  std::optional<Desc> out_view;  // the same memory as the primitive sees it, in other dims
  bool is_view = false;          // no primitive: the result is the input's memory, seen as `out`
  int sum = -1;                  // value that must stand in the result's memory before
  Desc scratchpad;
  std::string implementation;  // "jit:avx2"
  Repair repair;               // of the result, from the first input; both plain
};

/// formats[v]: how value v stands at present. Throws Refusal with the reason, oneDNN's own where it
/// is one.
Built build_unit(const Region& region, const Unit& unit, const std::vector<Desc>& formats,
                 const dnnl::engine& engine);

Desc plain_desc(const Type& type);
Desc plain_desc(const Dims& dims);
Dims plain_strides(const Dims& dims);  // row-major, in elements

}  // namespace byoc::onednn
