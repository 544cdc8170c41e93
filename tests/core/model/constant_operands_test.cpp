// Models that add a constant tensor to integers have the dtypes of libtorch's executor, wherever they run.
#include "core/model/constant_operands.h"

#include <gtest/gtest.h>
#include <torch/csrc/jit/ir/irparser.h>

#include "core/model/model.h"
#include "core/model/node_runner.h"
#include "tests/core/graph/script_models.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

// A module whose code holds tensors without dimensions as constants, as tracing records numbers.
Module traced(const std::string& op, const at::Tensor& constant) {
  Module module = scriptModule("def forward(self, x):\n    y = torch.arange(x.size(0))\n    z = torch." + op +
                                   "(y, self.c)\n    return z + x, z\n",
                               {}, {{"c", constant}});
  auto graph = module.get_method("forward").graph();
  for (torch::jit::Node* node : graph->nodes()) {
    if (node->kind() != c10::prim::GetAttr) continue;
    const torch::jit::WithInsertPoint point(node);
    node->output()->replaceAllUsesWith(graph->insertConstant(constant));
  }
  return module;
}

TEST(ConstantOperands, HaveTheDtypesOfTheExecutor) {
  for (const char* op : {"add", "sub", "mul", "div"}) {
    for (const at::Tensor& constant :
         {at::scalar_tensor(0.5, at::kDouble), at::scalar_tensor(2, at::kLong), at::scalar_tensor(0.5, at::kFloat)}) {
      const Module module = traced(op, constant);
      expectSame(module, {{at::randn({5})}, {at::randn({3})}});
      Module original = module.deepcopy();
      Module ours = optimized(module, {at::randn({5})}).module;
      const auto dtypes = [](Module& which) {
        const auto results = call(which, {at::randn({5})}).toTuple()->elements();
        return std::make_pair(results[0].toTensor().scalar_type(), results[1].toTensor().scalar_type());
      };
      dtypes(original);  // the executor rewrites the graph before its second run
      EXPECT_EQ(dtypes(ours), dtypes(original)) << op;
    }
  }
}

TEST(ConstantOperands, HaveTheDtypesOfTheExecutorInTheBaselineNodeByNode) {
  for (const char* op : {"add", "sub", "mul", "div"}) {
    Module baseline = freezeBaseline(traced(op, at::scalar_tensor(0.5, at::kDouble)), {});
    const Inputs inputs{at::randn({5})};
    call(baseline, inputs);  // the executor rewrites the graph before its second run
    const IValue whole = call(baseline, inputs);
    NodeRunner runner(*baseline.get_method("forward").graph());
    EXPECT_EQ(difference(runner.run({baseline._ivalue(), inputs[0]})[0], whole), "") << op;
    EXPECT_EQ(whole.toTupleRef().elements()[1].toTensor().scalar_type(), at::kFloat) << op;
  }
}

TEST(ConstantOperands, OthersStay) {
  const auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(
      "graph(%x : Tensor, %c : Tensor):\n  %one : int = prim::Constant[value=1]()\n"
      "  %a : Tensor = aten::mul(%x, %c)\n  %b : Tensor = aten::maximum(%a, %c)\n  return (%b)\n",
      graph.get());
  const std::string before = graph->toString();
  writeConstantOperandsAsNumbers(*graph);
  EXPECT_EQ(graph->toString(), before);
}

}  // namespace
}  // namespace ipex_studio
