// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/cache.h"

#include <bit>

#include "plugins/llvm/store/bytes.h"

namespace byoc::llvm_plugin {
namespace {

void put_sequence(std::string& out, const Sequence& sequence) {
  put_number(out, sequence.arena_bytes);
  put_number(out, sequence.calls.size());
  for (const Sequence::Call& call : sequence.calls) {
    put_number(out, call.piece);
    put_number(out, call.args.size());
    for (int32_t arg : call.args) put_number(out, static_cast<uint32_t>(arg));
  }
}

Sequence sequence_of(Reader& reader) {
  Sequence out;
  out.arena_bytes = reader.number();
  for (uint64_t n = reader.number(); n > 0; --n) {
    Sequence::Call& call = out.calls.emplace_back();
    call.piece = static_cast<uint32_t>(reader.number());
    for (uint64_t args = reader.number(); args > 0; --args)
      call.args.push_back(static_cast<int32_t>(reader.number()));
  }
  return out;
}

void put_point(std::string& out, const sdk::Point& point) {
  put_number(out, point.size());
  for (const auto& [name, value] : point) {
    put_text(out, name);
    put_text(out, value);
  }
}

sdk::Point point_of(Reader& reader) {
  sdk::Point out;
  for (uint64_t n = reader.number(); n > 0; --n) {
    std::string name(reader.text());
    out[std::move(name)] = reader.text();
  }
  return out;
}

std::string bytes_of(const sdk::KnobSpace& space) {
  std::string out;
  put_text(out, space.task);
  put_text(out, space.kind);
  for (double x : {space.flops, space.bytes}) put_number(out, std::bit_cast<uint64_t>(x));
  put_number(out, space.knobs.size());
  for (const sdk::Knob& knob : space.knobs) {
    put_text(out, knob.name);
    put_number(out, knob.values.size());
    for (const std::string& value : knob.values) put_text(out, value);
  }
  put_number(out, space.guesses.size());
  for (const sdk::Point& guess : space.guesses) put_point(out, guess);
  for (const auto* by_knob : {&space.cost_ns, &space.constant_bytes}) {
    put_number(out, by_knob->size());
    for (const auto& [knob, numbers] : *by_knob) {
      put_text(out, knob);
      put_number(out, numbers.size());
      for (const auto& [value, number] : numbers) {
        put_text(out, value);
        put_number(out, std::bit_cast<uint64_t>(number));
      }
    }
  }
  return out;
}

std::map<std::string, double> numbers_of(Reader& reader) {
  std::map<std::string, double> out;
  for (uint64_t n = reader.number(); n > 0; --n) {
    std::string value(reader.text());
    out[std::move(value)] = std::bit_cast<double>(reader.number());
  }
  return out;
}

sdk::KnobSpace space_of(Reader reader) {
  sdk::KnobSpace out;
  out.task = reader.text();
  out.kind = reader.text();
  out.flops = std::bit_cast<double>(reader.number());
  out.bytes = std::bit_cast<double>(reader.number());
  for (uint64_t n = reader.number(); n > 0; --n) {
    sdk::Knob& knob = out.knobs.emplace_back();
    knob.name = reader.text();
    for (uint64_t values = reader.number(); values > 0; --values)
      knob.values.emplace_back(reader.text());
  }
  for (uint64_t n = reader.number(); n > 0; --n) out.guesses.push_back(point_of(reader));
  for (auto* by_knob : {&out.cost_ns, &out.constant_bytes}) {
    for (uint64_t n = reader.number(); n > 0; --n) {
      std::string knob(reader.text());
      (*by_knob)[std::move(knob)] = numbers_of(reader);
    }
  }
  return out;
}

}  // namespace

std::optional<Kernel> KernelCache::find(const std::string& symbol) const {
  const auto bytes = files_.find(symbol);
  if (!bytes) return std::nullopt;
  Reader reader(*bytes);
  Kernel out{symbol};
  out.workspace.bytes = reader.number();
  out.workspace.by_sizes = reader.text();
  out.has_tiles = reader.number() != 0;
  out.object = reader.rest();
  return out;
}

void KernelCache::put(const Kernel& kernel) const {
  std::string bytes;
  put_number(bytes, kernel.workspace.bytes);
  put_text(bytes, kernel.workspace.by_sizes);
  put_number(bytes, kernel.has_tiles ? 1 : 0);
  files_.put(kernel.symbol, bytes + kernel.object);
}

std::shared_ptr<const Kernel> KernelCache::shared(std::string_view symbol) const {
  auto kernel = find(std::string(symbol));
  return kernel ? std::make_shared<const Kernel>(*std::move(kernel)) : nullptr;
}

void KernelCache::put_function(const std::string& name, const CompiledFunction& function) const {
  std::string out;
  put_number(out, function.kernels.size());
  for (const auto& kernel : function.kernels) put_text(out, kernel->symbol);
  put_number(out, function.sequence.has_value());
  if (function.sequence) put_sequence(out, *function.sequence);
  put_number(out, function.constants.has_value());
  if (const auto& constants = function.constants) {
    put_text(out, constants->kernel->symbol);
    put_numbers(out, constants->output_bytes);
    put_numbers(out, constants->reads);
    put_numbers(out, std::vector<uint64_t>(constants->is_kept.begin(), constants->is_kept.end()));
  }
  files_.put(name, out);
}

std::optional<CompiledFunction> KernelCache::find_function(const std::string& name) const {
  const auto bytes = files_.find(name);
  if (!bytes) return std::nullopt;
  Reader reader(*bytes);
  CompiledFunction out;
  for (uint64_t n = reader.number(); n > 0; --n) {
    if (!out.kernels.emplace_back(shared(reader.text()))) return std::nullopt;
  }
  if (reader.number() != 0) out.sequence = sequence_of(reader);
  if (reader.number() == 0) return out;
  ConstantKernel& constants = out.constants.emplace();
  constants.kernel = shared(reader.text());
  if (!constants.kernel) return std::nullopt;
  constants.output_bytes = reader.numbers();
  constants.reads = reader.numbers();
  const std::vector<uint64_t> is_kept = reader.numbers();
  constants.is_kept.assign(is_kept.begin(), is_kept.end());
  return out;
}

std::optional<sdk::KnobSpace> KernelCache::find_space(const std::string& name) const {
  const auto bytes = files_.find(name);
  return bytes ? std::optional(space_of(Reader(*bytes))) : std::nullopt;
}

void KernelCache::put_space(const std::string& name, const sdk::KnobSpace& space) const {
  files_.put(name, bytes_of(space));
}

}  // namespace byoc::llvm_plugin
