// The loop of a pass: which nodes it looks at, what becomes a remark, where it ends.
#include "core/graph/rewrite_matches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/node_facts.h"

namespace ipex_studio {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using torch::jit::Graph;
using torch::jit::Node;

constexpr char kThreeRelus[] = R"(graph(%x : Float(2, 3)):
  %a : Float(2, 3) = aten::relu(%x)
  %b : Float(2, 3) = aten::relu(%a)
  %c : Float(2, 3) = aten::tanh(%b)
  %d : Float(2, 3) = aten::relu(%c)
  return (%d)
)";

// A graph and what a pass may use.
struct PassOverGraph {
  Graph graph;
  OriginTable origins;
  OptimizeOptions options;
  ConstantAttributes attributes;
  std::unique_ptr<Rewriter> rewriter;
  std::unique_ptr<GraphIndex> index;
  std::unique_ptr<PassContext> context;
  std::vector<std::string> looked_at;  // kinds of the nodes that were matched

  explicit PassOverGraph(const std::string& text, std::int64_t limit = -1) {
    torch::jit::parseIR(text, &graph);
    origins.assign(graph);
    rewriter = std::make_unique<Rewriter>(graph, origins, limit);
    index = std::make_unique<GraphIndex>(graph);
    context = std::make_unique<PassContext>(graph, *rewriter, options, *index, attributes);
  }

  // Makes a sigmoid of each ReLU that `decline` lets pass; it gets the number of nodes looked at so far.
  template <typename DeclineFunction>
  bool makeSigmoids(DeclineFunction decline) {
    const auto match = [&](PassContext&, Node* node, Decline* why) {
      looked_at.push_back(node->kind().toUnqualString());
      *why = decline(looked_at.size());
      return isKind(node, "aten::relu");
    };
    const auto rewrite = [](Rewriter& rewriter, Node* node) {
      Node* made = rewriter.create("aten::sigmoid", {node->input()}, node);
      rewriter.replace({node}, node->output(), made->output(), "made a sigmoid");
    };
    return rewriteMatches(*context, context->nodes({"aten::relu", "aten::tanh"}), match, rewrite);
  }
  bool makeSigmoids() {
    return makeSigmoids([](std::size_t) { return Decline{}; });
  }

  // The reason and text of each remark.
  std::vector<std::string> remarks() const {
    std::vector<std::string> texts;
    rewriter->remarks().visit("", [&](const Remark& remark) { texts.push_back(remark.reason + ": " + remark.text); });
    return texts;
  }
};

TEST(RewriteMatches, RewritesEachMatchInTheOrderOfTheWalk) {
  PassOverGraph pass(kThreeRelus);
  EXPECT_TRUE(pass.makeSigmoids());
  EXPECT_THAT(pass.looked_at, ElementsAre("relu", "relu", "tanh", "relu"));
  EXPECT_EQ(pass.rewriter->rewrites(), 3);
  EXPECT_EQ(pass.remarks(), std::vector<std::string>(3, "applied: made a sigmoid"));
}

TEST(RewriteMatches, SaysThatNothingChangedWhereNothingMatches) {
  PassOverGraph pass("graph(%x : Float(2)):\n  %a : Float(2) = aten::tanh(%x)\n  return (%a)\n");
  EXPECT_FALSE(pass.makeSigmoids());
  EXPECT_THAT(pass.looked_at, ElementsAre("tanh"));
  EXPECT_THAT(pass.remarks(), IsEmpty());
}

TEST(RewriteMatches, LeavesOutNodesThatARewriteDestroyed) {
  PassOverGraph pass(kThreeRelus);
  int looked_at = 0;
  // A ReLU and the one behind it.
  const auto match = [&](PassContext&, Node* node, Decline*) -> std::optional<Node*> {
    ++looked_at;
    Node* next = node->output()->uses()[0].user;
    if (!isKind(next, "aten::relu")) return std::nullopt;
    return next;
  };
  const auto rewrite = [](Rewriter& rewriter, Node* node, Node* next) {
    rewriter.replace({node, next}, next->output(), node->input(), "removed two");
  };
  EXPECT_TRUE(rewriteMatches(*pass.context, pass.context->nodes({"aten::relu"}), match, rewrite));
  EXPECT_EQ(looked_at, 2) << "of three";
  EXPECT_EQ(pass.rewriter->rewrites(), 1);
}

TEST(RewriteMatches, MakesARemarkOfADeclineWithAReasonAlone) {
  PassOverGraph pass(kThreeRelus);
  // The second ReLU, which matches, and the tanh, which does not.
  const bool changed = pass.makeSigmoids([](std::size_t number) {
    if (number == 2) return Decline{reasons::kAliased, "It may be written to."};
    if (number == 3) return Decline{reasons::kUnsupportedOperator, "It is a tanh."};
    return Decline{};
  });
  EXPECT_TRUE(changed);
  EXPECT_EQ(pass.rewriter->rewrites(), 2);
  EXPECT_THAT(pass.remarks(),
              ElementsAre("applied: made a sigmoid", std::string(reasons::kAliased) + ": It may be written to.",
                          std::string(reasons::kUnsupportedOperator) + ": It is a tanh.", "applied: made a sigmoid"));
}

TEST(RewriteMatches, SaysThatNothingChangedWhereAllIsDeclined) {
  PassOverGraph pass(kThreeRelus);
  EXPECT_FALSE(pass.makeSigmoids([](std::size_t) { return Decline{reasons::kAliased, "No."}; }));
  EXPECT_EQ(pass.remarks().size(), 4U);
}

TEST(RewriteMatches, EndsAtTheLimit) {
  PassOverGraph pass(kThreeRelus, 1);
  EXPECT_TRUE(pass.makeSigmoids());
  EXPECT_EQ(pass.rewriter->rewrites(), 1);
  EXPECT_THAT(pass.looked_at, ElementsAre("relu", "relu"))
      << "looked for matches behind the one that was not permitted";
  PassOverGraph none(kThreeRelus, 0);
  EXPECT_FALSE(none.makeSigmoids());
  EXPECT_THAT(none.looked_at, ElementsAre("relu"));
  EXPECT_THAT(none.remarks(), IsEmpty());
}

}  // namespace
}  // namespace ipex_studio
