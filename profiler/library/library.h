// The models of a database with their jobs, as a library lists them: pinned ones first, then by their last job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/database.h"

namespace ipex_studio {

struct LibraryModel {
  std::string sha256;
  std::string path;  // as the newest job named it
  std::string name;  // that a user gave; empty: none
  bool pinned = false;
  std::vector<std::size_t> jobs;  // places in the list that it was made of, the newest first
  std::size_t result = 0;         // place of the newest job that measured; of the newest one where none did
};

// `jobs`: the newest first. Jobs with equal SHA-256 are of one model.
std::vector<LibraryModel> libraryOf(const std::vector<JobSummary>& jobs);

// The run that a job is about: the last optimized one, else the last one; null: it measured nothing. Lives as long as
// the job.
const RunSummary* resultOf(const JobSummary& job);
// Median of the baseline over that of the optimized run; 0: not both were measured.
double ratioOf(const JobSummary& job);
// Whether the machine was quiet while the job was measured.
NoiseVerdict noiseOf(const JobSummary& job);

// True if names, path, command or a precision of the job contain all words of `query`, in any letter case.
bool matches(const JobSummary& job, const std::string& query);

// The model or job that a word of the command line means: the number of a job; or of a model its path, its file's name,
// the name that a user gave, or at least six digits of its SHA-256. Throws Error(kUsage) for none and for several.
LibraryItem findItem(const std::vector<JobSummary>& jobs, const std::string& word);

}  // namespace ipex_studio
