// SPDX-License-Identifier: Apache-2.0
// einsum: products of any number of tensors, summed over the labels that the result lacks.
#include <algorithm>
#include <map>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

// The labels of the terms of "ij,jk->ik". Labels are letters; the dims of an ellipsis get labels of
// their own, the last one 256, the one before it 257, ..., so that they broadcast from the right.
using Labels = std::vector<int>;
struct Equation {
  std::vector<Labels> operands;
  Labels result, summed;
  std::map<int, Dim> dims;
};

Status equation_error(const std::string& equation, std::string message, Types in) {
  std::string types;
  for (TypeId type : in) types += cat(types.empty() ? " (" : ", ", type);
  return invalid(cat("einsum: \"", equation, "\": ", message, types, ")")).with_slug("op-shape");
}

constexpr int kEllipsis = 256;

// Returns the labels of one term; an ellipsis has the dims of the operand that no letter names.
Result<Labels> parse_term(const std::string& equation, std::string_view term, size_t ellipsis_rank,
                          Types in) {
  Labels labels;
  bool has_ellipsis = false;
  for (size_t k = 0; k < term.size(); ++k) {
    char c = term[k];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else if (term.substr(k, 3) == "..." && !has_ellipsis) {
      for (size_t d = ellipsis_rank; d-- > 0;) labels.push_back(kEllipsis + static_cast<int>(d));
      has_ellipsis = true;
      k += 2;
    } else {
      return equation_error(equation, cat("\"", c, "\" is out of place"), in);
    }
  }
  return labels;
}

size_t letters_of(std::string_view term) {
  return static_cast<size_t>(
      std::count_if(term.begin(), term.end(), [](char c) { return c != '.'; }));
}

std::vector<std::string> split_terms(std::string_view text) {
  std::vector<std::string> terms = {""};
  for (char c : text) {
    if (c == ',') terms.emplace_back();
    else terms.back() += c;
  }
  return terms;
}

// Returns the result without "->": the ellipsis, then the labels that occur once, in
// alphabetical order.
Labels implicit_result(const std::vector<Labels>& operands) {
  std::map<int, int> uses;
  for (const Labels& labels : operands) {
    for (int label : labels) ++uses[label];
  }
  Labels result;
  for (auto at = uses.rbegin(); at != uses.rend() && at->first >= kEllipsis; ++at)
    result.push_back(at->first);
  for (auto [label, count] : uses) {
    if (label < kEllipsis && count == 1) result.push_back(label);
  }
  return result;
}

Status bind_dims(Equation& e, const std::string& equation, Types in) {
  for (size_t k = 0; k < in.size(); ++k) {
    const Shape& shape = in[k]->shape;
    if (e.operands[k].size() != shape.size()) {
      return equation_error(
          equation,
          cat("operand ", k, " has ", shape.size(), " dims, its term names ", e.operands[k].size()),
          in);
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      auto [at, is_new] = e.dims.emplace(e.operands[k][d], shape[d]);
      if (is_new || at->second == shape[d] || shape[d] == Dim(1)) continue;
      if (at->second != Dim(1))
        return equation_error(equation,
                              cat("dims ", at->second, " and ", shape[d], " have one label"), in);
      at->second = shape[d];
    }
  }
  return {};
}

Status split_labels(Equation& e, const std::string& equation, Types in) {
  for (size_t k = 0; k < e.result.size(); ++k) {
    bool twice = std::find(e.result.begin(), e.result.begin() + static_cast<ptrdiff_t>(k),
                           e.result[k]) != e.result.begin() + static_cast<ptrdiff_t>(k);
    if (twice || !e.dims.count(e.result[k]))
      return equation_error(equation, "the result's labels must be the operands', each once", in);
  }
  for (const auto& [label, dim] : e.dims) {
    if (std::find(e.result.begin(), e.result.end(), label) == e.result.end())
      e.summed.push_back(label);
  }
  if (e.dims.size() <= kMaxRank) return {};
  return equation_error(equation, cat("more than ", kMaxRank, " labels"), in);
}

Result<Equation> read_equation(Types in, const Attrs& attrs) {
  std::string given = attrs.s("equation"), text = given;
  std::erase(text, ' ');
  size_t arrow = text.find("->");
  std::vector<std::string> terms = split_terms(std::string_view(text).substr(0, arrow));
  if (terms.size() != in.size())
    return equation_error(given, cat(terms.size(), " terms for ", in.size(), " operands"), in);
  Equation e;
  size_t ellipsis_rank = 0;
  for (size_t k = 0; k < in.size(); ++k) {
    size_t rank = in[k]->shape.size(), letters = letters_of(terms[k]);
    size_t hidden = terms[k].find('.') == std::string::npos || letters > rank ? 0 : rank - letters;
    ellipsis_rank = std::max(ellipsis_rank, hidden);
    BYOC_TRY(Labels labels, parse_term(given, terms[k], hidden, in));
    e.operands.push_back(std::move(labels));
  }
  e.result = implicit_result(e.operands);
  if (arrow != std::string::npos) {
    BYOC_TRY(e.result,
             parse_term(given, std::string_view(text).substr(arrow + 2), ellipsis_rank, in));
  }
  BYOC_TRY_STATUS(bind_dims(e, given, in));
  BYOC_TRY_STATUS(split_labels(e, given, in));
  return e;
}

Result<std::vector<TensorType>> infer_einsum(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("einsum", "x", in[0], dtypes_of(NumericTypes{})));
  BYOC_TRY_STATUS(expect_same_dtype("einsum", in));
  BYOC_TRY(Equation e, read_equation(in, attrs));
  TensorType y{in[0]->dtype, {}};
  for (int label : e.result) y.shape.push_back(e.dims.at(label));
  return one_result(std::move(y));
}

// Counts through index space. Every operand has a step per label, 0 for labels that
// it does not have.
struct Counter {
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> steps;  // [operand][label]
};

Counter make_counter(const Equation& e, const Labels& labels, Types in) {
  Counter counter;
  BYOC_CHECK(labels.size() <= kMaxRank && e.operands.size() == in.size(), labels.size(),
             " labels, ", e.operands.size(), " terms for ", in.size(), " operands");
  for (int label : labels) counter.extents.push_back(e.dims.at(label).extent());
  for (size_t k = 0; k < in.size(); ++k) {
    std::vector<int64_t> own = row_major_strides(static_extents(in[k]->shape)),
                         steps(labels.size(), 0);
    BYOC_CHECK(own.size() == e.operands[k].size(), in[k], " has ", e.operands[k].size(), " labels");
    for (size_t d = 0; d < own.size(); ++d) {
      auto at = std::find(labels.begin(), labels.end(), e.operands[k][d]);
      if (at != labels.end() && in[k]->shape[d] != Dim(1))
        steps[static_cast<size_t>(at - labels.begin())] += own[d];
    }
    counter.steps.push_back(std::move(steps));
  }
  return counter;
}

// Calls visit(index) for every index, the last label fastest; once when there are no labels.
template <class Visit>
void for_indices(const Counter& counter, Visit&& visit) {
  std::array<int64_t, kMaxRank> index{};
  for (int64_t extent : counter.extents) {
    if (extent == 0) return;
  }
  for (bool more = true; more;) {
    visit(index);
    more = false;
    for (size_t d = counter.extents.size(); d-- > 0 && !more;) {
      more = ++index[d] < counter.extents[d];
      if (!more) index[d] = 0;
    }
  }
}

int64_t offset_of(const std::vector<int64_t>& steps, const std::array<int64_t, kMaxRank>& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < steps.size(); ++d) offset += steps[d] * index[d];
  return offset;
}

Result<RefKernel> reference_einsum(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(Equation e, read_equation(in, attrs));
  Counter kept = make_counter(e, e.result, in), summed = make_counter(e, e.summed, in);
  return for_dtype("einsum", out[0]->dtype, NumericTypes{}, [&]<class T>() -> RefKernel {
    return [kept, summed](const void* const* from, void* const* to) {
      T* y = out_as<T>(to, 0);
      for_indices(kept, [&](const auto& result) {
        Sum<T> sum{};
        for_indices(summed, [&](const auto& index) {
          Sum<T> product{1};
          for (size_t k = 0; k < kept.steps.size(); ++k) {
            int64_t at = offset_of(kept.steps[k], result) + offset_of(summed.steps[k], index);
            product *= static_cast<Sum<T>>(in_as<T>(from, k)[at]);
          }
          sum += product;
        });
        *y++ = static_cast<T>(sum);
      });
    };
  });
}

Result<Tensors> compute_einsum(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  std::vector<TypeId> types;
  for (const Tensor& x : in) types.push_back(type_of(x));
  BYOC_TRY(Equation e, read_equation(types, attrs));
  auto product = [&](const Exprs& i, const Exprs& r) {
    BYOC_CHECK(i.size() == e.result.size() && r.size() == e.summed.size(), i.size(), " and ",
               r.size(), " indices");
    std::map<int, Expr> at;
    for (size_t d = 0; d < i.size(); ++d) at[e.result[d]] = i[d];
    for (size_t d = 0; d < r.size(); ++d) at[e.summed[d]] = r[d];
    Expr term;
    for (size_t k = 0; k < in.size(); ++k) {
      Exprs index;
      for (int label : e.operands[k]) index.push_back(at.at(label));
      Expr factor = widened(in[k](broadcast_index(in[k], index)));
      term = term.is_empty() ? factor : term * factor;
    }
    return term;
  };
  Exprs over;
  for (int label : e.summed) over.push_back(te::extent_of(e.dims.at(label)));
  Exprs shape = te::extents_of(*out[0]);
  DType dtype = out[0]->dtype;
  if (over.empty())
    return one(builder.compute(
        "einsum", shape, [&](const Exprs& i) { return converted_to(dtype, product(i, {})); }));
  return one(stored_as(builder, "einsum", dtype,
                       sum_over(builder, "einsum", shape, over, dtype, product)));
}

// Returns one multiplication per operand for every index of all labels; the addition replaces
// the first one's.
double flops_einsum(Types in, Types, const Attrs& attrs) {
  auto e = read_equation(in, attrs);
  if (!e.ok()) return 0;
  double total = static_cast<double>(in.size());
  for (const auto& [label, dim] : e->dims) total *= static_cast<double>(dim.extent());
  return total;
}

}  // namespace

void add_einsum_ops(OpRegistry& ops) {
  ops.add({.name = "einsum",
           .doc = "The product of the operands, summed over labels that the result lacks, as in "
                  "\"bij,bjk->bik\"; "
                  "\"...\" is any number of leading dims, which broadcast.",
           .kind = FusionKind::kAnchor,
           .inputs = {{.name = "x", .doc = "number, all of one type", .variadic = true}},
           .attrs = {{"equation", "", "terms of letters, one per operand", AttrSpec::kRequired}},
           .infer = infer_einsum,
           .reference = reference_einsum,
           .compute = with_open_sizes(compute_einsum),
           .flops = flops_einsum});
}

}  // namespace byoc::op
