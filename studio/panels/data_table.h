// A table as most panels draw it, with sortable heads, numbers at the right, and one row selected by mouse or key. Only
// rows in view cost anything. A click with the right button offers to copy.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "studio/ui/selection.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

struct TableColumn {
  const char* name;        // head, with its unit; empty: a column of bars, not sorted
  float points;            // width in points; 0: a share of the rest by `weight`
  bool number = false;     // true: aligned at the right, and sorted from the largest
  float least_points = 0;  // least width of a window that shows the column, in points
  float weight = 1;
  const char* help = "";  // meaning of the head, for its tooltip
  bool left_out = false;
};

class DataTable {
 public:
  DataTable(const Ui& ui, std::vector<TableColumn> columns, int sort_column, bool descending)
      : ui_(&ui), columns_(std::move(columns)), sort_column_(sort_column), descending_(descending) {}

  // Sorts by the pressed keys, and copies the selected rows in view; true if the order changed.
  bool sortByKey(Selection& selection);
  int sortColumn() const { return sort_column_; }
  bool descending() const { return descending_; }

  // Draws heads and the rows in view, `height` pixels high; `row(i)` fills row i by the cell functions below. True if
  // the order changed for the next frame.
  bool draw(const char* id, float height, int rows, const std::function<void(int)>& row);
  // Shows a column or leaves it out.
  void show(int column, bool shown) { columns_[static_cast<std::size_t>(column)].left_out = !shown; }
  void setPoints(int column, float points) { columns_[static_cast<std::size_t>(column)].points = points; }
  // Brings a row into view with the next draw().
  void scrollTo(int row) { scroll_to_ = row; }

  // Begins a row; true if it was clicked. `mark`: colour of a square before the first column's text; 0: none.
  bool beginRow(int position, bool selected, const std::string& first, ImU32 first_color, ImU32 mark, float indent = 0);
  void text(int column, ImU32 color, const std::string& text, ImFont* font = nullptr);
  void number(int column, ImU32 color, const std::string& text);
  // Draws a bar as long as `share` (0..1) of the column.
  void bar(int column, ImU32 color, double share) const;
  // Moves to a cell to draw into it; false if the column is not shown.
  bool cell(int column) const;

 private:
  // A row's text, gathered while it is drawn.
  struct CopiedRow {
    int position = -1;  // the row to gather; -1: none
    int column = -1;    // the cell that was clicked; -1: none
    std::string cells;  // separated by tabs
    std::string cell;
  };
  bool drawHeads();
  void gather(int column, const std::string& text);
  void offerCopy(const char* id);

  const Ui* ui_;
  std::vector<TableColumn> columns_;
  int sort_column_;
  bool descending_;
  int scroll_to_ = -1;
  CopiedRow menu_;       // the row that the menu is open for
  int row_ = -1;         // the row that is being drawn
  bool opens_ = false;   // true: the menu opens with the next draw()
  bool copies_ = false;  // true: the next draw() copies selected rows
  bool copied_ = false;  // true: the row that is being drawn is copied
  std::string copy_;     // the copied rows
};

constexpr float kTableRowPoints = 25;

// Row that the keys for the next or previous row or page lead to; -1 if none was pressed. `current`: the selected
// row, or -1. Takes the request.
int rowByKey(Selection& selection, int current, int rows);

// Scrolls the current window if its keys were pressed. `part`: "tab" or "inspector".
void scrollByKey(Selection& selection, const std::string& part);

// Draws the field to filter a table by, which its key reaches; true if its text changed. `hint`: text of the empty
// field.
bool filterField(const Ui& ui, Selection& selection, const char* hint, char* text, std::size_t size, float points);

}  // namespace ipex_studio
