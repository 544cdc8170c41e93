// Embedding and gather (index_select): rows or slices picked by index and copied, any dtype. An index out of range
// fails the run; its row is NaN (floats) or zeros until then.
//
// Declines: dtype (indices), post-ops.
#include <algorithm>
#include <cstring>

#include "core/op/kernel.h"
#include "kernels/common/index_rows.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

// Rows that coming indices pick are fetched so many items ahead, where they are many bytes.
constexpr std::int64_t kAhead = 8;
constexpr std::int64_t kFetchedBytes = std::int64_t{1} << 18;

// Copies a run of kBytes; 0: of `bytes`.
template <std::size_t kBytes>
void copyRun(char* to, const char* from, std::int64_t bytes) {
  std::memcpy(to, from, kBytes != 0 ? kBytes : static_cast<std::size_t>(bytes));
}

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
    const void* const indices = from[index_src];
    if (index_type == DType::kS32) {
      pickBySize(state, static_cast<const char*>(from[table_src]), static_cast<const std::int32_t*>(indices), to[0]);
    } else {
      pickBySize(state, static_cast<const char*>(from[table_src]), static_cast<const std::int64_t*>(indices), to[0]);
    }
  }

 private:
  template <class Index>
  void pickBySize(ExecState* state, const char* table, const Index* indices, void* to) const {
    char* const out = static_cast<char*>(to);
    switch (run) {
      case 1:
        return pickAll<1>(state, table, indices, out);
      case 2:
        return pickAll<2>(state, table, indices, out);
      case 4:
        return pickAll<4>(state, table, indices, out);
      case 8:
        return pickAll<8>(state, table, indices, out);
      case 16:
        return pickAll<16>(state, table, indices, out);
      case 32:
        return pickAll<32>(state, table, indices, out);
      case 64:
        return pickAll<64>(state, table, indices, out);
      default:
        return pickAll<0>(state, table, indices, out);
    }
  }

  template <std::size_t kBytes, class Index>
  void pickAll(ExecState* state, const char* table, const Index* indices, char* out) const {
    const bool fetches = run >= 32 && rows * row_stride >= kFetchedBytes;
    parallelFor(outer * picked, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      bool valid = true;
      for (std::int64_t item = begin; item < end;) {
        const std::int64_t o = item / picked, first = item % picked, count = std::min(picked - first, end - item);
        const char* const part = table + o * outer_stride;
        char* const to = out + item * run;
        valid &= fetches ? pick<kBytes, true>(part, indices + first, to, count)
                         : pick<kBytes, false>(part, indices + first, to, count);
        item += count;
      }
      if (!valid) state->fail(kIndexOutOfRange);
    });
  }

  // False if an index was out of range.
  template <std::size_t kBytes, bool kFetches, class Index>
  bool pick(const char* table, const Index* indices, char* to, std::int64_t count) const {
    const std::int64_t bytes = kBytes != 0 ? static_cast<std::int64_t>(kBytes) : run, stride = row_stride,
                       from_end = wraps ? rows : 0;
    const auto size = static_cast<std::uint64_t>(rows);
    bool valid = true;
    for (std::int64_t i = 0; i < count; ++i) {
      if (kFetches && i + kAhead < count) {
        const auto ahead = static_cast<std::uint64_t>(static_cast<std::int64_t>(indices[i + kAhead]));
        if (ahead < size) fetch(table + static_cast<std::int64_t>(ahead) * stride, bytes);
      }
      const auto given = static_cast<std::int64_t>(indices[i]);
      const auto row = static_cast<std::uint64_t>(given < 0 ? given + from_end : given);
      if (row < size) {
        copyRun<kBytes>(to + i * bytes, table + static_cast<std::int64_t>(row) * stride, bytes);
      } else {
        fillInvalid(value_type, to + i * bytes, bytes);
        valid = false;
      }
    }
    return valid;
  }

  static void fetch(const char* row, std::int64_t bytes) {
    constexpr std::int64_t kLine = 64, kMost = 4 * kLine;
    for (std::int64_t at = 0; at < std::min(bytes, kMost); at += kLine) __builtin_prefetch(row + at);
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
