// Attention as numbers: what its kernels hand to the code of one instruction set.
#pragma once

#include <string>

#include "core/op/kernel.h"
#include "kernels/common/loop_nest.h"

namespace ipex_studio {

// A matrix inside a tensor: distances of its rows and columns, in elements.
struct MatrixStrides {
  std::int64_t row = 0, column = 0;
};

struct AttentionJob {
  // All batch dimensions; tensors: 0 is y, 1 q, 2 k, 3 v, then the mask (when has_mask) and the logarithms (when
  // has_logarithms).
  LoopNest heads;
  std::int64_t queries = 0, keys = 0;
  std::int64_t depth = 0;  // of q and k
  std::int64_t width = 0;  // of v and y
  MatrixStrides y, q, k, v;
  bool has_mask = false;
  bool has_logarithms = false;
  MatrixStrides mask;  // row: along queries, 0 where it is the same for all; column: along keys
  // The mask is added, or scores where it is not zero (fill) or zero (keep) become mask_value.
  enum class MaskUse { kAdd, kFill, kKeep } mask_use = MaskUse::kAdd;
  float mask_value = 0;
  bool causal = false;
  float scale = 1;
  DType q_type = DType::kF32, k_type = DType::kF32, v_type = DType::kF32;
  DType y_type = DType::kF32;        // f32, bf16, u8 or s8
  float y_factor = 1, y_offset = 0;  // bytes of the result: factor · value + offset, rounded

  std::int64_t query_vectors = 1;  // number of vectors of queries
  std::int64_t lone_queries = 0;   // the last queries, computed one by one as one more part after the blocks
  std::int64_t blocks = 1;         // nearly equal parts that the other queries are cut into
  std::int64_t block_rows = 1;     // queries in the largest of these parts, where they are not whole vectors
  std::int64_t key_block = 1;      // keys at once
};

struct AttentionOperands {
  const void *q, *k, *v;
  const float* mask;
  void* y;
  // Logarithms of the sums of the exponentials of scores, one for each query; null where not asked for. With them,
  // queries whose scores are all -inf give 0 instead of NaN.
  float* logarithms = nullptr;
};

// The operands of head `head` alone.
AttentionOperands operandsOfHead(const AttentionJob& job, const AttentionOperands& all, std::int64_t head);

// Few queries whose rows lie side by side are computed one by one, as a vector of queries, or a row of tiles, costs the
// same with one query as with all. attendsRowByRow: true if all queries are computed so; loneQueries: how many of the
// last ones are, where vectors have `lanes` lanes.
bool attendsRowByRow(const AttentionJob& job);
std::int64_t loneQueries(const AttentionJob& job, std::int64_t lanes);
// Floats of scratch memory for computing one query at a time.
std::int64_t attentionRowFloats(const AttentionJob& job);

// Memory of one thread that attends by blocks in VNNI-2 packing (attention_bf16.cpp), in units of 32 bits. Sizes are
// rounded up to whole vectors of any machine.
class AttentionRoom {
 public:
  explicit AttentionRoom(const AttentionJob& job) : job_(job) {}

  // Sets blocks, block_rows and key_block.
  static void plan(AttentionJob* job);

  static constexpr std::int64_t whole(std::int64_t units) { return (units + 15) / 16 * 16; }
  std::int64_t steps() const { return (job_.depth + 1) / 2; }
  std::int64_t keyPairs() const { return (job_.keys + 1) / 2; }
  std::int64_t columns() const { return whole(job_.keys); }
  std::int64_t width() const { return whole(job_.width); }
  std::int64_t keyUnits() const { return columns() * steps(); }
  std::int64_t valueUnits() const { return keyPairs() * width(); }
  std::int64_t queryUnits() const { return job_.block_rows * steps(); }
  std::int64_t tempUnits() const { return 4 * steps(); }
  std::int64_t scoreFloats() const { return job_.block_rows * job_.key_block; }
  std::int64_t resultFloats() const { return job_.block_rows * width(); }
  std::int64_t floats() const {
    return whole(keyUnits()) + whole(valueUnits()) + whole(queryUnits()) + whole(tempUnits()) + whole(scoreFloats()) +
           whole(resultFloats()) + 4 * whole(job_.block_rows);
  }

 private:
  const AttentionJob& job_;
};

// Computes items [begin, end) on one thread, whose memory `scratch` is.
using AttentionRun = void (*)(const AttentionJob& job, const AttentionOperands& all, std::int64_t begin,
                              std::int64_t end, float* scratch);

// Requirements of all kernels of attention: plain layouts that are not empty, q, k and v for which `takes` holds, an
// f32 mask, no post-operations but the one that makes bytes of the result. Declines: dtype, empty, layout,
// post-ops.
Verdict takesAttention(const PrepareArgs& args, bool (*takes)(DType dtype));

}  // namespace ipex_studio
