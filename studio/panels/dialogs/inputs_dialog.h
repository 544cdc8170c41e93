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
  bool value = false;  // no tensor: `shape` is what stands behind NAME=
  std::string shape;   // "1x3x224x224"
  std::string dtype;   // "float32"
  std::string range;   // "0,30522" for ids; may be empty
};

InputChoice inputChoice(const InputRecord& input);
// The --input argument of a choice: "x:1x3x224x224:float32", "ids:1x128:int64[0,30522]", "rate=16000".
std::string inputArgument(const InputChoice& choice);
// Why a choice cannot be used, as a sentence; empty if it can.
std::string inputProblem(const InputChoice& choice);

constexpr std::size_t kMaxValueBytes = 500;

class InputsDialog {
 public:
  explicit InputsDialog(const Ui& ui) : ui_(ui) {}
  // Opens the dialog; to be called in the window that draws it.
  void open(const std::vector<InputRecord>& inputs);
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
  bool opening_ = false;
};

}  // namespace ipex_studio
