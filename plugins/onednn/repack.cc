// SPDX-License-Identifier: Apache-2.0
#include "repack.h"

#include <algorithm>
#include <cstring>

#include "byoc/plugin/sdk/plugin.h"
#include "library/code_memory.h"

namespace byoc::onednn {
namespace {

using Dims = dnnl::memory::dims;

constexpr size_t kLarge = size_t{64} << 20;  // bytes; smaller ones are reordered at once
constexpr int64_t kSlices = 16;
constexpr int64_t kSliceRows = 64;  // a slice has a multiple: blocks of rows have at most as many

void reorder(const dnnl::engine& engine, const Desc& have, const void* plain, const Desc& want,
             void* memory) {
  dnnl::memory from(have, engine, const_cast<void*>(plain)), to(want, engine, memory);
  dnnl::stream stream(engine);
  require_code_memory();
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
}

/// Returns rows [begin, begin + rows) of the layout. Throws dnnl::error if it cannot be cut there.
Desc rows_of(const Desc& desc, int64_t begin, int64_t rows) {
  Dims dims = dims_of(desc), offsets(dims.size(), 0);
  dims[0] = rows;
  offsets[0] = begin;
  return desc.submemory_desc(dims, offsets);
}

struct Slice {
  Desc have, want;
};

/// Returns the pieces of a large constant; empty for others, and for layouts that cannot be cut.
std::vector<Slice> slices_of(const Desc& have, const Desc& want) {
  std::vector<Slice> out;
  if (want.get_size() < kLarge || want.get_size() != have.get_size()) return out;
  const int64_t rows = dims_of(have)[0];
  const int64_t step = (rows / kSlices + kSliceRows) / kSliceRows * kSliceRows;
  try {
    for (int64_t begin = 0; begin < rows; begin += step) {
      const int64_t n = std::min(step, rows - begin);
      out.push_back({rows_of(have, begin, n), rows_of(want, begin, n)});
    }
  } catch (const dnnl::error&) {
    out.clear();
  }
  return out;
}

}  // namespace

void repack(const dnnl::engine& engine, const Desc& have, const void* plain, const Desc& want,
            void* memory) {
  if (want.get_size() != have.get_size()) std::memset(memory, 0, want.get_size());  // padding
  const std::vector<Slice> slices = slices_of(have, want);
  if (slices.empty()) return reorder(engine, have, plain, want, memory);
  sdk::host().parallel_for(slices.size(), 1, [&](uint64_t begin, uint64_t end, uint32_t) {
    for (uint64_t k = begin; k < end; ++k)
      reorder(engine, slices[k].have, plain, slices[k].want, memory);
  });
}

}  // namespace byoc::onednn
