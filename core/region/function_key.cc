// SPDX-License-Identifier: Apache-2.0
#include "core/region/function_key.h"

#include "byoc/ir/visit.h"

namespace byoc {
namespace {

class Key {
 public:
  explicit Key(std::string& out) : out_(out) {}
  void add(uint64_t value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void add(const void* interned) { add(reinterpret_cast<uintptr_t>(interned)); }
  void add(ValueId value) { add(uint64_t{value.node} << 32 | value.output); }
  void add_kind(const Kind& kind) {
    add(uint64_t{kind.index()});
    std::visit(overloaded{
                   [](const Param&) {},
                   [&](const Constant& constant) { add(constant.data); },
                   [&](const Call& call) {
                     add(call.op);
                     add(call.attrs);
                   },
                   [&](const Invoke& invoke) { add(uint64_t{invoke.function.id()}); },
                   [&](const Extern& external) { add(uint64_t{external.symbol.id()}); },
               },
               kind);
  }

 private:
  std::string& out_;
};

}  // namespace

std::string function_key(const Function& function, Locs locs) {
  std::string out;
  Key key(out);
  for (const Node& node : function.nodes) {
    key.add_kind(node.kind);
    std::span<const ValueId> args = function.args(node);
    key.add(uint64_t{args.size()} << 32 | node.types.size());
    for (ValueId arg : args) key.add(arg);
    for (size_t k = 0; k < node.types.size(); ++k) key.add(uint64_t{node.types[k].id()});
    if (locs == Locs::kCompared) key.add(uint64_t{node.loc.id()});
  }
  for (ValueId result : function.results) key.add(result);
  print_to(out, function.attrs);
  return out;
}

}  // namespace byoc
