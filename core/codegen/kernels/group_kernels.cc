// SPDX-License-Identifier: Apache-2.0
// Groups ops into kernels for default codegens with the flag ONE_ANCHOR or with groups.
//   before: %0 = conv2d(%x, %w)      region 0 of llvm, open
//           %1 = add(%0, %b)         region 1 of llvm, open
//           %2 = relu(%1)            region 2 of llvm, open
//           %3 = max_pool(%2)        region 3 of llvm, open
//   after:  %0 = conv2d(%x, %w)      region 0 of llvm
//           %1 = add(%0, %b)         region 0 of llvm
//           %2 = relu(%1)            region 0 of llvm
//           %3 = max_pool(%2)        region 1 of llvm
#include "core/codegen/kernels/group_kernels.h"

#include "byoc/host/plugins.h"
#include "byoc/ir/dim.h"
#include "byoc/op/op.h"
#include "byoc/plugin/abi.h"
#include "core/codegen/kernels/joins.h"
#include "core/codegen/kernels/legal_groups.h"
#include "core/codegen/kernels/requested_groups.h"
#include "core/region/annotations.h"
#include "core/region/rewrite_annotations.h"

namespace byoc {
namespace {

constexpr uint32_t kUnread = UINT32_MAX, kMixed = UINT32_MAX - 1, kNoGroup = UINT32_MAX;

// Returns the number of elements; of counted dims as many as there may be.
Dim elements(TypeId type) {
  const Shape& shape = type->shape;
  Result<Dim> count = element_count(has_counted(shape) ? at_bounds(shape) : shape);
  return count.ok() ? *count : Dim(Dim::kUnbounded);
}

// Adds numbers without the arithmetic of dims, which takes longer.
Result<Dim> sum_of(const std::vector<Dim>& all) {
  int64_t number = 0;
  Dim out(0);
  for (Dim one : all) {
    int64_t sum = 0;
    if (one.is_static() && !__builtin_add_overflow(number, one.extent(), &sum)) {
      number = sum;
      continue;
    }
    BYOC_TRY(out, dim_sum(out, one));
  }
  return out == Dim(0) ? Dim(number) : dim_sum(out, Dim(number));
}

// Returns whether a run may have more elements of `a` than of `b`.
bool may_exceed(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  const Result<Dim> x = sum_of(a), y = sum_of(b);
  if (!x.ok() || !y.ok()) return true;
  if (x->is_static() && y->is_static()) return x->extent() > y->extent();
  const std::optional<Dim> times = dim_exact_quotient(*y, *x);
  return !times || times->min() < 1;
}

// Visits nodes from the last to the first, so that the readers of a node have their kernels before
// the node is visited.
class Grouper {
 public:
  Grouper(const Function& function, const Annotations& annotations,
          const std::vector<KernelGroup>& groups, const PassContext& context)
      : function_(function),
        annotations_(annotations),
        context_(context),
        members_(function.nodes.size()),
        is_join_(find_joins(function)),
        group_of_(function.nodes.size(), kNoGroup) {
    for (const KernelGroup& group : groups) add(group);
    close_groups();
  }
  Annotations run();

 private:
  struct Kernel {
    uint32_t region;  // of its last op
    Dim size;         // elements of its last op
    uint64_t ops = 1, max_ops;
    bool has_center = false;  // an anchor or a reduction
    bool is_closed = false;   // no more ops may join
    bool has_group = false;   // it contains one
    bool has_resize = false;  // which has sums
  };
  struct Member {
    uint32_t kernel = kUnread;   // its own
    uint32_t readers = kUnread;  // that of all its readers, or kMixed
    uint32_t reads = 0;          // by readers in that kernel
    bool is_before = false;      // some reader is the center or comes before it
    bool is_after = false;       // some reader comes after the center, or a center may still join
    bool is_aligned = true;      // every reader has the kernel's size, up to its last op
    bool is_copied = false;      // some reader may read an element more than once
  };
  /// Ops that their plugin compiles to one kernel, which is chosen when the last one is visited.
  struct Group {
    uint32_t last;              // its last node
    uint64_t ops;               // its nodes
    bool is_closed;             // nothing may join
    uint32_t kernel = kUnread;  // once the last node was visited
  };
  const Call& call(uint32_t node) const { return std::get<Call>(function_.nodes[node].kind); }
  Dim size(uint32_t node) const { return elements(function_.nodes[node].types[0]); }
  uint64_t max_ops(uint32_t node) const;
  bool is_last(uint32_t node) const {
    return group_of_[node] != kNoGroup && groups_[group_of_[node]].last == node;
  }
  bool is_center(uint32_t node) const {
    return is_last(node) || call(node).op->kind == FusionKind::kAnchor ||
           call(node).op->kind == FusionKind::kReduction;
  }
  bool narrows_center(uint32_t node) const;
  bool is_resize(uint32_t node) const { return call(node).op->facts.family == OpFamily::kResize; }
  uint64_t ops(uint32_t node) const { return is_last(node) ? groups_[group_of_[node]].ops : 1; }
  void add(const KernelGroup& group);
  void close_groups();
  bool may_join(uint32_t node, const Kernel& kernel) const;
  void join(uint32_t node, uint32_t kernel);
  void begin_kernel(uint32_t node);
  void visit(uint32_t node);
  void update_producers(uint32_t node);
  bool swells(uint32_t reader) const;
  bool reads_again(uint32_t reader, ValueId value, bool swells) const;
  bool lets_in(uint32_t center, ValueId value) const;

  const Function& function_;
  const Annotations& annotations_;
  const PassContext& context_;
  std::vector<Member> members_;
  std::vector<Kernel> kernels_;
  const std::vector<bool> is_join_;  // per node: its operands are computed in its result
  std::vector<uint32_t> group_of_;   // per node
  std::vector<Group> groups_;
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
  std::vector<Dim> given, made;
  for (ValueId arg : function_.args(function_.nodes[reader]))
    given.push_back(elements(function_.type(arg)));
  for (size_t k = 0; k < function_.nodes[reader].types.size(); ++k)
    made.push_back(elements(function_.nodes[reader].types[k]));
  return may_exceed(made, given);
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

// A group is closed when its plugin lacks the flag ONE_ANCHOR, or when it calls composites.
void Grouper::add(const KernelGroup& group) {
  const uint32_t last = group.nodes.back();
  for (uint32_t node : group.nodes) group_of_[node] = static_cast<uint32_t>(groups_.size());
  const bool has_ops = std::ranges::all_of(group.nodes, [&](uint32_t n) { return max_ops(n) > 0; });
  groups_.push_back(
      {last, group.nodes.size(), !has_ops || function_.nodes[last].types.size() != 1});
}

// Closes the groups whose other values than those of the last node are read outside.
void Grouper::close_groups() {
  auto read = [&](ValueId arg, uint32_t by_group) {
    const uint32_t node = through_annotations(function_, arg).node, group = group_of_[node];
    if (group != kNoGroup && group != by_group && !is_last(node)) groups_[group].is_closed = true;
  };
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (is_annotation(function_.nodes[node])) continue;
    for (ValueId arg : function_.args(function_.nodes[node])) read(arg, group_of_[node]);
  }
  for (ValueId result : function_.results) read(result, kNoGroup);
}

bool Grouper::may_join(uint32_t node, const Kernel& kernel) const {
  const Member& member = members_[node];
  if (kernel.is_closed || kernel.ops + ops(node) > kernel.max_ops ||
      function_.nodes[node].types.size() != 1 ||
      annotations_.regions[annotations_.region_of[node]].compiler !=
          annotations_.regions[kernel.region].compiler)
    return false;
  if (is_last(node) && (kernel.has_resize || groups_[group_of_[node]].is_closed)) return false;
  if (is_center(node))
    return !kernel.has_center && member.is_aligned && !member.is_before &&
           size(node) == kernel.size;
  if (member.is_before && member.is_after) return false;
  switch (call(node).op->kind) {
    case FusionKind::kElementwise:
    case FusionKind::kBroadcast:
      // A kernel whose center is another one would read the wide results of this one from memory.
      if (kernel.has_center && narrows_center(node)) return false;
      return !member.is_copied && (member.reads == 1 || member.is_aligned);
    case FusionKind::kInjective:
      if (kernel.has_group && is_resize(node)) return false;  // has sums
      return !member.is_before;
    default:
      return false;
  }
}

void Grouper::join(uint32_t node, uint32_t kernel) {
  members_[node].kernel = kernel;
  kernels_[kernel].ops += ops(node);
  if (is_center(node)) kernels_[kernel].has_center = true;
  if (is_resize(node)) kernels_[kernel].has_resize = true;
  if (is_last(node)) kernels_[kernel].has_group = true;
}

void Grouper::begin_kernel(uint32_t node) {
  members_[node] = {};
  members_[node].kernel = static_cast<uint32_t>(kernels_.size());
  Kernel kernel{annotations_.region_of[node], size(node), ops(node), max_ops(node)};
  const Group* group = group_of_[node] == kNoGroup ? nullptr : &groups_[group_of_[node]];
  kernel.has_group = group != nullptr;
  kernel.is_closed = group != nullptr
                         ? group->is_closed
                         : call(node).op->kind == FusionKind::kOpaque || is_join_[node];
  if (!kernel.is_closed) {
    kernel.has_center = is_center(node);
    kernel.has_resize = is_resize(node);
  }
  kernels_.push_back(kernel);
}

void Grouper::visit(uint32_t node) {
  Group* group = group_of_[node] == kNoGroup ? nullptr : &groups_[group_of_[node]];
  Member& member = members_[node];
  if (group != nullptr && group->kernel != kUnread) {
    member.kernel = group->kernel;
  } else if (group != nullptr || max_ops(node) > 0) {
    const uint32_t at = member.readers;
    if (at < kernels_.size() && may_join(node, kernels_[at])) join(node, at);
    else begin_kernel(node);
    if (group != nullptr) group->kernel = member.kernel;
  }
  update_producers(node);
}

void Grouper::update_producers(uint32_t node) {
  const Member& reader = members_[node];
  if (is_annotation(function_.nodes[node])) return;
  const bool is_in_group = group_of_[node] != kNoGroup;
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
    if (is_in_group) {  // no ops come before it but its own
      producer.is_before = producer.is_copied = true;
      producer.is_aligned = false;
      continue;
    }
    bool center = is_center(node);
    bool before = center || reader.is_before;
    (before ? producer.is_before : producer.is_after) = true;
    producer.is_aligned &= !before && reader.is_aligned && size(node) == kernels_[kernel].size &&
                           call(node).op->kind != FusionKind::kInjective;
    producer.is_copied |= reader.is_copied || reads_again(node, value, is_swelling) ||
                          (center && !lets_in(node, value));
  }
}

Annotations Grouper::run() {
  for (ValueId result : function_.results)
    members_[through_annotations(function_, result).node].readers = kMixed;
  for (uint32_t node = static_cast<uint32_t>(function_.nodes.size()); node-- > 0;) visit(node);
  Annotations out;
  out.region_of.assign(function_.nodes.size(), kOutside);
  std::vector<uint32_t> of_region(annotations_.regions.size(), kOutside);
  std::vector<uint32_t> of_kernel(kernels_.size(), kOutside);
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    uint32_t old = annotations_.region_of[node];
    if (old == kOutside) continue;
    const uint32_t kernel = members_[node].kernel;
    if (kernel != kUnread) old = kernels_[kernel].region;
    uint32_t& now = kernel != kUnread ? of_kernel[kernel] : of_region[old];
    if (now == kOutside) {
      now = static_cast<uint32_t>(out.regions.size());
      Region region = annotations_.regions[old];
      if (kernel != kUnread) region.open = false;
      out.regions.push_back(region);
    }
    out.region_of[node] = now;
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

Result<Function> group_kernels(const IRModule& module, Function function, Symbol name,
                               const PassContext& context) {
  BYOC_TRY(Annotations annotations, read_annotations(function, name));
  if (context.level == 0) return function;
  BYOC_TRY(std::vector<KernelGroup> groups,
           requested_groups(module, function, annotations, name, context));
  groups = legal_groups(module, function, annotations, std::move(groups), context);
  if (groups.empty() && !wants_kernels(annotations, context)) return function;
  Grouper grouper(function, annotations, groups, context);
  return rewrite_annotations(function, grouper.run(), *context.ops);
}

}  // namespace byoc
