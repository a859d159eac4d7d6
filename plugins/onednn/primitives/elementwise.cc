#include "primitives/builder.h"

namespace byoc::onednn {

using dnnl::algorithm;

Built build_eltwise(const Builder& b) {
  no_posts(b);
  std::vector<Eltwise> rows = find_eltwise(*b.unit.node);
  if (rows.size() != 1) throw Refusal{b.unit.node->op + " is wired up as a post-op alone"};
  auto pd = describe<dnnl::eltwise_forward>(b.engine, user_scratchpad(), kInference, rows[0].how,
                                            b.format(0), result(b.format(0)), rows[0].alpha,
                                            rows[0].beta);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

// oneDNN broadcasts its second operand alone: the full one goes first where the op commutes.
Built build_binary(const Builder& b) {
  no_posts(b);
  const Dims& out = b.out_type().dims;
  Binary row = *find_binary(*b.unit.node);
  size_t full = b.type(0).dims == out || !row.commutes ? 0 : 1;
  if (b.type(full).dims != out) {
    throw Refusal{row.commutes ? "both operands are broadcast; oneDNN broadcasts one"
                               : "the first operand is broadcast; oneDNN broadcasts the second"};
  }
  if (out.empty()) throw Refusal{"scalars are not wired up"};
  Dims other = padded(b.type(1 - full).dims, out.size());
  bool same =
      b.type(1 - full).dims == out;  // of one rank as well, or it is seen through other dims
  Desc first = b.format(full), second = same ? first : plain_desc(other);
  auto pd = describe<dnnl::binary>(b.engine, user_scratchpad(), row.how, first, second, first);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC_0, full, first)};
  if (same) built.inputs.push_back(b.as_it_is(DNNL_ARG_SRC_1, 1 - full, second));
  else built.inputs.push_back(b.reshaped(DNNL_ARG_SRC_1, b.unit.args[1 - full], other, second));
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

}  // namespace byoc::onednn
