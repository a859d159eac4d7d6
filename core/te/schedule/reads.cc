// SPDX-License-Identifier: Apache-2.0
#include "core/te/schedule/reads.h"

#include <algorithm>
#include <unordered_set>

#include "byoc/te/rewrite.h"

namespace byoc::te {
namespace {

class Reads {
 public:
  std::vector<Tensor> tensors;

  Expr operator()(const Expr& x) {
    if (!seen_.insert(&*x).second) return x;
    if (const auto* load = std::get_if<std::shared_ptr<const Load>>(&x->kind)) add((*load)->tensor);
    return map_operands(x, *this);
  }
  Stmt stmt(const Stmt& s) {
    return map_parts(s, *this, [&](const Stmt& inner) { return stmt(inner); });
  }
  void add(const Tensor& tensor) {
    if (known_.insert(tensor.id()).second) tensors.push_back(tensor);
  }

 private:
  std::unordered_set<const void*> seen_, known_;
};

class Exchange {
 public:
  explicit Exchange(const std::unordered_map<const void*, Tensor>& tensors) : tensors_(tensors) {}
  Expr operator()(const Expr& x) {
    auto known = done_.find(&*x);
    if (known != done_.end()) return known->second;
    Expr result = map_operands(x, *this);
    if (const auto* load = std::get_if<std::shared_ptr<const Load>>(&result->kind)) {
      auto other = tensors_.find((*load)->tensor.id());
      if (other != tensors_.end()) result = other->second((*load)->indices);
    }
    done_.emplace(&*x, result);
    return result;
  }

 private:
  const std::unordered_map<const void*, Tensor>& tensors_;
  std::unordered_map<const void*, Expr> done_;
};

}  // namespace

std::vector<Tensor> tensors_read(const Stage& stage) {
  Reads reads;
  if (const Compute* compute = std::get_if<Compute>(&stage.kind)) {
    for (const Expr& value : compute->values) reads(value);
  } else if (const Procedure* procedure = std::get_if<Procedure>(&stage.kind)) {
    for (const Tensor& input : procedure->inputs) reads.add(input);
    reads.stmt(procedure->body);
  }
  std::erase_if(reads.tensors, [&](const Tensor& tensor) {  // a procedure reads what it writes
    return std::find(stage.outputs.begin(), stage.outputs.end(), tensor) != stage.outputs.end();
  });
  return std::move(reads.tensors);
}

Exprs with_tensors(const Exprs& values, const std::unordered_map<const void*, Tensor>& tensors) {
  Exchange exchange(tensors);
  Exprs out;
  for (const Expr& value : values) out.push_back(exchange(value));
  return out;
}

void add_read(ScheduleState& state, const std::string& producer, const std::string& reader) {
  std::vector<std::string>& reads = state.of(reader).reads;
  if (std::find(reads.begin(), reads.end(), producer) != reads.end()) return;
  reads.push_back(producer);
  state.of(producer).readers.push_back(reader);
}

void remove_read(ScheduleState& state, const std::string& producer, const std::string& reader) {
  std::erase(state.of(producer).readers, reader);
  std::erase(state.of(reader).reads, producer);
}

}  // namespace byoc::te
