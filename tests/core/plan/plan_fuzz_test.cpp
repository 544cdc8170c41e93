// Damaged plans that still parse compile and run within their memory, or are refused by an Error.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <new>

#include "core/base/error.h"
#include "core/plan/plan.h"
#include "kernels/kernel_list.h"
#include "tests/core/plan/random_plan.h"

// A hostile size ends in bad_alloc in the program, whose memory is limited, so it must here too.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=2048"; }

namespace ipex_studio {
namespace {

using testing::Random;
using testing::RandomPlan;

// A memory limit like that of engines, which hostile sizes meet. The sanitizer needs all addresses and has a limit of
// its own.
class MemoryLimit {
 public:
  MemoryLimit() {
    getrlimit(RLIMIT_AS, &before_);
#ifndef __SANITIZE_ADDRESS__
    rlimit limited = before_;
    limited.rlim_cur = rlim_t{4} << 30;
    setrlimit(RLIMIT_AS, &limited);
#endif
  }
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

// Exchanges numbers of the text for others; most results still parse.
std::string withOtherNumbers(std::string text, Random& random) {
  for (std::int64_t times = random.between(1, 3); times > 0; --times) {
    const std::size_t at = text.find_first_of("0123456789", random.index(text.size()));
    if (at == std::string::npos) continue;
    const std::size_t end = text.find_first_not_of("0123456789", at);
    const std::int64_t other =
        random.chance(8) ? (std::int64_t{1} << random.between(10, 62)) : random.between(random.chance(20) ? -3 : 0, 12);
    text.replace(at, end - at, std::to_string(other));
  }
  return text;
}

bool cheap(const Plan& plan) {
  std::int64_t bytes = 0;
  for (const StepRecord& step : plan.steps()) bytes += step.bytes;
  return plan.arenaBytes() < (8u << 20) && bytes < (16 << 20);
}

// Puts data into buffers of exactly the right size, so that the sanitizer sees a step across their ends.
std::unique_ptr<char[]> randomBytes(const TensorDesc& desc, Random& random) {
  auto bytes = std::make_unique<char[]>(desc.bytes());
  for (std::size_t i = 0; i < desc.bytes(); ++i) bytes[i] = static_cast<char>(random.between(0, 255));
  if (desc.dtype == DType::kS64) {  // including ids that no table has
    for (std::int64_t i = 0; i < desc.dims.count(); ++i)
      reinterpret_cast<std::int64_t*>(bytes.get())[i] =
          random.chance(10) ? random.between(INT64_MIN, INT64_MAX) : random.between(-2, 6);
  }
  return bytes;
}

// Sets one size of the inputs that are tensors to 0, or the first of each.
void emptyOne(std::vector<TensorDesc>* inputs, Random& random) {
  const bool all = random.chance(50);
  const std::size_t chosen = random.index(inputs->size());
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    TensorDesc& input = (*inputs)[i];
    if (input.absent() || input.dims.rank == 0 || (!all && i != chosen)) continue;
    Dims dims = input.dims;
    dims[all ? 0 : static_cast<int>(random.index(static_cast<std::size_t>(dims.rank)))] = 0;
    input = contiguousDesc(input.dtype, dims);
  }
}

// Returns 0 if refused when read, 1 if refused when compiled, 2 if run.
int tryPlan(const std::string& text, const RandomPlan& original, const KernelList& kernels, Random& random,
            bool empty = false) {
  PlanSpec spec;
  try {
    spec = planSpecFromText(text);
  } catch (const Error&) {
    return 0;
  }
  std::vector<std::unique_ptr<char[]>> memory;
  PlanRequest request;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    Dims dims = i < original.inputs.size() ? original.inputs[i].desc.dims : Dims{};
    while (dims.rank < spec.inputs[i].rank) dims[dims.rank++] = 2;
    dims.rank = spec.inputs[i].rank;
    request.tensor_inputs.push_back(spec.inputs[i].is_int ? TensorDesc() : contiguousDesc(spec.inputs[i].dtype, dims));
    request.int_inputs.push_back(spec.inputs[i].is_int ? random.between(-2, 5) : 0);
  }
  if (empty) emptyOne(&request.tensor_inputs, random);
  for (const TensorDesc& constant : spec.constants) {
    if (constant.bytes() > (1u << 20)) return 0;
    memory.push_back(randomBytes(constant, random));
    request.constants.push_back(memory.back().get());
  }
  try {
    WeightCache weights;
    const auto plan = Plan::compile(spec, request, kernels, weights);
    if (!cheap(*plan)) return 1;
    Plan::Instance instance(*plan);
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const TensorDesc& input : request.tensor_inputs) {
      memory.push_back(randomBytes(input, random));
      from.push_back(memory.back().get());
    }
    for (const TensorDesc& output : plan->outputs()) {
      memory.push_back(std::make_unique<char[]>(output.bytes()));
      to.push_back(memory.back().get());
    }
    instance.run(from.data(), to.data());
    return 2;
  } catch (const Error&) {
    return 1;
  } catch (const std::bad_alloc&) {
    return 1;
  }
}

TEST(PlanFuzz, DamagedPlansRunInTheirMemoryOrAreRefused) {
  const MemoryLimit limit;
  const auto kernels = makeKernelList();
  Random random(9);
  int outcomes[3] = {};
  const int count = 1500 * testing::campaignFactor();
  for (int i = 0; i < count; ++i) {
    const RandomPlan original = testing::makeRandomPlan(static_cast<std::uint64_t>(i % 100), 2 + i % 7);
    const std::string text = planSpecToText(original.spec);
    const std::string damaged = i % 3 == 0 ? testing::mutated(text, random) : withOtherNumbers(text, random);
    SCOPED_TRACE(damaged);
    ++outcomes[tryPlan(damaged, original, *kernels, random)];
  }
  EXPECT_GT(outcomes[0], count / 20);
  EXPECT_GT(outcomes[1], count / 20);
  EXPECT_GT(outcomes[2], count / 20);
}

TEST(PlanFuzz, EmptyInputsRunOrAreRefused) {
  const auto kernels = makeKernelList();
  Random random(11);
  int outcomes[3] = {};
  const int count = 600 * testing::campaignFactor();
  for (int i = 0; i < count; ++i) {
    const RandomPlan original = testing::makeRandomPlan(static_cast<std::uint64_t>(i), 2 + i % 7);
    const std::string text = planSpecToText(original.spec);
    SCOPED_TRACE(text);
    ++outcomes[tryPlan(text, original, *kernels, random, true)];
  }
  EXPECT_EQ(outcomes[0], 0);
  EXPECT_GT(outcomes[2], count / 3);
}

// Operations that random plans do not have, with operands that do not fit or are impossible.
TEST(PlanFuzz, HostileOperations) {
  const auto kernels = makeKernelList();
  Random random(10);
  const RandomPlan original = testing::makeRandomPlan(0, 1);  // inputs of rank 4, 3 and 2
  for (const char* op : {R"~("reshape{shape=[4]}","src":[])~",
                         R"~("reshape{shape=[4]}","src":[-1])~",
                         R"~("concat{axis=1}|relu","src":[0,0])~",
                         R"~("concat{axis=1}","src":[])~",
                         R"~("slice{axis=0,begin=0,end=5,step=9223372036854775807}","src":[2])~",
                         R"~("embedding_bag{mode=sum}","src":[3,4,2])~",
                         R"~("embedding_bag{include_last_offset=1,mode=mean}","src":[3,4,2])~",
                         R"~("embedding{}","src":[3,2])~",
                         R"~("gather{axis=1}","src":[2,3])~",
                         R"~("upsample{mode=bicubic,output=[3,3]}","src":[0])~",
                         R"~("upsample{mode=bogus,output=[3,3]}","src":[0])~",
                         R"~("pool{kernel=[1,1],mode=bogus}","src":[0])~",
                         R"~("pool{kernel=[1,1],mode=avg_exclude_pad,padding=[3,3]}","src":[0])~",
                         R"~("pool{kernel=[2,2],mode=max,padding=[9,9],stride=[5,5]}","src":[0])~",
                         R"~("pool{kernel=[3,3],mode=avg,padding=[8,1],stride=[2,2]}","src":[0])~",
                         R"~("reduce{axes=[0],mode=bogus}","src":[2])~",
                         R"~("matmul{}","src":[3,2])~",
                         R"~("pointwise{}|add(0)","src":[2,3])~",
                         R"~("cast{dtype=s8}","src":[2])~",
                         R"~("cast{dtype=f16}","src":[2])~",
                         R"~("cast{dtype=bool}","src":[2])~",
                         R"~("softmax{axis=0,scale=nan}","src":[2,-1])~",
                         R"~("layer_norm{axes=2,eps=-1}","src":[2,-1,-1,-1])~",
                         R"~("reorder{}","src":[2])~",
                         R"~("reorder{}|relu","src":[2])~",
                         R"~("linear{}|div(0)|pow(0.5)","src":[2,2,-1,2])~",
                         R"~("gather_elements{axis=0}","src":[3,4])~",
                         R"~("gather_elements{axis=0}","src":[2,3])~",
                         R"~("scatter_elements{axis=0}","src":[3,4,3])~",
                         R"~("gather{axis=1,wrap=1}","src":[2,3])~",
                         R"~("integer_math{op=mod}","src":[3,4])~",
                         R"~("integer_math{op=truncdiv}","src":[4,3])~",
                         R"~("cumulative_sum{axis=0}","src":[3])~",
                         R"~("sort{axis=0,k=9223372036854775807}","src":[2])~",
                         R"~("grid_sample{}","src":[0,0])~",
                         R"~("cast{dtype=s64}","src":[2])~"}) {
    const std::string text =
        std::string(
            R"({"plan":1,"inputs":[["f32",4],["f32",3],["f32",2],["s64",1],["s64",1]],"constants":[],"nodes":[{"op":)") +
        op + R"(,"dst":[5],"name":"n","origins":[]}],"outputs":[5]})";
    SCOPED_TRACE(op);
    EXPECT_NE(tryPlan(text, original, *kernels, random), 0);
  }
}

}  // namespace
}  // namespace ipex_studio
