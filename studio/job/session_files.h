// Files around a job: the checked model, the engine's folder, and exports that replace their targets whole or not at
// all.
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
  UniqueFd fd;       // the open file; none if the model is on a worker's machine
  PtFileReport report;
  MachineFacts machine;                     // machine that runs the model
  std::vector<PrecisionAbility> abilities;  // precisions of that machine
  std::vector<std::string> worker;  // command that starts a worker on the model's machine; empty: the model runs here
};

// Opens and checks a model file on this machine. Throws Error(kBadModel).
CheckedModel checkModel(const std::string& path);

// A new private folder, removed with its content by the destructor. It stays locked while its program lives; making
// the next folder removes those that killed programs left behind.
class JobFolder {
 public:
  // Makes the folder in $TMPDIR, else in /tmp. Throws Error(kFailure) if that fails.
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

// Copies the first `bytes` of the open file `source`, which an engine wrote, to a file beside `target`; checks the
// copy statically, syncs it and renames it over `target`, which afterwards is either unchanged or the whole new file.
// Throws Error(kFailure).
void moveExport(int source, std::int64_t bytes, const std::string& target);

// Moves a file of prepared weights, which begins at byte `begin` of `source`, in the same way. Only the owner may write
// the result, since files that others may write are not mapped.
void movePreparedWeights(int source, std::int64_t begin, const std::string& target);

// Copies the plain files of `source` whose names end in ".ir" into `target`, which is made when missing.
// Throws Error(kFailure).
void copyDumps(const std::string& source, const std::string& target);

}  // namespace ipex_studio
