// Plan specs as untrusted text: specs that are read satisfy every promise of the header; all others are refused.
#include "core/op/plan_spec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "tests/core/op/random_spec.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

// x -> relu -> reshape [size(x, 0), -1]; and an int input.
json valid() {
  return json::parse(R"~({"plan":1,"inputs":[["f32",3],"int"],"constants":[{"dtype":"f32","sizes":[4,4]}],"nodes":[
    {"op":"pointwise{}|relu","src":[0],"dst":[3],"name":"a.relu","origins":[5]},
    {"int":"size","literal":0,"src":[0],"dst":[4]},
    {"int":"mul","literal":0,"src":[4,1],"dst":[5]},
    {"op":"reshape{shape=[0,-1]}","src":[3],"dst":[6],"name":"v","origins":[6,7],"refs":[["shape",0,4]]},
    {"op":"matmul{}|add(0)","src":[6,2,6],"dst":[7],"name":"m","origins":[]}],"outputs":[7,3,0]})~");
}

TEST(PlanSpec, ReadsAndPrints) {
  const PlanSpec spec = planSpecFromText(valid().dump());
  EXPECT_EQ(spec.inputs.size(), 2u);
  EXPECT_TRUE(spec.inputs[1].is_int);
  EXPECT_EQ(spec.constantValue(0), 2);
  EXPECT_EQ(spec.valueCount(), 8);
  EXPECT_EQ(spec.nodes[3].refs[0].value, 4);
  EXPECT_EQ(spec.nodes[3].origins, (std::vector<OriginId>{6, 7}));
  EXPECT_EQ(planSpecToText(planSpecFromText(planSpecToText(spec))), planSpecToText(spec));
}

TEST(PlanSpec, RefusesWhatContradictsItself) {
  const std::pair<const char*, const char*> kChanges[] = {
      {"/plan", "2"},  // a later version
      {"/plan", "\"1\""},
      {"/inputs/0", "[\"f31\",3]"},
      {"/inputs/0", "[\"f32\",9]"},
      {"/inputs/0", "[\"f32\",-1]"},
      {"/constants/0/dtype", "\"none\""},
      {"/constants/0/sizes", "[-1]"},
      {"/constants/0/sizes", "[1048576,1048576,1048576]"},
      {"/constants/0/sizes", "[1,1,1,1,1,1,1,1,1]"},
      {"/nodes/0/op", "\"pointwise{\""},
      {"/nodes/0/op", "\"unheard{}\""},
      {"/nodes/0/src", "[3]"},  // its own result
      {"/nodes/0/src", "[7]"},  // a later result
      {"/nodes/0/src", "[1]"},  // an integer
      {"/nodes/0/src", "[-2]"},
      {"/nodes/0/src", "[1.5]"},
      {"/nodes/0/dst", "[4]"},  // out of order
      {"/nodes/0/dst", "[]"},
      {"/nodes/0/dst", "[3,4,5]"},
      {"/nodes/0/name", "7"},
      {"/nodes/0/origins", "\"all\""},
      {"/nodes/1/int", "\"pow\""},
      {"/nodes/1/src", "[1]"},  // the size of an integer
      {"/nodes/1/src", "[]"},
      {"/nodes/2/src", "[4]"},
      {"/nodes/2/src", "[4,0]"},  // a tensor
      {"/nodes/2/src", "[4,-1]"},
      {"/nodes/3/refs/0", "[\"shape\",2,4]"},
      {"/nodes/3/refs/0", "[\"shape\",-1,4]"},
      {"/nodes/3/refs/0", "[\"order\",0,4]"},
      {"/nodes/3/refs/0", "[\"shape\",0,3]"},
      {"/nodes/3/refs/0", "[\"shape\",0,99]"},
      {"/nodes/3/refs/0", "[\"shape\"]"},
      {"/outputs", "[4]"},  // an integer
      {"/outputs", "[8]"},
      {"/outputs", "[-1]"},
      {"/outputs", "7"},
  };
  for (const auto& [where, what] : kChanges) {
    json changed = valid();
    changed[json::json_pointer(where)] = json::parse(what);
    try {
      planSpecFromText(changed.dump());
      ADD_FAILURE() << where << " = " << what << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadModel);
    }
  }
  for (const char* text : {"", "{}", "[]", "null", "{\"plan\":1}", "{\"plan\":1,\"inputs\":[]}"})
    EXPECT_THROW(planSpecFromText(text), Error) << text;
  EXPECT_THROW(planSpecFromText(std::string(100000, '[')), Error);
}

TEST(PlanSpec, MissingFieldsAreRefused) {
  for (const char* where :
       {"/plan", "/inputs", "/constants", "/nodes", "/outputs", "/nodes/0/op", "/nodes/0/src", "/nodes/0/dst",
        "/nodes/0/name", "/nodes/0/origins", "/nodes/1/literal", "/constants/0/dtype", "/constants/0/sizes"}) {
    json changed = valid();
    const json::json_pointer pointer(where);
    changed[pointer.parent_pointer()].erase(pointer.back());
    EXPECT_THROW(planSpecFromText(changed.dump()), Error) << where;
  }
}

TEST(PlanSpec, MutationsNeverCrash) {
  testing::Random random(8);
  const std::string text = valid().dump();
  int read = 0;
  for (int i = 0; i < 5000 * testing::campaignFactor(); ++i) {
    try {
      planSpecToText(planSpecFromText(testing::mutated(text, random)));
      ++read;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(read, 20);
}

}  // namespace
}  // namespace ipex_studio
