// ValueRecord: the elements of one value of a model, in each form that the model has. Crosses the pipe as other records
// do.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/record/bisect_record.h"

namespace ipex_studio {

// The value as one form of the model computes it.
struct ValueForm {
  std::string form;           // "original", "optimized" or "fp64"
  std::string name;           // of the node that gives it there
  std::string type;           // "1x64x56x56:float32"
  std::int64_t elements = 0;  // of which these are …
  std::int64_t nans = 0, infinities = 0, zeros = 0;
  double least = 0, greatest = 0, mean = 0, deviation = 0;  // of the finite ones; NaN: there are none
  std::vector<std::int64_t> histogram;  // counts of finite elements in equal bins over ValueRecord::low … high
  // A small picture of a value that looks like an image, or of its first channels side by side; rows of grey or RGB
  // bytes, from its least to its greatest value. Empty: it looks like none.
  std::int32_t width = 0, height = 0, colors = 1;
  std::vector<std::int32_t> picture;
};

struct ValueRecord {
  std::string name;                          // of the original's node: "layer1.0.relu (aten::relu_)"
  std::vector<OriginId> origins;             // nodes of the original that the optimized one's node stands for
  double low = 0, high = 0;                  // range of the histograms
  std::vector<ValueForm> forms;              // the original first
  std::vector<ValueDifference> differences;  // of the optimized value from the original; empty: there is no such value
  std::string remark;                        // a sentence on what is not as asked; empty: nothing
};

nlohmann::json toJson(const ValueForm& record);
nlohmann::json toJson(const ValueRecord& record);
// They are read by recordFromJson (core/record/records_json.h).

}  // namespace ipex_studio
