// The table of a request's fields: every row travels to an engine and back, and no name is given twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/record/request_fields.h"
#include "core/record/request_form.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {
namespace {

// Gives every field a value that is not its default.
struct Changer {
  template <class Place, class T, class... Parts>
  void operator()(const Place&, T&& member, const Parts&...) {
    change(member);
  }
  static void change(PrecisionList& list) { list.others->push_back(Precision::kFp16); }
  static void change(DeviceChoices& list) { list.others->emplace_back("xpu:1"); }
  static void change(bool& value) { value = !value; }
  static void change(double& value) { value += 0.25; }
  static void change(std::int32_t& value) { value += 3; }
  static void change(std::int64_t& value) { value += 4; }
  static void change(std::uint64_t& value) { value += std::uint64_t{1} << 63; }
  static void change(std::string& value) { value += "x"; }
  static void change(std::vector<std::string>& value) { value = {"a", "b,c"}; }
  static void change(std::vector<std::int64_t>& value) { value = {2, 9}; }
  static void change(Precision& value) { value = Precision::kInt8; }
  static void change(TuneMode& value) { value = TuneMode::kFull; }
  static void change(NewSizesMode& value) { value = NewSizesMode::kBackground; }
  static void change(Hint& value) { value = Hint::kThroughput; }
  static void change(ExportForm& value) { value = ExportForm::kPortable; }
};

// Names of all kinds, each with how often it occurs.
struct Names {
  template <class T, class... Parts>
  void operator()(const JsonField& field, const T&, const Parts&... parts) {
    places.insert(field.path);
    (add(parts), ...);
  }
  template <class T, class... Parts>
  void operator()(StudioOnly, const T&, const Parts&... parts) {
    (add(parts), ...);
  }
  void add(const Flag& flag) { flags.insert({flag.set, flag.name}); }
  void add(const Form& form) {
    keys.insert(form.key);
    lines.insert(form.line);
  }

  std::multiset<std::string> places, keys;
  std::multiset<std::pair<FlagSet, std::string>> flags;
  std::multiset<int> lines;
};

template <class Values>
bool allDiffer(const Values& values) {
  return std::adjacent_find(values.begin(), values.end()) == values.end();
}

TEST(Request, EveryFieldOfAJobTravels) {
  EngineJob job;
  const nlohmann::json before = toJson(job);
  Changer changer;
  describe(changer, job);
  const nlohmann::json sent = toJson(job);
  EXPECT_EQ(toJson(engineJobFromJson(sent)), sent);
  Names names;
  describe(names, job);
  for (std::string path : names.places) {
    std::replace(path.begin(), path.end(), '.', '/');
    const nlohmann::json::json_pointer place("/" + path);
    EXPECT_NE(sent.at(place), before.at(place)) << path;
  }
}

TEST(Request, NamesAreGivenOnce) {
  Request request;
  Names names;
  describe(names, request);
  EXPECT_TRUE(allDiffer(names.places));
  EXPECT_TRUE(allDiffer(names.flags));
  EXPECT_TRUE(allDiffer(names.keys));
  EXPECT_TRUE(allDiffer(names.lines));
}

TEST(Request, FormFieldsAreCopiedAndNoOthers) {
  Request from, to;
  Changer changer;
  describe(changer, from);
  copyFormFields(from, &to);
  EXPECT_EQ(to.data.path, "x");
  EXPECT_EQ(to.search.max_drop, 0.26);
  EXPECT_EQ(to.data.samples, 4);
  EXPECT_TRUE(to.restart);
  EXPECT_EQ(to.data.batch, 1);
  EXPECT_EQ(to.calibration.percentile, 99.99);
  EXPECT_TRUE(to.inputs.empty());
  std::vector<std::string> keys;
  for (const FormField& field : formFields(to, TuneGoal::kSearch)) keys.push_back(field.form.key);
  EXPECT_THAT(keys, ::testing::ElementsAre("data", "preprocess", "save", "metric", "method", "samples", "drop", "sqnr",
                                           "budget", "restart"));
  EXPECT_TRUE(formFields(to, TuneGoal::kKernels).empty());
}

TEST(Request, FormFieldsAreTexts) {
  Request request;
  for (const FormField& field : formFields(request)) {
    const std::string key = field.form.key;
    EXPECT_EQ(field.text(), key == "drop" ? "0.01" : key == "budget" ? "600" : field.text());
    field.set(key == "samples" ? "12" : key == "drop" ? "0.5" : "no");
  }
  EXPECT_EQ(request.data.samples, 12);
  EXPECT_EQ(request.search.max_drop, 0.5);
  EXPECT_EQ(request.search.min_sqnr_db, 0);
  EXPECT_EQ(request.recipe, "no");
  EXPECT_FALSE(request.restart);
}

}  // namespace
}  // namespace ipex_studio
