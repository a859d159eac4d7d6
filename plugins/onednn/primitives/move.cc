#include "primitives/builder.h"

namespace byoc::onednn {

// The format of the first operand, which the others are brought to. Empty ones have no part in it.
Built build_concat(const Builder& b) {
  no_posts(b);
  std::vector<Desc> sources;
  std::vector<size_t> operands;
  for (size_t k = 0; k < b.unit.args.size(); ++k) {
    if (b.type(k).elements() == 0) continue;
    sources.push_back(b.format(k));
    operands.push_back(k);
  }
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

// No primitive: the operand's memory, walked in another way. Who wants it otherwise reorders it.
Built view_of(const Builder& b, const Desc& from, const Desc& to, uint64_t offset = 0) {
  no_posts(b);
  Built built;
  built.is_view = true;
  built.inputs = {b.as_it_is(0, 0, from)};
  built.out = to;
  built.offset = offset;
  built.implementation = "view";
  return built;
}

// How the operand is read: as it stands where that is by strides, else plain.
Dims operand_strides(const Builder& b) {
  auto strides = plain_strides_of(b.format(0));
  return strides && b.type(0).rank() > 0 ? *strides : plain_strides(b.type(0).dims);
}

Desc strided(const Dims& dims, const Dims& strides, DataType type) {
  return dims.empty() ? plain_desc(dims, type) : Desc(dims, type, strides);
}

}  // namespace

Built build_view(const Builder& b) {
  const Dims &from = b.type(0).dims, strides = operand_strides(b), &to = b.out_type().dims;
  auto kept = reshaped_strides(from, strides, to);
  if (!kept) return view_of(b, plain_desc(b.type(0)), plain_desc(b.out_type()));
  return view_of(b, strided(from, strides, b.data(0)), strided(to, *kept, b.data(0)));
}

Built build_transpose(const Builder& b) {
  Dims perm = b.attrs().ints("perm");
  Dims dims = b.out_type().dims, strides(dims.size()), from = operand_strides(b);
  if (dims.empty()) throw Refusal{"scalars are not wired up"};
  for (size_t k = 0; k < dims.size(); ++k)
    strides[k] = from[perm.empty() ? dims.size() - 1 - k : static_cast<size_t>(perm[k])];
  return view_of(b, strided(b.type(0).dims, from, b.data(0)), strided(dims, strides, b.data(0)));
}

// Cells start, start + step, ... of each dim, less the dim that goes.
Built build_part(const Builder& b) {
  Dims from = operand_strides(b), starts = b.attrs().ints("starts"),
       steps = b.attrs().ints("steps"), strides;
  int64_t drop = b.attrs().i("drop"), offset = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    offset += starts[d] * from[d];
    if (static_cast<int64_t>(d) != drop) strides.push_back(from[d] * steps[d]);
  }
  return view_of(b, strided(b.type(0).dims, from, b.data(0)),
                 strided(b.out_type().dims, strides, b.data(0)),
                 static_cast<uint64_t>(offset) * sdk::dtype_size(b.type(0).dtype));
}

}  // namespace byoc::onednn
