// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/sizes.h"

#include <algorithm>
#include <set>

#include "byoc/base/json.h"
#include "byoc/base/nearest.h"

namespace byoc {
namespace {

constexpr std::string_view kSizesFormat = "byoc.artifact";

Status corrupt_sizes(std::string message) {
  return data_loss(std::move(message)).with_slug("artifact-corrupt");
}

std::string describe(const std::vector<NamedTensor>& inputs) {
  constexpr size_t kShown = 4;
  std::string out;
  for (size_t k = 0; k < std::min(inputs.size(), kShown); ++k)
    out += cat(k ? ", " : "", inputs[k].name, " ", inputs[k].type);
  return inputs.size() > kShown ? cat(out, " and ", inputs.size() - kShown, " more") : out;
}

Result<ContentKey> read_key(const Json& json, const char* name) {
  ContentKey key;
  auto found = json.find(name);
  if (found == json.end() || !found->is_string() ||
      !ContentKey::parse(found->get_ref<const std::string&>(), key))
    return corrupt_sizes(cat("\"", name, "\" is no key"));
  return key;
}

Result<SizeRecord> read_size(const Json& json) {
  if (!json.is_object()) return corrupt_sizes("a size is an object");
  auto label = json.find("label");
  if (label == json.end() || !label->is_string()) return corrupt_sizes("\"label\" is no text");
  BYOC_TRY(ContentKey key, read_key(json, "manifest"));
  auto entry = json.find("entry");
  if (entry == json.end()) return SizeRecord{label->get<std::string>(), key};
  if (!entry->is_string()) return corrupt_sizes("\"entry\" is no text");
  return SizeRecord{label->get<std::string>(), key, entry->get<std::string>()};
}

/// Reads the place of a section in a file of the model.
Status read_model_place(const Json& json, Section& out) {
  const Json& file = json["file"];
  if (!file.is_array() || file.size() != 1 || !file[0].is_string())
    return corrupt_sizes("\"file\" is no list of one name");
  out.file.push_back(file[0].get<std::string>());
  for (const Json& number : json.value("place", Json::array())) {
    if (!number.is_number_unsigned()) return corrupt_sizes("\"place\" has more than numbers");
    out.place.push_back(number.get<uint64_t>());
  }
  return {};
}

Result<Section> read_section(const Json& json) {
  if (!json.is_object()) return corrupt_sizes("a section is an object");
  BYOC_TRY(ContentKey key, read_key(json, "key"));
  auto size = json.find("size");
  if (size == json.end() || !size->is_number_unsigned())
    return corrupt_sizes("\"size\" is no number");
  Section out{key, size->get<uint64_t>()};
  if (json.contains("from")) {
    const Json& from = json["from"];
    if (!from.is_array() || from.size() != 1 || !from[0].is_string() ||
        !ContentKey::parse(from[0].get_ref<const std::string&>(), out.from.emplace_back()))
      return corrupt_sizes("\"from\" is no list of one key");
  }
  if (json.contains("file")) BYOC_TRY_STATUS(read_model_place(json, out));
  const Json order = json.value("order", Json::array());
  if (!order.is_array()) return corrupt_sizes("\"order\" is no list");
  for (const Json& loop : order) {
    if (!loop.is_array() || loop.size() != 2 || !loop[0].is_number_unsigned() ||
        !loop[1].is_number_unsigned())
      return corrupt_sizes("\"order\" has more than pairs of numbers");
    out.order.loops.emplace_back(loop[0].get<uint64_t>(), loop[1].get<uint64_t>());
  }
  for (const Json& number : json.value("padding", Json::array())) {
    if (!number.is_number_unsigned()) return corrupt_sizes("\"padding\" has more than numbers");
    out.order.padding.push_back(number.get<uint64_t>());
  }
  return out;
}

template <class T>
Status read_list(const Json& json, const char* name, Result<T> (*read)(const Json&),
                 std::vector<T>& out) {
  auto list = json.find(name);
  if (list == json.end() || !list->is_array())
    return corrupt_sizes(cat("\"", name, "\" is no list"));
  for (const Json& item : *list) {
    auto value = read(item);
    if (!value.ok()) return std::move(value.status()).at(cat(name, ": [", out.size(), "]"));
    out.push_back(*std::move(value));
  }
  return {};
}

/// Checks that names and dtypes are equal.
Status check_same_inputs(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  bool same = a.size() == b.size();
  for (size_t k = 0; same && k < a.size(); ++k)
    same = a[k].name == b[k].name && a[k].type.dtype == b[k].type.dtype;
  if (same) return {};
  return invalid(cat("sizes of one model have the same inputs, not ", describe(a), " and ",
                     describe(b)))
      .with_slug("executable");
}

}  // namespace

std::string write_sizes_manifest(const std::string& producer, const SizesManifest& manifest) {
  Json json = {{"format", kSizesFormat}, {"producer", producer}};
  json["sizes"] = Json::array();
  for (const SizeRecord& size : manifest.sizes) {
    json["sizes"].push_back({{"label", size.label}, {"manifest", size.manifest.hex()}});
    if (!size.entry.empty()) json["sizes"].back()["entry"] = size.entry;
  }
  json["sections"] = Json::array();
  for (const Section& section : manifest.sections) {
    json["sections"].push_back({{"key", section.key.hex()}, {"size", section.size}});
    if (section.is_stored()) continue;
    Json& last = json["sections"].back();
    if (!section.from.empty()) last["from"] = {section.from[0].hex()};
    if (!section.file.empty()) last["file"] = section.file;
    if (!section.file.empty()) last["place"] = section.place;
    if (!section.order.loops.empty()) last["order"] = section.order.loops;
    if (!section.order.padding.empty()) last["padding"] = section.order.padding;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<SizesManifest> read_sizes_manifest(std::string_view text) {
  auto json = parse_json(text);
  if (!json.ok()) return corrupt_sizes(json.status().message());
  if (!json->is_object() || json->value("format", Json()) != kSizesFormat)
    return corrupt_sizes("it is no manifest of an artifact");
  SizesManifest manifest;
  BYOC_TRY_STATUS(read_list(*json, "sizes", read_size, manifest.sizes));
  BYOC_TRY_STATUS(read_list(*json, "sections", read_section, manifest.sections));
  return manifest;
}

namespace {

Status check_sizes_of_entry(std::span<const SizedExecutable> sizes) {
  const std::vector<NamedTensor>& first = sizes[0].executable.program.inputs;
  std::set<std::string> labels, seen;
  for (const SizedExecutable& size : sizes) {
    const std::vector<NamedTensor>& inputs = size.executable.program.inputs;
    BYOC_TRY_STATUS(check_same_inputs(first, inputs));
    if (size.executable.program.states.size() != sizes[0].executable.program.states.size())
      return invalid(
                 cat("size \"", size.label, "\" has other states than \"", sizes[0].label, "\""))
          .with_slug("executable");
    std::string types;
    for (const NamedTensor& input : inputs) types += cat(input.type);
    if (labels.insert(size.label).second && seen.insert(types).second) continue;
    return invalid(cat("size \"", size.label, "\" is there twice: ", describe(inputs)))
        .with_slug("executable");
  }
  return {};
}

}  // namespace

size_t sizes_of_first(std::span<const SizedExecutable> sizes) {
  const auto other = std::ranges::find_if(
      sizes, [&](const SizedExecutable& size) { return size.entry != sizes[0].entry; });
  return static_cast<size_t>(other - sizes.begin());
}

Status check_sizes(std::span<const SizedExecutable> sizes) {
  if (sizes.empty()) return invalid("an artifact needs a size").with_slug("executable");
  const bool has_several = sizes_of_first(sizes) < sizes.size();
  std::set<std::string> seen;
  while (!sizes.empty()) {
    const std::string& entry = sizes[0].entry;
    if (has_several && entry.empty())
      return invalid("an artifact of several entries has one without a name")
          .with_slug("executable");
    if (!seen.insert(entry).second)
      return invalid(cat("the entry \"", entry, "\" is there twice")).with_slug("executable");
    const size_t count = sizes_of_first(sizes);
    BYOC_TRY_STATUS(check_sizes_of_entry(sizes.first(count)).at(entry));
    sizes = sizes.subspan(count);
  }
  return {};
}

std::vector<std::string> entries_of(std::span<const SizedExecutable> sizes) {
  std::vector<std::string> out;
  for (const SizedExecutable& size : sizes) {
    if (!size.entry.empty() && (out.empty() || out.back() != size.entry)) out.push_back(size.entry);
  }
  return out;
}

Result<std::span<const SizedExecutable>> find_entry(std::span<const SizedExecutable> sizes,
                                                    std::string_view name) {
  const std::vector<std::string> names = entries_of(sizes);
  if (name.empty() && names.size() < 2) return sizes;
  std::string all;
  for (const std::string& entry : names) all += cat(all.empty() ? "" : ", ", entry);
  if (name.empty())
    return invalid(cat("the file has ", names.size(), " entries, and none is named"))
        .with_slug("artifact-entries")
        .with_help(cat("name one of them: ", all));
  if (std::ranges::count(names, name) == 0)
    return not_found(cat("the file has no entry \"", name, "\"", did_you_mean(name, names)))
        .with_slug("unknown-entry")
        .with_help(names.empty() ? "it has one model, without a name" : cat("it has ", all));
  const auto first = std::ranges::find(sizes, name, &SizedExecutable::entry);
  const auto found = sizes.subspan(static_cast<size_t>(first - sizes.begin()));
  return found.first(sizes_of_first(found));
}

Result<std::vector<SizedExecutable>> take_entry(std::vector<SizedExecutable> sizes,
                                                std::string_view name) {
  BYOC_TRY(const auto found, find_entry(sizes, name));
  const auto begin = sizes.begin() + (found.data() - sizes.data());
  return std::vector<SizedExecutable>(
      std::move_iterator(begin),
      std::move_iterator(begin + static_cast<std::ptrdiff_t>(found.size())));
}

std::string describe_sizes(std::span<const SizedExecutable> sizes) {
  constexpr size_t kShown = 8;
  std::string out;
  for (const SizedExecutable& size : sizes.first(std::min(sizes.size(), kShown))) {
    out += cat(out.empty() ? "" : "; ", size.label, size.label.empty() ? "" : ": ",
               describe(size.executable.program.inputs));
  }
  return sizes.size() > kShown ? cat(out, " and ", sizes.size() - kShown, " more") : out;
}

Status no_such_size(const std::string& given, const std::string& described) {
  return invalid(cat("the model is not compiled for ", given))
      .with_slug("input-size")
      .with_help(cat("it has ", described));
}

}  // namespace byoc
