// SPDX-License-Identifier: Apache-2.0
// Groups ops into kernels for default codegens with the flag ONE_ANCHOR.
//   before: %0 = conv2d(%x, %w)      region 0 of llvm, open
//           %1 = add(%0, %b)         region 1 of llvm, open
//           %2 = relu(%1)            region 2 of llvm, open
//           %3 = max_pool(%2)        region 3 of llvm, open
//   after:  %0 = conv2d(%x, %w)      region 0 of llvm
//           %1 = add(%0, %b)         region 0 of llvm
//           %2 = relu(%1)            region 0 of llvm
//           %3 = max_pool(%2)        region 1 of llvm
#include "core/codegen/kernels/group_kernels.h"

#include <unordered_map>

#include "byoc/host/plugins.h"
#include "byoc/op/op.h"
#include "byoc/plugin/abi.h"
#include "core/codegen/kernels/attention.h"
#include "core/codegen/kernels/chains.h"
#include "core/codegen/kernels/joins.h"
#include "core/region/annotations.h"
#include "core/region/rewrite_annotations.h"

namespace byoc {
namespace {

constexpr uint32_t kUnread = UINT32_MAX, kMixed = UINT32_MAX - 1, kNoGroup = UINT32_MAX;

int64_t elements(TypeId type) {
  Result<int64_t> n = num_elements(type->shape);
  return n.ok() ? *n : -1;
}

// Visits nodes from the last to the first, so that the readers of a node have their kernels before
// the node is visited.
class Grouper {
 public:
  Grouper(const Function& function, const Annotations& annotations, const PassContext& context)
      : function_(function),
        annotations_(annotations),
        context_(context),
        members_(function.nodes.size()),
        is_join_(find_joins(function)),
        compound_of_(function.nodes.size(), kNoGroup) {
    for (Attention& found : find_attentions(function)) {
      found.between.push_back(found.scores);
      mark(found.values, std::move(found.between), BYOC_PLUGIN_ATTENTION);
    }
    for (Chain& found : find_chains(function))
      mark(found.last, std::move(found.others), BYOC_PLUGIN_CHAINS);
  }
  Annotations run();

 private:
  struct Kernel {
    uint32_t region;  // of its last op
    int64_t size;     // elements of its last op
    uint64_t ops = 1, max_ops;
    bool has_center = false;       // an anchor or a reduction
    bool is_closed = false;        // no more ops may join
    uint32_t compound = kNoGroup;  // the last node of its compound
    uint64_t waiting = 0;          // ops of the compound that have not joined yet
    bool has_resize = false;       // which has sums
  };
  struct Member {
    uint32_t kernel = kUnread;   // its own
    uint32_t readers = kUnread;  // that of all its readers, or kMixed
    uint32_t reads = 0;          // by readers in that kernel
    bool is_before = false;      // some reader is the center or comes before it
    bool is_after = false;       // some reader comes after the center, or a center may still join
    bool is_aligned = true;      // every reader has the kernel's size, up to its last op
    bool is_copied = false;      // some reader may read an element more than once
    bool is_packed = false;      // a product of attention makes panels of it
  };
  const Call& call(uint32_t node) const { return std::get<Call>(function_.nodes[node].kind); }
  int64_t size(uint32_t node) const { return elements(function_.nodes[node].types[0]); }
  uint64_t max_ops(uint32_t node) const;
  bool is_center(uint32_t node) const {
    return call(node).op->kind == FusionKind::kAnchor ||
           call(node).op->kind == FusionKind::kReduction;
  }
  bool narrows_center(uint32_t node) const;
  void mark(uint32_t last, std::vector<uint32_t> others, uint32_t flag);
  bool scales_moved(uint32_t node) const;
  bool may_join(uint32_t node, const Kernel& kernel) const;
  void join(uint32_t node, uint32_t kernel);
  void visit(uint32_t node);
  void update_producers(uint32_t node);
  bool swells(uint32_t reader) const;
  bool reads_again(uint32_t reader, ValueId value, bool swells) const;
  bool lets_in(uint32_t center, ValueId value) const;
  bool packs_operands(uint32_t node) const;
  uint64_t waiting_at(uint32_t node, const Kernel& kernel) const;
  Symbol compiler_of(uint32_t node) const;

  const Function& function_;
  const Annotations& annotations_;
  const PassContext& context_;
  std::vector<Member> members_;
  std::vector<Kernel> kernels_;
  const std::vector<bool> is_join_;    // per node: its operands are computed in its result
  std::vector<uint32_t> compound_of_;  // per node: the last node of its attention or chain
  std::unordered_map<uint32_t, uint64_t> waiting_;  // per such node: the other ops
};

// Returns the limit of ops in the node's kernel; 0 when the node must not be grouped.
uint64_t Grouper::max_ops(uint32_t node) const {
  uint32_t region = annotations_.region_of[node];
  if (region == kOutside || !annotations_.regions[region].open ||
      !std::holds_alternative<Call>(function_.nodes[node].kind))
    return 0;
  const Plugin* plugin = context_.plugins->find(annotations_.regions[region].compiler.str());
  return plugin != nullptr && (plugin->flags() & BYOC_PLUGIN_ONE_ANCHOR) ? plugin->max_ops() : 0;
}

// Returns whether an op that moves elements makes more of them than it reads. O(operands).
bool Grouper::swells(uint32_t reader) const {
  if (call(reader).op->kind != FusionKind::kInjective) return false;
  int64_t given = 0, made = 0;
  for (ValueId arg : function_.args(function_.nodes[reader]))
    given += elements(function_.type(arg));
  for (size_t k = 0; k < function_.nodes[reader].types.size(); ++k)
    made += elements(function_.nodes[reader].types[k]);
  return made > given;
}

// Returns whether an element of `value` would be computed more than once if the reader computed it
// at each read.
bool Grouper::reads_again(uint32_t reader, ValueId value, bool swells) const {
  switch (call(reader).op->kind) {
    case FusionKind::kElementwise:
    case FusionKind::kReduction:
      return false;  // lets_in has checked reductions
    case FusionKind::kBroadcast:
      return size(reader) != elements(function_.type(value));
    case FusionKind::kInjective:
      return swells;
    default:
      return true;
  }
}

// Returns whether the center reads each element of `value` only once. A reduction does so for an
// input with as many elements as its first operand, unless it slides a window.
bool Grouper::lets_in(uint32_t center, ValueId value) const {
  if (call(center).op->kind != FusionKind::kReduction || call(center).attrs->has("kernel_shape"))
    return false;
  return elements(function_.type(value)) ==
         elements(function_.type(function_.args(function_.nodes[center])[0]));
}

// Returns true for a product of attention, which copies its operands before it reads them
// repeatedly.
bool Grouper::packs_operands(uint32_t node) const {
  const uint32_t kernel = members_[node].kernel;
  return kernel < kernels_.size() && kernels_[kernel].compound != kNoGroup &&
         compound_of_[node] == kernels_[kernel].compound &&
         call(node).op->facts.family == OpFamily::kProduct;
}

// Returns the number of ops of a compound that a kernel needs room for once the node is in it.
uint64_t Grouper::waiting_at(uint32_t node, const Kernel& kernel) const {
  return compound_of_[node] == node ? waiting_.at(node) : kernel.waiting;
}

Symbol Grouper::compiler_of(uint32_t node) const {
  const uint32_t region = annotations_.region_of[node];
  return region == kOutside ? Symbol() : annotations_.regions[region].compiler;
}

// Returns whether an op makes fewer bytes of a center's results, with at most a few ops between:
// such as integers of 8 bits of sums in i32.
bool Grouper::narrows_center(uint32_t node) const {
  constexpr int kMostBetween = 8;
  auto bytes = [&](uint32_t of) { return dtype_size(function_.nodes[of].types[0]->dtype); };
  uint32_t at = node;
  for (int k = 0; k < kMostBetween; ++k) {
    const FusionKind kind = call(at).op->kind;
    if (is_center(at)) return bytes(at) > bytes(node);
    if (kind != FusionKind::kElementwise && kind != FusionKind::kBroadcast) return false;
    const ValueId from = through_annotations(function_, function_.args(function_.nodes[at])[0]);
    if (max_ops(from.node) == 0 || size(from.node) != size(node)) return false;
    at = from.node;
  }
  return false;
}

// Marks the ops of an attention or a chain when their plugin, with that flag, takes them as
// one kernel.
void Grouper::mark(uint32_t last, std::vector<uint32_t> others, uint32_t flag) {
  const Symbol compiler = compiler_of(last);
  const Plugin* plugin = context_.plugins->find(compiler.str());
  if (plugin == nullptr || !(plugin->flags() & flag)) return;
  const size_t size = others.size() + 1;
  auto fits = [&](uint32_t node) {
    return compound_of_[node] == kNoGroup && compiler_of(node) == compiler && max_ops(node) >= size;
  };
  if (!fits(last) || !std::ranges::all_of(others, fits)) return;
  for (uint32_t node : others) compound_of_[node] = last;
  compound_of_[last] = last;
  waiting_[last] = others.size();
}

// Returns true for a factor and the like of an operand that was moved before, or comes from another
// kernel. What follows a product or other arithmetic is better computed there.
bool Grouper::scales_moved(uint32_t node) const {
  const Node& own = function_.nodes[node];
  std::optional<ValueId> moved;
  for (ValueId arg : function_.args(own)) {
    if (elements(function_.type(arg)) == 1) continue;
    if (moved) return false;
    moved = through_annotations(function_, arg);
  }
  if (!moved) return false;
  const Call* from = std::get_if<Call>(&function_.nodes[moved->node].kind);
  return from == nullptr || from->op->kind == FusionKind::kInjective;
}

bool Grouper::may_join(uint32_t node, const Kernel& kernel) const {
  const Member& member = members_[node];
  if (kernel.is_closed || kernel.ops >= kernel.max_ops || function_.nodes[node].types.size() != 1 ||
      annotations_.regions[annotations_.region_of[node]].compiler !=
          annotations_.regions[kernel.region].compiler)
    return false;
  if (compound_of_[node] != kNoGroup && compound_of_[node] != node)
    return kernel.compound == compound_of_[node];
  if (kernel.ops + waiting_at(node, kernel) >= kernel.max_ops) return false;
  if (compound_of_[node] == node && kernel.has_resize) return false;
  if (is_center(node))
    return !kernel.has_center && member.is_aligned && !member.is_before &&
           size(node) == kernel.size;
  if (member.is_before && member.is_after) return false;
  switch (call(node).op->kind) {
    case FusionKind::kElementwise:
    case FusionKind::kBroadcast:
      // A kernel whose center is another one would read the wide results of this one from memory.
      if (kernel.has_center && narrows_center(node)) return false;
      if (member.is_packed) return !member.is_copied && scales_moved(node);
      return !member.is_copied && (member.reads == 1 || member.is_aligned);
    case FusionKind::kInjective:
      if (kernel.compound != kNoGroup && call(node).op->facts.family == OpFamily::kResize)
        return false;  // has sums
      return !member.is_before ||
             (member.is_packed && !member.is_copied && call(node).args.count == 1);
    default:
      return false;
  }
}

void Grouper::join(uint32_t node, uint32_t kernel) {
  members_[node].kernel = kernel;
  ++kernels_[kernel].ops;
  if (is_center(node)) kernels_[kernel].has_center = true;
  if (call(node).op->facts.family == OpFamily::kResize) kernels_[kernel].has_resize = true;
  if (compound_of_[node] == node) kernels_[kernel].compound = node;
  if (compound_of_[node] == node) kernels_[kernel].waiting = waiting_.at(node);
  else if (compound_of_[node] != kNoGroup) --kernels_[kernel].waiting;
}

void Grouper::visit(uint32_t node) {
  uint64_t limit = max_ops(node);
  Member& member = members_[node];
  if (limit > 0) {
    uint32_t at = member.readers;
    if (at < kernels_.size() && may_join(node, kernels_[at])) {
      join(node, at);
    } else {
      member = {};
      member.kernel = static_cast<uint32_t>(kernels_.size());
      kernels_.push_back({annotations_.region_of[node], size(node), 1, limit, is_center(node),
                          call(node).op->kind == FusionKind::kOpaque || is_join_[node],
                          compound_of_[node] == node ? node : kNoGroup,
                          compound_of_[node] == node ? waiting_.at(node) : 0,
                          call(node).op->facts.family == OpFamily::kResize});
    }
  }
  update_producers(node);
}

void Grouper::update_producers(uint32_t node) {
  const Member& reader = members_[node];
  if (is_annotation(function_.nodes[node])) return;
  const bool is_call = std::holds_alternative<Call>(function_.nodes[node].kind);
  const bool is_swelling = is_call && swells(node);
  for (ValueId arg : function_.args(function_.nodes[node])) {
    ValueId value = through_annotations(function_, arg);
    Member& producer = members_[value.node];
    uint32_t kernel = reader.kernel == kUnread ? kMixed : reader.kernel;
    if (producer.readers == kUnread) producer.readers = kernel;
    if (producer.readers != kernel || kernel == kMixed) {
      producer.readers = kMixed;
      continue;
    }
    ++producer.reads;
    bool center = is_center(node);
    bool before = center || reader.is_before;
    (before ? producer.is_before : producer.is_after) = true;
    producer.is_aligned &= !before && reader.is_aligned && size(node) == kernels_[kernel].size &&
                           call(node).op->kind != FusionKind::kInjective;
    const bool packs = packs_operands(node);
    producer.is_packed |= packs || (reader.is_packed && compound_of_[node] == kNoGroup);
    producer.is_copied |=
        reader.is_copied ||
        (!packs && (reads_again(node, value, is_swelling) || (center && !lets_in(node, value))));
  }
}

Annotations Grouper::run() {
  for (ValueId result : function_.results)
    members_[through_annotations(function_, result).node].readers = kMixed;
  for (uint32_t node = static_cast<uint32_t>(function_.nodes.size()); node-- > 0;) visit(node);
  Annotations out;
  out.region_of.assign(function_.nodes.size(), kOutside);
  std::vector<uint32_t> of_region(annotations_.regions.size(), kOutside);
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    uint32_t old = annotations_.region_of[node];
    if (old == kOutside) continue;
    uint32_t kernel = members_[node].kernel;
    if (kernel != kUnread) old = kernels_[kernel].region;
    if (of_region[old] == kOutside) {
      of_region[old] = static_cast<uint32_t>(out.regions.size());
      Region region = annotations_.regions[old];
      if (kernel != kUnread) region.open = false;
      out.regions.push_back(region);
    }
    out.region_of[node] = of_region[old];
  }
  return out;
}

bool wants_kernels(const Annotations& annotations, const PassContext& context) {
  Symbol last;
  for (const Region& region : annotations.regions) {
    if (region.compiler == last) continue;
    last = region.compiler;
    const Plugin* plugin = context.plugins ? context.plugins->find(last.str()) : nullptr;
    if (plugin != nullptr && (plugin->flags() & BYOC_PLUGIN_ONE_ANCHOR)) return true;
  }
  return false;
}

}  // namespace

Result<Function> group_kernels(Function function, Symbol name, const PassContext& context) {
  BYOC_TRY(Annotations annotations, read_annotations(function, name));
  if (context.level == 0 || !wants_kernels(annotations, context)) return function;
  return rewrite_annotations(function, Grouper(function, annotations, context).run(), *context.ops);
}

}  // namespace byoc
