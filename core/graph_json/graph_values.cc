// SPDX-License-Identifier: Apache-2.0
#include "core/graph_json/graph_values.h"

#include <cmath>

#include "byoc/base/literal.h"

namespace byoc::graph {
namespace {

DType read_dtype(const Json& value) {
  auto dtype = parse_dtype(value.get_ref<const std::string&>());
  if (!dtype) throw BadGraph(cat("dtype ", value.dump()));
  return *dtype;
}

int64_t read_extent(const Json& value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX)
    throw BadGraph(cat("dim ", value.dump()));
  return value.get<int64_t>();
}

Dim read_expression(const std::string& text, std::span<const Dim> sizes) {
  Result<Dim> dim = parse_dim_expression(text, sizes);
  if (!dim.ok()) throw BadGraph(dim.status().message());
  return *dim;
}

Dim read_dim(const Json& value, std::span<const Dim> sizes) {
  if (!value.is_object()) return Dim(read_extent(value));
  std::string name = value.at("symbol").get<std::string>();
  if (value.value("expression", false)) return read_expression(name, sizes);
  int64_t min = value.contains("min") ? read_extent(value["min"]) : 0;
  int64_t max = value.contains("max") ? read_extent(value["max"]) : Dim::kUnbounded;
  const bool counted = value.value("counted", false);
  if (name.empty() || min > max || (counted && (min > 0 || max == Dim::kUnbounded)))
    throw BadGraph(cat("dim ", value.dump()));
  if (counted) return Dim::counted(name, max);
  return Dim::symbol(name, min, max);
}

TypeId read_type(const Json& value, std::span<const Dim> sizes) {
  TensorType type{read_dtype(value.at("dtype")), {}};
  for (const Json& dim : value.at("shape")) type.shape.push_back(read_dim(dim, sizes));
  if (type.shape.size() > kMaxRank) throw BadGraph(cat(type, " has more than ", kMaxRank, " dims"));
  auto bytes = is_static(type.shape) ? size_bytes(type) : Result<int64_t>(int64_t{0});
  if (!bytes.ok()) throw BadGraph(bytes.status().message());
  return type;
}

bool is_float_object(const Json& value) { return value.is_object() && value.contains("float"); }
bool is_real(const Json& value) { return value.is_number_float() || is_float_object(value); }

double read_float(const Json& value) {
  if (!is_float_object(value)) return value.get<double>();
  const std::string& name = value["float"].get_ref<const std::string&>();
  if (name == "nan") return NAN;
  if (name != "inf" && name != "-inf") throw BadGraph(cat("float ", name));
  return name == "inf" ? INFINITY : -INFINITY;
}

int64_t read_integer(const Json& value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) {
    throw BadGraph(cat(value.dump(), " does not fit in 64 bits"));
  }
  return value.get<int64_t>();
}

template <class T, class Read>
AttrValue read_list(const Json& list, Read&& read) {
  std::vector<T> out;
  out.reserve(list.size());
  for (const Json& item : list) out.push_back(read(item));
  return AttrValue(std::move(out));
}

AttrValue read_list(const Json& list) {
  auto all = [&](auto&& is) {
    for (const Json& item : list) {
      if (!is(item)) return false;
    }
    return true;
  };
  if (all([](const Json& v) { return v.is_number_integer(); }))
    return read_list<int64_t>(list, read_integer);
  if (all([](const Json& v) { return v.is_number() || is_real(v); }))
    return read_list<double>(list, read_float);
  if (all([](const Json& v) { return v.is_string(); })) {
    return read_list<std::string>(list, [](const Json& v) { return v.get<std::string>(); });
  }
  if (all([](const Json& v) { return v.is_boolean(); })) {
    return read_list<bool>(list, [](const Json& v) { return v.get<bool>(); });
  }
  throw BadGraph(cat("a list of mixed values ", list.dump()));
}

// Returns an element as its text form, which parse_element reads.
std::string element_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return cat(value.get<double>());
  return value.dump();
}

}  // namespace

void TypeTable::read(const Json& types) {
  for (const Json& type : types) types_.push_back(read_type(type, sizes_));
}

void TypeTable::read_sizes(const Json& sizes) {
  for (const Json& size : sizes) {
    sizes_.push_back(read_dim(size, {}));
    if (!is_open(sizes_.back())) throw BadGraph(cat("size ", size.dump()));
  }
}

TypeId TypeTable::operator[](const Json& index) const {
  uint32_t k = read_index(index);
  if (k >= types_.size()) throw BadGraph(cat("type ", k, " of ", types_.size()));
  return types_[k];
}

uint32_t read_index(const Json& value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX) {
    throw BadGraph(cat("expected an index, found ", value.dump()));
  }
  return value.get<uint32_t>();
}

ContentKey read_key(const Json& value) {
  ContentKey key;
  if (!ContentKey::parse(value.get_ref<const std::string&>(), key))
    throw BadGraph(cat("key ", value.dump()));
  return key;
}

AttrValue read_attr(const Json& value, const TypeTable& types) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return value.get<std::string>();
  if (is_real(value)) return read_float(value);
  if (value.is_number_integer()) return read_integer(value);
  if (value.is_array()) return read_list(value);
  if (value.is_object() && value.contains("dtype")) return read_dtype(value["dtype"]);
  if (value.is_object() && value.contains("constant")) {
    return ConstantRef{read_key(value["constant"]), types[value.at("type")]};
  }
  throw BadGraph(cat("attribute value ", value.dump()));
}

Captures read_captures(const Json& captures) {
  Captures out;
  for (const auto& [name, list] : captures.items()) {
    std::vector<Capture>& to = out[name];
    for (const Json& item : list) {
      const std::string& kind = item.at(0).get_ref<const std::string&>();
      if (kind != "n" && kind != "i") throw BadGraph(cat("capture ", item.dump()));
      to.push_back({kind == "n" ? Capture::kNode : Capture::kInput, read_index(item.at(1))});
    }
  }
  return out;
}

std::shared_ptr<const Buffer> read_elements(const Json& values, DType dtype) {
  size_t size = dtype_size(dtype);
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t k = 0; k < values.size(); ++k) {
    if (!parse_element(element_text(values[k]), dtype, bytes.data() + k * size)) {
      throw BadGraph(cat(values[k].dump(), " is no ", dtype));
    }
  }
  return Buffer::copy(bytes);
}

}  // namespace byoc::graph
