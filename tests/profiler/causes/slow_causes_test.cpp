// Causes that are found in small graphs, each node of which took one microsecond.
#include "profiler/causes/slow_causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace ipex_studio {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// Writes a graph node by node. Operands that no node made are inputs, or constants if they begin with '='.
class Made {
 public:
  Made& input(const std::string& name, const std::string& type) {
    value(name, type, -1);
    return *this;
  }
  Made& node(const std::string& result, const std::string& type, const std::string& kind, const std::string& operands,
             std::int32_t parent = -1) {
    GraphNode made;
    made.id = static_cast<std::int32_t>(graph_.nodes.size());
    made.parent = parent;
    made.kind = kind;
    made.origins = {made.id};
    std::istringstream words(operands);
    for (std::string word; words >> word;) {
      if (ids_.count(word) == 0) value(word, word.substr(0, 2) == "=t" ? "Float(8)" : "int", -1);
      if (word[0] == '=') graph_.values[ids_[word]].constant = word.substr(1);
      made.inputs.push_back(ids_[word]);
    }
    value(result, type, made.id);
    made.outputs = {ids_[result]};
    graph_.nodes.push_back(std::move(made));
    return *this;
  }
  JobRecord job() const {
    JobRecord job;
    job.frozen = std::make_shared<GraphSnapshot>(graph_);
    RunRecord run;
    run.variant = "baseline";
    for (const GraphNode& node : graph_.nodes) {
      if (node.parent >= 0) continue;
      StepTime time;
      time.step = -1;
      time.kind = time.name = node.kind;
      time.origins = node.origins;
      time.begin_ns = {0};
      time.elapsed_ns = {1000};
      run.step_times.push_back(std::move(time));
    }
    run.latency_ns = {static_cast<std::int64_t>(1000 * run.step_times.size())};
    run.turn = {0};
    job.runs.push_back(std::move(run));
    return job;
  }

 private:
  void value(const std::string& name, const std::string& type, std::int32_t producer) {
    ids_[name] = static_cast<std::int32_t>(graph_.values.size());
    GraphValue made;
    made.id = ids_[name];
    made.name = name;
    made.type = type;
    made.producer = producer;
    graph_.values.push_back(std::move(made));
  }

  GraphSnapshot graph_;
  std::map<std::string, std::int32_t> ids_;
};

std::vector<std::string> namesOf(const JobRecord& job) {
  std::vector<std::string> names;
  for (const SlowCause& cause : slowCauses(job)) names.emplace_back(cause.rule->name);
  return names;
}

TEST(SlowCauses, ReadTypes) {
  EXPECT_EQ(tensorDtype("Double(4, 8)"), "Double");
  EXPECT_EQ(tensorDtype("List[int]"), "");
  EXPECT_EQ(tensorElements("Float(4, 8)"), 32);
  EXPECT_EQ(tensorElements("Float()"), 1);
  EXPECT_EQ(tensorElements("Tensor"), -1);
  EXPECT_EQ(tensorElements("Float(*, 8)"), -1);
}

TEST(SlowCauses, NothingIsSaidOfAPlainNetwork) {
  const JobRecord job = Made()
                            .input("x", "Float(64, 1024)")
                            .node("y", "Float(64, 1024)", "aten::linear", "x =tw =tb")
                            .node("z", "Float(64, 1024)", "aten::relu", "y")
                            .job();
  EXPECT_THAT(namesOf(job), IsEmpty());
}

TEST(SlowCauses, DoublePrecisionAndItsCasts) {
  const JobRecord job = Made()
                            .input("x", "Float(64, 1024)")
                            .node("a", "Double(64, 1024)", "aten::to", "x =7")
                            .node("b", "Double(64, 1024)", "aten::linear", "a =tw =tb")
                            .node("c", "Float(64, 1024)", "aten::to", "b =6")
                            .job();
  EXPECT_THAT(namesOf(job), ElementsAre("double-precision", "cast"));
  EXPECT_EQ(causeSentence(slowCauses(job)[0]), "3 operations compute in double precision (FP64)");
}

TEST(SlowCauses, TheLargerIsNamedFirst) {
  const JobRecord job = Made()
                            .input("x", "Float(64, 1024)")
                            .node("p", "Float(1024, 64)", "aten::permute", "x =d")
                            .node("q", "Float(1024, 64)", "aten::contiguous", "p =0")
                            .node("r", "Float(1024, 64)", "aten::clone", "q =none")
                            .node("s", "Float(1024, 64)", "aten::clone", "r =none")
                            .node("t", "Float(1024, 64)", "aten::clone", "s =none")
                            .job();
  EXPECT_THAT(namesOf(job), ElementsAre("copy", "layout"));
}

TEST(SlowCauses, TheSameTwiceAndConstantsInEachRun) {
  const JobRecord job = Made()
                            .input("x", "Float(64, 1024)")
                            .node("n", "int", "aten::size", "x =1")
                            .node("i", "Float(1024)", "aten::arange", "n")
                            .node("s", "Float(1024)", "aten::sin", "i")
                            .node("a", "Float(64, 1024)", "aten::linear", "x =tw =tb")
                            .node("k", "Float(64, 1024)", "aten::contiguous", "x =0")
                            .node("b", "Float(64, 1024)", "aten::linear", "k =tw =tb")
                            .node("c", "Float(64, 1024)", "aten::linear", "a =tw =tb")
                            .node("d", "Float(64, 1024)", "aten::linear", "b =tw =tb")
                            .job();
  EXPECT_THAT(namesOf(job), ElementsAre("repeated", "constant", "copy"));
  EXPECT_EQ(slowCauses(job)[0].count, 2);
  EXPECT_EQ(slowCauses(job)[1].count, 2);
}

TEST(SlowCauses, DrawnNumbersAreNotTheSame) {
  const JobRecord job = Made()
                            .input("x", "Float(64, 1024)")
                            .node("a", "Float(64, 1024)", "aten::dropout", "x =0.1 =True")
                            .node("b", "Float(64, 1024)", "aten::dropout", "x =0.1 =True")
                            .job();
  EXPECT_THAT(namesOf(job), ElementsAre("training-mode"));
}

TEST(SlowCauses, LookUpsAndProductsInDisguise) {
  const JobRecord one_hot = Made()
                                .input("ids", "Long(64)")
                                .node("h", "Long(64, 5000)", "aten::one_hot", "ids =5000")
                                .node("f", "Float(64, 5000)", "aten::to", "h =6")
                                .node("y", "Float(64, 8)", "aten::matmul", "f =tw")
                                .job();
  EXPECT_THAT(namesOf(one_hot), Contains("one-hot"));
  EXPECT_EQ(slowCauses(one_hot)[0].count, 3);
  const JobRecord product = Made()
                                .input("x", "Float(64, 256)")
                                .input("w", "Float(256, 256)")
                                .node("a", "Float(64, 256, 1)", "aten::unsqueeze", "x =2")
                                .node("m", "Float(64, 256, 256)", "aten::mul", "a w")
                                .node("y", "Float(64, 256)", "aten::sum", "m =d")
                                .job();
  EXPECT_EQ(namesOf(product).front(), "broadcast-product");
}

TEST(SlowCauses, LoopsHaveTheTimeOfWhatIsInside) {
  const JobRecord job = Made()
                            .input("x", "Float(64, 1024)")
                            .node("l", "Float(64, 1024)", "prim::Loop", "x")
                            .node("s", "Float(1024)", "aten::select", "x =0 =1", 0)
                            .node("c", "Float(64, 1024)", "aten::cat", "s", 0)
                            .job();
  EXPECT_THAT(namesOf(job), ElementsAre("loop", "growing-concatenation"));
  EXPECT_EQ(slowCauses(job)[0].share, 1);
  EXPECT_EQ(slowCauses(job)[1].share, 0.5);
}

TEST(SlowCauses, MasksPaddingAndSlices) {
  const JobRecord mask = Made()
                             .input("x", "Float(64, 1024)")
                             .input("m", "Bool(64)")
                             .node("l", "List[Tensor]", "prim::ListConstruct", "m")
                             .node("y", "Tensor", "aten::index", "x l")
                             .job();
  EXPECT_THAT(namesOf(mask), Contains("mask"));
  const JobRecord pad = Made()
                            .input("x", "Float(1, 8, 32, 32)")
                            .node("p", "Float(1, 8, 96, 96)", "aten::constant_pad_nd", "x =d")
                            .node("y", "Float(1, 8, 96, 96)", "aten::conv2d", "p =tw =tb")
                            .job();
  EXPECT_THAT(namesOf(pad), ElementsAre("padding"));
  Made sliced;
  sliced.input("x", "Float(1, 8, 64, 64)");
  for (int c = 0; c < 5; ++c) {
    const std::string number = std::to_string(c);
    sliced.node("s" + number, "Float(1, 1, 64, 64)", "aten::slice", "x =1 =" + number);
    sliced.node("y" + number, "Float(1, 1, 64, 64)", "aten::conv2d", "s" + number + " =tw =tb");
  }
  EXPECT_THAT(namesOf(sliced.job()), Contains("sliced"));
}

TEST(SlowCauses, WhatIsDoneInPassingIsGone) {
  JobRecord job = Made()
                      .input("x", "Float(64, 1024)")
                      .node("a", "Float(64, 1024)", "aten::linear", "x =tw =tb")
                      .node("b", "Float(64, 1024)", "aten::mul", "a =2")
                      .node("c", "Float(64, 1024)", "aten::tanh", "b")
                      .node("d", "Float(64, 1024)", "aten::add", "c =1")
                      .job();
  RunRecord run = job.runs[0];
  run.variant = "optimized";
  run.step_times.resize(1);
  run.step_times[0].origins = {0, 1, 2};
  job.runs.push_back(run);
  const auto gone = slowCauses(job);
  ASSERT_THAT(namesOf(job), Contains("unfused"));
  EXPECT_FALSE(gone[0].remains());
  run.step_times[0].origins = {2};
  job.runs.back() = run;
  EXPECT_TRUE(slowCauses(job)[0].remains());
}

TEST(SlowCauses, NodesWithoutOriginsShareTheTimeOfTheirKind) {
  JobRecord job = Made()
                      .input("x", "Float(64, 1024)")
                      .node("a", "Float(64, 1024)", "aten::clone", "x =none")
                      .node("b", "Float(64, 1024)", "aten::clone", "a =none")
                      .node("c", "Float(64, 1024)", "aten::linear", "b =tw =tb")
                      .job();
  for (StepTime& time : job.runs[0].step_times) time.origins.clear();
  ASSERT_THAT(namesOf(job), ElementsAre("copy"));
  EXPECT_NEAR(slowCauses(job)[0].share, 2.0 / 3, 1e-9);
}

TEST(SlowCauses, WrongNumbersOfARecordDoNoHarm) {
  JobRecord job = Made().input("x", "Float(64, 1024)").node("y", "Float(64, 1024)", "aten::clone", "x =0").job();
  GraphSnapshot graph = *job.frozen;
  graph.nodes[0].id = 77;
  graph.nodes[0].parent = 5;
  graph.nodes[0].inputs = {-3, 99};
  graph.nodes[0].outputs = {12};
  graph.values[0].producer = 44;
  job.frozen = std::make_shared<GraphSnapshot>(graph);
  EXPECT_THAT(namesOf(job), Not(Contains("copy")));
}

}  // namespace
}  // namespace ipex_studio
