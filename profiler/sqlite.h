// The part of SQLite that the profiler needs: connection, statement, transaction. Private to profiler/. One thread at a
// time per connection. Failures throw Error(kDatabase) with a sentence that names the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace ipex_studio {

class Connection {
 public:
  // `create`: make the file if it is missing. Falls back to read-only on a write-protected file, see writable().
  Connection(const std::string& path, bool create);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const std::string& path() const { return path_; }
  bool writable() const;
  void execute(const char* sql);
  std::int64_t integer(const char* sql);  // first column of the first row
  std::string text(const char* sql);      // first column of the first row
  std::int64_t lastId() const;
  [[noreturn]] void fail();  // throws the sentence for the last error

 private:
  friend class Statement;
  friend class Transaction;
  std::string path_;
  sqlite3* handle_ = nullptr;
};

class Statement {
 public:
  Statement(Connection& connection, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Starts over with new values for ?1, ?2, … A double that is NaN becomes NULL. Text is not copied: it must live until
  // the last next() or run().
  template <class... Values>
  Statement& bind(const Values&... values) {
    reset();
    int index = 0;
    (bindOne(++index, values), ...);
    return *this;
  }
  bool next();  // true: there is a row
  void run() {
    while (next()) {
    }
  }

  bool isNull(int column) const;
  std::int64_t integer(int column) const;
  std::int32_t integer32(int column) const;  // throws when it does not fit
  double real(int column) const;             // NULL: NaN
  std::string text(int column) const;
  std::string_view view(int column) const;  // valid until the next call of next()

 private:
  void reset();
  void bindOne(int index, std::int64_t value);
  void bindOne(int index, std::int32_t value) { bindOne(index, std::int64_t{value}); }
  void bindOne(int index, bool value) { bindOne(index, std::int64_t{value}); }
  void bindOne(int index, double value);
  void bindOne(int index, std::string_view value);
  void bindOne(int index, const std::string& value) { bindOne(index, std::string_view(value)); }
  void bindOne(int index, const char* value) { bindOne(index, std::string_view(value)); }
  void bindOne(int index, std::nullptr_t);

  Connection& connection_;
  sqlite3_stmt* handle_ = nullptr;
};

// Rolls back unless commit() was reached. Takes the write lock at once, so that it never fails half way because of a
// reader.
class Transaction {
 public:
  explicit Transaction(Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
};

}  // namespace ipex_studio
