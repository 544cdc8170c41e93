// See data_table.h.
#include "studio/panels/data_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "studio/canvas/graph_canvas.h"

namespace ipex_studio {
namespace {

constexpr int kPageRows = 8;

}  // namespace

bool DataTable::cell(int column) const { return ImGui::TableSetColumnIndex(column); }

// Keeps what is copied of the row that is being drawn.
void DataTable::gather(int column, const std::string& text) {
  const auto add = [&](std::string* cells) { *cells += (column > 0 ? "\t" : "") + text; };
  if (copied_) add(&copy_);
  if (row_ != menu_.position) return;
  add(&menu_.cells);
  if (column == menu_.column) menu_.cell = text;
}

void DataTable::text(int column, ImU32 color, const std::string& text, ImFont* font) {
  gather(column, text);
  if (!cell(column)) return;
  fittedLabel(*ui_, color, text, ImGui::GetContentRegionAvail().x, font);
}

void DataTable::number(int column, ImU32 color, const std::string& text) {
  gather(column, text);
  if (!cell(column)) return;
  const float width = ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::max(0.F, std::floor(ImGui::GetContentRegionAvail().x - width)));
  label(color, text);
}

void DataTable::bar(int column, ImU32 color, double share) const {
  if (!cell(column)) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x;
  const float width = share > 0 ? std::max(ui_->px(2), room * static_cast<float>(std::min(share, 1.0))) : 0;
  const float y = std::floor(at.y + ui_->px(6));
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, y}, {at.x + width, y + std::floor(ui_->px(7))}, color, ui_->px(2));
}

bool DataTable::beginRow(int position, bool selected, const std::string& first, ImU32 first_color, ImU32 mark,
                         float indent) {
  ImGui::TableNextRow(ImGuiTableRowFlags_None, ui_->px(kTableRowPoints));
  if (selected || position == menu_.position) {
    ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg0, ui_->theme.selection);
  } else if (position % 2 == 1) {
    ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg0, withAlpha(ui_->theme.raised, 0.35F));
  }
  ImGui::TableSetColumnIndex(0);
  ImGui::PushID(position);
  const ImVec2 at = ImGui::GetCursorPos();
  const bool clicked =
      ImGui::Selectable("##row", false, ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowItemOverlap,
                        {0, ui_->px(kTableRowPoints - 7)});
  if (ImGui::IsItemHovered() && ImGui::IsMouseReleased(ImGuiMouseButton_Right)) {
    menu_ = {position, -1, {}, {}};
    for (int c = 0; c < static_cast<int>(columns_.size()); ++c) {
      if ((ImGui::TableGetColumnFlags(c) & ImGuiTableColumnFlags_IsHovered) != 0) menu_.column = c;
    }
    opens_ = true;
  }
  ImGui::PopID();
  row_ = position;
  copied_ = copies_ && selected;
  if (copied_ && !copy_.empty()) copy_ += "\n";
  if (row_ == menu_.position) menu_.cells.clear();
  gather(0, first);
  ImGui::SetCursorPos({at.x + indent, at.y});
  if (mark != 0) {
    swatch(*ui_, mark);
    ImGui::SameLine(0, ui_->px(8));
  }
  fittedLabel(*ui_, first_color, first, ImGui::GetContentRegionAvail().x);
  return clicked;
}

// Draws the heads, as ImGui's own header row cannot align to the right; true if the order changed.
bool DataTable::drawHeads() {
  bool changed = false;
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers, ui_->px(26));
  ImGui::PushFont(ui_->fonts.head);
  for (int c = 0; c < static_cast<int>(columns_.size()); ++c) {
    const TableColumn& column = columns_[static_cast<std::size_t>(c)];
    if (!cell(c) || column.name[0] == 0) continue;
    ImGui::PushID(c);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const bool clicked = invisibleButton(*ui_, "head", {std::max(width, 1.F), ui_->px(20)});
    const bool hovered = ImGui::IsItemHovered();
    ImGui::PopID();
    const bool sorted = c == sort_column_;
    const std::string text = std::string(column.name) + (sorted ? (descending_ ? " ↓" : " ↑") : "");
    const float text_width = ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
    const ImVec2 place = {std::floor(column.number ? std::max(at.x, at.x + width - text_width) : at.x),
                          at.y + std::floor(ui_->px(3))};
    const ImU32 ink = hovered || sorted ? ui_->theme.text : ui_->theme.dim;
    if (column.number) {
      ImGui::GetWindowDrawList()->AddText(place, ink, text.data(), text.data() + text.size());
    } else {
      ImFont* font = ui_->fonts.head;
      drawFittedText(ImGui::GetWindowDrawList(), font, font->FontSize, place, width, ink, text);
    }
    if (hovered && column.help[0] != 0) {
      ImGui::PushFont(ui_->fonts.text);
      tooltip(column.help);
      ImGui::PopFont();
    }
    if (!clicked) continue;
    descending_ = sorted ? !descending_ : column.number;
    sort_column_ = c;
    changed = true;
  }
  ImGui::PopFont();
  return changed;
}

bool DataTable::sortByKey(Selection& selection) {
  if (selection.take("table.copy")) copies_ = true;
  const bool turn = selection.take("table.sort-turn");
  if (turn) descending_ = !descending_;
  if (!selection.take("table.sort")) return turn;
  const auto count = static_cast<int>(columns_.size());
  for (int step = 1; step <= count; ++step) {
    const int column = (sort_column_ + step) % count;
    const TableColumn& next = columns_[static_cast<std::size_t>(column)];
    if (next.name[0] == 0 || next.left_out || ImGui::GetWindowWidth() / ui_->scale < next.least_points) continue;
    sort_column_ = column;
    descending_ = next.number;
    break;
  }
  return true;
}

bool DataTable::draw(const char* id, float height, int rows, const std::function<void(int)>& row) {
  const ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_PadOuterX;
  const float points = ImGui::GetWindowWidth() / ui_->scale;
  if (height < ui_->px(40)) return false;
  if (!ImGui::BeginTable(id, static_cast<int>(columns_.size()), flags, {0, height})) return false;
  for (const TableColumn& column : columns_) {
    const ImGuiTableColumnFlags hidden =
        column.left_out || points < column.least_points ? ImGuiTableColumnFlags_Disabled : 0;
    if (column.points > 0) {
      ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed | hidden, ui_->px(column.points));
    } else {
      ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthStretch | hidden, column.weight);
    }
  }
  ImGui::TableSetupScrollFreeze(0, 1);
  const bool changed = drawHeads();
  const float row_height = ui_->px(kTableRowPoints);
  if (scroll_to_ >= 0) {
    const float y = static_cast<float>(scroll_to_) * row_height;
    const float seen = ImGui::GetWindowHeight() - ui_->px(56);
    if (y < ImGui::GetScrollY() || y > ImGui::GetScrollY() + seen)
      ImGui::SetScrollY(std::max(0.F, y - std::floor(seen / 3 / row_height) * row_height));
    scroll_to_ = -1;
  }
  ImGuiListClipper clipper;
  clipper.Begin(rows, row_height);
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) row(i);
  }
  ImGui::EndTable();
  if (std::exchange(copies_, false) && !copy_.empty()) ImGui::SetClipboardText(copy_.c_str());
  copied_ = false;
  copy_.clear();
  offerCopy(id);
  return changed;
}

// Draws the menu of the row that was clicked with the right button.
void DataTable::offerCopy(const char* id) {
  const std::string menu = std::string("menu of ") + id;
  if (std::exchange(opens_, false)) ImGui::OpenPopup(menu.c_str());
  if (!beginMenu(menu.c_str())) {
    menu_.position = -1;
    return;
  }
  if (menuLine(*ui_, "Copy the row")) ImGui::SetClipboardText(menu_.cells.c_str());
  if (!menu_.cell.empty() && menuLine(*ui_, "Copy the cell")) ImGui::SetClipboardText(menu_.cell.c_str());
  ImGui::EndPopup();
}

int rowByKey(Selection& selection, int current, int rows) {
  int step = 0;
  if (selection.take("row.next")) step = 1;
  if (selection.take("row.previous")) step = -1;
  if (selection.take("tab.page-down")) step = kPageRows;
  if (selection.take("tab.page-up")) step = -kPageRows;
  if (step == 0 || rows <= 0) return -1;
  if (current < 0) return step > 0 ? 0 : rows - 1;
  return std::clamp(current + step, 0, rows - 1);
}

void scrollByKey(Selection& selection, const std::string& part) {
  constexpr float kPageShare = 0.85F;
  const float page = ImGui::GetWindowHeight() * kPageShare;
  if (selection.take(part + ".page-down"))
    ImGui::SetScrollY(std::min(ImGui::GetScrollY() + page, ImGui::GetScrollMaxY()));
  if (selection.take(part + ".page-up")) ImGui::SetScrollY(std::max(ImGui::GetScrollY() - page, 0.F));
}

bool filterField(const Ui& ui, Selection& selection, const char* hint, char* text, std::size_t size, float points) {
  if (selection.take("table.filter")) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(ui.px(points));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ui.px(9), std::floor(ui.px(4))});
  const bool changed = ImGui::InputTextWithHint("##filter", hint, text, size);
  ImGui::PopStyleVar();
  tabField(ui);
  return changed;
}

}  // namespace ipex_studio
