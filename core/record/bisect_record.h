// The answer of a search for the first node at which two forms of a model differ. Crosses the pipe as other records do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/records.h"

namespace ipex_studio {

// A value of one form of a model beside its counterpart in another form.
struct ValueDifference {
  std::string name;               // of the node that gives it in the original: "layer1.0.conv3 (aten::conv2d)"
  std::string other;              // of the node that gives it in the other form
  std::string source;             // "net.py:12"; may be empty
  std::vector<OriginId> origins;  // nodes of the original
  AccuracyRecord accuracy;
  std::string place;                      // of the element that differs most: "[0, 3]"; empty: none can be compared
  double value = 0, expected = 0;         // of that element: the other form's, the original's
  std::int64_t nans = 0, right_nans = 0;  // elements that are NaN or infinite: of the other form, of the original
  std::string nan_place;                  // the first element that is so in one of them alone; empty: there is none
};

// The place where two forms of a model begin to differ, and why.
struct BisectRecord {
  AccuracyRecord results;                // the worst result
  std::int64_t compared = 0, nodes = 0;  // values that were compared; nodes of the other form
  std::vector<ValueDifference> wrong;    // of the first wrong node; empty: nothing is over the tolerance
  std::vector<ValueDifference> feeds;    // the values that this node reads, as far as they were compared
  bool alone = false;                    // with the right value in its place all results are right
  // The kind of what is to blame: "rewrite", "kernel", "precision", or of a file: "weight", "operands", "argument",
  // "operator", "plan". Empty: not found.
  std::string cause;
  std::string blame;       // its name: "fuse-activation#12+13" as for --disable, "layer1.0.conv3=fp32", "weight"
  std::string why;         // what is wrong there, as a clause
  bool confirmed = false;  // without what is to blame, and nothing else, results are right
};

}  // namespace ipex_studio
