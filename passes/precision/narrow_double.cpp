// Computes in FP32 what the model computes in double precision, where a user has decided so ("kind:double=fp32").
//   before  %w : Double(8) = constant   %y : Double(4, 8) = mul(%x, %w)     %z : Float(4, 8) = to(%y, 6, …)
//   after   %w : Float(8) = constant    %y : Float(4, 8) = mul(%x, %w)      %z : Float(4, 8) = to(%y, 6, …)
// Constants and the dtypes that operators are given become FP32; inputs in double precision are cast, and results of
// the model are cast back, so that its callers see no difference. One rewrite: a part of it would mix the two.
// Runs first of the passes that ask for dtypes, so that all others see FP32. Numerics: FP32 in the place of FP64.
#include <algorithm>

#include "core/graph/pass.h"
#include "core/record/double_operations.h"
#include "passes/pass_list.h"
#include "passes/precision/change_floats.h"

namespace ipex_studio {
namespace {

bool narrowDouble(torch::jit::Graph& graph, PassContext& context) {
  const auto& decided = context.options.precision_overrides;
  if (std::find(decided.begin(), decided.end(), std::string(kDoubleOperations) + "=fp32") == decided.end())
    return false;
  FloatChange change(graph, context.rewriter, at::kDouble, at::kFloat);
  const auto doubles = change.concerned();
  if (doubles.empty() || !context.rewriter.permit()) return false;
  change.run();
  context.rewriter.finish(doubles.front(), "computes in FP32 what was in double precision");
  return true;
}

}  // namespace

const Pass kNarrowDouble = {
    "narrow-double", "Computes in FP32 what is in double precision, where that is decided by hand.", &narrowDouble};

}  // namespace ipex_studio
