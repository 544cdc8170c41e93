// Texts of a tiny model in all its forms against loops that give it the whole text; beams against all texts there are.
#include "core/generate/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "core/base/error.h"
#include "core/generate/choose_token.h"
#include "tests/core/generate/tiny_language_model.h"

namespace ipex_studio::testing {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<std::int64_t>;

const Ids kPrompt = {1, 4, 2};

struct NamedForm {
  const char* name;
  const char* forward;
  std::vector<const char*> inputs;  // examples that have to be given
  CacheForm cache;
  bool whole_prompt = true;
};

const NamedForm kForms[] = {
    {"whole text", kWholeText, {}, CacheForm::kNone},
    {"list of pairs", kListOfPairs, {}, CacheForm::kGrows},
    {"tuple of pairs", kTupleOfPairs, {}, CacheForm::kGrows},
    {"flat", kFlat, {}, CacheForm::kGrows},
    {"stacked", kStacked, {"past:2x2x1x2x3x4"}, CacheForm::kGrows},
    {"masked", kMasked, {"past:2x2x1x2x3x4"}, CacheForm::kGrows},
    {"optional", kOptional, {}, CacheForm::kGrows},
    {"fixed", kFixed, {"k_cache:2x1x2x24x4", "v_cache:2x1x2x24x4"}, CacheForm::kFixed},
    {"one token", kOneToken, {}, CacheForm::kGrows, false},
};

DecodeForm formOf(torch::jit::Module& module, const std::vector<const char*>& inputs, std::int64_t texts,
                  const std::vector<std::string>& roles = {}) {
  std::vector<InputSpec> given;
  for (const char* input : inputs) given.push_back(parseInputSpec(input));
  return findDecodeForm(module, given, roles, kPrompt, texts, 0);
}

// Log-probabilities of the token behind `ids`, by the model that takes the whole text.
std::vector<double> valuesBehind(torch::jit::Module& whole_text, const Ids& ids) {
  const at::Tensor logits = whole_text.forward({at::tensor(ids, at::kLong).unsqueeze(0)}).toTensor();
  const at::Tensor last = logits[0][-1].contiguous();
  return logProbabilities(last.data_ptr<float>(), static_cast<std::size_t>(kVocabulary));
}

Ids greedyByHand(std::int64_t count) {
  torch::jit::Module module = tinyLanguageModel(kWholeText);
  Ids text = kPrompt, ids;
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(likeliest(valuesBehind(module, text)));
    text.push_back(ids.back());
  }
  return ids;
}

GeneratedText textOf(const NamedForm& form, const GenerateRequest& options, std::uint64_t seed = 0) {
  torch::jit::Module module = tinyLanguageModel(form.forward);
  const DecodeForm found = formOf(module, form.inputs, options.beams);
  EXPECT_EQ(found.cache, form.cache) << form.name;
  EXPECT_EQ(found.whole_prompt, form.whole_prompt) << form.name;
  Decoder decoder(module, found);
  return generate(decoder, kPrompt, options, seed);
}

std::string failureOf(const std::function<void()>& work, ExitCode code) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(Generate, GreedyTextsAreThoseOfALoopOverTheWholeText) {
  GenerateRequest options;
  options.max_new = 12;
  const Ids expected = greedyByHand(12);
  EXPECT_GT(std::set<std::int64_t>(expected.begin(), expected.end()).size(), 1U);
  for (const NamedForm& form : kForms) {
    const GeneratedText text = textOf(form, options);
    EXPECT_EQ(text.ids, expected) << form.name;
    EXPECT_EQ(text.step_ns.size(), 12U);
    EXPECT_EQ(text.cache_bytes > 0, form.cache != CacheForm::kNone) << form.name;
  }
}

TEST(Generate, LogProbabilitiesAreThoseOfTheModel) {
  GenerateRequest options;
  options.max_new = 6;
  torch::jit::Module whole_text = tinyLanguageModel(kWholeText);
  const GeneratedText text = textOf(kForms[1], options);
  Ids ids = kPrompt;
  for (std::size_t i = 0; i < text.ids.size(); ++i) {
    EXPECT_NEAR(text.log_probabilities[i], valuesBehind(whole_text, ids)[static_cast<std::size_t>(text.ids[i])], 1e-4);
    ids.push_back(text.ids[i]);
  }
}

TEST(Generate, TextsEndWithAnEndingToken) {
  const Ids whole = greedyByHand(12);
  GenerateRequest options;
  options.max_new = 12;
  options.eos = {whole[3]};
  const auto first = static_cast<std::size_t>(std::find(whole.begin(), whole.end(), whole[3]) - whole.begin());
  EXPECT_EQ(textOf(kForms[1], options).ids, Ids(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(first) + 1));
}

// The best of all texts of up to `count` tokens.
struct BestText {
  Ids ids;
  double score = -std::numeric_limits<double>::infinity();
};

void searchAll(torch::jit::Module& module, const Ids& ids, double sum, const GenerateRequest& options, BestText* best) {
  Ids text = kPrompt;
  text.insert(text.end(), ids.begin(), ids.end());
  const std::vector<double> values = valuesBehind(module, text);
  for (std::int64_t token = 0; token < kVocabulary; ++token) {
    Ids longer = ids;
    longer.push_back(token);
    const double all = sum + values[static_cast<std::size_t>(token)];
    if (token != options.eos[0] && static_cast<std::int64_t>(longer.size()) < options.max_new) {
      searchAll(module, longer, all, options, best);
      continue;
    }
    const double score = all / std::pow(static_cast<double>(longer.size()), options.length_penalty);
    if (score > best->score) *best = {longer, score};
  }
}

TEST(Generate, ManyBeamsFindTheBestOfAllTexts) {
  torch::jit::Module whole_text = tinyLanguageModel(kWholeText);
  GenerateRequest options;
  options.max_new = 4;
  options.beams = 64;  // as many as texts of three tokens that have not ended
  for (const std::int64_t eos : {0, 1, 3}) {
    options.eos = {eos};
    for (const double penalty : {0.0, 1.0, 2.0, -1.0}) {
      options.length_penalty = penalty;
      BestText best;
      searchAll(whole_text, {}, 0, options, &best);
      EXPECT_EQ(textOf(kForms[1], options).ids, best.ids) << "eos " << eos << ", penalty " << penalty;
    }
  }
}

TEST(Generate, BeamsWithACacheAreThoseWithout) {
  GenerateRequest options;
  options.max_new = 10;
  for (const std::int64_t beams : {2, 3, 5}) {
    options.beams = beams;
    const GeneratedText expected = textOf(kForms[0], options);
    for (const NamedForm& form : kForms) EXPECT_EQ(textOf(form, options).ids, expected.ids) << form.name << beams;
  }
}

TEST(Decoder, ReorderedTextsGoOnFromTheirNewParents) {
  torch::jit::Module whole_text = tinyLanguageModel(kWholeText);
  for (const NamedForm& form : kForms) {
    torch::jit::Module module = tinyLanguageModel(form.forward);
    const DecodeForm found = formOf(module, form.inputs, 3);
    Decoder decoder(module, found);
    decoder.begin(kPrompt);
    std::vector<Ids> texts = {kPrompt};
    for (const Ids& parents : {Ids{0, 0, 0}, Ids{0, 1, 2}, Ids{2, 0, 0}, Ids{1, 2, 0}, Ids{2, 1}}) {
      decoder.reorder(parents);
      std::vector<Ids> next;
      Ids tokens;
      for (const std::int64_t parent : parents) {
        tokens.push_back(static_cast<std::int64_t>(tokens.size() + texts[0].size()) % kVocabulary);
        next.push_back(texts[static_cast<std::size_t>(parent)]);
        next.back().push_back(tokens.back());
      }
      texts = next;
      const at::Tensor scores = decoder.next(tokens);
      for (std::size_t t = 0; t < texts.size(); ++t) {
        const at::Tensor row = scores[static_cast<std::int64_t>(t)].contiguous();
        const std::vector<double> values = logProbabilities(row.data_ptr<float>(), kVocabulary);
        const std::vector<double> expected = valuesBehind(whole_text, texts[t]);
        for (std::size_t v = 0; v < values.size(); ++v) EXPECT_NEAR(values[v], expected[v], 1e-3) << form.name << t;
      }
    }
  }
}

TEST(Generate, DrawsDependOnTheSeedAlone) {
  GenerateRequest options;
  options.max_new = 12;
  options.temperature = 8;
  const Ids first = textOf(kForms[1], options, 3).ids;
  EXPECT_EQ(textOf(kForms[1], options, 3).ids, first);
  EXPECT_EQ(textOf(kForms[0], options, 3).ids, first);
  EXPECT_NE(textOf(kForms[1], options, 4).ids, first);
}

// Shares of tokens among many draws.
std::vector<double> shares(const std::vector<double>& values, SamplingOptions options) {
  constexpr int kDraws = 20000;
  std::vector<double> counts(values.size(), 0);
  for (int d = 0; d < kDraws; ++d) {
    options.seed = static_cast<std::uint64_t>(d);
    counts[static_cast<std::size_t>(drawToken(values, options, d % 7))] += 1.0 / kDraws;
  }
  return counts;
}

void expectShares(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 0.015) << i;
    EXPECT_TRUE(expected[i] > 0 || actual[i] == 0) << i;
  }
}

TEST(DrawToken, FollowsTheProbabilities) {
  const std::vector<double> values = {std::log(0.1), std::log(0.4), std::log(0.2), std::log(0.3)};
  expectShares(shares(values, {}), {0.1, 0.4, 0.2, 0.3});
  SamplingOptions cold;
  cold.temperature = 0.5;  // squares
  expectShares(shares(values, cold), {0.01 / 0.3, 0.16 / 0.3, 0.04 / 0.3, 0.09 / 0.3});
  SamplingOptions two;
  two.top_k = 2;
  expectShares(shares(values, two), {0, 0.4 / 0.7, 0, 0.3 / 0.7});
  SamplingOptions nucleus;
  nucleus.top_p = 0.75;  // 0.4 + 0.3 does not reach it
  expectShares(shares(values, nucleus), {0, 0.4 / 0.9, 0.2 / 0.9, 0.3 / 0.9});
  nucleus.top_p = 1e-6;
  expectShares(shares(values, nucleus), {0, 1, 0, 0});
  const double never = -std::numeric_limits<double>::infinity();
  expectShares(shares({never, std::log(0.5), never, std::log(0.5), never}, {}), {0, 0.5, 0, 0.5, 0});
}

TEST(DrawToken, RanksEqualTokensByTheirIds) {
  SamplingOptions one;
  one.top_k = 1;
  expectShares(shares({std::log(0.25), std::log(0.25), std::log(0.25), std::log(0.25)}, one), {1, 0, 0, 0});
}

TEST(LogProbabilities, PassOverNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float scores[] = {nan, 1, 1};
  const std::vector<double> values = logProbabilities(scores, 3);
  EXPECT_NEAR(values[1], std::log(0.5), 1e-12);
  EXPECT_EQ(likeliest(values), 1);
  const float none[] = {nan, nan};
  failureOf([&] { logProbabilities(none, 2); }, ExitCode::kFailure);
}

TEST(CompareOnText, TellsNearTiesFromWrongModels) {
  GenerateRequest options;
  torch::jit::Module original = tinyLanguageModel(kListOfPairs), other = tinyLanguageModel(kListOfPairs);
  const DecodeForm form = formOf(original, {}, 1);
  const auto compared = [&](const Ids& ids) {
    Decoder first(original, form), second(other, form);
    return compareOnText(first, second, kPrompt, ids, options, 0, AccuracyRule());
  };
  const Ids ids = greedyByHand(5);
  TextAgreement agreement = compared(ids);
  EXPECT_TRUE(agreement.worst.pass);
  EXPECT_EQ(agreement.other_choices, 0);
  // Two tokens that are equally likely: the last bit decides.
  for (torch::jit::Module* module : {&original, &other}) {
    at::Tensor table = module->attr("o").toTensor();
    table.select(1, (ids[0] + 1) % kVocabulary).copy_(table.select(1, ids[0]));
  }
  other.attr("o").toTensor().select(1, (ids[0] + 1) % kVocabulary).mul_(1 + 1e-6).add_(1e-6);
  agreement = compared(ids);
  EXPECT_TRUE(agreement.worst.pass) << agreement.worst.text;
  EXPECT_GT(agreement.other_choices, 0);
  EXPECT_LT(agreement.closest_choice, 1e-4);
  other.attr("o").toTensor().mul_(1.5);
  EXPECT_FALSE(compared(ids).worst.pass);
}

TEST(DecodeForm, TakesRolesFromNamesTypesAndTheUser) {
  torch::jit::Module module = tinyLanguageModel(R"(
def forward(self, x, y: Tuple[Tuple[Tensor, Tensor], Tuple[Tensor, Tensor]], where: int):
  a, ks, vs = self.grown(x, [y[0][0], y[1][0]], [y[0][1], y[1][1]])
  return a + 0 * where, ((ks[0], vs[0]), (ks[1], vs[1]))
)");
  const DecodeForm form = formOf(module, {}, 1, {"where=positions"});
  EXPECT_EQ(form.arguments[0].role, ArgumentRole::kIds);
  EXPECT_EQ(form.arguments[1].role, ArgumentRole::kCache);
  EXPECT_EQ(form.arguments[2].role, ArgumentRole::kPositions);
  EXPECT_THAT(failureOf([&] { formOf(module, {}, 1); }, ExitCode::kUsage), HasSubstr("'where'"));
  EXPECT_THAT(failureOf([&] { formOf(module, {}, 1, {"where=place"}); }, ExitCode::kUsage), HasSubstr("a role is"));
  EXPECT_THAT(failureOf([&] { formOf(module, {}, 1, {"z=ids"}); }, ExitCode::kUsage), HasSubstr("no input 'z'"));
  EXPECT_THAT(failureOf([&] { formOf(module, {}, 1, {"where"}); }, ExitCode::kUsage), HasSubstr("ARGUMENT=ROLE"));
}

TEST(DecodeForm, SaysWhatAModelLacks) {
  const auto failure = [](const char* forward, std::vector<const char*> inputs, std::int64_t texts, ExitCode code) {
    torch::jit::Module module = tinyLanguageModel(forward);
    return failureOf([&] { formOf(module, inputs, texts); }, code);
  };
  EXPECT_THAT(failure(kStacked, {}, 1, ExitCode::kUsage), HasSubstr("1x12x5x64"));
  EXPECT_THAT(failure("def forward(self, ids):\n  return ids\n", {}, 1, ExitCode::kUnsupported), HasSubstr("logits"));
  EXPECT_THAT(failure("def forward(self, n: int):\n  return self.e\n", {}, 1, ExitCode::kUnsupported),
              HasSubstr("--role"));
  constexpr char kForgets[] = R"(
def forward(self, ids, past: List[Tuple[Tensor, Tensor]]):
  return self.grown(ids, [p[0] for p in past], [p[1] for p in past])[0]
)";
  EXPECT_THAT(failure(kForgets, {}, 1, ExitCode::kUnsupported), HasSubstr("returns its cache"));
  constexpr char kNewTokensAlone[] = R"(
def forward(self, ids, past):
  x = torch.embedding(self.e, ids)
  return torch.cat([past, x], 1).matmul(self.o), x
)";
  EXPECT_THAT(failure(kNewTokensAlone, {}, 1, ExitCode::kUnsupported), HasSubstr("as long as before"));
  EXPECT_THAT(failure(kNewTokensAlone, {"past:1x3x8"}, 1, ExitCode::kUnsupported), HasSubstr("1x1x8"));
  constexpr char kOneText[] = R"(
def forward(self, ids):
  return self.grown(ids.view([1, -1]), self.nothing(ids[:1]), self.nothing(ids[:1]))[0]
)";
  EXPECT_THAT(failure(kOneText, {}, 2, ExitCode::kUnsupported), HasSubstr("leave --beams out"));
}

}  // namespace
}  // namespace ipex_studio::testing
