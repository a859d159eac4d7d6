// SPDX-License-Identifier: Apache-2.0
// Moves pads with zeros into the convolutions and average pools that read them, and removes pads
// without cells.
//   before: %0 = pad(%x) {pads=[0,0,1,1,0,0,1,1]}
//           %1 = conv2d(%0, %w)
//   after:  %0 = conv2d(%x, %w) {pads=[1,1,1,1]}
// A pad that another op reads is kept for that op, and so are pads of pads. An average_pool then
// counts the padding as zeros; one with padding of its own, not counted, stays as it is.
#include <algorithm>

#include "byoc/pass/simplify.h"
#include "core/simplify/infer.h"

namespace byoc {
namespace {

using namespace simplify;

const Call* pad_at(const Function& function, ValueId value) {
  auto* call = std::get_if<Call>(&function.nodes[value.node].kind);
  return call != nullptr && call->op->facts.family == OpFamily::kPad ? call : nullptr;
}

bool all_zero(const Ints& values) {
  return std::ranges::all_of(values, [](int64_t value) { return value == 0; });
}

// Returns the pads of the dims after the first two as windows have them; empty unless the pad adds
// zeros to these dims alone.
Ints window_pads(const Call& pad) {
  const Ints pads = pad.attrs->ints("pads");
  const size_t rank = pads.size() / 2;
  if (rank < 3 || pad.attrs->s("mode", "constant") != "constant") return {};
  if (pad.attrs->f("value", 0) != 0 || std::ranges::min(pads) < 0) return {};
  Ints out;
  for (size_t side = 0; side < 2; ++side) {
    const auto begin = pads.begin() + static_cast<ptrdiff_t>(side * rank);
    if (begin[0] != 0 || begin[1] != 0) return {};
    out.insert(out.end(), begin + 2, begin + static_cast<ptrdiff_t>(rank));
  }
  return out;
}

// Returns true when each window has a cell that is no padding, which plugins may require of pools.
bool are_shorter(const Ints& pads, const Ints& kernel) {
  for (size_t d = 0; d < pads.size(); ++d) {
    if (kernel.empty() || pads[d] >= kernel[d % kernel.size()]) return false;
  }
  return true;
}

// Returns the attributes of the op when it pads by `more` itself; nullopt where it cannot.
std::optional<Attrs> padded(const Call& call, const Ints& more) {
  const OpFacts& facts = call.op->facts;
  const bool is_conv = facts.family == OpFamily::kConvolution && facts.is_plain;
  const bool is_pool = facts.family == OpFamily::kMeanPool && !call.attrs->b("ceil_mode", false);
  if (more.empty() || (!is_conv && !is_pool)) return std::nullopt;
  Attrs attrs = *call.attrs;
  Ints pads = attrs.ints("pads");
  pads.resize(more.size());
  if (is_pool && !attrs.b("count_include_pad", false) && !all_zero(pads)) return std::nullopt;
  for (size_t d = 0; d < more.size(); ++d) {
    if (__builtin_add_overflow(pads[d], more[d], &pads[d])) return std::nullopt;
  }
  if (is_pool && !are_shorter(pads, attrs.ints("kernel_shape"))) return std::nullopt;
  if (is_pool && !all_zero(pads)) attrs.set("count_include_pad", true);
  attrs.set("pads", std::move(pads));
  return attrs;
}

class PadMerger {
 public:
  explicit PadMerger(const Function& function)
      : rewriter_(function),
        is_pending_(function.nodes.size()),
        is_padded_(function.nodes.size()) {}
  Function run() &&;

 private:
  bool merge(uint32_t node);
  void copy_pads(std::span<const ValueId> values);

  Rewriter rewriter_;
  std::vector<bool> is_pending_;  // per old node: a pad that no op has needed so far
  std::vector<bool> is_padded_;   // per old node: a pad that adds cells or removes some
};

// Copies the pads among these values. Pads of pads have been copied.
void PadMerger::copy_pads(std::span<const ValueId> values) {
  for (ValueId value : values) {
    if (!is_pending_[value.node]) continue;
    rewriter_.copy(value.node);
    is_pending_[value.node] = false;
  }
}

// Makes a node read the operand of the pad that it reads. Returns false when it does not fit.
bool PadMerger::merge(uint32_t k) {
  const Function& from = rewriter_.from();
  const Node& node = from.nodes[k];
  auto* call = std::get_if<Call>(&node.kind);
  const std::span<const ValueId> args = from.args(node);
  const Call* pad = call == nullptr || args.empty() ? nullptr : pad_at(from, args[0]);
  std::optional<Attrs> attrs = pad ? padded(*call, window_pads(*pad)) : std::nullopt;
  if (!attrs) return false;
  std::vector<ValueId> old(args.begin(), args.end());
  old[0] = from.args(from.nodes[args[0].node])[0];
  if (is_padded_[old[0].node]) return false;  // a second run would merge this one
  std::vector<TypeId> in;
  for (ValueId value : old) in.push_back(from.type(value));
  Result<std::vector<TypeId>> types = infer_types(*call->op, in, *attrs);
  if (!types.ok() || types->size() != 1 || (*types)[0] != node.types[0]) return false;
  copy_pads(old);
  const uint32_t now = rewriter_.to().add_call(call->op, intern(*std::move(attrs)),
                                               rewriter_.map(old), *types, node.loc);
  rewriter_.replace(k, now);
  return true;
}

Function PadMerger::run() && {
  const Function& from = rewriter_.from();
  for (uint32_t k = 0; k < from.nodes.size(); ++k) {
    const Call* pad = pad_at(from, {k, 0});
    const std::span<const ValueId> args = from.args(from.nodes[k]);
    if (pad != nullptr && !all_zero(pad->attrs->ints("pads"))) {
      copy_pads(args);
      is_pending_[k] = is_padded_[k] = true;
      continue;
    }
    if (merge(k)) continue;
    copy_pads(args);
    if (pad == nullptr) {
      rewriter_.copy(k);
    } else {
      rewriter_.set({k, 0}, rewriter_.map(args[0]));
      is_padded_[k] = is_padded_[args[0].node];
    }
  }
  copy_pads(from.results);
  return std::move(rewriter_).finish();
}

bool has_pads(const Function& function) {
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    if (pad_at(function, {k, 0}) != nullptr) return true;
  }
  return false;
}

}  // namespace

Result<IRModule> merge_pads(IRModule module, const PassContext&) {
  for (auto& [name, function] : module.functions) {
    if (!is_settled(function) && has_pads(function)) function = PadMerger(function).run();
  }
  return module;
}

}  // namespace byoc
