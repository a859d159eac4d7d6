// SPDX-License-Identifier: Apache-2.0
#include "core/region/rewrite_annotations.h"

#include <map>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/ir/intern.h"
#include "byoc/op/registry.h"

namespace byoc {
namespace {

class Writer {
 public:
  Writer(const Function& function, const Annotations& annotations, const OpRegistry& ops)
      : function_(function),
        annotations_(annotations),
        begin_(ops.find("compiler_begin")),
        end_(ops.find("compiler_end")),
        first_(function.nodes.size() + 1, 0) {
    BYOC_CHECK(begin_ && end_, "the op table has no annotation ops");
    for (size_t k = 0; k < function.nodes.size(); ++k)
      first_[k + 1] = first_[k] + static_cast<uint32_t>(function.nodes[k].types.size());
    leaves_.assign(first_.back(), 0);
    inside_.resize(first_.back());
    outside_.resize(first_.back());
    make_attrs();
  }
  Function write();

 private:
  size_t slot(ValueId v) const { return first_[v.node] + v.output; }
  uint32_t region(uint32_t node) const { return annotations_.region_of[node]; }
  bool is_constant(uint32_t node) const {
    return std::holds_alternative<Constant>(function_.nodes[node].kind);
  }
  void make_attrs();
  void find_leaving();
  ValueId argument(ValueId value, uint32_t reader_region);
  ValueId far_begin(ValueId value, ValueId now, uint32_t reader_region);
  ValueId annotate(const OpDef* op, ValueId value, uint32_t region) {
    TypeId type = out_.type(value);
    return {out_.add_call(op, attrs_[region], std::span(&value, 1), type), 0};
  }

  const Function& function_;
  const Annotations& annotations_;
  const OpDef *begin_, *end_;
  std::vector<uint32_t> first_;
  std::vector<uint8_t> leaves_;            // per value: read outside its region
  std::vector<ValueId> inside_, outside_;  // per value: before and after its end
  std::vector<const Attrs*> attrs_;        // per region
  // The first kChain begins of a value form a linked list, close in memory to those of neighbouring
  // values; the others are found by hash, so that lookups stay O(1) for a value with many readers.
  struct Begin {
    uint32_t region, next;
    ValueId value;
  };
  static constexpr uint32_t kNone = UINT32_MAX, kChain = 8;
  std::vector<Begin> begins_;
  std::vector<uint32_t> first_begin_;                 // per value
  std::unordered_map<uint64_t, ValueId> far_begins_;  // by region and slot
  size_t crossing_ = 0, leaving_ = 0;                 // upper bounds of begins and ends
  Function out_;
};

// Makes the attributes of every region. Regions of one compiler share a form in which only the
// number changes.
void Writer::make_attrs() {
  static const Symbol kCompiler = lasting_symbol("compiler"), kOpen = lasting_symbol("open"),
                      kRegion = lasting_symbol("region");
  attrs_.reserve(annotations_.regions.size());
  std::map<std::pair<uint32_t, bool>, Attrs> forms;
  for (const Region& region : annotations_.regions) {
    auto [form, is_new] = forms.try_emplace({region.compiler.id(), region.open});
    if (is_new) form->second = {{kCompiler, region.compiler.str()}, {kOpen, region.open}};
    form->second.set(kRegion, region.number);
    attrs_.push_back(intern(form->second));
  }
}

void Writer::find_leaving() {
  auto leave = [&](ValueId value) {
    leaving_ += leaves_[slot(value)] == 0;
    leaves_[slot(value)] = 1;
  };
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (is_annotation(function_.nodes[node])) continue;
    for (ValueId arg : function_.args(function_.nodes[node])) {
      ValueId value = through_annotations(function_, arg);
      if (region(value.node) == region(node)) continue;
      leave(value);
      ++crossing_;
    }
  }
  for (ValueId result : function_.results) leave(through_annotations(function_, result));
}

ValueId Writer::argument(ValueId value, uint32_t reader_region) {
  if (reader_region != kOutside && region(value.node) == reader_region) return inside_[slot(value)];
  ValueId now = outside_[slot(value)];
  if (reader_region == kOutside || is_constant(value.node)) return now;
  uint32_t* link = &first_begin_[slot(value)];
  for (uint32_t step = 0; *link != kNone; link = &begins_[*link].next, ++step) {
    if (begins_[*link].region == reader_region) return begins_[*link].value;
    if (step == kChain) return far_begin(value, now, reader_region);
  }
  *link = static_cast<uint32_t>(begins_.size());  // before the list moves
  begins_.push_back({reader_region, kNone, annotate(begin_, now, reader_region)});
  return begins_.back().value;
}

ValueId Writer::far_begin(ValueId value, ValueId now, uint32_t reader_region) {
  auto [at, is_new] = far_begins_.try_emplace(uint64_t{reader_region} << 32 | slot(value));
  if (is_new) at->second = annotate(begin_, now, reader_region);
  return at->second;
}

Function Writer::write() {
  find_leaving();
  begins_.reserve(crossing_);
  first_begin_.assign(first_.back(), kNone);
  out_.attrs = function_.attrs;
  out_.nodes.reserve(function_.nodes.size() + crossing_ + leaving_);
  out_.operands.reserve(function_.operands.size() + crossing_ + leaving_);
  std::vector<ValueId> args;
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    const Node& n = function_.nodes[node];
    if (is_annotation(n)) continue;
    args.clear();
    for (ValueId arg : function_.args(n))
      args.push_back(argument(through_annotations(function_, arg), region(node)));
    uint32_t now = out_.add_copy(n, args);
    for (uint32_t k = 0; k < n.types.size(); ++k) {
      ValueId old{node, k}, value{now, k};
      inside_[slot(old)] = value;
      bool ends = region(node) != kOutside && leaves_[slot(old)];
      outside_[slot(old)] = ends ? annotate(end_, value, region(node)) : value;
    }
  }
  for (ValueId result : function_.results)
    out_.results.push_back(outside_[slot(through_annotations(function_, result))]);
  return std::move(out_);
}

}  // namespace

Function rewrite_annotations(const Function& function, const Annotations& annotations,
                             const OpRegistry& ops) {
  return Writer(function, annotations, ops).write();
}

}  // namespace byoc
