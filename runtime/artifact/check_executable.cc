// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/check_executable.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "byoc/runtime/stored_constants.h"
#include "runtime/artifact/check_code.h"
#include "runtime/artifact/check_devices.h"

namespace byoc {
namespace {

constexpr uint64_t kMaxWorkspaceAlign = 4096;
constexpr uint32_t kDeviceBlock = uint32_t{1} << 31;  // marks the number of a device in a Range

/// Returns the bytes of a value. An open one has as many as a run gives it: they count as 0.
/// Errors: those of size_bytes.
Result<int64_t> fixed_bytes(const TensorSpec& type) {
  return type.is_open() ? Result<int64_t>(0) : size_bytes(type);
}

/// The range [begin, end) of arena bytes that an argument uses.
struct Range {
  uint32_t block;  // 0 in a program without packing; or kDeviceBlock and a device
  uint64_t begin, end;
  size_t argument;
};

std::vector<Range> arena_ranges(const Program& program, const Step& step) {
  std::vector<Range> ranges;
  const bool is_packed = !program.packing.empty();
  for (size_t k = 0; k < step.args.size(); ++k) {
    const Place& place = step.args[k];
    if (place.kind == Place::kDevice) {
      const auto size = static_cast<uint64_t>(*size_bytes(step.types[k]));
      if (size != 0)
        ranges.push_back({kDeviceBlock | place.index, place.offset, place.offset + size, k});
      continue;
    }
    if (place.kind != Place::kArena) continue;
    if (is_packed && step.types[k].is_open()) {  // as many bytes as a run gives it
      ranges.push_back({place.index, place.offset, UINT64_MAX, k});
      continue;
    }
    const auto size = static_cast<uint64_t>(*size_bytes(step.types[k]));
    if (size != 0)
      ranges.push_back({is_packed ? place.index : 0, place.offset, place.offset + size, k});
  }
  return ranges;
}

/// Returns true when an output overlaps any other argument; inputs may overlap each other.
bool outputs_overlap(std::vector<Range> ranges, size_t n_in) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.block, a.begin) < std::pair(b.block, b.begin);
  });
  uint64_t end_of_any = 0, end_of_outputs = 0;
  for (const Range& range : ranges) {
    if (&range != ranges.data() && range.block != (&range)[-1].block)
      end_of_any = end_of_outputs = 0;
    bool is_output = range.argument >= n_in;
    if (range.begin < (is_output ? end_of_any : end_of_outputs)) return true;
    end_of_any = std::max(end_of_any, range.end);
    if (is_output) end_of_outputs = std::max(end_of_outputs, range.end);
  }
  return false;
}

class Checker {
 public:
  explicit Checker(const Executable& executable)
      : executable_(executable), program_(executable.program), written_(program_.outputs.size()) {}

  Status run() {
    BYOC_TRY_STATUS(check_signature());
    BYOC_TRY_STATUS(check_states());
    BYOC_TRY_STATUS(check_packing());
    BYOC_TRY_STATUS(check_devices(program_));
    for (size_t k = 0; k < executable_.modules.size(); ++k) {
      BYOC_TRY_STATUS(check_module(executable_.modules[k]).at(cat("module ", k)));
    }
    find_symbols();
    if (!program_.code.empty()) BYOC_TRY_STATUS(byoc::check_code(program_));
    for (size_t k = 0; k < program_.code.size(); ++k) {
      BYOC_TRY_STATUS(check_instruction(program_.code[k]).at(cat("instruction ", k)));
    }
    for (size_t k = 0; program_.code.empty() && k < program_.steps.size(); ++k)
      BYOC_TRY_STATUS(check_call(k));
    for (size_t k = 0; k < program_.copies.size(); ++k) {
      BYOC_TRY_STATUS(check_copy(program_.copies[k]).at(cat("copy ", k)));
    }
    for (size_t k = 0; k < program_.outputs.size(); ++k) {
      if (!written_[k])
        return bad_executable(cat("nothing writes output \"", program_.outputs[k].name, "\""));
    }
    return {};
  }

 private:
  Status check_signature() {
    for (const auto* tensors : {&program_.inputs, &program_.outputs}) {
      for (const NamedTensor& tensor : *tensors) {
        if (Status status = fixed_bytes(tensor.type).status(); !status.ok()) {
          return std::move(status).at(cat("\"", tensor.name, "\""));
        }
      }
    }
    for (const NamedTensor& input : program_.inputs) {
      if (input.type.counted != 0)
        return bad_executable(
            cat("input \"", input.name, "\" is ", input.type, ", a run counts no inputs"));
    }
    std::unordered_set<std::string_view> sizes;
    for (const OpenSize& size : program_.sizes) sizes.insert(size.name);
    for (const ExternalModule& module : executable_.modules) {
      for (const ExternalFunction& function : module.functions) {
        for (const std::string& name : function.sizes) {
          if (!sizes.contains(name))
            return bad_executable(cat(function.symbol, " needs the size \"", name, "\""));
        }
      }
    }
    for (size_t k = 0; k < program_.constants.size(); ++k) {
      const ProgramConstant& constant = program_.constants[k];
      BYOC_TRY_STATUS(check_constant(constant.key, constant.type).at(cat("constant ", k)));
    }
    return {};
  }

  /// Checks that each state has an input and an output, of one type without sizes of a run.
  Status check_states() const {
    const size_t n = program_.states.size();
    if (n > program_.inputs.size() || n > program_.outputs.size())
      return bad_executable(cat(n, " states of ", program_.inputs.size(), " inputs and ",
                                program_.outputs.size(), " outputs"));
    for (size_t k = 0; k < n; ++k) {
      const NamedTensor& input = program_.inputs[program_.run_inputs() + k];
      const NamedTensor& output = program_.outputs[program_.run_outputs() + k];
      if (input.type == output.type && input.type.counted == 0 && !input.type.is_open()) continue;
      return bad_executable(cat("the state \"", input.name, "\" is ", input.type, " and \"",
                                output.name, "\" ", output.type));
    }
    return {};
  }

  /// Checks that each order has each block once. Blocks are no more than places: a context has
  /// memory for their numbers.
  Status check_packing() const {
    if (program_.packing.empty()) return {};
    size_t places = program_.copies.size();
    for (const Step& step : program_.steps) places += step.args.size();
    for (const Instruction& instruction : program_.code) places += instruction.args.size();
    const size_t n = program_.blocks();
    if (program_.sizes.empty() || n > places || program_.arena_bytes != 0)
      return bad_executable(cat("an arena of ", n, " blocks, for ", program_.sizes.size(),
                                " sizes, ", places, " places and ", program_.arena_bytes,
                                " bytes that are fixed"));
    for (const std::vector<uint32_t>& order : program_.packing) {
      std::vector<bool> is_there(n);
      for (uint32_t block : order) {
        if (block < n) is_there[block] = true;
      }
      if (order.size() != n ||
          std::count(is_there.begin(), is_there.end(), true) != static_cast<int64_t>(n))
        return bad_executable(cat("an order of ", order.size(), " blocks has not each of ", n));
    }
    return {};
  }

  Status check_constant(const ContentKey& key, const TensorSpec& type) {
    if (type.counted != 0 || type.is_open())
      return bad_executable(cat("a constant of type ", type));
    BYOC_TRY(int64_t size, size_bytes(type));
    auto found = executable_.constants.find(key);
    if (found == executable_.constants.end() || found->second == nullptr)
      return bad_executable(cat("no bytes for key ", key));
    if (found->second->size() == static_cast<size_t>(size)) return {};
    return bad_executable(
        cat("key ", key, " has ", found->second->size(), " bytes, ", type, " needs ", size));
  }

  Status check_module(const ExternalModule& module) {
    if (module.blob == nullptr)
      return bad_executable(cat("no bytes of the module of plugin \"", module.plugin, "\""));
    for (const auto& [name, key] : module.packed) {
      if (!executable_.constants.contains(key))
        return bad_executable(cat("no bytes for packed key ", key));
    }
    for (const ExternalFunction& function : module.functions) {
      BYOC_TRY_STATUS(check_function(module, function).at(function.symbol));
    }
    return {};
  }

  Status check_function(const ExternalModule& module, const ExternalFunction& function) {
    for (const ExternalConstant& constant : function.constants) {
      if (!is_stored(module, constant)) continue;
      BYOC_TRY_STATUS(check_constant(constant.key, constant.type).at(constant.name));
    }
    for (const auto& [key, align] : function.packed) {
      if (!executable_.constants.contains(key))
        return bad_executable(cat("no bytes for packed key ", key));
      if (!std::has_single_bit(align) || align > Buffer::kAlignment) {
        return bad_executable(
            cat("packed constant aligned to ", align, ", expected a power of two up to 64"));
      }
    }
    if (!std::has_single_bit(function.workspace_align) ||
        function.workspace_align > kMaxWorkspaceAlign) {
      return bad_executable(cat("workspace aligned to ", function.workspace_align,
                                ", expected a power of two up to 4096"));
    }
    BYOC_TRY_STATUS(check_device_facts(function));
    if (function.workspace_bytes > uint64_t{1} << 48)
      return bad_executable(cat("workspace of ", function.workspace_bytes, " bytes"));
    return {};
  }

  void find_symbols() {
    for (const ExternalModule& module : executable_.modules) {
      for (const ExternalFunction& function : module.functions) compiled_.insert(function.symbol);
    }
  }

  Status check_call(size_t index) {
    const Step& step = program_.steps[index];
    BYOC_TRY_STATUS(check_step(step).at(cat("step ", index, " (", step.symbol, ")")));
    if (step.module != Step::kHostExtern || !compiled_.contains(step.symbol)) return {};
    return bad_executable(cat("step ", index, " calls the host's function \"", step.symbol,
                              "\", which is also the name of a compiled one"));
  }

  Status check_instruction(const Instruction& instruction) {
    for (size_t k = 0; k < instruction.args.size(); ++k) {
      BYOC_TRY_STATUS(check_operand(instruction, k).at(cat("operand ", k)));
    }
    switch (instruction.kind) {
      case Instruction::kCall:
        return check_call(instruction.index);
      case Instruction::kIf:
      case Instruction::kLoop:
        blocks_.push_back(instruction.kind);
        written_.begin_block();
        return {};
      case Instruction::kElse:
        written_.begin_else();
        return {};
      case Instruction::kEnd:
        if (blocks_.back() == Instruction::kIf) written_.end_if();
        else written_.end_loop();
        blocks_.pop_back();
        return {};
      case Instruction::kCopy:
      case Instruction::kAppend:
        return {};
    }
    return {};
  }

  Status check_operand(const Instruction& instruction, size_t index) {
    const Place& place = instruction.args[index];
    if (place.kind == Place::kDevice) return bad_executable("an instruction uses a device");
    BYOC_TRY_STATUS(check_place(place, instruction.types[index]));
    const bool appends = instruction.kind == Instruction::kAppend && index == 1;
    if (!appends && !writes_operand(instruction.kind, index)) return check_read(place);
    if (place.kind == Place::kOutput && appends) written_.mark_after_loop(place.index);
    if (place.kind == Place::kOutput && !appends) written_.mark(place.index);
    if (place.kind == Place::kOutput || place.kind == Place::kArena) return {};
    return bad_executable("an input or constant would be written");
  }

  Status check_step(const Step& step) {
    if (step.types.size() != step.args.size() || step.n_in > step.args.size()) {
      return bad_executable(cat(step.args.size(), " arguments, ", step.types.size(), " types, ",
                                step.n_in, " inputs"));
    }
    const ExternalFunction* function = nullptr;
    if (step.is_compiled()) {
      BYOC_TRY_STATUS(find_function(step, function));
    }
    for (size_t k = 0; k < step.args.size(); ++k) {
      BYOC_TRY_STATUS(check_argument(step, k).at(cat("argument ", k)));
    }
    BYOC_TRY_STATUS(check_placement(executable_, step, function));
    return check_overlaps(step, function);
  }

  Status find_function(const Step& step, const ExternalFunction*& function) {
    if (step.module >= executable_.modules.size()) {
      return bad_executable(cat("module ", step.module, " of ", executable_.modules.size()));
    }
    const auto& functions = executable_.modules[step.module].functions;
    if (step.function >= functions.size())
      return bad_executable(cat("function ", step.function, " of ", functions.size()));
    function = &functions[step.function];
    // A function that shares the kernel of an equal one has a name that no kernel has.
    if (function->symbol != step.symbol && compiled_.contains(step.symbol))
      return bad_executable(cat("its function is called ", function->symbol));
    if (function->n_in == step.n_in &&
        function->n_in + uint64_t{function->n_out} == step.args.size())
      return {};
    return bad_executable(cat("called with ", step.n_in, " inputs and ",
                              step.args.size() - step.n_in, " outputs, has ", function->n_in,
                              " and ", function->n_out));
  }

  Status check_argument(const Step& step, size_t index) {
    const Place& place = step.args[index];
    BYOC_TRY_STATUS(check_place(place, step.types[index]));
    if (index < step.n_in) return check_read(place);
    if (place.kind == Place::kOutput) return mark_written(place.index);
    if (place.kind == Place::kArena || place.kind == Place::kDevice) return {};
    return bad_executable("an input or constant would be written");
  }

  Status check_place(const Place& place, const TensorSpec& type) {
    BYOC_TRY(int64_t size, fixed_bytes(type));
    auto same = [&](const char* what, size_t count, auto type_of) -> Status {
      if (place.index >= count) return bad_executable(cat(what, " ", place.index, " of ", count));
      if (type_of(place.index) == type || is_view_of(type, type_of(place.index))) return {};
      return bad_executable(
          cat(type, ", but ", what, " ", place.index, " is ", type_of(place.index)));
    };
    switch (place.kind) {
      case Place::kInput:
        return same("input", program_.inputs.size(),
                    [&](uint32_t k) { return program_.inputs[k].type; });
      case Place::kOutput:
        return same("output", program_.outputs.size(),
                    [&](uint32_t k) { return program_.outputs[k].type; });
      case Place::kConstant:
        return same("constant", program_.constants.size(),
                    [&](uint32_t k) { return program_.constants[k].type; });
      case Place::kDevice:
        return check_device_place(program_, place, type);
      case Place::kArena:
        break;
    }
    if (place.kind != Place::kArena)
      return bad_executable(cat("unknown kind of place ", static_cast<uint32_t>(place.kind)));
    if (!program_.packing.empty()) return check_block(place);
    BYOC_TRY(size, size_bytes(type));
    uint64_t end;
    if (place.offset % Buffer::kAlignment == 0 &&
        !__builtin_add_overflow(place.offset, size, &end) && end <= program_.arena_bytes) {
      return {};
    }
    return bad_executable(cat("arena offset ", place.offset, ", size ", size, ", in an arena of ",
                              program_.arena_bytes, " bytes"));
  }

  // A run makes each block as large as the values in it.
  Status check_block(const Place& place) const {
    if (place.index < program_.blocks() && place.offset % Buffer::kAlignment == 0) return {};
    return bad_executable(cat("offset ", place.offset, " of the arena's block ", place.index,
                              ", of ", program_.blocks()));
  }

  // Loops write an output again and again.
  Status mark_written(uint32_t output) {
    if (written_[output] && program_.code.empty())
      return bad_executable(cat("output \"", program_.outputs[output].name, "\" is written twice"));
    written_.mark(output);
    return {};
  }

  Status check_read(const Place& place) {
    if (place.kind != Place::kOutput || written_[place.index]) return {};
    return bad_executable(
        cat("output \"", program_.outputs[place.index].name, "\" is read before it is written"));
  }

  /// Checks that outputs share bytes with no other argument, except in the declared pairs, which
  /// begin at the same byte. Pairs are compared one by one only where something overlaps, that is
  /// in steps that work in place.
  Status check_overlaps(const Step& step, const ExternalFunction* function) {
    std::vector<Range> ranges = arena_ranges(program_, step);
    if (!outputs_overlap(ranges, step.n_in)) return {};
    for (const Range& out : ranges) {
      for (const Range& other : ranges) {
        if (out.argument <= other.argument || out.argument < step.n_in) continue;
        if (out.block != other.block || out.begin >= other.end || other.begin >= out.end) continue;
        if (out.begin == other.begin && is_declared(function, step, other.argument, out.argument))
          continue;
        return bad_executable(
            cat("arguments ", other.argument, " and ", out.argument, " overlap in the arena"));
      }
    }
    return {};
  }

  static bool is_declared(const ExternalFunction* function, const Step& step, size_t in,
                          size_t out) {
    if (function == nullptr || in >= step.n_in) return false;
    if (step.types[in].counted != 0 || step.types[out].counted != 0) return false;
    const bool is_open = step.types[in].is_open() || step.types[out].is_open();
    if (is_open && (step.types[in].open != step.types[out].open ||
                    step.types[in].dims != step.types[out].dims))
      return false;
    std::pair pair(static_cast<uint32_t>(in), static_cast<uint32_t>(out - step.n_in));
    const auto& pairs = function->inplace;
    return std::find(pairs.begin(), pairs.end(), pair) != pairs.end();
  }

  Status check_copy(const Copy& copy) {
    if (copy.output >= program_.outputs.size())
      return bad_executable(cat("output ", copy.output, " of ", program_.outputs.size()));
    if (copy.from.kind == Place::kDevice) return bad_executable("its source is on a device");
    BYOC_TRY_STATUS(check_place(copy.from, program_.outputs[copy.output].type));
    BYOC_TRY_STATUS(check_read(copy.from));
    return mark_written(copy.output);
  }

  const Executable& executable_;
  const Program& program_;
  std::unordered_set<std::string_view> compiled_;  // symbols of compiled functions
  WrittenOutputs written_;
  std::vector<Instruction::Kind> blocks_;
};

}  // namespace

Status check_executable(const Executable& executable) { return Checker(executable).run(); }

}  // namespace byoc
