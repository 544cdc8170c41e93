// Preparation with a limit on scratch memory, and single execution.
#include "core/op/prepare.h"

#include <algorithm>

namespace ipex_studio {
namespace {

// The largest scratch of honest networks holds the padded rows of a convolution: a few times its source.
constexpr std::size_t kMaxScratchPerByte = 16, kScratchAnyway = std::size_t{256} << 20;

bool isBounded(const PreparedOp& op) {
  std::size_t bytes = 0;
  for (const TensorDesc& desc : op.src) bytes += desc.absent() ? 0 : desc.bytes();
  for (const TensorDesc& desc : op.dst) bytes += desc.bytes();
  return op.scratch_bytes <= kScratchAnyway || (op.scratch_bytes - kScratchAnyway) / kMaxScratchPerByte <= bytes;
}

// True if no result has an element, as in an empty batch.
bool writesNothing(const PrepareArgs& args) {
  const auto empty = [](const TensorDesc& desc) { return desc.dims.count() == 0; };
  return !args.dst.empty() && std::all_of(args.dst.begin(), args.dst.end(), empty);
}

// An operation without results to write. It stands for any kernel, so none has to divide work by a count of zero.
class NothingToDo : public PreparedOp {
 public:
  explicit NothingToDo(const PrepareArgs& args) {
    src = args.src;
    dst = args.dst;
    for (const void* constant : args.constant) packed.push_back(constant != nullptr);
  }
  void execute(ExecState*, const void* const*, void* const*, void*) const override {}
};

}  // namespace

bool isReference(const std::string& kernel_name) {
  return kernel_name.size() > 4 && kernel_name.compare(kernel_name.size() - 4, 4, "_ref") == 0;
}

std::shared_ptr<const PreparedOp> prepareBy(const Kernel& kernel, const PrepareArgs& args, std::string* reason) {
  std::unique_ptr<PreparedOp> op;
  if (writesNothing(args)) {
    op = std::make_unique<NothingToDo>(args);
  } else {
    const Verdict verdict = kernel.supports(args);
    *reason = verdict.reason;
    if (!verdict.ok) return nullptr;
    op = kernel.prepare(args, reason);
  }
  if (op && !isBounded(*op) && !isReference(kernel.name())) {
    *reason = "scratch";
    return nullptr;
  }
  if (op) {
    for (std::vector<TensorDesc>* side : {&op->src, &op->dst}) {
      for (TensorDesc& desc : *side) desc.device = args.target.device->id();
    }
  }
  return op;
}

bool executeOnce(const PreparedOp& op, const void* const* src, void* const* dst) {
  const Buffer scratch(op.scratch_bytes);
  const std::unique_ptr<ExecState> state = op.newState();
  op.execute(state.get(), src, dst, scratch.data());
  return !state || state->takeFailure() == nullptr;
}

}  // namespace ipex_studio
