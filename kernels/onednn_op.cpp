#include "kernels/onednn_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/plan/error.h"

namespace ipex_studio::onednn {
namespace {

using Tag = dnnl::memory::format_tag;

Ints toInts(const Dims& dims) { return Ints(dims.d.begin(), dims.d.begin() + dims.rank); }

Tag blockedTag(int rank, int block) {
  static const Tag kTags8[] = {Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c};
  static const Tag kTags16[] = {Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c};
  if (rank < 3 || rank > 5) return Tag::undef;
  if (block == 8) return kTags8[rank - 3];
  return block == 16 ? kTags16[rank - 3] : Tag::undef;
}

bool fromType(dnnl::memory::data_type type, DType* dtype) {
  using Type = dnnl::memory::data_type;
  switch (type) {
    case Type::f32:
      *dtype = DType::kF32;
      return true;
    case Type::bf16:
      *dtype = DType::kBf16;
      return true;
    case Type::s8:
      *dtype = DType::kS8;
      return true;
    case Type::u8:
      *dtype = DType::kU8;
      return true;
    case Type::s32:
      *dtype = DType::kS32;
      return true;
    default:
      return false;
  }
}

bool appendUnary(const PostOp& op, dnnl::post_ops* list) {
  using A = dnnl::algorithm;
  const auto add = [&](A algorithm, double alpha, double beta) {
    appendEltwise(*list, algorithm, static_cast<float>(alpha), static_cast<float>(beta));
    return true;
  };
  switch (op.kind) {
    case PostOpKind::kRelu:
      return add(A::eltwise_relu, 0, 0);
    case PostOpKind::kClip:
      return add(A::eltwise_clip, op.alpha, op.beta);
    case PostOpKind::kSigmoid:
      return add(A::eltwise_logistic, 0, 0);
    case PostOpKind::kTanh:
      return add(A::eltwise_tanh, 0, 0);
    case PostOpKind::kGeluErf:
      return add(A::eltwise_gelu_erf, 0, 0);
    case PostOpKind::kGeluTanh:
      return add(A::eltwise_gelu_tanh, 0, 0);
    case PostOpKind::kSilu:
      return add(A::eltwise_swish, 1, 0);
    case PostOpKind::kHardSwish:
      appendHardSwish(*list);
      return true;
    case PostOpKind::kHardSigmoid:
      return add(A::eltwise_linear, 1.0 / 6, 0.5) && add(A::eltwise_clip, 0, 1);
    case PostOpKind::kLeakyRelu:
      return add(A::eltwise_relu, op.alpha, 0);
    case PostOpKind::kElu:
      return add(A::eltwise_elu, op.alpha, 0);
    case PostOpKind::kMish:
      return add(A::eltwise_mish, 0, 0);
    case PostOpKind::kAbs:
      return add(A::eltwise_abs, 0, 0);
    case PostOpKind::kExp:
      return add(A::eltwise_exp, 0, 0);
    case PostOpKind::kLog:
      return add(A::eltwise_log, 0, 0);
    case PostOpKind::kSqrt:
      return add(A::eltwise_sqrt, 0, 0);
    case PostOpKind::kSquare:
      return add(A::eltwise_square, 0, 0);
    case PostOpKind::kNeg:
      return add(A::eltwise_linear, -1, 0);
    case PostOpKind::kRound:
      return add(A::eltwise_round, 0, 0);
    case PostOpKind::kLinear:
      return add(A::eltwise_linear, op.alpha, op.beta);
    default:
      return false;
  }
}

bool binaryAlgorithm(const PostOp& op, dnnl::algorithm* algorithm) {
  switch (op.kind) {
    case PostOpKind::kAdd:
      *algorithm = dnnl::algorithm::binary_add;
      return op.alpha == 1;
    case PostOpKind::kSub:
      *algorithm = dnnl::algorithm::binary_sub;
      return op.alpha == 1;
    case PostOpKind::kMul:
      *algorithm = dnnl::algorithm::binary_mul;
      return true;
    case PostOpKind::kDiv:
      *algorithm = dnnl::algorithm::binary_div;
      return true;
    case PostOpKind::kMax:
      *algorithm = dnnl::algorithm::binary_max;
      return true;
    case PostOpKind::kMin:
      *algorithm = dnnl::algorithm::binary_min;
      return true;
    default:
      return false;
  }
}

// Dims with ones in front up to `rank`.
Dims rankAligned(const Dims& dims, int rank) {
  Dims aligned;
  aligned.rank = rank;
  for (int axis = 0; axis < rank; ++axis) {
    const int from = axis - (rank - dims.rank);
    aligned[axis] = from < 0 ? 1 : dims[from];
  }
  return aligned;
}

Verdict appendBinary(const PostOpRequest& request, const PostOp& op, PostOps* result) {
  const int k = op.operand;
  if (k < 0 || k >= static_cast<int>(request.operand_dims.size())) return Verdict::no("post-ops");
  const Dims dims = request.operand_dims[k];
  if (dims.rank > request.dst.rank || request.operand_types[k] != DType::kF32) return Verdict::no("post-ops");
  const bool same = dims == request.dst;
  const int src = request.first_operand + k;
  if (request.allow_sum && result->in_place_src < 0 && same && request.operand_dies[k] && op.kind == PostOpKind::kAdd &&
      op.alpha == 1) {
    result->list.append_sum(1.0f);
    result->in_place_src = src;
    return Verdict::yes();
  }
  dnnl::algorithm algorithm;
  if (!binaryAlgorithm(op, &algorithm)) return Verdict::no("post-ops");
  const Dims aligned = rankAligned(dims, request.dst.rank);
  const bool full = aligned == request.dst;
  if (full && !same) return Verdict::no("post-ops");
  const Md layout =
      full ? (request.dst_layout ? *request.dst_layout : anyMd(aligned, DType::kF32)) : plainMd(aligned, DType::kF32);
  result->operands.push_back({result->list.len(), src, !full});
  result->list.append_binary(algorithm, layout);
  return Verdict::yes();
}

void setPointer(const dnnl::memory& memory, void* pointer) {
  if (memory.get_data_handle() != pointer) memory.set_data_handle(pointer);
}

}  // namespace

bool typeToOnednn(DType dtype, dnnl::memory::data_type* type) {
  using Type = dnnl::memory::data_type;
  switch (dtype) {
    case DType::kF32:
      *type = Type::f32;
      return true;
    case DType::kBf16:
      *type = Type::bf16;
      return true;
    case DType::kS8:
      *type = Type::s8;
      return true;
    case DType::kU8:
      *type = Type::u8;
      return true;
    case DType::kS32:
      *type = Type::s32;
      return true;
    default:
      return false;
  }
}

bool toMd(const TensorDesc& desc, Md* md) {
  dnnl::memory::data_type type;
  if (desc.dims.rank == 0 || !typeToOnednn(desc.dtype, &type)) return false;
  if (desc.block > 0) {
    const Tag tag = blockedTag(desc.dims.rank, desc.block);
    if (tag == Tag::undef || !desc.sameLayout(blockedDesc(desc.dtype, desc.dims, desc.block))) return false;
    *md = Md(toInts(desc.dims), type, tag);
    return true;
  }
  Ints strides = toInts(desc.strides);
  for (int axis = 0; axis < desc.dims.rank; ++axis) {
    if (desc.dims[axis] > 1 && strides[axis] <= 0) return false;
    if (desc.dims[axis] == 1 && strides[axis] <= 0) strides[axis] = 1;
  }
  try {
    *md = Md(toInts(desc.dims), type, strides);
  } catch (const dnnl::error&) {
    return false;  // rows that reach into each other, as a slice with a step leaves them
  }
  return true;
}

bool fromMd(const Md& md, TensorDesc* desc) {
  if (!mdIsBlocked(md)) return false;
  const Ints dims = mdDims(md);
  if (dims.empty() || dims.size() > kMaxRank) return false;
  DType dtype;
  if (!fromType(mdType(md), &dtype)) return false;
  const Ints blocks = mdInnerBlocks(md);
  if (blocks.size() > 1 || (blocks.size() == 1 && mdInnerAxes(md)[0] != 1)) return false;
  TensorDesc read;
  read.dtype = dtype;
  read.dims = Dims(std::vector<std::int64_t>(dims.begin(), dims.end()));
  const Ints strides = mdStrides(md);
  read.strides = Dims(std::vector<std::int64_t>(strides.begin(), strides.end()));
  read.block = blocks.empty() ? 0 : static_cast<std::int32_t>(blocks[0]);
  *desc = read;
  return true;
}

Md anyMd(const Dims& dims, DType dtype) {
  dnnl::memory::data_type type = dnnl::memory::data_type::f32;
  typeToOnednn(dtype, &type);
  return Md(toInts(dims), type, Tag::any);
}

Md plainMd(const Dims& dims, DType dtype) {
  Md md;
  IPEX_CHECK(toMd(contiguousDesc(dtype, dims), &md), "dtype unknown to oneDNN");
  return md;
}

std::string describe(const Md& md) {
  std::string text = fmt::format("onednn {} t{} d{} s{} b{} a{} size{}", DNNL_VERSION_MAJOR * 100 + DNNL_VERSION_MINOR,
                                 static_cast<int>(mdType(md)), fmt::join(mdDims(md), "x"),
                                 mdIsBlocked(md) ? fmt::format("{}", fmt::join(mdStrides(md), "x")) : "opaque",
                                 fmt::join(mdInnerBlocks(md), "x"), fmt::join(mdInnerAxes(md), "x"), md.get_size());
  return text;
}

TensorDesc alignedTo(const TensorDesc& desc, int rank) {
  TensorDesc aligned = desc;
  aligned.dims = rankAligned(desc.dims, rank);
  aligned.strides = rankAligned(desc.strides, rank);
  return aligned;
}

namespace {

// oneDNN 2.6 computes the second of two element-wise operations of one kind with the numbers of the first (seen with
// linear, clip, relu and elu in every implementation).
bool confusesConstants(const dnnl::post_ops& list) {
  std::vector<Eltwise> seen;
  for (int i = 0; i < list.len(); ++i) {
    if (list.kind(i) != dnnl::primitive::kind::eltwise) continue;
    const Eltwise op = eltwiseAt(list, i);
    for (const Eltwise& other : seen) {
      if (op.algorithm == other.algorithm && (op.alpha != other.alpha || op.beta != other.beta)) return true;
    }
    seen.push_back(op);
  }
  return false;
}

}  // namespace

Verdict translatePostOps(const PostOpRequest& request, PostOps* result) {
  for (const PostOp& op : *request.post_ops) {
    if (isBinary(op.kind)) {
      const Verdict verdict = appendBinary(request, op, result);
      if (!verdict.ok) return verdict;
    } else if (!appendUnary(op, &result->list)) {
      return Verdict::no("post-ops");
    }
  }
  constexpr int kLimit = 32;
  return result->list.len() <= kLimit && !confusesConstants(result->list) ? Verdict::yes() : Verdict::no("post-ops");
}

PostOpRequest requestFor(const PrepareArgs& args, int first_operand) {
  PostOpRequest request;
  request.post_ops = &args.spec.post_ops;
  request.dst = args.dst[0].dims;
  request.first_operand = first_operand;
  for (std::size_t i = first_operand; i < args.src.size(); ++i) {
    request.operand_dims.push_back(args.src[i].dims);
    request.operand_types.push_back(args.src[i].dtype);
    request.operand_dies.push_back(i < args.src_dies.size() && args.src_dies[i]);
  }
  return request;
}

dnnl::primitive_attr attributes(const dnnl::post_ops& post_ops) {
  dnnl::primitive_attr attr;
  attr.set_post_ops(post_ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

bool isReference(const Pd& pd) {
  const std::string name = pd.impl_info_str();
  return name.find("ref") != std::string::npos;
}

AlignedBuffer reorderedCopy(const dnnl::engine& engine, const Md& from, const void* source, const Md& to) {
  AlignedBuffer buffer(to.get_size());
  dnnl::memory src(from, engine, const_cast<void*>(source));
  dnnl::memory dst(to, engine, buffer.data());
  dnnl::stream stream(engine);
  dnnl::reorder(src, dst).execute(stream, src, dst);
  stream.wait();
  return buffer;
}

// --- OnednnOp --------------------------------------------------------------------------------------------------------

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
    packed_buffers_.push_back(cache->getOrPack(constant, describe(given) + " > " + describe(wanted),
                                               [&] { return reorderedCopy(engine_, given, constant, wanted); }));
    bindings_.push_back({argument, From::kPacked, static_cast<std::int64_t>(packed_buffers_.size()) - 1, wanted});
    packed[index] = true;
    return;
  }
  if (given == wanted) {
    bindSrc(argument, index, given);
    return;
  }
  const Pd reorder = reorderPd(engine_, given, wanted, dnnl::primitive_attr());
  IPEX_CHECK(!isEmpty(reorder), "oneDNN has no reorder for its own weights layout");
  const auto offset = static_cast<std::int64_t>(scratch_bytes);
  stages_.push_back({dnnl::primitive(reorder.get()), index, offset, given, wanted});
  bindings_.push_back({argument, From::kScratch, offset, wanted});
  scratch_bytes += (wanted.get_size() + 63) / 64 * 64;
}

void OnednnOp::finish() {
  const Md scratchpad = pd_.scratchpad_desc();
  if (scratchpad.get_size() == 0) return;
  bindings_.push_back({DNNL_ARG_SCRATCHPAD, From::kScratch, static_cast<std::int64_t>(scratch_bytes), scratchpad});
  scratch_bytes += scratchpad.get_size();
}

std::unique_ptr<ExecState> OnednnOp::newState() const { return std::make_unique<OnednnState>(*this); }

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
  if (post_ops.in_place_src >= 0) {
    op->in_place_src = post_ops.in_place_src;
    op->src[post_ops.in_place_src] = dst_layout;
  }
  return true;
}

}  // namespace ipex_studio::onednn
