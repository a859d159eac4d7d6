// SPDX-License-Identifier: Apache-2.0
// Before: three kernels     After: one
//   top[r] = max x[r, k]      groups r { shared part[T], top, total
//   total[r] = sum e^(..)       threads { part[t] = .. } ... threads 0 { top = part[0] }
//   y[r, k] = e^(..) / ..       threads { part[t] = .. } ... threads 0 { total = part[0] }
//                               threads { y[r, k] = .. } }
#include "plugins/cuda/loops/rows.h"

#include <algorithm>
#include <map>
#include <set>

#include "plugins/cuda/loops/inliner.h"
#include "plugins/cuda/loops/product.h"

namespace byoc::cuda {
namespace {

constexpr int64_t kMostColumns = 1 << 14;  // of a row, which one group of threads computes
constexpr size_t kMostReductions = 8;

const te::Tensor& result_of(const Job& job) {
  return job.end != nullptr ? job.end->outputs[0] : job.stage->outputs[0];
}

class RowFinder {
 public:
  RowFinder(size_t stage, const Jobs& jobs) : jobs_(jobs), stage_(stage), job_(*jobs.of[stage]) {}

  std::optional<Rows> find() {
    if (!job_.reduce.empty()) return std::nullopt;
    for (const te::Expr& value : job_.values)
      if (!add_reductions_of(value)) return std::nullopt;
    if (found_.empty() || !has_rows() || !are_read_here()) return std::nullopt;
    for (const auto& [stage, place] : found_) {
      out_.replaced.push_back(stage);
      out_.reductions.push_back(*jobs_.of[stage]);
      out_.places.push_back(place);
    }
    return std::move(out_);
  }

 private:
  // Returns true for a reduction that may be a part of the kernel.
  bool is_part(size_t stage) const {
    const std::optional<Job>& job = jobs_.of[stage];
    if (!job || job->reduce.empty()) return false;
    const std::optional<Product> product = product_of_job(*job);
    const bool is_product = product && product->m_size > 1 && product->n_size > 1;
    return !is_product && job->attention == nullptr && job->stage->outputs.size() == 1 &&
           (job->end == nullptr || job->end->outputs.size() == 1) && has_groups(*job) &&
           !jobs_.readers.is_output(result_of(*job));
  }
  // Adds the reductions whose results an expression loads; false where one is at two places, or
  // there are too many.
  bool add_reductions_of(const te::Expr& x) {
    for (const auto& load : work_of(x).loads) {
      const size_t stage = jobs_.readers.maker_of(load->tensor);
      if (!is_part(stage)) continue;
      te::Exprs place;
      for (const te::Expr& index : load->indices) place.push_back(te::simplify(index, ranges()));
      const auto [known, is_new] = found_.emplace(stage, place);
      if (!std::ranges::equal(known->second, place, te::structural_equal)) return false;
      if (!is_new) continue;
      if (found_.size() > kMostReductions) return false;
      const Job& job = *jobs_.of[stage];
      for (const te::Expr& term : job.values)
        if (!add_reductions_of(at_indices(term, job.compute().axes, place))) return false;
      if (job.end == nullptr) continue;
      const auto& end = std::get<te::Compute>(job.end->kind);
      for (const te::Expr& value : job.end_values)
        if (!add_reductions_of(at_indices(value, end.axes, place))) return false;
    }
    return true;
  }
  te::Ranges ranges() const {
    te::Ranges out;
    add_ranges(job_.compute().axes, job_.extents, out);
    return out;
  }
  // Finds the axes of rows: each result has all of them as indices, and nothing else.
  bool has_rows() {
    std::set<size_t> rows;
    for (const auto& [stage, place] : found_) {
      std::set<size_t> own;
      for (const te::Expr& index : place) {
        if (te::as_int(index) == 0) continue;
        const std::optional<size_t> axis = axis_of(index);
        if (!axis || !own.insert(*axis).second) return false;
      }
      if (stage != found_.begin()->first && own != rows) return false;
      rows = std::move(own);
    }
    int64_t columns = 1;
    for (size_t k = 0; k < job_.extents.size(); ++k) {
      (rows.contains(k) ? out_.rows : out_.columns).push_back(k);
      columns *= rows.contains(k) ? 1 : job_.extents[k];
    }
    return columns > 1 && columns <= kMostColumns;
  }
  std::optional<size_t> axis_of(const te::Expr& index) const {
    const auto* ref = std::get_if<te::VarRef>(&index->kind);
    for (size_t k = 0; ref != nullptr && k < job_.extents.size(); ++k)
      if (ref->var == job_.compute().axes[k].var) return k;
    return std::nullopt;
  }
  bool are_read_here() const {
    return std::ranges::all_of(found_, [&](const auto& one) {
      const auto& users = jobs_.users.at(result_of(*jobs_.of[one.first]).id());
      return std::ranges::all_of(
          users, [&](size_t user) { return user == stage_ || found_.contains(user); });
    });
  }

  const Jobs& jobs_;
  const size_t stage_;
  const Job& job_;
  std::map<size_t, te::Exprs> found_;  // by stage, which is their order
  Rows out_;
};

class RowsKernel {
 public:
  RowsKernel(const Job& job, const Rows& rows, Groups& groups)
      : job_(job), rows_(rows), groups_(groups) {
    int64_t most = columns();
    for (const Job& one : rows.reductions) {
      most = std::max(most, one.terms());
      results_.emplace_back("row", result_of(one).dtype(), te::Exprs{1});
    }
    while (width_ < std::min(most, kThreads)) width_ *= 2;
  }

  te::Stmt kernel() {
    return groups_.groups(extent_of(rows_.rows), [&](const te::Expr& g) {
      std::vector<te::Stmt> body;
      std::vector<te::Tensor> memory = results_;
      for (size_t k = 0; k < rows_.reductions.size(); ++k) {
        const std::vector<te::Tensor> parts = partial_results(rows_.reductions[k], {width_});
        memory.insert(memory.end(), parts.begin(), parts.end());
        add_reduction(k, g, parts, body);
      }
      body.push_back(groups_.threads(width_, [&](const te::Expr& t) { return last(g, t); }));
      return groups_.shared(memory, te::make_block(std::move(body)));
    });
  }

 private:
  int64_t extent_of(const std::vector<size_t>& axes) const {
    int64_t out = 1;
    for (size_t axis : axes) out *= job_.extents[axis];
    return out;
  }
  int64_t columns() const { return extent_of(rows_.columns); }
  // Returns the indices of the job at a row and a column.
  te::Exprs indices(const te::Expr& row, const te::Expr& column) const {
    te::Exprs out(job_.extents.size());
    for (const auto& [axes, flat] : {std::pair(&rows_.rows, row), {&rows_.columns, column}}) {
      Extents extents;
      for (size_t axis : *axes) extents.push_back(job_.extents[axis]);
      const te::Exprs at = unflattened(flat, extents);
      for (size_t k = 0; k < axes->size(); ++k) out[(*axes)[k]] = at[k];
    }
    return out;
  }
  // Replaces the results of reductions by what is in shared memory.
  te::Expr with_results(te::Expr x) const {
    for (size_t k = 0; k < results_.size(); ++k)
      x = with_value(x, result_of(rows_.reductions[k]), results_[k](0));
    return x;
  }

  void add_reduction(size_t k, const te::Expr& g, const std::vector<te::Tensor>& parts,
                     std::vector<te::Stmt>& body) {
    Job own = rows_.reductions[k];
    for (te::Expr& value : own.values) value = with_results(value);
    te::Exprs at;
    for (const te::Expr& index : rows_.places[k])
      at.push_back(at_indices(index, job_.compute().axes, indices(g, 0)));
    for (te::Stmt& stmt : reduced_by_group(own, at, width_, parts, groups_))
      body.push_back(std::move(stmt));
    te::Expr result = parts[0](0);
    if (own.end != nullptr) {
      const te::Expr end =
          with_results(with_value(own.end_values[0], own.stage->outputs[0], result));
      result = at_indices(end, std::get<te::Compute>(own.end->kind).axes, at);
    }
    body.push_back(groups_.threads(
        1, [&](const te::Expr&) { return te::make_store(results_[k], {0}, result); }));
  }

  te::Stmt last(const te::Expr& g, const te::Expr& t) {
    Job own = job_;
    for (te::Expr& value : own.values) value = with_results(value);
    return te::loop("c", ceil_div(columns(), width_), [&](const te::Expr& c) {
      const te::Expr column = c * width_ + t;
      te::Stmt out = stored(own, indices(g, column), {});
      return columns() % width_ == 0 ? out : te::make_if(column < te::Expr(columns()), out);
    });
  }

  const Job& job_;
  const Rows& rows_;
  Groups& groups_;
  int64_t width_ = 32;
  std::vector<te::Tensor> results_;  // per reduction
};

}  // namespace

std::optional<Rows> rows_of(size_t stage, const Jobs& jobs) {
  return RowFinder(stage, jobs).find();
}

te::Stmt rows_kernel(const Job& job, const Rows& rows, Groups& groups) {
  return RowsKernel(job, rows, groups).kernel();
}

}  // namespace byoc::cuda
