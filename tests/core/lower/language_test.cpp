// Operators of language models that a file calls by name become steps of one region, with the same numbers as the
// operators themselves, at other sizes too.
#include <gtest/gtest.h>

#include <limits>

#include <torch/csrc/jit/ir/irparser.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

// A module whose forward is this graph, behind its self.
Module graphModule(const std::string& text, const Weights& weights) {
  Module module("M");
  module.register_attribute("training", c10::BoolType::get(), false);
  for (const auto& [name, tensor] : weights) module.register_attribute(name, c10::TensorType::get(), tensor);
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(text, graph.get());
  graph->inputs()[0]->setType(module.type());
  const c10::QualifiedName name(*module.type()->name(), "forward");
  module.type()->addMethod(module._ivalue()->compilation_unit()->create_function(name, graph));
  return module;
}

struct LanguageCall {
  const char* name;
  const char* inputs;  // behind self
  const char* body;
  std::vector<Inputs> examples;  // the first one is optimized for
};

void PrintTo(const LanguageCall& call, std::ostream* out) { *out << call.name; }

const char* const kConstants =
    "  %none : NoneType = prim::Constant()\n  %no : bool = prim::Constant[value=0]()\n"
    "  %yes : bool = prim::Constant[value=1]()\n  %eps : float = prim::Constant[value=1e-05]()\n"
    "  %four : int = prim::Constant[value=4]()\n  %eight : int = prim::Constant[value=8]()\n"
    "  %n32 : int = prim::Constant[value=32]()\n  %n64 : int = prim::Constant[value=64]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %silu : str = prim::Constant[value=\"silu\"]()\n  %gelu : str = prim::Constant[value=\"gelu_tanh\"]()\n"
    "  %even : str = prim::Constant[value=\"even\"]()\n  %nf4 : str = prim::Constant[value=\"nf4\"]()\n";

class Language : public ::testing::TestWithParam<LanguageCall> {};

TEST_P(Language, IsOneRegionWithTheSameNumbers) {
  at::manual_seed(5);
  const Weights weights = {{"gamma", at::randn({16})},
                           {"beta", at::randn({16})},
                           {"sin", at::randn({40, 8})},
                           {"cos", at::randn({40, 8})},
                           {"w", at::randn({24, 16})},
                           {"b", at::randn({24})},
                           {"bytes", at::randint(-127, 128, {24, 64}, at::kChar)},
                           {"nibbles", at::randint(0, 256, {24, 32}, at::kByte)},
                           {"scales", at::rand({24, 2}) / 50}};
  std::string text = "graph(%self, " + std::string(GetParam().inputs) + "):\n" + kConstants;
  for (const auto& [name, tensor] : weights)
    text += "  %" + name + " : Tensor = prim::GetAttr[name=\"" + name + "\"](%self)\n";
  const Module module = graphModule(text + GetParam().body, weights);
  const OptimizedModel result = expectSame(module, GetParam().examples);
  EXPECT_EQ(regionsIn(result.module), 1);
  EXPECT_DOUBLE_EQ(result.coverage.nodes, 1) << result.module.get_method("forward").graph()->toString(false);
}

at::Tensor hidingMask(at::IntArrayRef sizes) {
  at::Tensor mask = at::randn(sizes);
  mask.select(-2, 1).fill_(-std::numeric_limits<float>::infinity());
  return mask;
}

std::vector<LanguageCall> languageCalls() {
  const auto x = [](std::int64_t n, std::int64_t s) { return at::randn({n, s, 16}); };
  const auto heads = [](std::int64_t n, std::int64_t s, std::int64_t h) { return at::randn({n, s, h, 16}); };
  const auto positions = [](at::IntArrayRef sizes) { return at::randint(0, 40, sizes, at::kLong); };
  const auto qkv = [](std::int64_t n, std::int64_t h, std::int64_t k, std::int64_t s, std::int64_t t) {
    return Inputs{at::randn({n, h, s, 16}), at::randn({n, k, t, 16}), at::randn({n, k, t, 12})};
  };
  const auto with = [](Inputs inputs, const at::Tensor& more) {
    inputs.emplace_back(more);
    return inputs;
  };
  const char* const attention = "%q : Tensor, %k : Tensor, %v : Tensor, %m : Tensor";
  return {
      {"rms_norm",
       "%x : Tensor",
       "  %y : Tensor = ipex_studio::normalize_rows(%x, %gamma, %none, %eps, %no)\n  return (%y)\n",
       {{x(2, 3)}, {x(1, 5)}}},
      {"layer_norm",
       "%x : Tensor",
       "  %y : Tensor = ipex_studio::normalize_rows(%x, %gamma, %beta, %eps, %yes)\n  return (%y)\n",
       {{x(2, 3)}, {x(1, 5)}}},
      {"add_rms_norm",
       "%x : Tensor, %r : Tensor",
       "  %y : Tensor, %s : Tensor = ipex_studio::add_normalize_rows(%x, %r, %gamma, %none, %eps, %no)\n"
       "  %t : (Tensor, Tensor) = prim::TupleConstruct(%y, %s)\n  return (%t)\n",
       {{x(2, 3), x(2, 3)}, {x(1, 5), x(1, 5)}}},
      {"gated_units",
       "%x : Tensor, %u : Tensor",
       "  %y : Tensor = ipex_studio::gated_units(%x, %u, %gelu)\n  return (%y)\n",
       {{x(2, 3), x(2, 3)}, {x(1, 5), x(1, 5)}}},
      {"linear_units",
       "%x : Tensor, %f : Tensor, %a : Tensor",
       "  %l : Tensor[] = prim::ListConstruct(%a, %f)\n"
       "  %y : Tensor = ipex_studio::linear_units(%x, %w, %b, %silu, %f, %l)\n  return (%y)\n",
       {{x(2, 3), at::randn({2, 3, 24}), at::randn({2, 3, 24})},
        {x(1, 5), at::randn({1, 5, 24}), at::randn({1, 5, 24})}}},
      {"bytes",
       "%x : Tensor",
       "  %y : Tensor = ipex_studio::woq_linear(%x, %bytes, %scales, %b, %eight, %n64, %n32, %even)\n  return (%y)\n",
       {{at::randn({2, 3, 64})}, {at::randn({1, 5, 64})}}},
      {"nibbles",
       "%x : Tensor",
       "  %y : Tensor = ipex_studio::woq_linear(%x, %nibbles, %scales, %none, %four, %n64, %n32, %even)\n"
       "  return (%y)\n",
       {{at::randn({2, 3, 64})}, {at::randn({1, 5, 64})}}},
      {"nibbles_of_nf4",
       "%x : Tensor",
       "  %y : Tensor = ipex_studio::woq_linear(%x, %nibbles, %scales, %none, %four, %n64, %n32, %nf4)\n"
       "  return (%y)\n",
       {{at::randn({2, 3, 64})}, {at::randn({1, 5, 64})}}},
      {"rotary_from_the_first_token",
       "%x : Tensor",
       "  %y : Tensor = ipex_studio::rotary_embedding(%x, %sin, %cos, %none, %eight, %no)\n  return (%y)\n",
       {{heads(2, 3, 4)}, {heads(1, 40, 2)}, {heads(2, 1, 4)}}},
      {"rotary_of_positions",
       "%x : Tensor, %p : Tensor",
       "  %y : Tensor = ipex_studio::rotary_embedding(%x, %sin, %cos, %p, %eight, %yes)\n  return (%y)\n",
       {{heads(2, 3, 4), positions({2, 3})}, {heads(3, 5, 4), positions({3, 5})}}},
      // At the second sizes the position is that of the first token, as the operator has it.
      {"rotary_of_the_next_token",
       "%x : Tensor, %p : Tensor",
       "  %y : Tensor = ipex_studio::rotary_embedding(%x, %sin, %cos, %p, %eight, %no)\n  return (%y)\n",
       {{heads(1, 1, 4), positions({1})}, {heads(1, 5, 4), at::full({1}, 7, at::kLong)}}},
      {"attention_in_order",
       "%q : Tensor, %k : Tensor, %v : Tensor",
       "  %y : Tensor = ipex_studio::flash_attention(%q, %k, %v, %none, %yes, %none)\n  return (%y)\n",
       {qkv(2, 3, 3, 5, 5), qkv(1, 3, 3, 9, 9)}},
      {"attention_of_groups",
       "%q : Tensor, %k : Tensor, %v : Tensor",
       "  %y : Tensor = ipex_studio::flash_attention(%q, %k, %v, %none, %no, %eps)\n  return (%y)\n",
       {qkv(2, 6, 2, 5, 7), qkv(1, 6, 2, 9, 3)}},
      {"attention_that_hides_all_keys",
       attention,
       "  %y : Tensor = ipex_studio::flash_attention(%q, %k, %v, %m, %no, %none)\n  return (%y)\n",
       {with(qkv(2, 6, 2, 5, 7), hidingMask({2, 1, 5, 7})), with(qkv(1, 6, 2, 9, 3), hidingMask({1, 1, 9, 3}))}},
      {"attention_with_flags",
       attention,
       "  %y : Tensor = ipex_studio::flash_attention(%q, %k, %v, %m, %no, %none)\n  return (%y)\n",
       {with(qkv(2, 6, 2, 5, 7), hidingMask({2, 6, 5, 7}) > 0),
        with(qkv(1, 6, 2, 9, 3), hidingMask({1, 6, 9, 3}) > 0)}},
  };
}

INSTANTIATE_TEST_SUITE_P(All, Language, ::testing::ValuesIn(languageCalls()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ipex_studio
