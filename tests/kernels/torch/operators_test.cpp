// Operators that stand alone in a graph: their schemas, and the plans each keeps for the places it is called from.
#include <gtest/gtest.h>
#include <torch/script.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include "core/base/error.h"
#include "kernels/torch/ops/call_sites.h"
#include "tests/kernels/torch/call_count.h"
#include "tests/kernels/torch/call_operator.h"
#include "tests/kernels/torch/threads.h"

namespace ipex_studio {
namespace {

using c10::IValue;

const char kRelu[] = "pointwise{}|relu", kAbs[] = "pointwise{}|abs", kLinear[] = "linear{}|relu";

IValue noTensors() { return c10::List<at::Tensor>(); }

at::Tensor callLinear(const at::Tensor& x, const at::Tensor& w, const IValue& spec) {
  return call("ipex_studio::linear", {x, w, IValue(), noTensors(), spec});
}

std::string chainOf(const PlanCache& plans) { return plans.spec().nodes.at(0).op.text(); }

TEST(Operators, RoundedWeightsOfAnotherSizeAreRefused) {
  const at::Tensor x = at::randn({4, 8}).to(at::kBFloat16), w = at::randn({6, 8});
  EXPECT_EQ(call("ipex_studio::train_linear", {x, w, IValue(), w.to(at::kBFloat16)}).sizes(), at::IntArrayRef({4, 6}));
  EXPECT_THROW(call("ipex_studio::train_linear", {x, w, IValue(), at::randn({1}).to(at::kBFloat16)}), c10::Error);
  EXPECT_THROW(call("ipex_studio::train_linear", {x, w, IValue(), w}), c10::Error);
}

// A file may call them with lists of any length and size: memory is taken for what is computed, or PyTorch decides.
TEST(Operators, ConvolutionsTakeListsThatFitAlone) {
  using List = std::vector<std::int64_t>;
  const at::Tensor image = at::rand({1, 3, 9, 8}), volume = at::rand({1, 3, 5, 9, 8}), signal = at::rand({1, 3, 9});
  const at::Tensor w2 = at::rand({4, 3, 3, 3}), w3 = at::rand({4, 3, 3, 3, 3}), w1 = at::rand({4, 3, 3});
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const auto resultOf = [](const auto& compute) -> c10::optional<at::Tensor> {
    try {
      return compute();
    } catch (const std::exception&) {
      return {};
    }
  };
  const auto check = [&](const char* name, const at::Tensor& x, const at::Tensor& w, const List& stride,
                         const List& dilation) {
    const List padding(static_cast<std::size_t>(x.dim() - 2), 0);
    const auto ours = resultOf([&] {
      return call((std::string("ipex_studio::") + name).c_str(), {x, w, IValue(), stride, padding, dilation, 1});
    });
    const auto stock = resultOf([&] {
      return call((std::string("aten::") + name).c_str(), {x, w, IValue(), stride, padding, dilation, 1});
    });
    EXPECT_EQ(ours.has_value(), stock.has_value()) << name;
    if (!ours || !stock) return;
    EXPECT_TRUE(at::allclose(*ours, *stock, 1e-4, 1e-5)) << name;
  };
  for (const List& wrong : {List{}, List{1, 1, 1, 4}, List{4, 4, 1, 1}, List{kHuge, kHuge, kHuge}, List{-1, 1, 1}}) {
    check("conv3d", volume, w3, wrong, {1, 1, 1});
    check("conv3d", volume, w3, {1, 1, 1}, wrong);
  }
  for (const List& wrong : {List{}, List{4, 1, 1}, List{1, 4, 4}, List{kHuge, 1}, List{1, -1}}) {
    check("conv2d", image, w2, wrong, {1, 1});
    check("conv2d", image, w2, {1, 1}, wrong);
  }
  for (const List& wrong : {List{}, List{1, 2}, List{kHuge}}) check("conv1d", signal, w1, {1}, wrong);
  check("conv3d", volume, w3, {1}, {1, 1, 1});
}

TEST(Operators, SchemasStay) {
  std::set<std::string> schemas;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (name.name.rfind("ipex_studio::", 0) != 0) continue;
    schemas.insert(toString(
        c10::Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(), name.overload_name.c_str()).schema()));
  }
  EXPECT_EQ(
      schemas,
      (std::set<std::string>{
          "ipex_studio::_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, "
          "Tensor bias, int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, "
          "int offset_groups, bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
          "ipex_studio::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int "
          "stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, int "
          "offset_groups, bool use_mask) -> Tensor",
          "ipex_studio::_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, "
          "int pooled_height, int pooled_width, int sampling_ratio, int batch_size, int channels, int height, int "
          "width) -> Tensor",
          "ipex_studio::_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, "
          "int pooled_height, int pooled_width, int batch_size, int channels, int height, int width) -> Tensor",
          "ipex_studio::_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, int "
          "pooled_height, int pooled_width, int batch_size, int channels, int height, int width) -> Tensor",
          "ipex_studio::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
          "pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
          "ipex_studio::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
          "pooled_width) -> (Tensor, Tensor)",
          "ipex_studio::roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width) "
          "-> (Tensor, Tensor)",
          "ipex_studio::_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, int pooled_height, int "
          "pooled_width, int batch_size, int channels, int height, int width, int sampling_ratio, bool aligned) -> "
          "Tensor",
          "ipex_studio::adafactor_step(float[] settings, Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] "
          "moments, "
          "int[] steps) -> ()",
          "ipex_studio::add_layer_norm(Tensor x, Tensor? gamma, Tensor? beta, Tensor residual, str spec) -> (Tensor, "
          "Tensor)",
          "ipex_studio::attention(Tensor q, Tensor k, Tensor v, Tensor? mask, str spec) -> Tensor",
          "ipex_studio::batch_norm2d(Tensor x, Tensor? weight, Tensor? bias, Tensor(a!)? running_mean, Tensor(b!)? "
          "running_var, bool training, float momentum, float eps, Tensor? addend=None, bool relu=False) -> Tensor",
          "ipex_studio::conv1d(Tensor x, Tensor w, Tensor? b, int[1] stride, int[1] padding, int[1] dilation, int "
          "groups) -> Tensor",
          "ipex_studio::conv3d(Tensor x, Tensor w, Tensor? b, int[3] stride, int[3] padding, int[3] dilation, int "
          "groups) -> Tensor",
          "ipex_studio::conv2d(Tensor x, Tensor w, Tensor? b, int[2] stride, int[2] padding, int[2] dilation, int "
          "groups) -> Tensor",
          "ipex_studio::conv_transpose2d(Tensor x, Tensor w, Tensor? b, int[2] stride, int[2] padding, int[2] "
          "output_padding, int groups, int[2] dilation) -> Tensor",
          "ipex_studio::convolution(Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor",
          "ipex_studio::deconvolution(Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor",
          "ipex_studio::dropout(Tensor x, float p, bool training) -> Tensor",
          "ipex_studio::embedding(Tensor ids, Tensor table, str spec) -> Tensor",
          "ipex_studio::embedding_bag(Tensor ids, Tensor offsets, Tensor table, str spec) -> Tensor",
          "ipex_studio::fourier(Tensor x, Tensor? window, str spec) -> Tensor",
          "ipex_studio::feature_interaction(Tensor[] features) -> Tensor",
          "ipex_studio::csr_from_index(Tensor index, int rows) -> (Tensor, Tensor)",
          "ipex_studio::csr_transpose(Tensor rowptr, Tensor col, Tensor? place, int columns) -> (Tensor, Tensor, "
          "Tensor)",
          "ipex_studio::gather_scatter(Tensor like, Tensor to, Tensor x, Tensor? from, Tensor? weights, str spec) -> "
          "Tensor",
          "ipex_studio::gather_rows(Tensor x, Tensor index) -> Tensor",
          "ipex_studio::scatter_rows(Tensor src, Tensor index, int rows, str reduce) -> Tensor",
          "ipex_studio::rnnt_loss(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int "
          "blank, float clamp, bool fused_log_softmax) -> Tensor",
          "ipex_studio::rnnt_update_batch(Tensor symbols, Tensor lengths, Tensor(a!) label_col, Tensor(b!) "
          "symbols_added, Tensor(c!) time_idxs, Tensor(d!) goes_on, Tensor(e!) ended, Tensor(f!) takes, Tensor(g!) "
          "label_to_put, Tensor(h!) labels, Tensor(i!) next_label, Tensor(j!)[] hidden, Tensor[] new_hidden, Tensor "
          "features, Tensor(k!) feature, int max_symbols, int blank, int first_label, int max_len) -> bool",
          "ipex_studio::segment_softmax(Tensor rowptr, Tensor? place, Tensor scores) -> Tensor",
          "ipex_studio::add_normalize_rows(Tensor x, Tensor residual, Tensor? weight, Tensor? bias, float eps, bool "
          "centered) -> (Tensor, Tensor)",
          "ipex_studio::flash_attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float? "
          "scale) "
          "-> Tensor",
          "ipex_studio::gated_units(Tensor gate, Tensor up, str activation) -> Tensor",
          "ipex_studio::indirect_attention(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) "
          "value_cache, Tensor beam_idx, int offset, float scale, Tensor? mask) -> Tensor",
          "ipex_studio::paged_attention(Tensor query, Tensor key_cache, Tensor value_cache, Tensor pages, Tensor "
          "lengths, float scale, Tensor? slopes, int window, float softcap) -> Tensor",
          "ipex_studio::train_gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, "
          "int "
          "num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
          "ipex_studio::train_gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
          "float "
          "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
          "ipex_studio::train_linear(Tensor x, Tensor w, Tensor? b, Tensor? low=None) -> Tensor",
          "ipex_studio::train_lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool "
          "has_biases, "
          "int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)",
          "ipex_studio::train_lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, "
          "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
          "ipex_studio::woq_linear(Tensor x, Tensor weight, Tensor scales, Tensor? bias, int bits, int depth, int "
          "group, str levels=\"even\") -> Tensor",
          "ipex_studio::write_pages(Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor "
          "slots) -> ()",
          "ipex_studio::linear_units(Tensor x, Tensor weight, Tensor? bias, str activation, Tensor? factor, Tensor[] "
          "addends) -> Tensor",
          "ipex_studio::normalize_rows(Tensor x, Tensor? weight, Tensor? bias, float eps, bool centered) -> Tensor",
          "ipex_studio::rotary(Tensor x, Tensor cos, Tensor sin, str spec) -> Tensor",
          "ipex_studio::rotary_embedding(Tensor x, Tensor sin, Tensor cos, Tensor? positions, int rotary_dim, bool "
          "interleaved) -> Tensor",
          "ipex_studio::spmm(Tensor rowptr, Tensor col, Tensor? place, Tensor? value, Tensor x, str reduce, Tensor[] "
          "transpose) -> Tensor",
          "ipex_studio::spmm_edges(Tensor edges, Tensor? value, Tensor x, int rows, str reduce) -> Tensor",
          "ipex_studio::interaction(Tensor[] features, str spec) -> Tensor",
          "ipex_studio::interaction_backward(Tensor gradient, Tensor[] features, str spec) -> Tensor",
          "ipex_studio::merged_embedding_bag(Tensor[] weights, Tensor[] indices, Tensor[] offsets, Tensor[] "
          "per_sample_weights, str mode, bool include_last_offset, int padding_idx, bool sparse) -> Tensor[]",
          "ipex_studio::merged_embedding_bag_update(Tensor(a!)[] weights, Tensor(b!)[] states, Tensor[] gradients, "
          "Tensor[] indices, Tensor[] offsets, str mode, bool include_last_offset, int padding_idx, str optimizer, "
          "float learning_rate, float weight_decay, float eps) -> ()",
          "ipex_studio::layer_norm(Tensor x, Tensor? gamma, Tensor? beta, Tensor? residual, str spec) -> Tensor",
          "ipex_studio::left_aligned(Tensor x, Tensor mask) -> bool",
          "ipex_studio::linear(Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor",
          "ipex_studio::matmul(Tensor a, Tensor b, Tensor[] post_args, str spec) -> Tensor",
          "ipex_studio::optimizer_step(str optimizer, float[] settings, Tensor(a!)[] parameters, Tensor[] gradients, "
          "Tensor(b!)[] states, int step, float gradient_scale=1., float max_norm=0., bool skip_infinite=False, bool "
          "fast=False, Tensor(c!)? update_ns=None) -> float",
          "ipex_studio::optimizer_step.companions(str optimizer, float[] settings, Tensor(a!)[] parameters, Tensor[] "
          "gradients, Tensor(b!)[] states, Tensor(c!)[] companions, int step, float gradient_scale=1., float "
          "max_norm=0., bool skip_infinite=False, bool fast=False) -> float",
          "ipex_studio::mask_places(Tensor mask, int[] sizes, bool may_repeat) -> Tensor",
          "ipex_studio::masked_rows(Tensor x, Tensor mask, int axis) -> Tensor",
          "ipex_studio::nonzero(Tensor x) -> Tensor",
          "ipex_studio::unique(Tensor x, bool return_inverse, bool return_counts) -> (Tensor, Tensor, Tensor)",
          "ipex_studio::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
          "ipex_studio::pointwise(Tensor x, Tensor[] post_args, str spec) -> Tensor",
          "ipex_studio::region(__torch__.torch.classes.ipex_studio.Region region, Tensor[] tensors, int[] sizes) -> "
          "Tensor[]",
          "ipex_studio::region_loop(__torch__.torch.classes.ipex_studio.Region region, int[] form, int rounds, "
          "Tensor[] tensors, int[] sizes) -> Tensor[]",
          "ipex_studio::roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
          "int "
          "sampling_ratio, bool aligned) -> Tensor",
          "ipex_studio::softmax(Tensor x, Tensor? mask, str spec) -> Tensor",
          "ipex_studio::squeeze_excite(Tensor x, Tensor reduce, Tensor? b, Tensor expand, Tensor? c, Tensor[] "
          "post_args, str spec) -> Tensor"}));
}

TEST(Operators, OperandsTakeTheirRoles) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({2, 5, 6}), w = at::randn({4, 6}), b = at::randn({4}), y = at::randn({2, 5, 4});
  EXPECT_TRUE(
      at::allclose(call("ipex_studio::linear", {x, w, b, c10::List<at::Tensor>({y, y}), "linear{}|relu|mul(0)|add(1)"}),
                   at::relu(at::linear(x, w, b)) * y + y, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(callLinear(x, w, "linear{}"), at::linear(x, w), 1e-5, 1e-6));
  const at::Tensor gamma = at::rand({6}), beta = at::randn({6}), residual = at::randn({2, 5, 6});
  torch::jit::Stack stack{x, gamma, beta, residual, "layer_norm{axes=1,eps=1e-05,sum_output=1}"};
  const c10::OperatorHandle both = c10::Dispatcher::singleton().findSchemaOrThrow("ipex_studio::add_layer_norm", "");
  both.callBoxed(&stack);
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_TRUE(at::allclose(stack[0].toTensor(), at::layer_norm(x + residual, {6}, gamma, beta), 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(stack[1].toTensor(), x + residual));
  stack = {x, gamma, beta, residual, "layer_norm{axes=1,eps=1e-05}"};
  try {
    both.callBoxed(&stack);
    ADD_FAILURE() << "returned a sum that the specification does not ask for";
  } catch (const c10::Error& error) {
    EXPECT_STREQ(error.what_without_backtrace(), "ipex_studio::add_layer_norm needs a spec with sum_output=1");
  }
}

// --- CallSites -------------------------------------------------------------------------------------------------------

// A call as the interpreter makes it: the graph holds the string, and so does the stack.
std::shared_ptr<PlanCache> lookUp(CallSites& sites, const IValue& held, c10::ArrayRef<PlanOperand> operands) {
  const IValue argument = held;
  return sites.plansFor(argument, operands);
}

TEST(CallSites, WarmLookUpsAllocateAndLockNothing) {
  if (!testing::callsAreCounted()) GTEST_SKIP();
  CallSites sites;
  const at::Tensor x = at::randn({4}), w = at::randn({4, 4});
  const IValue spec = kLinear;
  const PlanOperand operands[] = {{&x, false}, {&w, true}, {}};
  std::shared_ptr<PlanCache> plans = lookUp(sites, spec, operands);
  const testing::CallCounter counter;
  for (int i = 0; i < 100; ++i) plans = lookUp(sites, spec, operands);
  EXPECT_EQ(counter.count().allocations, 0);
  EXPECT_EQ(counter.count().locks, 0);
}

TEST(CallSites, EqualTextsShareTheirPlans) {
  CallSites sites;
  const at::Tensor x = at::randn({2, 4}), w = at::randn({4, 4}), v = at::randn({4, 4}), row = x[0];
  const PlanOperand operands[] = {{&x, false}, {&w, true}, {}}, others[] = {{&x, false}, {&v, true}, {}},
                    rows[] = {{&row, false}, {&w, true}, {}};
  const IValue one = kLinear, two = kLinear;
  const std::shared_ptr<PlanCache> plans = lookUp(sites, one, operands);
  EXPECT_EQ(lookUp(sites, two, operands), plans);
  EXPECT_EQ(sites.sizes().sites, 2u);
  EXPECT_EQ(sites.plansFor(kLinear, operands), plans);  // a string that the call alone holds is no site
  EXPECT_EQ(sites.sizes().sites, 2u);
  EXPECT_EQ(sites.sizes().plans, 1u);
  // One string for several nodes.
  EXPECT_NE(lookUp(sites, one, others), plans);
  EXPECT_NE(lookUp(sites, one, rows), plans);
  EXPECT_EQ(lookUp(sites, one, operands), plans);
  EXPECT_EQ(sites.sizes().plans, 3u);
  EXPECT_THROW(sites.plansFor("linear{", operands), Error);
}

// Strings die and others take their addresses.
TEST(CallSites, RecycledStringsNeverFindAnothersPlans) {
  CallSites sites;
  const at::Tensor x = at::randn({4});
  const PlanOperand operands[] = {{&x, false}};
  std::set<const void*> addresses;
  constexpr int kStrings = 2000;
  for (int i = 0; i < kStrings; ++i) {
    const IValue held = i % 2 == 0 ? kRelu : kAbs;
    addresses.insert(&held.toStringRef());
    for (int turn = 0; turn < 2; ++turn) {
      ASSERT_EQ(chainOf(*lookUp(sites, held, operands)), held.toStringRef());
    }
  }
  EXPECT_LT(addresses.size(), kStrings / 10) << "no address was used again";
  EXPECT_EQ(sites.sizes().plans, 2u);
  EXPECT_LE(sites.sizes().sites, 64u);
}

// Weights die and others take their addresses, under one string.
TEST(CallSites, RecycledWeightsArePackedAnew) {
  const testing::Threads one(1);
  const IValue spec = kLinear;
  const at::Tensor x = at::ones({1, 4});
  std::set<const void*> addresses;
  constexpr int kWeights = 300;
  for (int i = 0; i < kWeights; ++i) {
    const at::Tensor w = at::full({3, 4}, double(i));
    addresses.insert(w.unsafeGetTensorImpl());
    for (int turn = 0; turn < 2; ++turn) {
      ASSERT_TRUE(at::equal(callLinear(x, w, spec), at::full({1, 3}, 4.0 * i))) << i;
    }
  }
  EXPECT_LT(addresses.size(), kWeights / 3) << "no address was used again";
}

TEST(CallSites, WrittenWeightsArePackedAnew) {
  CallSites sites;
  const IValue spec = kLinear;
  const at::Tensor x = at::ones({1, 4}), w = at::ones({3, 4});
  const PlanOperand operands[] = {{&x, false}, {&w, true}, {}};
  for (int i = 0; i < 10; ++i) {
    w.add_(1);
    at::Tensor result;
    lookUp(sites, spec, operands)->run({&x}, {}, &result);
    EXPECT_TRUE(at::equal(result, at::full({1, 3}, 4.0 * (i + 2))));
    EXPECT_EQ(sites.sizes().plans, 1u);  // those of the old values are gone
    EXPECT_EQ(sites.sizes().sites, 1u);
  }
}

TEST(CallSites, WeightsWithOtherMemoryArePackedAnew) {
  CallSites sites;
  const IValue spec = kLinear;
  const at::Tensor x = at::ones({1, 4}), w = at::ones({3, 4}), square = at::arange(12, at::kFloat).view({3, 4});
  const PlanOperand operands[] = {{&x, false}, {&w, true}, {}};
  for (const at::Tensor& data : {at::full({3, 4}, 2.0), square, square.flip(0), square.view({4, 3}).t()}) {
    w.set_data(data);  // counts as no write
    at::Tensor result;
    lookUp(sites, spec, operands)->run({&x}, {}, &result);
    EXPECT_TRUE(at::equal(result, at::linear(x, data)));
    EXPECT_EQ(sites.sizes().plans, 1u);
  }
}

TEST(CallSites, WhatNobodyCanAskForIsDropped) {
  CallSites sites, others;
  const IValue spec = kLinear;
  const at::Tensor x = at::ones({1, 4});
  std::vector<at::Tensor> model;
  std::vector<IValue> specs;
  const auto plansOf = [&](CallSites& operators, const at::Tensor& w, const IValue& text) {
    const PlanOperand operands[] = {{&x, false}, {&w, true}, {}};
    return lookUp(operators, text, operands);
  };
  for (int i = 0; i < 100; ++i) {
    model.push_back(at::randn({3, 4}));
    specs.emplace_back(kLinear);
    plansOf(sites, model.back(), specs.back());
  }
  const std::weak_ptr<PlanCache> first = plansOf(sites, model[0], specs[0]);
  EXPECT_EQ(sites.sizes().plans, 100u);
  EXPECT_EQ(sites.sizes().sites, 100u);
  model.clear();
  specs.clear();
  EXPECT_FALSE(first.expired());
  const at::Tensor w = at::randn({3, 4});
  plansOf(others, w, spec);  // another operator's next model
  EXPECT_TRUE(first.expired());
  EXPECT_EQ(sites.sizes().plans, 0u);
  EXPECT_EQ(sites.sizes().sites, 0u);
}

TEST(CallSites, TheLastUsedAreKept) {
  CallSites sites;
  const at::Tensor x = at::ones({1, 4});
  std::vector<at::Tensor> weights;
  const IValue spec = kLinear;
  const auto plansOf = [&](std::size_t number) {
    const PlanOperand operands[] = {{&x, false}, {&weights[number], true}, {}};
    return lookUp(sites, spec, operands);
  };
  const std::size_t count = CallSites::kMaxPlans + 20;
  for (std::size_t i = 0; i < count; ++i) weights.push_back(at::randn({3, 4}));
  const std::shared_ptr<PlanCache> first = plansOf(0);
  const std::weak_ptr<PlanCache> second = plansOf(1);
  for (std::size_t i = 2; i < count; ++i) {
    plansOf(i);
    ASSERT_EQ(plansOf(0), first) << i;
  }
  EXPECT_TRUE(second.expired());
  EXPECT_EQ(sites.sizes().plans, CallSites::kMaxPlans);
  EXPECT_EQ(sites.sizes().sites, CallSites::kMaxPlans);
}

// --- models that come and go -----------------------------------------------------------------------------------------

// A graph with its code, whose constant table holds the strings.
struct Model {
  explicit Model(bool relu)
      : graph(std::make_shared<torch::jit::Graph>()), w(at::randn({6, 4})), b(at::randn({6})), relu(relu) {
    const std::string chain = relu ? kRelu : kAbs;
    torch::jit::parseIR(
        "graph(%x : Tensor, %w : Tensor, %b : Tensor):\n"
        "  %linear : str = prim::Constant[value=\"linear{}\"]()\n"
        "  %chain : str = prim::Constant[value=\"" +
            chain +
            "\"]()\n"
            "  %softmax : str = prim::Constant[value=\"softmax{axis=-1}\"]()\n"
            "  %none : NoneType = prim::Constant()\n"
            "  %list : Tensor[] = prim::ListConstruct()\n"
            "  %y : Tensor = ipex_studio::linear(%x, %w, %b, %list, %linear)\n"
            "  %z : Tensor = ipex_studio::pointwise(%y, %list, %chain)\n"
            "  %s : Tensor = ipex_studio::softmax(%z, %none, %softmax)\n"
            "  return (%s)\n",
        graph.get());
    code = torch::jit::Code(graph, "forward");
  }
  at::Tensor run(const at::Tensor& x) const {
    torch::jit::Stack stack{x, w, b};
    torch::jit::InterpreterState(code).run(stack);
    return std::move(stack.at(0)).toTensor();
  }
  at::Tensor eager(const at::Tensor& x) const {
    const at::Tensor y = at::linear(x, w, b);
    return at::softmax(relu ? at::relu(y) : at::abs(y), -1);
  }

  std::shared_ptr<torch::jit::Graph> graph;
  torch::jit::Code code;
  at::Tensor w, b;
  bool relu;
};

// Threads call the same operators for models they share and for models of their own, which live for a few calls.
TEST(Operators, ThreadsCallWhileModelsComeAndGo) {
  const testing::Threads one(1);
  at::manual_seed(5);
  const Model shared[] = {Model(true), Model(false)};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      omp_set_num_threads(1);
      const torch::NoGradGuard no_grad;
      for (int round = 0; round < 40; ++round) {
        const Model own((t + round) % 2 == 0);
        for (int i = 0; i < 10; ++i) {
          const at::Tensor x = at::randn({1 + i % 3, 4});
          for (const Model* model : {&own, &shared[0], &shared[1]}) {
            wrong += at::allclose(model->run(x), model->eager(x), 1e-4, 1e-5) ? 0 : 1;
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Look-ups, new plans, and strings and weights that expire, at once and on one operator.
TEST(CallSites, ThreadsMeetNewSites) {
  CallSites sites;
  const at::Tensor x = at::ones({1, 4}), w = at::ones({3, 4});
  const IValue shared = kLinear;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const PlanOperand of_all[] = {{&x, false}, {&w, true}, {}};
      const std::shared_ptr<PlanCache> expected = lookUp(sites, shared, of_all);
      for (int i = 0; i < 400; ++i) {
        const IValue own = (t + i) % 2 == 0 ? "linear{}|relu" : "linear{}|abs";
        const at::Tensor v = at::ones({3, 4});
        const PlanOperand of_one[] = {{&x, false}, {&v, true}, {}};
        for (int turn = 0; turn < 5; ++turn) {
          const std::shared_ptr<PlanCache> plans = lookUp(sites, own, of_one);
          wrong += chainOf(*plans) == own.toStringRef() && plans->constants().at(0).data_ptr() == v.data_ptr() ? 0 : 1;
          wrong += lookUp(sites, shared, of_all) == expected ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(sites.sizes().plans, 6u);
}

}  // namespace
}  // namespace ipex_studio
