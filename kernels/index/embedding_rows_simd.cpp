// Rows of a table of u8 that carry their scale and offset (scaled_rows=1): picked one by one (embedding), or summed or
// averaged per bag (embedding_bag). A row's parameters lie behind its integers, so that it is one run of memory, a
// quarter of that in FP32; rows of coming ids are fetched while the present one is upconverted.
//
// Declines: dtype (also tables without scales), post-ops.
#define HWY_TARGET_INCLUDE "kernels/index/embedding_rows_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cstring>

#include "core/op/woq_weights.h"
#include "kernels/common/byte_convert-inl.h"
#include "kernels/index/embedding_bags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

struct RowParameters {
  float scale = 0, offset = 0;
};

RowParameters parametersOf(const std::uint8_t* row, std::int64_t width) {
  RowParameters parameters;
  std::memcpy(&parameters.scale, row + width, sizeof(float));
  std::memcpy(&parameters.offset, row + width + sizeof(float), sizeof(float));
  return parameters;
}

// to = scale · row + base; kAdds: to += scale · row.
template <bool kAdds>
HWY_INLINE void upconvertRow(const std::uint8_t* row, std::int64_t width, float scale, float base, float* to) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, scale), offset = hn::Set(d, base);
  std::int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    hn::StoreU(hn::MulAdd(loadBytes(d, row + i), factor, kAdds ? hn::LoadU(d, to + i) : offset), d, to + i);
  }
  for (; i < width; ++i) to[i] = static_cast<float>(row[i]) * scale + (kAdds ? to[i] : base);
}

std::int64_t rowBytes(const EmbeddingBagJob& job) { return job.width + kRowParameterBytes; }

// Looks up ids [begin, end); false if one was out of range.
bool runEmbeddingRows(const EmbeddingBagJob& job, const void* ids, const void*, const std::uint8_t* table, float* y,
                      std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kAhead = 4;  // rows
  bool valid = true;
  for (std::int64_t i = begin; i < end; ++i) {
    fetchRow(job, ids, table, rowBytes(job), i + kAhead);
    const auto* const row = reinterpret_cast<const std::uint8_t*>(rowOf(job, ids, table, rowBytes(job), i));
    float* const to = y + i * job.width;
    if (row == nullptr) {
      markInvalid(job, to);
      valid = false;
      continue;
    }
    const RowParameters parameters = parametersOf(row, job.width);
    upconvertRow<false>(row, job.width, parameters.scale, parameters.offset, to);
  }
  return valid;
}

// Computes bags [begin, end); false if an index was out of range.
bool runEmbeddingRowBags(const EmbeddingBagJob& job, const void* ids, const void* offsets, const std::uint8_t* table,
                         float* y, std::int64_t begin, std::int64_t end) {
  float base = 0;  // of the present bag
  const auto add = [&](const RowAddends<std::uint8_t>& addends, float* sum, bool fresh) HWY_ATTR {
    if (fresh) std::fill(sum, sum + job.width, 0.0f);
    for (std::int64_t r = 0; r < addends.count; ++r) {
      for (std::int64_t byte = 0; byte < rowBytes(job); byte += 64) hwy::Prefetch(addends.upcoming[r] + byte);
      const RowParameters parameters = parametersOf(addends.rows[r], job.width);
      upconvertRow<true>(addends.rows[r], job.width, parameters.scale, 0, sum);
      base += parameters.offset;
    }
  };
  const auto finish = [&](float* sum, std::int64_t rows) HWY_ATTR {
    const float factor = job.mean && rows > 0 ? 1.0f / static_cast<float>(rows) : 1.0f;
    for (std::int64_t e = 0; e < job.width; ++e) sum[e] = (sum[e] + base) * factor;
    base = 0;
  };
  return sumBags(job, ids, offsets, table, rowBytes(job), y, begin, end, add, finish);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runEmbeddingRows);
HWY_EXPORT(runEmbeddingRowBags);

class EmbeddingRowsOp final : public PreparedOp {
 public:
  using Run = bool (*)(const EmbeddingBagJob&, const void*, const void*, const std::uint8_t*, float*, std::int64_t,
                       std::int64_t);

  EmbeddingBagJob job;
  Run run = nullptr;
  std::size_t table = 1;
  std::int64_t items = 0, grain = 1;
  std::int32_t threads = 1;

  std::unique_ptr<ExecState> newState() const override { return std::make_unique<ExecState>(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void*) const override {
    parallelFor(items, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      const auto* const rows = static_cast<const std::uint8_t*>(from[table]);
      if (!run(job, from[0], from[1], rows, static_cast<float*>(to[0]), begin, end)) state->fail(kIndexOutOfRange);
    });
  }
};

class EmbeddingRows final : public Kernel {
 public:
  explicit EmbeddingRows(bool bags) : bags_(bags) {}

  const char* name() const override { return bags_ ? "embedding_bag_simd_int8" : "embedding_simd_int8"; }

  Verdict supports(const PrepareArgs& args) const override {
    const DType ids = args.src[0].dtype;
    const bool rows = args.spec.intOr("scaled_rows", 0) != 0 && args.src[tableSource()].dtype == DType::kU8;
    if (!rows || (ids != DType::kS64 && ids != DType::kS32) || args.dst[0].dtype != DType::kF32)
      return Verdict::no("dtype");
    if (bags_ && args.src[1].dtype != ids) return Verdict::no("dtype");
    return args.spec.post_ops.empty() ? Verdict::yes() : Verdict::no("post-ops");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<EmbeddingRowsOp>();
    for (const TensorDesc& src : args.src) op->src.push_back(contiguousDesc(src.dtype, src.dims));
    op->dst = {contiguousDesc(DType::kF32, args.dst[0].dims)};
    op->packed.assign(args.src.size(), false);
    op->table = tableSource();
    EmbeddingBagJob& job = op->job;
    job.index_type = args.src[0].dtype;
    job.ids = args.src[0].dims.count();
    job.rows = args.src[op->table].dims[0];
    job.width = args.dst[0].dims[args.dst[0].dims.rank - 1];
    op->items = job.ids;
    if (bags_) {
      job.offsets = args.src[1].dims.count();
      job.mean = args.spec.stringOr("mode", "sum") == "mean";
      op->items = args.dst[0].dims[0];
    }
    const std::int64_t rows_per_item = bags_ ? job.ids / std::max<std::int64_t>(1, op->items) + 1 : 1;
    op->grain = grainFor(rows_per_item * job.width / 2);
    op->threads = args.target.threads;
    op->run = bags_ ? IPEX_SELECT_TARGET(runEmbeddingRowBags, args.target.isa)
                    : IPEX_SELECT_TARGET(runEmbeddingRows, args.target.isa);
    op->flops = job.ids * job.width;
    return op;
  }

 private:
  std::size_t tableSource() const { return bags_ ? 2 : 1; }

  bool bags_;
};

}  // namespace

std::unique_ptr<Kernel> makeEmbeddingRowsSimd() { return std::make_unique<EmbeddingRows>(false); }
std::unique_ptr<Kernel> makeEmbeddingBagRowsSimd() { return std::make_unique<EmbeddingRows>(true); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
