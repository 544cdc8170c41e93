// Sums, means and extremes over the edges of a graph: edges are grouped by the row that they end in, so that each row
// is written once and messages are never stored. The grouping is kept for as long as the ends of edges stay the same.
// An index out of range fails the run, and the results are NaN.
//
// Declines: dtype, post-ops, size (2^31 edges and more).
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/op/kernel.h"
#include "kernels/common/index_rows.h"
#include "kernels/index/neighbor_math.h"
#include "kernels/index/row_shares.h"

namespace ipex_studio {
namespace {

// One end of all edges, as it was in the last execution.
class EdgeEnds {
 public:
  EdgeEnds(DType dtype, std::int64_t count) : dtype_(dtype), ends_(static_cast<std::size_t>(count)) {}

  // Takes these; false if they are those of the last call.
  bool take(const void* index) {
    const auto count = static_cast<std::int64_t>(ends_.size());
    const bool was_taken = std::exchange(taken_, true);
    if (count > 0 && dtype_ == DType::kS64) {
      const std::size_t bytes = ends_.size() * sizeof(std::int64_t);
      if (was_taken && std::memcmp(ends_.data(), index, bytes) == 0) return false;
      std::memcpy(ends_.data(), index, bytes);
      return true;
    }
    bool changed = !was_taken;
    for (std::int64_t e = 0; e < count; ++e) {
      const std::int64_t end = static_cast<const std::int32_t*>(index)[e];
      changed |= std::exchange(ends_[static_cast<std::size_t>(e)], end) != end;
    }
    return changed;
  }

  const std::vector<std::int64_t>& ends() const { return ends_; }

 private:
  DType dtype_;
  bool taken_ = false;
  std::vector<std::int64_t> ends_;
};

// The edges of the last execution, row by row.
class EdgeState final : public ExecState {
 public:
  EdgeState(DType to_type, DType from_type, std::int64_t edges, std::int64_t rows, bool gathers)
      : to(to_type, edges),
        from(from_type, gathers ? edges : 0),
        begins(static_cast<std::size_t>(rows + 1)),
        places(static_cast<std::size_t>(edges)),
        columns(static_cast<std::size_t>(gathers ? edges : 0)) {}

  EdgeEnds to, from;
  std::vector<std::int64_t> begins, places, columns;
  bool valid = true;
};

class GatherScatterOp final : public PreparedOp {
 public:
  NeighborMath<float> math;
  Aggregation aggregation = Aggregation::kSum;
  bool gathers = false, weighs = false, wraps = false;
  std::int64_t edges = 0, rows = 0, sources = 0, width = 0, groups = 1;
  std::int32_t threads = 1;

  std::unique_ptr<ExecState> newState() const override {
    return std::make_unique<EdgeState>(src[1].dtype, gathers ? src[3].dtype : DType::kS64, edges, rows, gathers);
  }

  void execute(ExecState* state, const void* const* from, void* const* to, void*) const override {
    auto& graph = *static_cast<EdgeState*>(state);
    update(graph, from[1], gathers ? from[3] : nullptr);
    auto* const out = static_cast<float*>(to[0]);
    if (!graph.valid) {
      state->fail(kIndexOutOfRange);
      std::fill(out, out + rows * width, std::numeric_limits<float>::quiet_NaN());
      return;
    }
    const SparseRows matrix{rows, graph.begins.data(), gathers ? graph.columns.data() : graph.places.data(),
                            graph.places.data()};
    NeighborJob<float> job;
    job.matrix = &matrix;
    job.width = width;
    job.values = {weighs ? static_cast<const float*>(from[4]) : nullptr, groups};
    job.x = static_cast<const float*>(from[2]);
    job.out = out;
    job.mean = aggregation == Aggregation::kMean;
    job.minima = aggregation == Aggregation::kMin;
    const bool sums = aggregation == Aggregation::kSum || job.mean;
    shareRows(matrix, 4 + width / 2, threads, [&](std::int64_t begin, std::int64_t end) {
      NeighborJob<float> part = job;
      part.begin = begin;
      part.end = end;
      (sums ? math.sum : math.extremes)(part);
    });
  }

 private:
  // Groups the edges anew if their ends have changed.
  void update(EdgeState& graph, const void* to, const void* from) const {
    const bool regroups = graph.to.take(to), regathers = gathers && graph.from.take(from);
    if (!regroups && !regathers) return;
    const std::int64_t least = wraps ? -sources : 0;
    graph.valid = liesIn(graph.to.ends(), 0, rows) && liesIn(graph.from.ends(), least, sources);
    if (!graph.valid) return;
    groupByRow(graph.to.ends().data(), edges, rows, graph.begins.data(), graph.places.data());
    for (std::size_t e = 0; e < graph.columns.size(); ++e) {
      const std::int64_t source = graph.from.ends()[static_cast<std::size_t>(graph.places[e])];
      graph.columns[e] = source < 0 ? source + sources : source;
    }
  }

  static bool liesIn(const std::vector<std::int64_t>& ends, std::int64_t least, std::int64_t end) {
    std::int64_t sign = 0;  // negative once a number is too small or too large
    for (const std::int64_t number : ends) sign |= (number - least) | (end - 1 - number);
    return sign >= 0;
  }
};

class GatherScatterRows final : public Kernel {
 public:
  const char* name() const override { return "gather_scatter_rows"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.src[2].dtype != DType::kF32 || args.dst[0].dtype != DType::kF32) return Verdict::no("dtype");
    if (args.src[1].dims[0] > std::numeric_limits<std::int32_t>::max()) return Verdict::no("size");
    return args.spec.post_ops.empty() ? Verdict::yes() : Verdict::no("post-ops");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<GatherScatterOp>();
    for (const TensorDesc& src : args.src)
      op->src.push_back(src.absent() ? TensorDesc() : contiguousDesc(src.dtype, src.dims));
    op->src[0] = args.src[0];  // not read
    op->dst = {contiguousDesc(args.dst[0].dtype, args.dst[0].dims)};
    op->packed.assign(args.src.size(), false);
    op->math = neighborMathSimd(args.target.isa);
    op->threads = args.target.threads;
    op->gathers = !args.src[3].absent();
    op->weighs = !args.src[4].absent();
    op->wraps = args.spec.intOr("wrap", 0) != 0;
    op->edges = args.src[1].dims[0];
    op->rows = args.dst[0].dims[0];
    op->sources = args.src[2].dims[0];
    op->width = 1;
    for (int a = 1; a < args.dst[0].dims.rank; ++a) op->width *= args.dst[0].dims[a];
    for (int a = 1; op->weighs && a < args.src[4].dims.rank; ++a) op->groups *= args.src[4].dims[a];
    const std::string reduction = args.spec.stringOr("reduction", "");
    op->aggregation = reduction == "mean"  ? Aggregation::kMean
                      : reduction == "max" ? Aggregation::kMax
                      : reduction == "min" ? Aggregation::kMin
                                           : Aggregation::kSum;
    op->flops = 2 * op->edges * op->width;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeGatherScatterRows() { return std::make_unique<GatherScatterRows>(); }

}  // namespace ipex_studio
