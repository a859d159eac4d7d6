// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_arguments.h"

#include <algorithm>

#include "byoc/runtime/device_type.h"

namespace byoc {
namespace {

struct Range {
  uint32_t device;
  uint64_t begin, end;
};

Range range_of(const Step& step, size_t k) {
  const Place& place = step.args[k];
  const auto bytes = static_cast<uint64_t>(*size_bytes(step.types[k]));  // checked: it is a number
  return {place.index, place.offset, place.offset + bytes};
}

bool overlap(const Range& a, const Range& b) {
  return a.device == b.device && a.begin < b.end && b.begin < a.end;
}

/// Lists the arguments of one step that are the value in this range, and returns whether the step
/// writes over it.
bool add_uses(const Step& step, size_t index, const Range& value, bool writes_too,
              std::vector<std::pair<size_t, size_t>>& uses) {
  bool writes = false;
  for (size_t k = 0; k < step.args.size(); ++k) {
    if (step.args[k].kind != Place::kDevice || !overlap(range_of(step, k), value)) continue;
    const bool is_write = k >= step.n_in;
    writes |= is_write;
    if (!is_write || writes_too) uses.emplace_back(index, k);
  }
  return writes;
}

/// The arguments that read what a copy has brought, until it is written over.
ArgumentCopy arrival(const Program& program, size_t copy) {
  const Range value = range_of(program.steps[copy], 1);
  ArgumentCopy out{copy, value.device, {}};
  for (size_t s = copy + 1; s < program.steps.size(); ++s) {
    std::vector<std::pair<size_t, size_t>> uses;
    const bool ends = add_uses(program.steps[s], s, value, false, uses);
    out.uses.insert(out.uses.end(), uses.begin(), uses.end());
    if (ends) break;
  }
  return out;
}

/// The arguments that write and read the value that a copy takes to the host.
ArgumentCopy departure(const Program& program, size_t copy) {
  const Range value = range_of(program.steps[copy], 0);
  ArgumentCopy out{copy, value.device, {}};
  size_t first = copy;
  for (bool is_found = false; first > 0 && !is_found;) {
    std::vector<std::pair<size_t, size_t>> unused;
    --first;
    is_found = add_uses(program.steps[first], first, value, true, unused);
  }
  for (size_t s = first; s < program.steps.size(); ++s) {
    if (s == copy) continue;
    std::vector<std::pair<size_t, size_t>> uses;
    const bool writes = add_uses(program.steps[s], s, value, s == first, uses);
    if (writes && s > copy) {  // another value; its operands are still this one
      out.uses.insert(out.uses.end(), uses.begin(), uses.end());
      break;
    }
    out.uses.insert(out.uses.end(), uses.begin(), uses.end());
  }
  return out;
}

class Finder {
 public:
  explicit Finder(const Program& program)
      : program_(program), out_(program.inputs.size() + program.outputs.size()) {}

  std::vector<ArgumentUse> run() {
    for (size_t s = 0; s < program_.steps.size(); ++s) add_step(s);
    for (const Instruction& instruction : program_.code) {
      for (const Place& place : instruction.args) use_on_host(place);
    }
    for (const Copy& copy : program_.copies) {
      use_on_host(copy.from);
      use_on_host({Place::kOutput, copy.output, 0});
    }
    return std::move(out_);
  }

 private:
  ArgumentUse* argument(const Place& place) {
    if (place.kind == Place::kInput) return &out_[place.index];
    if (place.kind == Place::kOutput) return &out_[program_.inputs.size() + place.index];
    return nullptr;
  }
  void use_on_host(const Place& place) {
    if (ArgumentUse* use = argument(place)) use->is_on_host = true;
  }
  void add_step(size_t s) {
    const Step& step = program_.steps[s];
    if (step.module != Step::kDeviceCopy) {
      for (const Place& place : step.args) use_on_host(place);
      return;
    }
    if (step.args[0].kind == Place::kInput)
      argument(step.args[0])->copies.push_back(arrival(program_, s));
    else use_on_host(step.args[0]);
    if (step.args[1].kind == Place::kOutput) {
      ArgumentUse& use = *argument(step.args[1]);
      use.is_on_host |= !use.copies.empty();  // the branches of an `if` write it
      use.copies.push_back(departure(program_, s));
    }
  }

  const Program& program_;
  std::vector<ArgumentUse> out_;
};

}  // namespace

std::vector<ArgumentUse> find_argument_uses(const Program& program) {
  return Finder(program).run();
}

void GivenArguments::begin() {
  for (size_t step : changed_) changes_[step] = {};
  for (auto at = replaced_.rbegin(); at != replaced_.rend(); ++at) *at->first = at->second;
  changed_.clear();
  replaced_.clear();
}

Result<uint32_t> GivenArguments::find(const char* kind, const std::string& name,
                                      const DLDevice& device) const {
  const int type = device_type_of(device);
  std::string known;
  for (uint32_t k = 0; k < program_.devices.size(); ++k) {
    const DLDevice id = program_.devices[k]->id();
    if (device_type_of(id) == type && id.device_id == device.device_id) return k;
    known += cat(", or on ", program_.devices[k]->name(), ", device ", id.device_id, " of type ",
                 device_type_of(id));
  }
  return invalid(cat("\"", name, "\" is on device ", device.device_id, " of type ", type,
                     ", the program takes it in the CPU's memory", known))
      .with_slug(cat(kind, "-data"))
      .with_help("copy it there before the run");
}

bool GivenArguments::needs_host(const ArgumentUse& use, uint32_t device) {
  return use.is_on_host || use.copies.empty() ||
         std::ranges::any_of(use.copies,
                             [&](const ArgumentCopy& copy) { return copy.device != device; });
}

void GivenArguments::take(const ArgumentUse& use, uint32_t device, void* data, bool is_direct) {
  for (const ArgumentCopy& copy : use.copies) {
    if (copy.device != device) continue;
    changed_.push_back(copy.step);
    changes_[copy.step] = {is_direct, is_direct ? nullptr : data};
    for (const auto& [step, argument] : copy.uses) {
      if (!is_direct) break;
      void** slot = slot_(step, argument);
      replaced_.emplace_back(slot, *slot);
      *slot = data;
    }
  }
}

}  // namespace byoc
