#include "core/partition/rewrite_annotations.h"

#include <unordered_map>

#include "byoc/base/check.h"
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
    static const Symbol kCompiler = "compiler", kOpen = "open",
                        kRegion = "region";  // in their order
    attrs_.reserve(annotations.regions.size());
    for (const Region& region : annotations.regions) {
      attrs_.push_back(
          intern({{kCompiler, region.compiler}, {kOpen, region.open}, {kRegion, region.number}}));
    }
    begins_.reserve(annotations.regions.size());
  }
  Function write();

 private:
  size_t slot(ValueId v) const { return first_[v.node] + v.output; }
  uint32_t region(uint32_t node) const { return annotations_.region_of[node]; }
  bool is_constant(uint32_t node) const {
    return std::holds_alternative<Constant>(function_.nodes[node].kind);
  }
  void find_leaving();
  ValueId argument(ValueId value, uint32_t reader_region);
  ValueId annotate(const OpDef* op, ValueId value, uint32_t region) {
    TypeId type = out_.type(value);
    return {out_.add_call(op, attrs_[region], std::span(&value, 1), type), 0};
  }

  const Function& function_;
  const Annotations& annotations_;
  const OpDef *begin_, *end_;
  std::vector<uint32_t> first_;
  std::vector<uint8_t> leaves_;                   // per value: read outside its region
  std::vector<ValueId> inside_, outside_;         // per value: the raw one, and behind its end
  std::vector<const Attrs*> attrs_;               // per region
  std::unordered_map<uint64_t, ValueId> begins_;  // (region, value)
  Function out_;
};

void Writer::find_leaving() {
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (is_annotation(function_.nodes[node])) continue;
    for (ValueId arg : function_.args(function_.nodes[node])) {
      ValueId value = through_annotations(function_, arg);
      if (region(value.node) != region(node)) leaves_[slot(value)] = 1;
    }
  }
  for (ValueId result : function_.results)
    leaves_[slot(through_annotations(function_, result))] = 1;
}

ValueId Writer::argument(ValueId value, uint32_t reader_region) {
  if (reader_region != kOutside && region(value.node) == reader_region) return inside_[slot(value)];
  ValueId now = outside_[slot(value)];
  if (reader_region == kOutside || is_constant(value.node)) return now;
  uint64_t key = uint64_t{reader_region} << 32 | slot(value);
  auto [at, is_new] = begins_.try_emplace(key);
  if (is_new) at->second = annotate(begin_, now, reader_region);
  return at->second;
}

Function Writer::write() {
  find_leaving();
  out_.attrs = function_.attrs;
  out_.nodes.reserve(function_.nodes.size());
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
