// The first node of one form of a model whose value is wrong while what it reads is right.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/compare/lockstep.h"
#include "core/graph/origins.h"

namespace ipex_studio {

// How nodes of both sides are called.
struct NodeNames {
  std::function<ValueDifference(const torch::jit::Value* original)> original;  // name, source and origins are set
  std::function<std::string(const torch::jit::Value* other)> other;
};

// "layer1.0.conv3 (aten::conv2d)"
std::string nodeName(const Origin& origin);
std::string nodeName(const OriginTable& table, const torch::jit::Node* node);
// The names of a frozen graph's nodes by its table.
NodeNames namesOf(const OriginTable& original, const OriginTable& other);

struct FirstWrongNode {
  AccuracyRecord results;
  std::int64_t compared = 0;
  // All fields below are empty where results are right.
  std::optional<ValuePair> pair;         // the first wrong value
  std::optional<ValueDifference> wrong;  // also of a node that has no pair but fails
  std::vector<ValueDifference> feeds;    // the values that the node reads
  bool alone = false;                    // with the right value in its place results are right
};

struct WrongNodeOptions {
  // A stricter comparison has found results wrong: the tolerance of nodes is narrowed until one is over it.
  bool results_are_wrong = false;
  // Pairs are sure: a wrong value counts also where results are right in spite of it.
  bool pairs_are_sure = false;
};

// Runs both graphs once, and a few times more with the right value in the place of a wrong one: a pair that only seems
// to be one mends nothing. Of wrong values those count from which nothing but wrong and unknown values lead to the
// results.
FirstWrongNode firstWrongNode(Lockstep graphs, const std::vector<ValuePair>& pairs, const NodeNames& names,
                              const WrongNodeOptions& options);

// Puts the first wrong node inside of a loop or branch in its place, or in that of what stands behind one whose results
// could not be compared. `inside`: pairs as firstWrongInside() takes them.
void lookInside(const Lockstep& graphs, const std::vector<ValuePair>& pairs, const std::vector<ValuePair>& inside,
                const NodeNames& names, FirstWrongNode* first);

}  // namespace ipex_studio
