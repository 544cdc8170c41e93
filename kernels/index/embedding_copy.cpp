// Embedding and gather (index_select): rows or slices picked by index and copied, any dtype. An index out of range
// fails the run; its row is NaN (floats) or zeros until then.
//
// Declines: dtype (indices), post-ops.
#include <cstring>

#include "core/op/kernel.h"
#include "kernels/common/index_rows.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

// dst[o][i] = src[o][index[i]], each a run of `run` bytes.
class PickOp final : public PreparedOp {
 public:
  int table_src = 0, index_src = 0;
  DType index_type = DType::kS64, value_type = DType::kF32;
  std::int64_t outer = 1, picked = 0, rows = 0, run = 0, row_stride = 0, outer_stride = 0, grain = 1;  // bytes, items
  std::int32_t threads = 1;
  bool wraps = false;  // negative indices count from the end

  std::unique_ptr<ExecState> newState() const override { return std::make_unique<ExecState>(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void*) const override {
    const char* const table = static_cast<const char*>(from[table_src]);
    const void* const indices = from[index_src];
    char* const out = static_cast<char*>(to[0]);
    parallelFor(outer * picked, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t given = indexAt(indices, index_type, item % picked),
                           row = wraps && given < 0 ? given + rows : given;
        if (row < 0 || row >= rows) {
          fillInvalid(value_type, out + item * run, run);
          state->fail(kIndexOutOfRange);
        } else {
          std::memcpy(out + item * run, table + item / picked * outer_stride + row * row_stride, run);
        }
      }
    });
  }
};

bool isIndex(DType dtype) { return dtype == DType::kS64 || dtype == DType::kS32; }

Verdict supportsIndex(const PrepareArgs& args, int index_src) {
  if (!isIndex(args.src[index_src].dtype)) return Verdict::no("dtype");
  return args.spec.post_ops.empty() ? Verdict::yes() : Verdict::no("post-ops");
}

std::unique_ptr<PickOp> newPick(const PrepareArgs& args, int table_src, int index_src) {
  auto op = std::make_unique<PickOp>();
  for (const TensorDesc& src : args.src) op->src.push_back(contiguousDesc(src.dtype, src.dims));
  op->dst = {contiguousDesc(args.dst[0].dtype, args.dst[0].dims)};
  op->packed.assign(args.src.size(), false);
  op->table_src = table_src;
  op->index_src = index_src;
  op->index_type = args.src[index_src].dtype;
  op->value_type = args.src[table_src].dtype;
  op->picked = args.src[index_src].dims.count();
  op->threads = args.target.threads;
  return op;
}

class EmbeddingCopy final : public Kernel {
 public:
  const char* name() const override { return "embedding_copy"; }

  Verdict supports(const PrepareArgs& args) const override {
    const bool same = args.dst[0].dtype == args.src[1].dtype && args.spec.intOr("scaled_rows", 0) == 0;
    return same ? supportsIndex(args, 0) : Verdict::no("dtype");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const Dims& table = args.src[1].dims;
    auto op = newPick(args, 1, 0);
    op->rows = table[0];
    op->run = op->row_stride = table[1] * static_cast<std::int64_t>(elementBytes(op->value_type));
    op->grain = grainFor(op->run / 8);
    return op;
  }
};

class GatherCopy final : public Kernel {
 public:
  const char* name() const override { return "gather_copy"; }

  Verdict supports(const PrepareArgs& args) const override { return supportsIndex(args, 1); }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const Dims& x = args.src[0].dims;
    const int axis = wrappedAxis(args.spec.intOr("axis", 0), x.rank);
    auto op = newPick(args, 0, 1);
    op->wraps = args.spec.intOr("wrap", 0) != 0;
    op->rows = x[axis];
    op->run = static_cast<std::int64_t>(elementBytes(op->value_type));
    for (int a = axis + 1; a < x.rank; ++a) op->run *= x[a];
    for (int a = 0; a < axis; ++a) op->outer *= x[a];
    op->row_stride = op->run;
    op->outer_stride = op->run * op->rows;
    op->grain = grainFor(op->run / 8);
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeEmbeddingCopy() { return std::make_unique<EmbeddingCopy>(); }
std::unique_ptr<Kernel> makeGatherCopy() { return std::make_unique<GatherCopy>(); }

}  // namespace ipex_studio
