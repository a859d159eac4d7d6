// SPDX-License-Identifier: Apache-2.0
// Finds attention among the jobs of a function:
//   scores = sum q k                  masked = f(scores)
//   top = max masked                  total = sum e^(masked - top)
//   weights = e^(masked - top) (1 / total), or 0 for some rows
//   y = sum weights v
#include <algorithm>
#include <cmath>

#include "byoc/te/rewrite.h"
#include "plugins/cuda/attention/attention.h"
#include "plugins/cuda/loops/inliner.h"

namespace byoc::cuda {
namespace {

constexpr int64_t kMostNumbers = 128, kLeastQueries = 8, kLeastKeys = 8;

using LoadNode = std::shared_ptr<const te::Load>;

const LoadNode* as_load(const te::Expr& x) { return std::get_if<LoadNode>(&x->kind); }

const te::Binary* as_binary(const te::Expr& x, te::BinaryOp op) {
  const auto* out = std::get_if<te::Binary>(&x->kind);
  return out != nullptr && out->op == op ? out : nullptr;
}

// Returns x without conversions between floats: weights are rounded as factors of the product.
te::Expr without_casts(te::Expr x) {
  for (const te::Cast* cast = nullptr; (cast = std::get_if<te::Cast>(&x->kind)) != nullptr;) {
    if (!is_float(cast->x.dtype())) break;
    x = te::Expr(cast->x);
  }
  return x;
}

class Matcher {
 public:
  Matcher(size_t stage, const Jobs& jobs) : jobs_(jobs), stage_(stage), job_(*jobs.of[stage]) {}

  std::optional<Attention> match() {
    const std::optional<Product> product = product_of_job(job_);
    if (!product || job_.compute().reduce.size() != 1) return std::nullopt;
    out_.values = *product;
    if (find_weights() && fits()) return std::move(out_);
    std::swap(out_.values.a, out_.values.b);
    std::swap(out_.values.m, out_.values.n);
    std::swap(out_.values.m_size, out_.values.n_size);
    out_.replaced.clear();
    out_.is_zero = te::Expr();
    if (find_weights() && fits()) return std::move(out_);
    return std::nullopt;
  }

 private:
  const te::Var& key() const { return job_.compute().reduce[0].var; }
  const Job* job_of(const te::Load& load) const {
    const std::optional<Job>& job = jobs_.of[jobs_.readers.maker_of(load.tensor)];
    return job && job->values.size() == 1 ? &*job : nullptr;
  }
  // Returns the job of a reduction over as many terms as there are keys.
  const Job* rows_of(const te::Load& load) const {
    const Job* job = job_of(load);
    return job != nullptr && job->reduce == job_.reduce ? job : nullptr;
  }
  bool fits() const;
  bool find_weights();
  bool find_softmax(const te::Expr& weights);
  bool find_dots(const te::Expr& score);
  bool is_read_here() const;
  bool depends(const te::Expr& x, const std::vector<size_t>& axes) const;
  te::Expr opened(const te::Expr& x);
  bool is_open(const Job& job) const;
  te::Expr terms_for(const Job& rows, const te::Load& load);

  const Jobs& jobs_;
  const size_t stage_;
  const Job& job_;
  Attention out_;
};

bool Matcher::fits() const {
  const Product& p = out_.values;
  return out_.depth_size() <= kMostNumbers && p.n_size <= kMostNumbers &&
         p.m_size >= kLeastQueries && p.k_size >= kLeastKeys && out_.depth_size() > 0 &&
         p.n_size > 0 && p.batch_size > 0 && job_.stage->outputs[0].dtype() == DType::kF32 &&
         is_read_here();
}

// Returns true when only the jobs that the kernel replaces, and its own, read what they make.
bool Matcher::is_read_here() const {
  auto is_own = [&](size_t stage) {
    return stage == stage_ || std::ranges::find(out_.replaced, stage) != out_.replaced.end();
  };
  for (size_t stage : out_.replaced) {
    for (const te::Tensor& tensor : jobs_.of[stage]->stage->outputs) {
      const auto users = jobs_.users.find(tensor.id());
      if (jobs_.readers.is_output(tensor) ||
          (users != jobs_.users.end() && !std::ranges::all_of(users->second, is_own)))
        return false;
    }
  }
  return true;
}

bool Matcher::depends(const te::Expr& x, const std::vector<size_t>& axes) const {
  const Vars vars = vars_of(x);
  return std::ranges::any_of(
      axes, [&](size_t axis) { return vars.contains(job_.compute().axes[axis].var.id()); });
}

// Returns true for the elementwise jobs between the reductions.
bool Matcher::is_open(const Job& job) const {
  if (!job.reduce.empty()) return false;
  for (const auto& load : work_of(job.values[0]).loads) {
    const Job* from = job_of(*load);
    if (from != nullptr && !from->reduce.empty()) return true;
  }
  return false;
}

// Replaces loads of such jobs by their values.
te::Expr Matcher::opened(const te::Expr& x) {
  Inliner inliner;
  inliner.add_axes(job_.compute().axes, job_.extents);
  inliner.add_axes(job_.compute().reduce, job_.reduce);
  constexpr int kMostLevels = 4;
  te::Expr out = x;
  for (int level = 0; level < kMostLevels; ++level) {
    Inliner next = inliner;
    bool is_done = true;
    for (const auto& load : work_of(out).loads) {
      const Job* from = job_of(*load);
      if (from == nullptr || !is_open(*from)) continue;
      is_done = false;
      next.add(load->tensor, from->compute().axes, from->values[0]);
      const size_t stage = jobs_.readers.maker_of(load->tensor);
      if (std::ranges::find(out_.replaced, stage) == out_.replaced.end())
        out_.replaced.push_back(stage);
    }
    if (is_done) break;
    out = next(out);
  }
  te::Ranges ranges;
  add_ranges(job_.compute().axes, job_.extents, ranges);
  add_ranges(job_.compute().reduce, job_.reduce, ranges);
  return te::simplify(out, ranges);
}

// Returns the term of a reduction at the key of this job, for the element that is loaded.
te::Expr Matcher::terms_for(const Job& rows, const te::Load& load) {
  out_.replaced.push_back(static_cast<size_t>(jobs_.readers.maker_of(load.tensor)));
  return opened(at_indices(at_indices(rows.values[0], rows.compute().axes, load.indices),
                           rows.compute().reduce, {te::Expr(key())}));
}

bool Matcher::find_weights() {
  te::Expr x = without_casts(opened(out_.values.a));
  while (const auto* select = std::get_if<te::Select>(&x->kind)) {
    const auto* zero = std::get_if<te::FloatImm>(&select->yes->kind);
    if (zero == nullptr || zero->value != 0 || vars_of(select->condition).contains(key().id()))
      return false;
    out_.is_zero = out_.is_zero.is_empty() ? select->condition : out_.is_zero || select->condition;
    x = without_casts(te::Expr(select->no));
  }
  return find_softmax(x);
}

// weights: exp(score - top) * (1 / total).
bool Matcher::find_softmax(const te::Expr& weights) {
  const te::Binary* product = as_binary(weights, te::BinaryOp::kMultiply);
  if (product == nullptr) return false;
  const te::Binary* inverse = as_binary(product->b, te::BinaryOp::kDivide);
  const auto* exp = std::get_if<te::Unary>(&product->a->kind);
  if (inverse == nullptr || exp == nullptr || exp->op != te::UnaryOp::kExp) return false;
  const auto* one = std::get_if<te::FloatImm>(&inverse->a->kind);
  const te::Binary* shifted = as_binary(exp->x, te::BinaryOp::kSubtract);
  if (one == nullptr || one->value != 1 || shifted == nullptr) return false;
  const LoadNode *total = as_load(inverse->b), *top = as_load(shifted->b);
  if (total == nullptr || top == nullptr) return false;
  const Job *sums = rows_of(**total), *tops = rows_of(**top);
  if (sums == nullptr || tops == nullptr || !is_sum(sums->compute().combiner)) return false;
  out_.greatest = tops->compute().combiner;
  const auto* least = std::get_if<te::FloatImm>(&out_.greatest.identity[0]->kind);
  if (least == nullptr || !std::isinf(least->value) || least->value > 0) return false;
  return te::structural_equal(terms_for(*tops, **top), shifted->a) &&
         te::structural_equal(terms_for(*sums, **total), product->a) && find_dots(shifted->a);
}

bool Matcher::find_dots(const te::Expr& score) {
  const Job* dots = nullptr;
  LoadNode place;
  for (const auto& load : work_of(score).loads) {
    const Job* from = job_of(*load);
    if (from == nullptr || from->reduce.empty() || !product_of_job(*from)) continue;
    if (place != nullptr &&
        !te::structural_equal(place->tensor(place->indices), load->tensor(load->indices)))
      return false;
    dots = from, place = load;
  }
  if (dots == nullptr || dots->stage->outputs[0].dtype() != DType::kF32) return false;
  out_.replaced.push_back(jobs_.readers.maker_of(place->tensor));
  out_.depth = dots->compute().reduce;
  out_.depths = dots->reduce;
  te::Ranges ranges;
  add_ranges(job_.compute().axes, job_.extents, ranges);
  add_ranges(job_.compute().reduce, job_.reduce, ranges);
  add_ranges(out_.depth, out_.depths, ranges);
  const auto& factors = std::get<te::Binary>(dots->values[0]->kind);
  auto at = [&](const te::Expr& factor) {
    return te::simplify(at_indices(factor, dots->compute().axes, place->indices), ranges);
  };
  out_.q = at(factors.a), out_.k = at(factors.b);
  if (vars_of(out_.q).contains(key().id())) std::swap(out_.q, out_.k);
  if (vars_of(out_.q).contains(key().id()) || depends(out_.q, out_.values.n) ||
      depends(out_.k, out_.values.n) || depends(out_.k, out_.values.m))
    return false;
  out_.dot = te::Var("dot", DType::kF32);
  out_.score = with_value(score, place->tensor, te::Expr(out_.dot));
  return true;
}

}  // namespace

std::optional<Attention> attention_of(size_t stage, const Jobs& jobs) {
  return Matcher(stage, jobs).match();
}

}  // namespace byoc::cuda
