// See cache_guess.h.
#include "core/generate/cache_guess.h"

#include <algorithm>
#include <functional>

#include "core/base/error.h"
#include "core/model/node_runner.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Node;

constexpr std::size_t kLongestList = 200;

// Strides of a stand-in, all different, so that they tell how its axes were permuted. It has no elements, so they
// address nothing.
constexpr std::int64_t kStrides[] = {1000003, 10007, 1009, 101};

// A tensor without elements in the place of one of a cache, and what is found out about that.
struct StandIn {
  at::Tensor tensor;
  std::optional<at::Tensor> empty;  // the cache without tokens
};

StandIn standIn(std::int64_t rank) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank), 0);
  sizes[0] = 1;
  return {at::empty_strided(sizes, at::IntArrayRef(kStrides, static_cast<std::size_t>(rank))), {}};
}

// A value of the type; each list of what holds tensors gets `layers` elements.
std::optional<IValue> valueOf(const c10::TypePtr& type, std::size_t layers,
                              const std::function<at::Tensor()>& makeTensor) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return makeTensor();
    case c10::TypeKind::OptionalType:
      return valueOf(type->expectRef<c10::OptionalType>().getElementType(), layers, makeTensor);
    case c10::TypeKind::ListType: {
      const c10::TypePtr element = type->expectRef<c10::ListType>().getElementType();
      c10::impl::GenericList list(element);
      for (std::size_t l = 0; l < layers; ++l) {
        auto value = valueOf(element, layers, makeTensor);
        if (!value) return std::nullopt;
        list.push_back(*std::move(value));
      }
      return list;
    }
    case c10::TypeKind::TupleType: {
      std::vector<IValue> elements;
      for (const c10::TypePtr& inner : type->expectRef<c10::TupleType>().elements()) {
        auto value = valueOf(inner, layers, makeTensor);
        if (!value) return std::nullopt;
        elements.push_back(*std::move(value));
      }
      return c10::ivalue::Tuple::create(std::move(elements));
    }
    default:
      return std::nullopt;
  }
}

// One run of the model with stand-ins.
class CacheProbe {
 public:
  CacheProbe(const torch::jit::Module& frozen, std::int64_t rank, std::size_t layers)
      : frozen_(frozen), rank_(rank), layers_(layers) {}

  // The caches, if the model runs and joins each of them.
  std::optional<Inputs> run(Inputs inputs, const std::vector<std::size_t>& caches) {
    const auto& arguments = frozen_.get_method("forward").function().getSchema().arguments();
    for (const std::size_t cache : caches) {
      const auto value = valueOf(arguments[cache + 1].type(), layers_, [&] {
        stand_ins_.push_back(standIn(rank_));
        return stand_ins_.back().tensor;
      });
      if (!value) return std::nullopt;
      inputs[cache] = *value;
    }
    const auto graph = frozen_.get_method("forward").graph();
    NodeRunner runner(*graph, [&](Node* node, std::int64_t, std::int64_t) { look(runner, node); });
    runner.run(graphArguments(frozen_, inputs));
    return found(inputs, caches);
  }

 private:
  // Called after each node: gives lists that are to be joined tensors that fit.
  void look(NodeRunner& runner, Node* node) {
    if (node->kind() != c10::prim::ListConstruct || node->output()->uses().size() != 1) return;
    Node* cat = node->output()->uses()[0].user;
    if (cat->kind() != c10::aten::cat && cat->kind() != c10::aten::concat) return;
    const auto axis = torch::jit::constant_as<std::int64_t>(cat->input(1));
    if (!axis || !runner.valueOf(node->output()).isTensorList()) return;
    auto list = runner.valueOf(node->output()).toTensorList();
    for (std::size_t e = 0; e < list.size(); ++e) {
      if (StandIn* const found = standInOf(list.get(e))) fit(*found, list, e, *axis);
    }
  }

  StandIn* standInOf(const at::Tensor& tensor) {
    for (StandIn& candidate : stand_ins_) {
      if (tensor.is_alias_of(candidate.tensor)) return &candidate;
    }
    return nullptr;
  }

  // Puts a tensor of no tokens into the list, of the sizes of another element.
  void fit(StandIn& stand_in, c10::List<at::Tensor>& list, std::size_t place, std::int64_t axis) {
    for (std::size_t e = 0; e < list.size(); ++e) {
      const at::Tensor other = list.get(e), given = list.get(place);
      if (e == place || standInOf(other) != nullptr || other.dim() != given.dim()) continue;
      const std::int64_t length = axis < 0 ? axis + other.dim() : axis;
      std::vector<std::int64_t> sizes = other.sizes().vec();
      sizes[static_cast<std::size_t>(length)] = 0;
      std::vector<std::int64_t> own(sizes.size(), -1);  // sizes in the order of the cache itself
      for (std::size_t d = 0; d < sizes.size(); ++d) {
        const auto at = std::find(kStrides, kStrides + rank_, given.stride(static_cast<std::int64_t>(d))) - kStrides;
        if (at == rank_) return;
        own[static_cast<std::size_t>(at)] = sizes[d];
      }
      if (std::find(own.begin(), own.end(), -1) != own.end()) return;
      stand_in.empty = at::empty(own, other.options());
      list.set(place, at::empty(sizes, other.options()));
      return;
    }
  }

  std::optional<Inputs> found(const Inputs& inputs, const std::vector<std::size_t>& caches) const {
    const auto is_empty = [](const StandIn& stand_in) { return stand_in.empty.has_value(); };
    if (!std::all_of(stand_ins_.begin(), stand_ins_.end(), is_empty)) return std::nullopt;
    Inputs values;
    std::size_t next = 0;
    for (const std::size_t argument : caches)
      values.push_back(mapTensors(inputs[argument], [&](const at::Tensor&) { return *stand_ins_[next++].empty; }));
    return values;
  }

  const torch::jit::Module& frozen_;
  std::int64_t rank_;
  std::size_t layers_;
  std::vector<StandIn> stand_ins_;
};

bool hasList(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::ListType) return true;
  const auto inner = type->containedTypes();
  return std::any_of(inner.begin(), inner.end(), hasList);
}

}  // namespace

std::optional<Inputs> guessEmptyCache(const torch::jit::Module& module, const Inputs& inputs,
                                      const std::vector<std::size_t>& caches) {
  const torch::jit::Module frozen = freezeForPasses(module, {});
  const auto& arguments = frozen.get_method("forward").function().getSchema().arguments();
  const bool lists =
      std::any_of(caches.begin(), caches.end(), [&](std::size_t c) { return hasList(arguments[c + 1].type()); });
  for (const std::int64_t rank : {4, 3}) {
    for (std::size_t layers = 1; layers <= (lists ? kLongestList : 1); ++layers) {
      try {
        if (auto cache = CacheProbe(frozen, rank, layers).run(inputs, caches)) return cache;
      } catch (const std::exception&) {
        // Too few layers, or another rank.
      }
    }
  }
  return std::nullopt;
}

}  // namespace ipex_studio
