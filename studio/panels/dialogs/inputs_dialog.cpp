// See inputs_dialog.h.
#include "studio/panels/dialogs/inputs_dialog.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/record/input_text.h"
#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

constexpr const char* kDtypes[] = {"float32", "float64", "float16", "bfloat16", "int64",     "int32",
                                   "int16",   "int8",    "uint8",   "bool",     "complex64", "complex128"};
constexpr std::size_t kMaxInputs = 64;

// True if the text is a shape such as "1x3x224x224", also with ranges: "1..32x3x224x224".
bool isShape(const std::string& text) {
  if (text == "scalar") return true;
  bool digit = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digit = true;
    } else if (c == 'x' && digit) {
      digit = false;
    } else if (c == '.' && i + 1 < text.size() && text[i + 1] == '.' && digit) {
      digit = false;
      ++i;
    } else {
      return false;
    }
  }
  return digit;
}

std::string dtypeNames() {
  std::string names;
  for (const char* dtype : kDtypes) names += (names.empty() ? "" : ", ") + std::string(dtype);
  return names;
}

}  // namespace

InputChoice inputChoice(const InputRecord& input, const ArgumentRecord* argument) {
  InputChoice choice;
  if (argument != nullptr) {
    choice.type = displayText(argument->type, 120);
    choice.example = displayText(argument->example, 120);
  }
  choice.name = displayText(input.name, 60);
  const std::string text = displayText(input.description, kMaxValueBytes);
  choice.value = text.empty() ? choice.type != "Tensor" : !describesTensor(text);
  if (text.empty() && !choice.value) {
    const std::size_t dtype = choice.example.find(':');
    choice.dtype = dtype == std::string::npos ? "float32" : choice.example.substr(dtype + 1);
    choice.example.resize(std::min(dtype, choice.example.size()));
    return choice;
  }
  const std::size_t colon = choice.value ? std::string::npos : text.find(':');
  choice.shape = text.substr(0, colon);
  if (choice.value) return choice;
  choice.dtype = text.substr(colon + 1);
  const std::size_t open = choice.dtype.find('[');
  if (open == std::string::npos) return choice;
  const std::size_t close = choice.dtype.find(']', open);
  choice.range = choice.dtype.substr(open + 1, close == std::string::npos ? close : close - open - 1);
  choice.dtype.resize(open);
  return choice;
}

std::string inputArgument(const InputChoice& choice) {
  if (choice.value) return choice.name + "=" + choice.shape;
  return choice.name + ":" + choice.shape + ":" + choice.dtype + (choice.range.empty() ? "" : "[" + choice.range + "]");
}

std::string inputProblem(const InputChoice& choice) {
  if (choice.shape.empty() && choice.example.empty()) return "Say a shape such as 1x3x224x224, or a value.";
  if (choice.shape.empty())
    return choice.value ? "Say a " + choice.type + ", such as " + choice.example + "."
                        : "Say the shape, such as " + choice.example + ".";
  if (choice.value) return {};  // the engine reads it
  if (!isShape(choice.shape)) return "A shape is numbers with x between them: 1x3x224x224, or 1..32x3x224x224.";
  const bool known =
      std::any_of(std::begin(kDtypes), std::end(kDtypes), [&](const char* dtype) { return choice.dtype == dtype; });
  if (!known) return "The type is one of " + dtypeNames() + ".";
  if (!choice.range.empty() && choice.range.find(',') == std::string::npos)
    return "A range is the smallest and the largest value: 0,30521.";
  return {};
}

void InputsDialog::open(const StudioSnapshot& snapshot) {
  const std::vector<InputRecord>& inputs = snapshot.job->model.inputs;
  const InputsState& state = snapshot.work.inputs;
  const bool open =
      std::any_of(inputs.begin(), inputs.end(), [](const InputRecord& input) { return input.description.empty(); });
  problem_ = open ? "The model does not show all that it takes; fill in the empty fields." : state.problem;
  opening_ = true;
  const bool refused = !problem_.empty() && !started_.empty() && started_ == arguments();
  if (refused && model_ == snapshot.job->model.sha256) return;
  model_ = snapshot.job->model.sha256;
  started_.clear();
  rows_.clear();
  for (std::size_t i = 0; i < std::min(inputs.size(), kMaxInputs); ++i) {
    const auto argument = std::find_if(state.arguments.begin(), state.arguments.end(),
                                       [&](const ArgumentRecord& record) { return record.name == inputs[i].name; });
    Row row;
    row.choice = inputChoice(inputs[i], argument == state.arguments.end() ? nullptr : &*argument);
    setField(&row.shape, row.choice.shape);
    setField(&row.dtype, row.choice.dtype);
    setField(&row.range, row.choice.range);
    rows_.push_back(std::move(row));
  }
}

InputChoice InputsDialog::edited(const Row& row) const {
  InputChoice choice = row.choice;
  choice.shape = row.shape.data();
  choice.dtype = row.dtype.data();
  choice.range = row.range.data();
  return choice;
}

std::vector<std::string> InputsDialog::arguments() const {
  std::vector<std::string> texts;
  for (const Row& row : rows_) texts.push_back(inputArgument(edited(row)));
  return texts;
}

void InputsDialog::drawRow(Row* row, float width) {
  const float left = ImGui::GetCursorPosX();
  const float y = ImGui::GetCursorPosY();
  ImGui::SetCursorPosY(y + std::floor(ui_.px(6)));
  fittedLabel(ui_, ui_.theme.text, row->choice.name, width * 0.24F - ui_.px(10));
  if (!row->choice.type.empty() && ImGui::IsItemHovered()) tooltip(row->choice.name + ": " + row->choice.type);
  const auto field = [&](const char* id, const char* hint, float at, float size, char* text, std::size_t room) {
    ImGui::SetCursorPos({left + width * at, y});
    ImGui::SetNextItemWidth(width * size - ui_.px(8));
    ImGui::InputTextWithHint(id, hint, text, room);
    tabField(ui_);
  };
  ImGui::PushFont(ui_.fonts.mono);
  const std::string& example = row->choice.example;
  const std::string hint = !row->choice.value ? (example.empty() ? "1x3x224x224" : example)
                           : example.empty()  ? "value"
                                              : example + "  ·  " + row->choice.type;
  field("##shape", hint.c_str(), 0.24F, row->choice.value ? 0.76F : 0.36F, row->shape.data(), row->shape.size());
  if (!row->choice.value) {
    field("##dtype", "float32", 0.6F, 0.18F, row->dtype.data(), row->dtype.size());
    field("##range", "low,high", 0.78F, 0.22F, row->range.data(), row->range.size());
  }
  ImGui::PopFont();
  const std::string problem = inputProblem(edited(*row));
  // An empty field is no mistake yet: its hint says what to fill in.
  if (problem.empty() || edited(*row).shape.empty()) return;
  ImGui::SetCursorPosX(left + width * 0.24F);
  message(ui_, ui_.theme.warning, problem);
}

bool InputsDialog::draw() {
  if (opening_) ImGui::OpenPopup("Inputs");
  opening_ = false;
  bool start = false;
  if (beginDialog(ui_, "Inputs", 640)) {
    label(ui_.theme.text, "What to run the model with", ui_.fonts.strong);
    if (!problem_.empty()) {
      message(ui_, ui_.theme.warning, displayText(problem_, 600));
      ImGui::Dummy({1, ui_.px(4)});
    }
    paragraph(
        ui_.theme.dim,
        "Random values of these shapes and types. A range such as 1..32 in a shape is verified at several sizes. "
        "Values are numbers (1+2j too), true, None, \"text\", and [lists], (tuples) and {key: value} of these and of "
        "2x3:float32.");
    ImGui::Dummy({1, ui_.px(4)});
    const float width = ImGui::GetContentRegionAvail().x;
    const float left = ImGui::GetCursorPosX();
    const char* const heads[] = {"name", "shape or value", "type", "values from, to"};
    const float at[] = {0, 0.24F, 0.6F, 0.78F};
    for (int h = 0; h < 4; ++h) {
      if (h > 0) ImGui::SameLine(left + width * at[h], 0);
      label(ui_.theme.dim, heads[h], ui_.fonts.head);
    }
    std::string wrong = rows_.empty() ? "The model takes no inputs that are known." : "";
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      ImGui::PushID(static_cast<int>(r));
      // The first field that is to be filled in takes what is typed.
      const bool empty = rows_[r].shape[0] == 0;
      if (ImGui::IsWindowAppearing() && wrong.empty() && (empty || (r == 0 && problem_.empty())))
        ImGui::SetKeyboardFocusHere();
      drawRow(&rows_[r], width);
      ImGui::PopID();
      const InputChoice choice = edited(rows_[r]);
      const std::string problem = inputProblem(choice);
      if (wrong.empty() && !problem.empty()) wrong = choice.name + ": " + problem;
    }
    ImGui::Dummy({1, ui_.px(6)});
    start = confirmButton(ui_, "start", "Optimize with these", wrong);
    if (start) started_ = arguments();
    ImGui::SameLine();
    const bool close = button(ui_, "close", "Close", ButtonLook::kPlain);
    if (start || close || keyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
    endDialog();
  }
  return start;
}

}  // namespace ipex_studio
