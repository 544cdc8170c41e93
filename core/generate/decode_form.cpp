// See decode_form.h.
#include "core/generate/decode_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/generate/cache_guess.h"
#include "core/generate/decoder.h"
#include "core/model/input_signature.h"
#include "core/model/input_values.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;

// Two ways to read one prompt agree where scores differ by no more than this share of the greatest: rounding, which
// grows with the layers. What a model gets wrong, a missing mask for example, is of the size of the scores.
constexpr double kSameReading = 1e-2;

constexpr std::int64_t kAnyToken = 0;

// The sizes that exampleFlag() writes for a tensor.
constexpr char kImage[] = "1x3x224x224";

bool sameScores(const at::Tensor& actual, const at::Tensor& expected) {
  const at::Tensor finite = expected.isfinite().logical_and(actual.isfinite());
  if (!finite.any().item<bool>()) return false;
  const at::Tensor difference = (actual - expected).abs().masked_select(finite);
  const at::Tensor scale = expected.abs().masked_select(finite);
  return difference.max().item<double>() <= kSameReading * scale.max().item<double>();
}

class FormFinder {
 public:
  FormFinder(torch::jit::Module& module, const std::vector<InputSpec>& given, const std::vector<std::string>& roles,
             const std::vector<std::int64_t>& prompt, std::uint64_t seed)
      : module_(module), prompt_(prompt), seed_(seed) {
    const c10::FunctionSchema schema = module.get_method("forward").function().getSchema();
    const std::vector<ArgumentRole> found = argumentRoles(schema, roles);
    const InputChoices choices = chooseInputs(module, given);
    for (std::size_t a = 0; a < found.size(); ++a) {
      DecodeArgument argument{schema.arguments()[a + 1].name(), schema.arguments()[a + 1].type(), found[a], {}};
      argument.rank = found[a] == ArgumentRole::kCachePositions ? 1 : 2;
      if (found[a] == ArgumentRole::kOther) {
        argument.value = otherValue(choices[a], a, argument);
      } else if (choices[a] && !choices[a]->guessed) {
        takeExample(*choices[a], argument);
      }
      form_.arguments.push_back(std::move(argument));
      if (found[a] == ArgumentRole::kCache) caches_.push_back(a);
    }
  }

  DecodeForm find(std::int64_t texts) {
    if (!caches_.empty()) findCache();
    form_.vocabulary = Decoder(module_, form_).begin({kAnyToken}).size(1);
    requireTokens("--prompt", prompt_, form_.vocabulary);
    if (form_.cached() && prompt_.size() > 1) findReading();
    Decoder(module_, form_).begin(prompt_);  // throws what it cannot do before anything takes long
    if (texts > 1) findTextAxes();
    return form_;
  }

 private:
  IValue otherValue(const std::optional<InputSpec>& choice, std::size_t place, const DecodeArgument& argument) {
    const bool flag = argument.type->isSubtypeOf(*c10::OptionalType::create(c10::BoolType::get()));
    if (flag && argument.name == "use_cache" && (!choice || choice->guessed)) return true;
    if (!choice) throw notGuessed(module_, place);
    return makeInputs({*choice}, seed_).front();
  }

  // A value that the user gave stands for its type and rank; that of a cache for its sizes.
  void takeExample(const InputSpec& spec, DecodeArgument& argument) {
    const IValue value = makeInputs({spec}, seed_).front();
    if (argument.role == ArgumentRole::kCache) {
      argument.value = value;
      return;
    }
    if (!value.isTensor()) return;
    argument.rank = value.toTensor().dim();
    argument.dtype = value.toTensor().scalar_type();
    if (argument.rank != 1 && argument.rank != 2)
      throw Error(
          ExitCode::kUnsupported,
          fmt::format("generate makes '{}' with one or two axes, and the example given has {}; wrap the model so "
                      "that it takes a mask [texts, tokens].",
                      argument.name, argument.rank));
  }

  // The values of all arguments for the first token of the prompt, with the caches as they are.
  Inputs firstInputs() const { return Decoder(module_, form_).firstInputs(kAnyToken); }

  void findCache() {
    const auto none = [&](std::size_t a) { return form_.arguments[a].value.isNone(); };
    if (std::none_of(caches_.begin(), caches_.end(), none)) return readExample();
    const auto optional = [&](std::size_t a) {
      return none(a) && form_.arguments[a].type->kind() == c10::TypeKind::OptionalType;
    };
    form_.cache = CacheForm::kGrows;
    const bool known = std::all_of(caches_.begin(), caches_.end(), optional);
    if (!known) {
      const auto empty = guessEmptyCache(module_, firstInputs(), caches_);
      if (!empty) throw noSizes();
      for (std::size_t c = 0; c < caches_.size(); ++c) form_.arguments[caches_[c]].value = (*empty)[c];
    }
    if (!growsByTokens()) {
      if (!known) throw doesNotGrow("as long as before");
      form_.cache = CacheForm::kFixed;
    }
  }

  // True if each tensor of the cache grows by a token from the first token to the second, false if none does.
  bool growsByTokens() {
    Decoder decoder(module_, form_);
    decoder.begin({kAnyToken});
    const std::vector<at::Tensor> before = decoder.cache();
    decoder.next({kAnyToken});
    std::size_t growing = 0;
    for (std::size_t t = 0; t < before.size(); ++t) growing += grownAxis(before[t], decoder.cache()[t]) ? 1 : 0;
    if (growing != 0 && growing != before.size()) throw doesNotGrow("longer in some of its tensors alone");
    return growing != 0;
  }

  static Error doesNotGrow(const std::string& what) {
    return Error(
        ExitCode::kUnsupported,
        fmt::format("For one more token the model returns a cache that is {}; generate needs a cache that grows by a "
                    "token, or an example of one of fixed size by --input.",
                    what));
  }

  // The axis that grew by one; nullopt if the sizes are the same. Throws if they differ otherwise.
  static std::optional<std::int64_t> grownAxis(const at::Tensor& before, const at::Tensor& after) {
    std::optional<std::int64_t> axis;
    for (std::int64_t d = 0; d < before.dim(); ++d) {
      if (before.size(d) == after.size(d)) continue;
      if (axis || after.size(d) != before.size(d) + 1)
        throw doesNotGrow(inputValueText(after) + " and was " + inputValueText(before));
      axis = d;
    }
    return axis;
  }

  Error noSizes() const {
    const ArgumentRecord argument = inputSignature(module_)[caches_.front()];
    std::string flag = exampleFlag(argument);
    for (std::size_t at = flag.find(kImage); at != std::string::npos; at = flag.find(kImage))
      flag.replace(at, std::char_traits<char>::length(kImage), "1x12x5x64");
    return Error(ExitCode::kUsage,
                 fmt::format("The sizes of the cache '{}' ({}) cannot be found in the model; add an example of it with "
                             "your sizes, of any length: {}.",
                             argument.name, argument.type, flag));
  }

  // The example holds as many tokens as the size of one of its axes says. Masks and places depend on that number, so
  // the model runs with each of them until one fits.
  void readExample() {
    form_.cache = CacheForm::kFixed;
    std::vector<std::int64_t> lengths;
    mapTensors(form_.arguments[caches_.front()].value, [&](const at::Tensor& tensor) {
      if (lengths.empty()) lengths = tensor.sizes().vec();
      return tensor;
    });
    for (const std::int64_t length : lengths) {
      try {
        if (readExample(length)) return;
      } catch (const Error&) {
        // Another length.
      }
    }
    readExample(0);
  }

  // Runs the model behind `length` tokens: what grows by a token is cut to none, a cache of fixed size begins as zeros.
  // False if it is not `length` that grows.
  bool readExample(std::int64_t length) {
    Decoder decoder(module_, form_);
    decoder.beginBehind(length, kAnyToken);
    const std::vector<at::Tensor>& after = decoder.cache();
    std::size_t next = 0;
    bool grows = false, fits = true;
    std::vector<IValue> starts;
    for (const std::size_t a : caches_) {
      starts.push_back(mapTensors(form_.arguments[a].value, [&](const at::Tensor& before) {
        const auto axis = grownAxis(before, after[next++]);
        grows = grows || axis;
        fits = fits && axis && before.size(*axis) == length;
        return axis ? before.narrow(*axis, 0, 0).contiguous() : at::zeros_like(before);
      }));
    }
    if (length > 0 && !fits) return false;
    for (std::size_t c = 0; c < caches_.size(); ++c) form_.arguments[caches_[c]].value = starts[c];
    form_.cache = grows ? CacheForm::kGrows : CacheForm::kFixed;
    return true;
  }

  // A model may have been traced for one token at a time. Its own scores tell: of the prompt at once and by tokens.
  void findReading() {
    DecodeForm by_tokens = form_;
    by_tokens.whole_prompt = false;
    const at::Tensor expected = Decoder(module_, by_tokens).begin(prompt_);
    try {
      if (sameScores(Decoder(module_, form_).begin(prompt_), expected)) return;
      form_.remarks.push_back(
          "The model reads several tokens at once otherwise than one by one, as if traced for one: "
          "the prompt is given token by token.");
    } catch (const Error&) {
      form_.remarks.push_back("The model takes one token at a time: the prompt is given token by token.");
    }
    form_.whole_prompt = false;
  }

  // Finds by trying along which axis of the cache's tensors texts stand side by side.
  void findTextAxes() {
    if (form_.arguments[idsPlace()].rank == 1) throw oneText("its ids have one axis");
    std::string why = "no axis of its cache is one of texts";
    Decoder one(module_, form_);
    one.begin({kAnyToken});
    const std::vector<at::Tensor> single = one.cache();
    std::vector<std::int64_t> axes(single.size(), 0);
    const std::int64_t most = single.empty() ? 1 : single.front().dim();
    for (std::int64_t axis = 0; axis < most; ++axis) {
      for (std::size_t t = 0; t < axes.size(); ++t) axes[t] = std::min(axis, single[t].dim() - 1);
      if (takesTwo(axes, &why)) {
        form_.text_axes = axes;
        return;
      }
    }
    throw oneText(why);
  }

  // True if two equal texts, with the cache repeated along the axes, give the same scores twice.
  bool takesTwo(const std::vector<std::int64_t>& axes, std::string* why) const {
    DecodeForm form = form_;
    form.text_axes = axes;
    try {
      Decoder decoder(module_, form);
      decoder.begin({kAnyToken});
      for (std::size_t t = 0; t < axes.size(); ++t) {
        if (decoder.cache()[t].size(axes[t]) != 1) return false;
      }
      decoder.reorder({0, 0});
      const at::Tensor scores = decoder.next({kAnyToken, kAnyToken});
      for (std::size_t t = 0; t < axes.size(); ++t) {
        if (decoder.cache()[t].size(axes[t]) != 2) return false;
      }
      return sameScores(scores[0], scores[1]);
    } catch (const Error& problem) {
      *why = problem.what();
      return false;
    }
  }

  std::size_t idsPlace() const {
    std::size_t place = 0;
    while (form_.arguments[place].role != ArgumentRole::kIds) ++place;
    return place;
  }

  static Error oneText(const std::string& why) {
    return Error(ExitCode::kUnsupported,
                 fmt::format("--beams needs a model that goes on with several texts at once, which this one does not "
                             "({}); leave --beams out.",
                             why));
  }

  torch::jit::Module& module_;
  const std::vector<std::int64_t>& prompt_;
  std::uint64_t seed_;
  DecodeForm form_;
  std::vector<std::size_t> caches_;  // places of the arguments
};

}  // namespace

void requireTokens(const char* flag, const std::vector<std::int64_t>& ids, std::int64_t vocabulary) {
  for (const std::int64_t id : ids) {
    if (id >= 0 && id < vocabulary) continue;
    throw Error(ExitCode::kUsage,
                fmt::format("{}: the model has no token {}; its vocabulary has {}.", flag, id, vocabulary));
  }
}

DecodeForm findDecodeForm(torch::jit::Module& module, const std::vector<InputSpec>& given,
                          const std::vector<std::string>& roles, const std::vector<std::int64_t>& prompt,
                          std::int64_t texts, std::uint64_t seed) {
  return FormFinder(module, given, roles, prompt, seed).find(texts);
}

}  // namespace ipex_studio
