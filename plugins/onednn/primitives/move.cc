// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "library/format_text.h"
#include "library/implementations.h"
#include "primitives/builder.h"

namespace byoc::onednn {

namespace {

using Order = std::vector<size_t>;  // dims, outermost first

// Returns the order of the dims in a layout without blocks and gaps that is not the plain one.
std::optional<Order> order_of(const Desc& desc) {
  auto strides = plain_strides_of(desc);
  Dims dims = dims_of(desc);
  if (!strides || *strides == plain_strides(dims)) return std::nullopt;
  Order order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t c) { return (*strides)[a] > (*strides)[c]; });
  int64_t stride = 1;
  for (size_t k = order.size(); k-- > 0; stride *= dims[order[k]]) {
    if (dims[order[k]] != 1 && (*strides)[order[k]] != stride) return std::nullopt;
  }
  return order;
}

Desc in_order(const Desc& desc, const Order& order, DataType type) {
  Dims dims = dims_of(desc), strides(dims.size());
  int64_t stride = 1;
  for (size_t k = order.size(); k-- > 0; stride *= dims[order[k]]) strides[order[k]] = stride;
  return strided_desc(dims, type, strides);
}

// Brings all sources to the order of the largest one without blocks. For operands in blocks
// together with others in channels last, as primitives of oneDNN 3.x leave them, oneDNN has only a
// reference kernel.
void bring_to_one_order(std::vector<Desc>& sources, DataType type) {
  bool are_alike = std::all_of(sources.begin(), sources.end(), [&](const Desc& source) {
    return format_text(source) == format_text(sources[0]);
  });
  if (are_alike) return;
  std::optional<Order> order;
  size_t largest = 0;
  for (const Desc& source : sources) {
    std::optional<Order> found = order_of(source);
    if (!found || source.get_size() <= largest) continue;
    largest = source.get_size();
    order = std::move(found);
  }
  if (!order) return;
  for (Desc& source : sources) source = in_order(source, *order, type);
}

}  // namespace

// Concatenates in the operands' common format; operands without elements are skipped.
Built build_concat(const Builder& b) {
  no_posts(b);
  std::vector<Desc> sources;
  std::vector<size_t> operands;
  for (size_t k = 0; k < b.unit.args.size(); ++k) {
    if (b.type(k).elements() == 0) continue;
    sources.push_back(b.format(k));
    operands.push_back(k);
  }
  bring_to_one_order(sources, b.data(0));
  auto pd = describe_concat(b.engine, user_scratchpad(), static_cast<int>(axis_of(b, "axis", 0)),
                            sources);
  Built built;
  for (size_t k = 0; k < sources.size(); ++k) {
    int place = static_cast<int>(k);
    built.inputs.push_back(
        b.as_it_is(DNNL_ARG_MULTIPLE_SRC + place, operands[k], pd.src_desc(place)));
  }
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

namespace {

// Returns the operand's memory with other strides, without a primitive. Units that need another
// layout get a reorder.
Built view_of(const Builder& b, const Desc& from, const Desc& to, uint64_t offset = 0) {
  no_posts(b);
  Built built;
  built.is_view = true;
  built.inputs = {b.as_it_is(0, 0, from)};
  built.out = to;
  built.offset = offset;
  built.implementation = kViewStep;
  return built;
}

// Returns the operand's own strides where its layout has them, else those of the plain layout.
Dims operand_strides(const Builder& b) {
  auto strides = plain_strides_of(b.format(0));
  return strides && b.type(0).rank() > 0 ? *strides : plain_strides(b.type(0).dims);
}

Desc strided(const Dims& dims, const Dims& strides, DataType type) {
  return dims.empty() ? plain_desc(dims, type) : strided_desc(dims, type, strides);
}

}  // namespace

Built build_view(const Builder& b) {
  const Dims &from = b.type(0).dims, strides = operand_strides(b), &to = b.out_type().dims;
  if (from == to) return view_of(b, b.format(0), b.format(0));
  auto kept = reshaped_strides(from, strides, to);
  if (!kept) return view_of(b, plain_desc(b.type(0)), plain_desc(b.out_type()));
  return view_of(b, strided(from, strides, b.data(0)), strided(to, *kept, b.data(0)));
}

// Builds the change between an image and its blocks of channels as a view: [n, c / 8, h, w, 8] is
// the memory of an image in the layout nChw8c. Other layouts of the image get a reorder.
Built build_layout_transform(const Builder& b) {
  using Tag = dnnl::memory::format_tag;
  const std::string from = b.attrs().s("src_layout"), to = b.attrs().s("dst_layout");
  const bool packs = from == "NCHW";
  const std::string& packed = packs ? to : from;
  if ((!packs && to != "NCHW") || (packed != "NCHW8c" && packed != "NCHW16c"))
    throw Refusal{"layout_transform from " + from + " to " + to +
                  " is not wired up, only between NCHW and NCHW8c or NCHW16c is"};
  const Dims& image = packs ? b.type(0).dims : b.out_type().dims;
  const Desc blocked(image, b.data(0), packed == "NCHW8c" ? Tag::nChw8c : Tag::nChw16c);
  return packs ? view_of(b, blocked, plain_desc(b.out_type()))
               : view_of(b, plain_desc(b.type(0)), blocked);
}

Built build_transpose(const Builder& b) {
  Dims perm = b.attrs().ints("perm");
  Dims dims = b.out_type().dims, strides(dims.size()), from = operand_strides(b);
  if (dims.empty()) throw Refusal{"scalars are not wired up"};
  BYOC_ONEDNN_CHECK(from.size() == dims.size() && (perm.empty() || perm.size() == dims.size()),
                    "transpose keeps the rank and has an axis per dim");
  for (size_t k = 0; k < dims.size(); ++k)
    strides[k] = from[perm.empty() ? dims.size() - 1 - k : static_cast<size_t>(perm[k])];
  return view_of(b, strided(b.type(0).dims, from, b.data(0)), strided(dims, strides, b.data(0)));
}

// Builds a view of cells start, start + step, ... of each dim, without the dim that is dropped.
Built build_subview(const Builder& b) {
  Dims from = operand_strides(b), starts = b.attrs().ints("starts"),
       steps = b.attrs().ints("steps"), strides;
  int64_t drop = b.attrs().i("drop"), offset = 0;
  if (drop < 0 && b.type(0).dims == b.out_type().dims &&
      std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; }))
    return view_of(b, b.format(0), b.format(0));
  BYOC_ONEDNN_CHECK(starts.size() == from.size() && steps.size() == from.size(),
                    "region/subviews.cc writes a start and a step per dim");
  for (size_t d = 0; d < from.size(); ++d) {
    offset += starts[d] * from[d];
    if (static_cast<int64_t>(d) != drop) strides.push_back(from[d] * steps[d]);
  }
  return view_of(b, strided(b.type(0).dims, from, b.data(0)),
                 strided(b.out_type().dims, strides, b.data(0)),
                 static_cast<uint64_t>(offset) * sdk::dtype_size(b.type(0).dtype));
}

}  // namespace byoc::onednn
