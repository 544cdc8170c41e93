// Concatenation by copying each source into its place. Keeps channels-last and channel-blocked layouts where the places
// begin on whole blocks.
//
// Declines: dtype.
#include "core/op/kernel.h"
#include "kernels/common/concat_layout.h"
#include "kernels/common/parallel.h"
#include "kernels/copy/strided_copy.h"

namespace ipex_studio {
namespace {

class ConcatOp final : public PreparedOp {
 public:
  struct Piece {
    StridedCopy copy;
    std::int64_t offset;  // bytes in dst
  };
  std::vector<Piece> pieces;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    for (std::size_t s = 0; s < pieces.size(); ++s) {
      const Piece& piece = pieces[s];
      char* const out = static_cast<char*>(to[0]) + piece.offset;
      parallelFor(piece.copy.positions, piece.copy.grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
        piece.copy.copy(static_cast<const char*>(from[s]), out, begin, end);
      });
    }
  }
};

class ConcatCopy final : public Kernel {
 public:
  const char* name() const override { return "concat_copy"; }

  Verdict supports(const PrepareArgs& args) const override {
    return args.src[0].dtype == args.dst[0].dtype ? Verdict::yes() : Verdict::no("dtype");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const int rank = args.dst[0].dims.rank;
    const int axis = wrappedAxis(args.spec.intOr("axis", 0), rank);
    const TensorDesc like = concatLayout(args.src, axis);
    const TensorDesc dst = laidOutLike(like, args.dst[0].dtype, args.dst[0].dims);
    auto op = std::make_unique<ConcatOp>();
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    op->threads = args.target.threads;
    std::int64_t begin = 0;
    for (const TensorDesc& x : args.src) {
      // Strided sources are read in place; only sources of another block are reordered first.
      const TensorDesc from = x.block == dst.block ? x : laidOutLike(like, x.dtype, x.dims);
      TensorDesc place = dst;
      place.dims = x.dims;
      ConcatOp::Piece piece;
      const bool block_axis = dst.block > 0 && axis == 1;
      piece.offset = (block_axis ? begin / dst.block : begin) * dst.strides[axis] *
                     static_cast<std::int64_t>(elementBytes(dst.dtype));
      if (!makeStridedCopy(from, place, &piece.copy)) {
        *reason = "layout";
        return nullptr;
      }
      op->src.push_back(from);
      op->pieces.push_back(piece);
      begin += x.dims[axis];
    }
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeConcatCopy() { return std::make_unique<ConcatCopy>(); }

}  // namespace ipex_studio
