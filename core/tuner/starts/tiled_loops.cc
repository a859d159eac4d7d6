// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/starts/tiled_loops.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"
#include "core/tuner/search/grid.h"

namespace byoc::tune {
namespace {

double product(const TiledSum& sum, const std::vector<size_t>& loops) {
  double out = 1;
  for (size_t k : loops) {
    BYOC_CHECK(k < sum.results.size(), "loop ", k, " of ", sum.results.size());
    out *= sum.results[k].extent();
  }
  return out;
}

/// Returns the product of the innermost parts, or of the outermost ones.
double inner(const TiledSum& sum, const std::vector<size_t>& loops) {
  double out = 1;
  for (size_t k : loops) {
    BYOC_CHECK(k < sum.results.size() && !sum.results[k].parts.empty(), "loop ", k, " of ",
               sum.results.size());
    out *= static_cast<double>(sum.results[k].parts.back());
  }
  return out;
}
double outer(const TiledSum& sum, const std::vector<size_t>& loops) {
  double out = 1;
  for (size_t k : loops) {
    BYOC_CHECK(k < sum.results.size() && !sum.results[k].parts.empty(), "loop ", k, " of ",
               sum.results.size());
    out *= static_cast<double>(sum.results[k].parts.front());
  }
  return out;
}

/// A convolution's loops over results: over images and pixels, and over channels.
struct Image {
  std::vector<size_t> pixels, channels;
};

/// Appends the readings of a convolution. `terms` has the index of the channels, kh and kw.
void add_conv(const TiledSum& sum, const Image& image, const std::vector<size_t>& terms,
              std::vector<Reading>& to) {
  Reading out;
  BYOC_CHECK(terms.size() >= 3 && terms.size() <= sum.terms.size(), terms.size(), " loops of ",
             sum.terms.size(), " over terms");
  out.extents.is_conv = true;
  out.extents.rows = product(sum, image.pixels);
  out.extents.columns = product(sum, image.channels);
  out.extents.terms = sum.terms[terms[0]].extent();
  if (terms.size() == 4) out.extents.terms *= sum.terms[terms[3]].extent();
  out.extents.kh = sum.terms[terms[1]].extent(), out.extents.kw = sum.terms[terms[2]].extent();
  out.rows = image.pixels, out.columns = image.channels;
  to.push_back(std::move(out));
}

}  // namespace

double TiledLoop::extent() const {
  double out = 1;
  for (int64_t part : parts) out *= static_cast<double>(part);
  return out;
}

double TiledSum::iterations() const {
  double out = 1;
  for (const auto* loops : {&results, &terms}) {
    for (const TiledLoop& loop : *loops) out *= loop.extent();
  }
  return out;
}

std::vector<Reading> readings_of(const TiledSum& sum) {
  std::vector<Reading> out;
  const size_t results = sum.results.size(), terms = sum.terms.size();
  if (terms == 1 && (results == 2 || results == 3)) {
    Reading one;
    for (size_t k = 0; k + 1 < results; ++k) one.rows.push_back(k);
    one.columns = {results - 1};
    one.extents.rows = product(sum, one.rows);
    one.extents.columns = product(sum, one.columns);
    one.extents.terms = sum.terms[0].extent();
    out.push_back(std::move(one));
  }
  if (terms == 3 && results == 4) {
    for (const Image& image : {Image{{0, 2, 3}, {1}}, Image{{0, 1, 2}, {3}}}) {
      add_conv(sum, image, {0, 1, 2}, out);
      add_conv(sum, image, {2, 0, 1}, out);
    }
  }
  if (results == 5 && terms == 3) add_conv(sum, {{0, 2, 3}, {1, 4}}, {0, 1, 2}, out);
  if (results == 5 && terms == 4) add_conv(sum, {{0, 2, 3}, {1, 4}}, {0, 1, 2, 3}, out);
  return out;
}

Point knobs_of(const TiledSum& sum, const Reading& reading, const SumExtents& task,
               const Space& space, std::vector<std::string>& used,
               std::vector<std::string>& unfit) {
  Point out;
  const std::vector<double> tile = numbers_of(first_value(space, "tile"));
  if (tile.size() == 2) {
    const double blocks = std::floor(inner(sum, reading.columns) / task.column_block);
    const bool has_blocks = task.column_block > 1 && blocks >= 1;
    out["tile"] =
        cat(text_of(inner(sum, reading.rows)), "x", text_of(has_blocks ? blocks : tile[1]));
    used.emplace_back("tile of rows");
    (has_blocks ? used : unfit).emplace_back("tile of columns");
  }
  const bool has_panels = !first_value(space, "o_panels").empty();
  if (has_panels) out["o_panels"] = text_of(outer(sum, reading.columns));
  (has_panels ? used : unfit).emplace_back("panels of columns");
  if (sum.has_unroll) {
    const bool has_unroll = !first_value(space, "unroll").empty();
    if (has_unroll) out["unroll"] = cat(sum.is_unrolled ? 2 : 0);
    (has_unroll ? used : unfit).emplace_back("unroll");
  }
  unfit.emplace_back("split of terms");
  unfit.insert(unfit.end(), sum.others.begin(), sum.others.end());
  return out;
}

}  // namespace byoc::tune
