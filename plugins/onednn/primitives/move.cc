#include "primitives/builder.h"

namespace byoc::onednn {

// The format of the first operand, which the others are brought to.
Built build_concat(const Builder& b) {
  no_posts(b);
  std::vector<Desc> sources;
  for (size_t k = 0; k < b.unit.args.size(); ++k) sources.push_back(b.format(k));
  auto pd = describe_concat(b.engine, user_scratchpad(), static_cast<int>(axis_of(b, "axis", 0)),
                            sources);
  Built built;
  for (size_t k = 0; k < sources.size(); ++k) {
    built.inputs.push_back(b.as_it_is(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(k), k,
                                      pd.src_desc(static_cast<int>(k))));
  }
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

// No primitive: the same memory, seen in other dims.
Built build_view(const Builder& b) {
  no_posts(b);
  Built built;
  built.is_view = true;
  built.inputs = {b.as_it_is(0, 0, plain_desc(b.type(0)))};
  built.out = plain_desc(b.out_type());
  built.implementation = "view";
  return built;
}

// The same memory, walked in another order; who wants it otherwise reorders it.
Built build_transpose(const Builder& b) {
  no_posts(b);
  Dims perm = b.attrs().ints("perm");
  Dims dims = b.out_type().dims, strides(dims.size()), plain = plain_strides(b.type(0).dims);
  for (size_t k = 0; k < dims.size(); ++k) {
    size_t from = perm.empty() ? dims.size() - 1 - k : static_cast<size_t>(perm[k]);
    strides[k] = plain[from];
  }
  if (dims.empty()) throw Refusal{"scalars are not wired up"};
  Built built;
  built.is_view = true;
  built.inputs = {b.as_it_is(0, 0, plain_desc(b.type(0)))};
  built.out = Desc(dims, kF32, strides);
  built.implementation = "view";
  return built;
}

}  // namespace byoc::onednn
