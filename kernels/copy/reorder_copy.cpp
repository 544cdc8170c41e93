// Dense copies of strided tensors and moves between equal layouts, any dtype. The destination is exactly
// PrepareArgs::dst.
//
// Declines: dtype (casts), post-ops, layout (two blocks, a destination with padding), transposed (no runs; other
// kernels are faster, and what they leave is copied element by element behind them in the list).
#include <vector>

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"
#include "kernels/copy/strided_copy.h"

namespace ipex_studio {
namespace {

// Channels of a blocked source that can be walked together: those of full blocks, and those of the last one.
struct ReorderPiece {
  StridedCopy copy;
  std::int64_t from = 0, to = 0;  // bytes
};

class ReorderCopyOp final : public PreparedOp {
 public:
  std::vector<ReorderPiece> pieces;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    for (const ReorderPiece& piece : pieces) {
      parallelFor(piece.copy.positions, piece.copy.grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
        piece.copy.copy(static_cast<const char*>(from[0]) + piece.from, static_cast<char*>(to[0]) + piece.to, begin,
                        end);
      });
    }
  }
};

// Returns the first `count` channels of a tensor that begins with a block.
TensorDesc channelsOf(TensorDesc desc, std::int64_t count) {
  desc.dims[1] = count;
  // Less than a block: its channels lie side by side.
  if (desc.block > 0 && count < desc.block) {
    desc.block = 0;
    desc.strides[1] = 1;
  }
  return desc;
}

// False if the layouts cannot be walked together. A blocked destination whose blocks are not full has padding to fill,
// which this does not.
bool makePieces(const TensorDesc& src, const TensorDesc& dst, std::vector<ReorderPiece>* pieces) {
  const std::int64_t rest = src.block > 0 && dst.block == 0 ? src.dims[1] % src.block : 0;
  const std::int64_t full = src.dims.rank > 1 ? src.dims[1] - rest : 0;
  if (rest == 0) {
    pieces->resize(1);
    return makeStridedCopy(src, dst, &pieces->front().copy);
  }
  const auto bytes = static_cast<std::int64_t>(elementBytes(src.dtype));
  if (full > 0) {
    pieces->emplace_back();
    if (!makeStridedCopy(channelsOf(src, full), channelsOf(dst, full), &pieces->back().copy)) return false;
  }
  pieces->emplace_back();
  pieces->back().from = full / src.block * src.strides[1] * bytes;
  pieces->back().to = full * dst.strides[1] * bytes;
  return makeStridedCopy(channelsOf(src, rest), channelsOf(dst, rest), &pieces->back().copy);
}

class ReorderCopy final : public Kernel {
 public:
  explicit ReorderCopy(bool by_elements) : by_elements_(by_elements) {}

  const char* name() const override { return by_elements_ ? "reorder_elements_copy" : "reorder_copy"; }

  Verdict supports(const PrepareArgs& args) const override {
    const TensorDesc &src = args.src[0], &dst = args.dst[0];
    if (src.dtype != dst.dtype) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    std::vector<ReorderPiece> pieces;
    if (!makePieces(src, dst, &pieces)) return Verdict::no("layout");
    if (by_elements_) return Verdict::yes();
    constexpr std::int64_t kShortRun = 4;
    const bool onednn_knows = elementBytes(src.dtype) <= 4;
    const StridedCopy& copy = pieces.front().copy;
    if (onednn_knows && copy.run < kShortRun && copy.nest.count() > kShortRun) return Verdict::no("transposed");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<ReorderCopyOp>();
    makePieces(args.src[0], args.dst[0], &op->pieces);
    op->src = args.src;
    op->dst = args.dst;
    op->packed.assign(args.src.size(), false);
    op->threads = args.target.threads;
    return op;
  }

 private:
  bool by_elements_;
};

}  // namespace

std::unique_ptr<Kernel> makeReorderCopy() { return std::make_unique<ReorderCopy>(false); }
std::unique_ptr<Kernel> makeReorderElementsCopy() { return std::make_unique<ReorderCopy>(true); }

}  // namespace ipex_studio
