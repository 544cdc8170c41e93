#include "passes/quantize/quantize_forms.h"

#include <unordered_map>

#include "core/base/pbqp.h"
#include "core/graph/node_facts.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// Fixed cost of a step, in bytes of memory traffic: some microseconds of one core.
constexpr double kStepBytes = 40e3;

class FormLabelling {
 public:
  FormLabelling(const std::vector<QuantizableOp>& quantizable_ops, const std::vector<std::vector<Forms>>& alternatives)
      : quantizable_ops_(quantizable_ops), alternatives_(alternatives) {}

  std::vector<Forms> solve() {
    keep_ = problem_.addNode({0});
    for (std::size_t s = 0; s < quantizable_ops_.size(); ++s) {
      const double written = quantizable_ops_[s].is_view ? 0 : knownElements(quantizable_ops_[s].node->output());
      std::vector<double> costs;
      for (const Forms& forms : alternatives_[s]) costs.push_back(forms.out ? written : 4 * written);
      numbers_[quantizable_ops_[s].node] = {problem_.addNode(std::move(costs)), s};
    }
    for (std::size_t s = 0; s < quantizable_ops_.size(); ++s) {
      for (std::size_t a = 0; a < quantizable_ops_[s].activations.size(); ++a) addReading(s, a);
      addKeepers(s);
    }
    const Pbqp::Solution solution = problem_.solve();
    std::vector<Forms> chosen;
    for (std::size_t s = 0; s < quantizable_ops_.size(); ++s) {
      const int number = numbers_.at(quantizable_ops_[s].node).first;
      chosen.push_back(alternatives_[s][static_cast<std::size_t>(solution.choice[static_cast<std::size_t>(number)])]);
    }
    return chosen;
  }

 private:
  // A value in one form, wanted in the other: read, written, and read again.
  static double cast(double count) { return 5 * count + kStepBytes; }

  double readingCost(bool written_integers, std::size_t s, std::size_t a, const Forms& forms, double count) const {
    const QuantizableOp& quantizable = quantizable_ops_[s];
    const double read = quantizable.is_view ? 0 : 1;
    bool wanted = forms.in;
    if (a >= quantizable.base_count) {
      // A product in FP32 has kernels for FP32 operands only.
      const bool either = quantizable.takesIntegers(a) && (quantizable.role != QuantizableRole::kProduct || forms.in);
      if (either) return (written_integers ? 1 : 4) * count * read;
      wanted = false;
    }
    const double cost = (wanted ? 1 : 4) * count * read;
    return written_integers == wanted ? cost : cost + cast(count);
  }

  void addReading(std::size_t s, std::size_t a) {
    const Value* value = quantizable_ops_[s].activations[a];
    const double count = knownElements(value);
    const auto producer = numbers_.find(value->node());
    const std::vector<Forms> floats{{}};
    const auto& from = producer == numbers_.end() ? floats : alternatives_[producer->second.second];
    std::vector<double> costs;
    for (const Forms& written : from) {
      for (const Forms& read : alternatives_[s]) costs.push_back(readingCost(written.out, s, a, read, count));
    }
    problem_.addEdge(producer == numbers_.end() ? keep_ : producer->second.first,
                     numbers_.at(quantizable_ops_[s].node).first, std::move(costs));
  }

  // Readers that know FP32 only, and results of the graph.
  void addKeepers(std::size_t s) {
    const Value* value = quantizable_ops_[s].node->output();
    bool kept = false;
    for (const auto& use : value->uses()) kept |= numbers_.count(readerAt(use)) == 0;
    if (!kept) return;
    std::vector<double> costs;
    for (const Forms& forms : alternatives_[s]) costs.push_back(forms.out ? cast(knownElements(value)) : 0);
    problem_.addEdge(numbers_.at(quantizable_ops_[s].node).first, keep_, std::move(costs));
  }

  const std::vector<QuantizableOp>& quantizable_ops_;
  const std::vector<std::vector<Forms>>& alternatives_;
  Pbqp problem_;
  int keep_ = 0;
  std::unordered_map<const Node*, std::pair<int, std::size_t>>
      numbers_;  // node of the problem, index of the quantizable op
};

}  // namespace

const Node* readerAt(const torch::jit::Use& use) {
  const Node* user = use.user;
  const bool is_list = user->kind() == c10::prim::ListConstruct && user->output()->uses().size() == 1;
  return is_list ? user->output()->uses()[0].user : user;
}

std::vector<Forms> assignForms(const std::vector<QuantizableOp>& quantizable_ops,
                               const std::vector<std::vector<Forms>>& alternatives) {
  return FormLabelling(quantizable_ops, alternatives).solve();
}

}  // namespace ipex_studio
