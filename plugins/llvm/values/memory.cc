// SPDX-License-Identifier: Apache-2.0
// Loads and stores of Values.
#include <algorithm>
#include <numeric>

#include "byoc/base/check.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "plugins/llvm/values/values.h"

namespace byoc::llvm_plugin {
namespace {

// Returns true for an index that may be simpler in the ranges of its variables here: a division, or
// a choice, as of a cell outside of an image.
bool depends_on_ranges(const te::Expr& index) {
  if (std::holds_alternative<te::Select>(index->kind)) return true;
  auto* binary = std::get_if<te::Binary>(&index->kind);
  if (binary == nullptr) return false;
  return binary->op == te::BinaryOp::kFloorDivide || binary->op == te::BinaryOp::kFloorModulo ||
         depends_on_ranges(binary->a) || depends_on_ranges(binary->b);
}

// Returns the elements from the first lane's to the last one's, where they fit into a vector and
// are in that order; else 0.
int64_t window_of(const Ints& lanes) {
  if (lanes.empty() || lanes[0] != 0 || !std::ranges::is_sorted(lanes)) return 0;
  return lanes.back() < static_cast<int64_t>(lanes.size()) ? lanes.back() + 1 : 0;
}

}  // namespace

// Returns the dtype's own alignment, which the runtime guarantees: arguments may be
// views into tensors.
llvm::Align Values::align_of(const Home& home) const {
  return llvm::Align(dtype_size(home.tensor.dtype()));
}

// Adds `x * factor`, in the first lane, to `at`. Constant terms go to `at.constant`, so accesses
// that differ by a constant share one address and differ in the displacement alone.
void Values::add_index(const te::Expr& x, int64_t factor, Place& at) {
  auto add = [&](Value term) {
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(term)) {
      at.constant += known->getSExtValue() * factor;
      return;
    }
    if (factor != 1) term = b_.CreateNSWMul(term, b_.getInt64(static_cast<uint64_t>(factor)));
    at.offset = at.offset ? b_.CreateNSWAdd(at.offset, term) : term;
  };
  auto* binary = std::get_if<te::Binary>(&x->kind);
  if (binary && binary->op == te::BinaryOp::kAdd) {
    add_index(binary->a, factor, at);
    return add_index(binary->b, factor, at);
  }
  if (binary && binary->op == te::BinaryOp::kSubtract) {
    add_index(binary->a, factor, at);
    return add_index(binary->b, -factor, at);
  }
  if (binary && binary->op == te::BinaryOp::kMultiply) {
    if (auto by = te::as_int(binary->b)) return add_index(binary->a, factor * *by, at);
    if (auto by = te::as_int(binary->a)) return add_index(binary->b, factor * *by, at);
  }
  add(first_of(x));
}

// Returns the indices as one. Divisions in the indices split loops that were fused; in one index
// they mostly cancel out.
te::Exprs Values::joined(const Home& home, const te::Exprs& indices) {
  te::Expr sum = 0;
  for (size_t k = 0; k < indices.size(); ++k)
    sum = sum + (home.has_open_steps ? indices[k] * home.steps[k] : indices[k] * home.strides[k]);
  kept_.push_back(ranges_.simplified(sum));
  return {kept_.back()};
}

Values::Place Values::place(const te::Tensor& tensor, const te::Exprs& indices) {
  const Home& home = plan_.homes.at(tensor.id());
  Place at{&home, base(tensor.id()), 0, nullptr, 0, false};
  BYOC_CHECK(at.base != nullptr, "tensor ", tensor.name(), " has no memory here");
  BYOC_CHECK(indices.size() == home.strides.size(), "tensor ", tensor.name(), " has ",
             home.strides.size(), " dims and is read by ", indices.size(), " indices");
  at.is_inside = home.elements > 0 && ranges_.is_inside({tensor, indices});
  if (home.has_open_steps || std::any_of(indices.begin(), indices.end(), depends_on_ranges))
    place_by(joined(home, indices), {1}, at);
  else place_by(indices, home.strides, at);
  return at;
}

void Values::place_by(const te::Exprs& indices, const std::vector<int64_t>& steps, Place& at) {
  BYOC_CHECK(indices.size() == steps.size(), indices.size(), " indices of ", steps.size(),
             " steps");
  for (size_t k = 0; k < indices.size() && at.stride; ++k) {
    auto stride = stride_of(indices[k]);
    if (stride) at.stride = *at.stride + *stride * steps[k];
    else at.stride = std::nullopt;
  }
  if (at.stride) {
    for (size_t k = 0; k < indices.size(); ++k) add_index(indices[k], steps[k], at);
    if (at.offset == nullptr) at.offset = b_.getInt64(0);
    return;
  }
  at.lanes.assign(lanes_, 0);
  for (size_t k = 0; k < indices.size() && !at.lanes.empty(); ++k) {
    const std::optional<Ints> own = steps_of(indices[k]);
    for (size_t lane = 0; own && lane < at.lanes.size(); ++lane)
      at.lanes[lane] += (*own)[lane] * steps[k];
    if (!own) at.lanes.clear();
  }
  if (window_of(at.lanes) == 0) at.lanes.clear();  // one load per lane, of any places
  if (!at.lanes.empty()) {
    for (size_t k = 0; k < indices.size(); ++k) add_index(indices[k], steps[k], at);
    if (at.offset == nullptr) at.offset = b_.getInt64(0);
    return;
  }
  at.offset = splat(b_.getInt64(0));
  for (size_t k = 0; k < indices.size(); ++k) {
    Value scale = splat(b_.getInt64(static_cast<uint64_t>(steps[k])));
    at.offset = b_.CreateNSWAdd(at.offset, b_.CreateNSWMul(splat(value(indices[k])), scale));
  }
}

llvm::Value* Values::address(const Place& at, Value offset) {
  llvm::Type* type = storage_type(b_.getContext(), at.home->tensor.dtype());
  Value from = b_.CreateGEP(type, at.base, offset);
  return at.constant == 0 ? from
                          : b_.CreateConstGEP1_64(type, from, static_cast<uint64_t>(at.constant));
}

llvm::Value* Values::first_element(const Place& at) {
  return b_.getInt64(static_cast<uint64_t>(-at.constant));
}

llvm::Value* Values::address_of(const te::Place& element) {
  Place at = place(element.tensor, element.indices);
  return address(at, at.offset);
}

// Loads a scalar. With lanes off, an access of all of them may be outside: the first element
// is read instead.
llvm::Value* Values::load_scalar(const Place& at) {
  Value offset = at.offset;
  if (mask_ && !at.is_inside) offset = b_.CreateSelect(any_lane(mask_), offset, first_element(at));
  llvm::Type* type = storage_type(b_.getContext(), at.home->tensor.dtype());
  return b_.CreateAlignedLoad(type, address(at, offset), align_of(*at.home));
}

llvm::Value* Values::load_contiguous(const Place& at) {
  llvm::Type* element = storage_type(b_.getContext(), at.home->tensor.dtype());
  llvm::Type* type = with_lanes(element, lanes_);
  Value from = address(at, at.offset);
  if (!mask_ || at.is_inside) return b_.CreateAlignedLoad(type, from, align_of(*at.home));
  return b_.CreateMaskedLoad(type, from, align_of(*at.home), mask_,
                             llvm::Constant::getNullValue(type));
}

// Loads the elements 0, 2, 4, ..., 2 (lanes - 1) of two vectors, which begin with the first element
// and end with the last one, so that nothing outside of these is read.
llvm::Value* Values::load_every_second(const Place& at) {
  llvm::Type* element = storage_type(b_.getContext(), at.home->tensor.dtype());
  llvm::Type* type = with_lanes(element, lanes_);
  BYOC_CHECK(lanes_ % 2 == 0, "every second element is loaded for ", lanes_, " lanes");
  Value front = address(at, at.offset);
  Value back = b_.CreateConstGEP1_64(element, front, lanes_ - 1);
  std::vector<int> from;
  for (unsigned k = 0; k < lanes_; ++k)
    from.push_back(static_cast<int>(2 * k < lanes_ ? 2 * k : 2 * k + 1));
  return b_.CreateShuffleVector(b_.CreateAlignedLoad(type, front, align_of(*at.home)),
                                b_.CreateAlignedLoad(type, back, align_of(*at.home)), from);
}

// Loads so many elements, and gives each lane its own: one of a small image that is enlarged has
// several lanes.
llvm::Value* Values::load_window(const Place& at, int64_t extent) {
  llvm::Type* element = storage_type(b_.getContext(), at.home->tensor.dtype());
  llvm::Type* type = with_lanes(element, static_cast<unsigned>(extent));
  Value window = b_.CreateAlignedLoad(type, address(at, at.offset), align_of(*at.home));
  return b_.CreateShuffleVector(window, std::vector<int>(at.lanes.begin(), at.lanes.end()));
}

// Loads the elements 0, -1, -2, ... as one vector, and turns it around.
llvm::Value* Values::load_reversed(const Place& at) {
  llvm::Type* element = storage_type(b_.getContext(), at.home->tensor.dtype());
  Value last = b_.CreateSub(at.offset, b_.getInt64(lanes_ - 1));
  Value vector =
      b_.CreateAlignedLoad(with_lanes(element, lanes_), address(at, last), align_of(*at.home));
  std::vector<int> from;
  for (unsigned k = lanes_; k-- > 0;) from.push_back(static_cast<int>(k));
  return b_.CreateShuffleVector(vector, from);
}

// Loads one scalar per lane.
llvm::Value* Values::load_lanes(const Place& at) {
  llvm::Type* element = storage_type(b_.getContext(), at.home->tensor.dtype());
  Value offsets = at.offset;
  bool is_guarded = mask_ && !at.is_inside;
  Value out = llvm::PoisonValue::get(with_lanes(element, lanes_));
  for (unsigned k = 0; k < lanes_; ++k) {
    const bool has_step = at.stride || !at.lanes.empty();
    const int64_t step = at.stride ? *at.stride * k : has_step ? at.lanes[k] : 0;
    Value offset = has_step ? b_.CreateNSWAdd(offsets, b_.getInt64(static_cast<uint64_t>(step)))
                            : b_.CreateExtractElement(offsets, k);
    if (is_guarded)
      offset = b_.CreateSelect(b_.CreateExtractElement(mask_, k), offset, first_element(at));
    Value lane = b_.CreateAlignedLoad(element, address(at, offset), align_of(*at.home));
    out = b_.CreateInsertElement(out, lane, k);
  }
  return out;
}

llvm::Value* Values::load(const te::Load& x) {
  DType dtype = x.tensor.dtype();
  const Home& home = plan_.homes.at(x.tensor.id());
  if (home.elements == 0) return llvm::Constant::getNullValue(value_type(b_.getContext(), dtype));
  Place at = place(x.tensor, x.indices);
  bool may_mask = machine_.has("avx") && dtype_size(dtype) >= 4;
  Value out = nullptr;
  if (lanes_ == 0 || at.stride == 0) out = load_scalar(at);
  else if (at.stride == 1 && (may_mask || !mask_ || at.is_inside)) out = load_contiguous(at);
  else if (at.stride == -1 && (!mask_ || at.is_inside)) out = load_reversed(at);
  else if (at.stride == 2 && lanes_ > 2 && (!mask_ || at.is_inside)) out = load_every_second(at);
  else if (auto extent = window_of(at.lanes); extent > 1 && (!mask_ || at.is_inside))
    out = load_window(at, extent);
  else out = load_lanes(at);
  return ops_.from_storage(dtype, out);
}

// Loads an element, or adjacent lanes, that may be outside of the tensor, or else a constant: one
// load without branches, from either place. Returns null when it is no such load.
llvm::Value* Values::load_or_constant(const te::Select& x, Value condition) {
  auto* load = std::get_if<std::shared_ptr<const te::Load>>(&x.yes->kind);
  const bool is_constant = std::holds_alternative<te::FloatImm>(x.no->kind) ||
                           std::holds_alternative<te::IntImm>(x.no->kind);
  if (load == nullptr || !is_constant || mask_) return nullptr;
  const te::Tensor& tensor = (*load)->tensor;
  llvm::Type* element = storage_type(b_.getContext(), tensor.dtype());
  if (element != value_type(b_.getContext(), tensor.dtype())) return nullptr;
  if (plan_.homes.at(tensor.id()).elements == 0) return value(x.no);
  Place at = place(tensor, (*load)->indices);
  const bool is_contiguous = lanes_ != 0 && at.stride == 1;
  if (lanes_ != 0 && at.stride != 0 && !is_contiguous) return nullptr;
  auto* constant = llvm::cast<llvm::Constant>(value(x.no));
  if (is_contiguous)
    constant = llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes_), constant);
  auto* other = new llvm::GlobalVariable(*b_.GetInsertBlock()->getModule(), constant->getType(),
                                         true, llvm::GlobalValue::PrivateLinkage, constant);
  other->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  Value from = b_.CreateSelect(condition, address(at, at.offset), other);
  return b_.CreateAlignedLoad(constant->getType(), from, align_of(*at.home));
}

void Values::store_scalar(const Place& at, Value value) {
  llvm::BasicBlock* after = nullptr;
  if (mask_) {
    llvm::Function* function = b_.GetInsertBlock()->getParent();
    auto* inside = llvm::BasicBlock::Create(b_.getContext(), "store", function);
    after = llvm::BasicBlock::Create(b_.getContext(), "stored", function);
    b_.CreateCondBr(any_lane(mask_), inside, after);
    b_.SetInsertPoint(inside);
  }
  b_.CreateAlignedStore(value, address(at, at.offset), align_of(*at.home));
  if (after == nullptr) return;
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void Values::store_contiguous(const Place& at, Value value) {
  Value to = address(at, at.offset);
  if (mask_) b_.CreateMaskedStore(value, to, align_of(*at.home), mask_);
  else b_.CreateAlignedStore(value, to, align_of(*at.home));
}

void Values::store_lanes(const Place& at, Value value) {
  Value offsets = at.offset;
  if (at.stride) offsets = b_.CreateNSWAdd(splat(offsets), iota(b_.getInt64Ty(), *at.stride));
  if (!at.lanes.empty()) {
    std::vector<uint64_t> steps(at.lanes.begin(), at.lanes.end());
    offsets =
        b_.CreateNSWAdd(splat(offsets), llvm::ConstantDataVector::get(b_.getContext(), steps));
  }
  if (mask_) {
    b_.CreateMaskedScatter(value, address(at, offsets), align_of(*at.home), mask_);
    return;
  }
  for (unsigned k = 0; k < lanes_; ++k) {
    Value lane = b_.CreateExtractElement(value, k);
    b_.CreateAlignedStore(lane, address(at, b_.CreateExtractElement(offsets, k)),
                          align_of(*at.home));
  }
}

void Values::store(const te::Tensor& tensor, const te::Exprs& indices, Value value) {
  if (plan_.homes.at(tensor.id()).elements == 0) return;
  Value stored = ops_.to_storage(tensor.dtype(), value);
  Place at = place(tensor, indices);
  BYOC_CHECK(lanes_of(stored) == 0 || lanes_of(stored) == lanes_, "a value of ", lanes_of(stored),
             " lanes is stored in a loop of ", lanes_);
  // Different values with one place for all lanes: a condition leaves one lane on.
  const bool is_one = at.stride == 0 && lanes_of(stored) == 0;
  if (lanes_ == 0 || is_one) store_scalar(at, stored);
  else if (at.stride == 1) store_contiguous(at, splat(stored));
  else store_lanes(at, splat(stored));
}

// Returns the lanes of both in turns: a vector of the first half of each, and one of the second.
std::pair<llvm::Value*, llvm::Value*> Values::in_turns(Value a, Value b) {
  std::vector<int> first, second;
  for (unsigned k = 0; k < lanes_; ++k) {
    const auto from = static_cast<int>(k / 2 + k % 2 * lanes_);
    first.push_back(from), second.push_back(from + static_cast<int>(lanes_ / 2));
  }
  return {b_.CreateShuffleVector(a, b, first), b_.CreateShuffleVector(a, b, second)};
}

// Returns as many vectors: lane 0 of each, then lane 1 of each, and so on.
std::vector<llvm::Value*> Values::interleaved(const std::vector<Value>& from) {
  const size_t count = from.size();
  std::vector<Value> out;
  if (count == 1) return from;
  if (count % 2 == 0) {
    std::vector<Value> even, odd;
    for (size_t k = 0; k < count; k += 2) even.push_back(from[k]), odd.push_back(from[k + 1]);
    even = interleaved(even), odd = interleaved(odd);
    for (size_t k = 0; k < even.size(); ++k) {
      const auto [first, second] = in_turns(even[k], odd[k]);
      out.push_back(first), out.push_back(second);
    }
    return out;
  }
  for (size_t r = 0; r < count; ++r) {
    Value sum = from[0];
    for (size_t q = 0; q < count; ++q) {
      std::vector<int> lanes;
      for (size_t k = 0; k < lanes_; ++k) {
        const size_t at = r * lanes_ + k;
        lanes.push_back(static_cast<int>(at % count == q ? lanes_ + at / count : k));
      }
      sum = q == 0 ? b_.CreateShuffleVector(from[0], from[0], lanes)
                   : b_.CreateShuffleVector(sum, from[q], lanes);
    }
    out.push_back(sum);
  }
  return out;
}

// Returns true when each of the stores writes the element after that of the one before, so that the
// lanes of all of them are rows. Rows that do not follow each other are whole parts of vectors, or
// made of whole vectors.
bool Values::fill_rows(std::span<const te::Store* const> stores) {
  const te::Store& first = *stores[0];
  const Home& home = plan_.homes.at(first.tensor.id());
  for (size_t k = 1; k < stores.size(); ++k) {
    te::Expr distance = 0;
    for (size_t d = 0; d < home.strides.size(); ++d)
      distance = distance + (stores[k]->indices[d] - first.indices[d]) * home.steps[d];
    if (te::as_int(ranges_.simplified(distance)) != static_cast<int64_t>(k)) return false;
  }
  const auto count = static_cast<int64_t>(stores.size());
  const std::optional<int64_t> stride = place(first.tensor, first.indices).stride;
  return stride == count || (stride > count && (lanes_ % count == 0 || count % lanes_ == 0));
}

bool Values::store_rows(std::span<const te::Store* const> stores) {
  const te::Store& first = *stores[0];
  if (lanes_ == 0 || mask_ || plan_.homes.at(first.tensor.id()).elements == 0 || !fill_rows(stores))
    return false;
  std::vector<Value> values;
  for (const te::Store* store : stores)
    values.push_back(splat(ops_.to_storage(store->tensor.dtype(), value(store->value))));
  values = interleaved(values);
  const Place at = place(first.tensor, first.indices);
  llvm::Type* element = storage_type(b_.getContext(), first.tensor.dtype());
  const auto count = static_cast<unsigned>(stores.size());
  const unsigned part = *at.stride == count ? lanes_ : std::min(lanes_, count);  // that is adjacent
  for (unsigned from = 0; from < count * lanes_; from += part) {
    Value row = values[from / lanes_];
    if (part < lanes_) {
      std::vector<int> lanes(part);
      std::iota(lanes.begin(), lanes.end(), static_cast<int>(from % lanes_));
      row = b_.CreateShuffleVector(row, lanes);
    }
    const uint64_t offset = static_cast<uint64_t>(*at.stride) * (from / count) + from % count;
    Value to = b_.CreateConstGEP1_64(element, address(at, at.offset), offset);
    b_.CreateAlignedStore(row, to, align_of(*at.home));
  }
  return true;
}

}  // namespace byoc::llvm_plugin
