// Files of detection models open without torchvision, whose names are there only while a file is read or written.
#include "core/extension/torchvision_operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>

#include "core/file/pt_file.h"
#include "core/model/file_descriptor.h"
#include "core/model/model.h"
#include "passes/optimize.h"
#include "tests/core/graph/script_classes.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScriptClasses;
using testing::TempDirectory;
using torch::jit::Module;

constexpr char kClasses[] =
    "class Picker:\n"
    "  limit : float\n"
    "  def pick(self: __torch__.Picker, boxes: Tensor, scores: Tensor) -> Tensor:\n"
    "    return ops.torchvision.nms(boxes, scores, 0.5)\n"
    "class M(Module):\n"
    "  __parameters__ = []\n"
    "  __buffers__ = []\n"
    "  training : bool\n"
    "  picker : __torch__.Picker\n"
    "  def forward(self: __torch__.M, x: Tensor, boxes: Tensor, scores: Tensor) -> Tuple[Tensor, Tensor]:\n"
    "    kept = (self.picker).pick(boxes, scores)\n"
    "    some = torch.index(boxes, [kept])\n"
    "    image = torch.zeros([torch.size(some, 0), 1])\n"
    "    rois = torch.cat([image, some], 1)\n"
    "    y = ops.torchvision.roi_align(torch.relu(x), rois, 0.5, 3, 3, 2, False)\n"
    "    return (kept, y)\n";

bool isDefined(const char* name) { return !torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)).empty(); }

// Writes the module into `path`.
void writeDetector(const std::string& path) {
  const TorchvisionNames names;
  ScriptClasses classes(kClasses);
  const Module with_type = classes.module("M", {});
  const auto picker = with_type.type()->getAttribute("picker")->expect<c10::ClassType>();
  with_type._ivalue()->setAttr("picker", c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, picker), 1));
  with_type._ivalue()->getAttr("picker").toObject()->setAttr("limit", 0.5);
  with_type.save(path);
}

Inputs detectorInputs() {
  at::manual_seed(3);
  const at::Tensor corner = at::rand({40, 2}) * 20;
  return {at::randn({1, 9, 12, 14}), at::cat({corner, corner + 6}, 1), at::rand({40})};
}

void expectSameDetections(const torch::jit::IValue& actual, const torch::jit::IValue& expected) {
  const auto now = actual.toTupleRef().elements(), right = expected.toTupleRef().elements();
  EXPECT_TRUE(at::equal(now[0].toTensor(), right[0].toTensor()));
  EXPECT_TRUE(at::allclose(now[1].toTensor(), right[1].toTensor()));
}

TEST(TorchvisionOperators, AreComputedByOurs) {
  const TempDirectory directory;
  writeDetector(directory.file("model.pt"));
  EXPECT_FALSE(isDefined("torchvision::nms"));
  Model model = Model::load(directory.file("model.pt"));
  EXPECT_FALSE(isDefined("torchvision::nms"));
  EXPECT_FALSE(isDefined("torchvision::roi_align"));
  EXPECT_THAT(
      model.notes(),
      ElementsAre("torchvision::nms, torchvision::roi_align of torchvision are computed by ipex-studio; a portable "
                  "export names them again."));
  Module module = model.module();
  const auto result = module.forward(detectorInputs()).toTupleRef().elements();
  EXPECT_GT(result[0].toTensor().numel(), 3);
  EXPECT_EQ(result[1].toTensor().sizes(), at::IntArrayRef({result[0].toTensor().numel(), 9, 3, 3}));
}

TEST(TorchvisionOperators, GetTheirNamesBackInPortableFiles) {
  const TempDirectory directory;
  writeDetector(directory.file("model.pt"));
  Model model = Model::load(directory.file("model.pt"));
  Module module = model.module();
  const auto expected = module.forward(detectorInputs());
  Observer observer;
  const OptimizedModel optimized = optimizeModel(module, detectorInputs(), {}, observer);
  for (const ExportForm form : {ExportForm::kPortable, ExportForm::kCompiled}) {
    const bool portable = form == ExportForm::kPortable;
    exportModule(optimized, directory.file("out.pt"), form);
    EXPECT_FALSE(isDefined("torchvision::nms"));
    const FileDescriptor file(openModelFile(directory.file("out.pt")));
    const PtFileReport report = inspectPtFile(file.get(), "out.pt");
    EXPECT_EQ(report.operators.count("torchvision::nms"), portable ? 1u : 0u);
    EXPECT_EQ(report.operators.count("torchvision::roi_align"), portable ? 1u : 0u);
    EXPECT_EQ(report.operators.count("ipex_studio::nms"), portable ? 0u : 1u);
    Module again = Model::load(directory.file("out.pt")).module();
    expectSameDetections(again.forward(detectorInputs()), expected);
  }
}

// Another library that defines the names keeps them.
TEST(TorchvisionOperators, StayTheirsWhereTorchvisionIsLoaded) {
  const TempDirectory directory;
  writeDetector(directory.file("model.pt"));
  const char schema[] = "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor";
  torch::jit::registerOperator(torch::jit::Operator(
      schema,
      [](torch::jit::Stack& stack) {
        torch::jit::drop(stack, 3);
        stack.emplace_back(at::zeros({1}, at::kLong));
      },
      c10::AliasAnalysisKind::FROM_SCHEMA));
  Model model = Model::load(directory.file("model.pt"));
  EXPECT_THAT(model.notes(), ElementsAre(HasSubstr("torchvision::roi_align of torchvision is")));
  Module module = model.module();
  EXPECT_EQ(module.forward(detectorInputs()).toTupleRef().elements()[0].toTensor().numel(), 1);
  EXPECT_TRUE(isDefined("torchvision::nms"));
  module = Module("Nothing");
  model = Model::fromModule(Module("Nothing"));
  torch::jit::deregisterOperator(torch::jit::parseSchema(schema));
}

}  // namespace
}  // namespace ipex_studio
