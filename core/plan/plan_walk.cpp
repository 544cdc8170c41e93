// Handles one node of a spec at a time: integers are computed, views are made, everything else goes to the sink.
#include "core/plan/plan_walk.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/error.h"
#include "core/op/shape_inference.h"
#include "core/plan/plan_split.h"

namespace ipex_studio {

void refuseInputs(const StepLabel& label, const std::string& why) {
  throw Error(ExitCode::kFailure,
              fmt::format("The optimized model cannot take these inputs: '{}': {}; use the sizes it was "
                          "optimized for, or optimize it again with these.",
                          label.name, why));
}

namespace {

// True if this is a padding by nothing: models often pad up to a multiple that is already reached.
bool padsNothing(const OpSpec& op) {
  if (op.kind != OpKind::kPad) return false;
  for (const char* side : {"begin", "end"}) {
    for (const std::int64_t size : op.ints(side)) {
      if (size != 0) return false;
    }
  }
  return true;
}

OpSpec identityView() {
  OpSpec op;
  op.kind = OpKind::kSqueeze;
  op.attributes["axes"] = std::vector<std::int64_t>{};
  return op;
}

void makeView(const SizedOp& op, PlanValues& values, OperationSink& sink) {
  sink.noteView(op);
  TensorDesc view;
  std::int64_t offset = 0;
  std::int32_t from = op.src[0];
  if (!viewOf(op.op, values[from].desc, op.dims[0], &view, &offset)) {
    from = sink.rowMajor(from, op.label);
    IPEX_CHECK(viewOf(op.op, values[from].desc, op.dims[0], &view, &offset),
               "a dense row-major tensor can always be viewed");
  }
  view.device = values[from].desc.device;
  values.makeView(op.dst[0], from, view, offset);
}

const StepChoice* measuredChoice(const PlanRequest& request, std::int32_t node) {
  if (!request.choices) return nullptr;
  const auto found = request.choices->find(node);
  return found == request.choices->end() ? nullptr : &found->second;
}

void walkTensorNode(const PlanNode& node, const PlanRequest& request, PlanValues& values, OperationSink& sink) {
  if (sink.computesJoined(node)) return;
  SizedOp op{values.resolve(node), node.src, node.dst, {}, {node.name, node.origins}};
  const Verdict fits = inferShapes(op.op, values.descsOf(op.src), &op.dims);
  if (!fits.ok && computeApart(op, values, sink)) return;
  if (!fits.ok) refuseInputs(op.label, fits.reason);
  if (op.dims.size() != op.dst.size()) refuseInputs(op.label, "the number of results is wrong");
  if (isView(op.op.kind)) {
    op.src.resize(1);
    makeView(op, values, sink);
  } else if (padsNothing(op.op)) {
    values.joinGroups(op.dst[0], op.src[0]);
    op.op = identityView();
    op.src.resize(1);
    makeView(op, values, sink);
  } else {
    sink.compute(op, measuredChoice(request, values.node()));
  }
}

}  // namespace

void walkPlan(const PlanSpec& spec, const PlanRequest& request, PlanValues& values, OperationSink& sink) {
  for (std::size_t n = 0; n < spec.nodes.size(); ++n) {
    values.beginNode(static_cast<std::int32_t>(n));
    const PlanNode& node = spec.nodes[n];
    if (node.is_int) {
      values.computeInteger(node);
    } else {
      walkTensorNode(node, request, values, sink);
    }
  }
  values.beginNode(static_cast<std::int32_t>(spec.nodes.size()));
}

}  // namespace ipex_studio
