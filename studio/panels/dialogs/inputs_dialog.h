// The dialog for the model's inputs; the given or guessed ones are filled in.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

// One argument of forward, as text fields.
struct InputChoice {
  std::string name;
  std::string type;     // "Tensor", "List[Tensor]"; empty: not known
  std::string example;  // of a value, for the hint: "[1x3x224x224]"
  bool value = false;   // no tensor: `shape` is what stands behind NAME=
  std::string shape;    // "1x3x224x224"
  std::string dtype;    // "float32"
  std::string range;    // "0,30522" for ids; may be empty
};

// `argument`: what is known of it; null: nothing.
InputChoice inputChoice(const InputRecord& input, const ArgumentRecord* argument = nullptr);
// The --input argument of a choice: "x:1x3x224x224:float32", "ids:1x128:int64[0,30522]", "rate=16000".
std::string inputArgument(const InputChoice& choice);
// Why a choice cannot be used, as a sentence; empty if it can.
std::string inputProblem(const InputChoice& choice);

constexpr std::size_t kMaxValueBytes = 500;

class InputsDialog {
 public:
  explicit InputsDialog(const Ui& ui) : ui_(ui) {}
  // Opens the dialog; to be called in the window that draws it. After a problem it shows what was filled in before.
  void open(const StudioSnapshot& snapshot);
  // True in the frame in which the user starts a job with `arguments()`.
  bool draw();
  std::vector<std::string> arguments() const;

 private:
  struct Row {
    InputChoice choice;
    std::array<char, kMaxValueBytes + 12> shape{};
    std::array<char, 24> dtype{};
    std::array<char, 48> range{};
  };
  InputChoice edited(const Row& row) const;
  void drawRow(Row* row, float width);

  const Ui& ui_;
  std::vector<Row> rows_;
  std::vector<std::string> started_;  // arguments() of the last start
  std::string model_;                 // model that the rows are of
  std::string problem_;               // why the inputs before could not be used; may be empty
  bool opening_ = false;
};

}  // namespace ipex_studio
