// SPDX-License-Identifier: Apache-2.0
#include "constants.h"

#include <algorithm>
#include <cstring>

#include "primitives/primitives.h"
#include "repack.h"

namespace byoc::onednn {

std::string layout_key(const Desc& from, const Desc& to) {
  return "onednn/" + dnnl_version_text() + "/" + layout_text(from) + " -> " + layout_text(to);
}

namespace {

ConstantStore::Shared shared(sdk::Held held) {
  return std::make_shared<const sdk::Held>(std::move(held));
}

template <class T>
std::vector<float> as_floats(const void* elements, int64_t count) {
  const T* from = static_cast<const T*>(elements);
  return {from, from + count};
}

std::vector<float> numbers_of(const Type& type, const void* elements) {
  switch (type.dtype) {
    case sdk::DType::kF32:
      return as_floats<float>(elements, type.elements());
    case sdk::DType::kI8:
      return as_floats<int8_t>(elements, type.elements());
    case sdk::DType::kU8:
      return as_floats<uint8_t>(elements, type.elements());
    default:
      throw Refusal{"scales of " + type.text() + " are not wired up"};
  }
}

}  // namespace

ConstantStore::ConstantStore(sdk::Constants& constants, const Graph& graph,
                             const dnnl::engine& engine)
    : request_(&constants), engine_(engine), constants_(constants.size()) {
  for (size_t k = 0; k < constants.size(); ++k) {
    const byoc_const& raw = constants.raw(k);
    constants_[k].type = graph.types[graph.constants[k].type];
    constants_[k].key.assign(reinterpret_cast<const char*>(raw.key), sizeof raw.key);
  }
}

ConstantStore::Constant& ConstantStore::at(uint32_t constant) {
  BYOC_ONEDNN_CHECK(constant < constants_.size(), "the function has such a constant");
  return constants_[constant];
}

ConstantStore::Shared ConstantStore::keep(Constant& constant) {
  if (!constant.as_is && request_ != nullptr)
    constant.as_is = shared(request_->keep(static_cast<size_t>(&constant - constants_.data())));
  return constant.as_is;
}

ConstantStore::Shared ConstantStore::in_layout(uint32_t index, const Desc& given,
                                               const Desc& required) {
  std::lock_guard lock(mutex_);
  Desc have = without_leading_ones(given), want = without_leading_ones(required);
  if (dims_of(have) != dims_of(want)) have = given, want = required;
  Constant& constant = at(index);
  BYOC_ONEDNN_CHECK(have.get_size() == static_cast<uint64_t>(constant.type.bytes()),
                    "a view of a constant covers it: " + constant.type.text());
  if (request_ != nullptr) layouts_.try_emplace({index, layout_text(have)}, want);
  if (have == want) {
    if (Shared kept = keep(constant)) return kept;
  }
  return packed(constant, have, want);
}

ConstantStore::Shared ConstantStore::packed(Constant& constant, const Desc& have,
                                            const Desc& want) {
  const std::string key = layout_key(have, want);
  if (auto found = constant.forms.find(key); found != constant.forms.end())
    return found->second.held;
  if (request_ == nullptr) return packed_late(constant, have, want, key);
  const auto index = static_cast<size_t>(&constant - constants_.data());
  auto fill = [&](void* memory) { repack(engine_, have, request_->data(index), want, memory); };
  Form form{have, want, shared(request_->packed(index, key, want.get_size(), fill))};
  return constant.forms.emplace(key, std::move(form)).first->second.held;
}

// Makes a form that no plan of compile has, from one that some has. It lives as long as the plans
// that read it.
ConstantStore::Shared ConstantStore::packed_late(Constant& constant, const Desc& have,
                                                 const Desc& want, const std::string& key) {
  std::weak_ptr<const sdk::Held>& known = constant.late[key];
  if (Shared held = known.lock()) return held;
  if (is_trial_) return nullptr;
  auto fill = [&](void* memory) {
    if (constant.as_is)
      return repack(engine_, have, constant.as_is->data<std::byte>(), want, memory);
    const std::vector<std::byte> plain = plain_elements(constant);
    repack(engine_, have, plain.data(), want, memory);
  };
  Shared held = shared(sdk::host().packed(key + constant.key, want.get_size(), 64, fill));
  known = held;
  return held;
}

// Returns the elements as the host had them.
std::vector<std::byte> ConstantStore::plain_elements(const Constant& constant) const {
  std::vector<std::byte> out(static_cast<size_t>(constant.type.bytes()));
  for (const auto& [key, form] : constant.forms) {
    if (!is_reversible(form.want)) continue;
    repack(engine_, form.want, form.held->data<std::byte>(), form.have, out.data());
    return out;
  }
  BYOC_ONEDNN_CHECK(false, "finish_compile keeps each constant in a form that can be read");
}

ConstantStore::Shared ConstantStore::computed(uint32_t index, const std::vector<float>& elements) {
  std::lock_guard lock(mutex_);
  Constant& constant = at(index);
  const auto* bytes = reinterpret_cast<const char*>(elements.data());
  const uint64_t size = elements.size() * sizeof(float);
  const std::string key = "onednn/computed/" + std::string(bytes, size);
  if (auto found = constant.computed.find(key); found != constant.computed.end())
    return found->second;
  if (is_trial_) return nullptr;
  auto fill = [&](void* memory) { std::memcpy(memory, bytes, size); };
  Shared held =
      shared(request_ != nullptr ? request_->packed(index, key, size, fill)
                                 : sdk::host().packed(key + constant.key, size, 64, fill));
  return constant.computed.emplace(key, std::move(held)).first->second;
}

std::vector<float> ConstantStore::numbers(uint32_t index) {
  std::lock_guard lock(mutex_);
  Constant& constant = at(index);
  if (request_ != nullptr) return numbers_of(constant.type, request_->data(index));
  if (constant.as_is) return numbers_of(constant.type, constant.as_is->data<std::byte>());
  return numbers_of(constant.type, plain_elements(constant).data());
}

PackedLayouts ConstantStore::layouts() const {
  std::lock_guard lock(mutex_);
  return layouts_;
}

void ConstantStore::finish_compile() {
  std::lock_guard lock(mutex_);
  for (Constant& constant : constants_) {
    const bool has_form = std::any_of(constant.forms.begin(), constant.forms.end(),
                                      [](const auto& f) { return is_reversible(f.second.want); });
    if (!has_form) keep(constant);
  }
  request_ = nullptr;
}

void ConstantStore::set_trial(bool is_trial) {
  std::lock_guard lock(mutex_);
  is_trial_ = is_trial;
}

}  // namespace byoc::onednn
