// Files around a job: the model, checked through the descriptor it is loaded from; the engine's folder; exports moved
// into place whole or not at all.
#pragma once

#include <string>
#include <vector>

#include "core/file/pt_file.h"
#include "core/record/records.h"
#include "studio/job/process.h"
#include "studio/job/session_abilities.h"

namespace ipex_studio {

// A model file that passed the static checks and stays open: engines load exactly what was checked.
struct CheckedModel {
  std::string path;  // as the user wrote it
  UniqueFd fd;       // none when it lies on a worker's machine
  PtFileReport report;
  MachineFacts machine;                     // that runs it
  std::vector<PrecisionAbility> abilities;  // of that machine
  std::vector<std::string> worker;          // command that starts a worker beside it; empty: it is run here
};

// Throws Error(kBadModel).
CheckedModel checkModel(const std::string& path);

// A fresh private folder that is removed with everything in it. It is locked as long as its program lives; those that
// killed programs left behind go when the next one is made.
class JobFolder {
 public:
  // Under $TMPDIR, else /tmp. Throws Error(kFailure) when it cannot be made.
  JobFolder();
  ~JobFolder();
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  UniqueFd lock_;
};

// A new file in `folder` that an engine may be handed to write its export to. Throws Error(kFailure).
UniqueFd openExportFile(const JobFolder& folder);

// Throws Error(kUsage) when `path` cannot become a file: it is a folder, or its folder is missing or not writable.
void checkOutputPath(const std::string& path);

// Copies what an engine wrote to the open file `source`, its first `bytes`, beside `target`, checks the copy statically,
// syncs it and renames it over `target`. Whatever happens, `target` is afterwards either what it was or the whole new file.
// Throws Error(kFailure).
void moveExport(int source, std::int64_t bytes, const std::string& target);

// The same with a file of prepared weights that begins at byte `begin`. Only its owner may write the result: others' would
// not be mapped.
void movePreparedWeights(int source, std::int64_t begin, const std::string& target);

// Copies the plain files of `source` whose names end in ".ir" into `target`, which is made when missing.
// Throws Error(kFailure).
void copyDumps(const std::string& source, const std::string& target);

// Writes `text` to `path` the same way moveExport does. Throws Error(kFailure).
void writeFileAtomically(const std::string& path, const std::string& text);

}  // namespace ipex_studio
