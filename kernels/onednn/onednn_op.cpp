// The operation that runs one primitive of oneDNN (onednn_op.h).
#include "kernels/onednn/onednn_op.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/op/low_precision_floats.h"

namespace ipex_studio::onednn {
namespace {

void setPointer(const dnnl::memory& memory, void* pointer) {
  if (memory.get_data_handle() != pointer) memory.set_data_handle(pointer);
}

void reorderInto(const dnnl::engine& engine, const Md& from, const void* source, const Md& to, void* packed) {
  dnnl::memory src(from, engine, const_cast<void*>(source));
  dnnl::memory dst(to, engine, packed);
  dnnl::stream stream(engine);
  dnnl::reorder(src, dst).execute(stream, src, dst);
  stream.wait();
}

}  // namespace

bool isReference(const Pd& pd) {
  const std::string name = pd.impl_info_str();
  return name.find("ref") != std::string::npos;
}

class OnednnState final : public ExecState {
 public:
  struct StageMemory {
    dnnl::memory from, to;
    dnnl_exec_arg_t arguments[2];
  };

  explicit OnednnState(const OnednnOp& op) : stream(op.engine_) {
    for (const auto& stage : op.stages_) {
      StageMemory memory{
          dnnl::memory(stage.from, op.engine_, nullptr), dnnl::memory(stage.to, op.engine_, nullptr), {}};
      memory.arguments[0] = {DNNL_ARG_FROM, memory.from.get()};
      memory.arguments[1] = {DNNL_ARG_TO, memory.to.get()};
      stages.push_back(memory);
    }
    for (const auto& binding : op.bindings_) {
      void* fixed = nullptr;
      if (binding.from == OnednnOp::From::kPacked) fixed = op.packed_buffers_[binding.index]->data();
      memories.emplace_back(binding.md, op.engine_, fixed);
      arguments.push_back({binding.argument, memories.back().get()});
    }
  }

  dnnl::stream stream;
  std::vector<StageMemory> stages;
  std::vector<dnnl::memory> memories;  // one per binding
  std::vector<dnnl_exec_arg_t> arguments;
};

OnednnOp::OnednnOp(const dnnl::engine& engine, const Pd& pd) : engine_(engine), pd_(pd), primitive_(pd.get()) {
  implementation = pd.impl_info_str();
}

void OnednnOp::bindSrc(int argument, int index, const Md& md) {
  bindings_.push_back({argument, From::kSrc, index, md});
}

void OnednnOp::bindDst(int argument, int index, const Md& md) {
  bindings_.push_back({argument, From::kDst, index, md});
}

void OnednnOp::bindWeights(int argument, int index, const Md& given, const Md& wanted, const void* constant,
                           WeightCache* cache) {
  if (constant != nullptr && cache != nullptr) {
    // The source layout is part of the key: the same memory may be read as several shapes.
    packed_buffers_.push_back(
        cache->getOrPack(constant, describe(given) + " > " + describe(wanted), wanted.get_size(),
                         [&](void* packed_to) { reorderInto(engine_, given, constant, wanted, packed_to); }));
    bindings_.push_back({argument, From::kPacked, static_cast<std::int64_t>(packed_buffers_.size()) - 1, wanted});
    packed[index] = true;
    return;
  }
  if (given == wanted) {
    bindSrc(argument, index, given);
    return;
  }
  const Pd reorder = reorderPd(engine_, given, wanted, dnnl::primitive_attr());
  if (isEmpty(reorder))
    throw Error(ExitCode::kFailure, "oneDNN cannot bring weights that are computed into the layout that it wants.");
  const auto offset = static_cast<std::int64_t>(scratch_bytes);
  stages_.push_back({dnnl::primitive(reorder.get()), index, offset, given, wanted});
  bindings_.push_back({argument, From::kScratch, offset, wanted});
  scratch_bytes += (wanted.get_size() + 63) / 64 * 64;
}

void OnednnOp::bindValues(int argument, const Md& md, const void* values) {
  auto copy = std::make_shared<Buffer>(md.get_size());
  std::memcpy(copy->data(), values, copy->bytes());
  packed_buffers_.push_back(std::move(copy));
  bindings_.push_back({argument, From::kPacked, static_cast<std::int64_t>(packed_buffers_.size()) - 1, md});
}

void OnednnOp::bindScales(const ProductScales& product) {
  if (!kScalesAreArguments) return;
  const auto vectorMd = [](std::size_t count, DType dtype) {
    return plainMd(Dims{static_cast<std::int64_t>(count)}, dtype);
  };
  bindValues(kScalesArgument, vectorMd(product.scale.size(), DType::kF32), product.scale.data());
  if (product.src_zero != 0)
    bindValues(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, vectorMd(1, DType::kS32), &product.src_zero);
  if (product.weight_zero != 0)
    bindValues(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_WEIGHTS, vectorMd(1, DType::kS32), &product.weight_zero);
}

void OnednnOp::finish() {
  const Md scratchpad = pd_.scratchpad_desc();
  if (scratchpad.get_size() == 0) return;
  bindings_.push_back({DNNL_ARG_SCRATCHPAD, From::kScratch, static_cast<std::int64_t>(scratch_bytes), scratchpad});
  scratch_bytes += scratchpad.get_size();
}

std::unique_ptr<ExecState> OnednnOp::newState() const { return std::make_unique<OnednnState>(*this); }

// The library does not tell where in its packed weights it begins to read; most primitives begin at the front.
MemoryRange OnednnOp::firstReads(std::int32_t thread) const {
  constexpr std::size_t kMaxBytes = 128 << 10;
  if (thread > 0) return {};
  MemoryRange largest;
  for (const WeightCache::Packed& packed : packed_buffers_) {
    if (packed->bytes() > largest.bytes) largest = {packed->data(), packed->bytes()};
  }
  largest.bytes = std::min(largest.bytes, kMaxBytes);
  return largest;
}

void OnednnOp::execute(ExecState* state, const void* const* src, void* const* dst, void* scratch) const {
  auto& own = static_cast<OnednnState&>(*state);
  char* const scratch_bytes_begin = static_cast<char*>(scratch);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    setPointer(own.stages[i].from, const_cast<void*>(src[stages_[i].src]));
    setPointer(own.stages[i].to, scratch_bytes_begin + stages_[i].offset);
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(stages_[i].primitive.get(), own.stream.get(), 2, own.stages[i].arguments),
        "oneDNN could not reorder an operand");
  }
  for (std::size_t i = 0; i < bindings_.size(); ++i) {
    const Binding& binding = bindings_[i];
    switch (binding.from) {
      case From::kSrc:
        setPointer(own.memories[i], const_cast<void*>(src[binding.index]));
        break;
      case From::kDst:
        setPointer(own.memories[i], dst[binding.index]);
        break;
      case From::kScratch:
        setPointer(own.memories[i], scratch_bytes_begin + binding.index);
        break;
      case From::kPacked:
        break;
    }
  }
  // The C call: the C++ one would build a vector of arguments at each execution.
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), own.stream.get(),
                                                 static_cast<int>(own.arguments.size()), own.arguments.data()),
                          "oneDNN could not execute a primitive");
}

namespace {

// True if the library's code for one of the operations gives a number for NaN (onednn_nan_test.cpp tries them all).
bool dropsNan(const dnnl::post_ops& list, const std::string& implementation) {
  for (int i = 0; i < list.len(); ++i) {
    if (list.kind(i) == dnnl::primitive::kind::binary) {
      dnnl::algorithm algorithm;
      Md operand;
      list.get_params_binary(i, algorithm, operand);
      if (algorithm == dnnl::algorithm::binary_max || algorithm == dnnl::algorithm::binary_min) return true;
    }
    if (list.kind(i) != dnnl::primitive::kind::eltwise) continue;
    const Eltwise op = eltwiseAt(list, i);
    if (op.algorithm == dnnl::algorithm::eltwise_clip || op.algorithm == dnnl::algorithm::eltwise_exp) return true;
    if (op.algorithm == dnnl::algorithm::eltwise_relu && op.alpha == 0) return true;
    const bool gemm = implementation.find("gemm") != std::string::npos;
    if (op.algorithm == dnnl::algorithm::eltwise_logistic && gemm) return true;
  }
  return false;
}

}  // namespace

bool bindPostOperands(const Pd& pd, const PostOps& post_ops, const PrepareArgs& args, const TensorDesc& dst_layout,
                      OnednnOp* op) {
  for (const PostOperand& operand : post_ops.operands) {
    const int argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(operand.index) | DNNL_ARG_SRC_1;
    const Md md = pd.query_md(dnnl::query::exec_arg_md, argument);
    const TensorDesc& given = args.src[operand.src];
    if (operand.broadcast) {
      op->src[operand.src] = contiguousDesc(given.dtype, given.dims);
    } else if (!fromMd(md, &op->src[operand.src])) {
      return false;
    }
    op->bindSrc(argument, operand.src, md);
  }
  op->needs_finite = isFloatDtype(args.dst[0].dtype) && dropsNan(post_ops.list, op->implementation);
  if (post_ops.in_place_src >= 0) {
    op->in_place_src = post_ops.in_place_src;
    op->src[post_ops.in_place_src] = dst_layout;
    op->src[post_ops.in_place_src].dtype = args.src[post_ops.in_place_src].dtype;
  }
  return true;
}

}  // namespace ipex_studio::onednn
