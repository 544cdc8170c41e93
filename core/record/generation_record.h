// A text that a language model wrote, and how fast. Crosses the pipe as other records do.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ipex_studio {

// One form of the model writing the text.
struct GenerationForm {
  std::string form;                       // "original" or "optimized"
  std::vector<std::int64_t> ids;          // new tokens, the one that ends the text included
  std::vector<double> log_probabilities;  // of each of them, as the model says
  std::int64_t first_token_ns = 0;        // from the prompt to the first token
  std::int64_t p50_ns = 0, p99_ns = 0;    // per token behind the first; 0: there is none
  double tokens_per_s = 0;                // of those; 0: there is none
  std::int64_t cache_bytes = 0;           // at the end, of all beams
};

struct GenerationRecord {
  std::vector<std::int64_t> prompt;
  std::string strategy;  // "greedy", "beam search" or "sampling"
  std::string cache;     // "none", "grows" or "fixed"
  std::int64_t beams = 1;
  std::vector<GenerationForm> forms;  // the optimized model, behind the original where that was timed
  bool same_ids = false;              // the original chooses the same tokens
  std::int64_t other_choices = 0;     // tokens for which it would choose another one
  double closest_choice = 0;          // greatest difference between log-probabilities of the two choices there
  double max_difference = 0;          // greatest difference between log-probabilities of all tokens at all steps
  bool pass = false;                  // log-probabilities agree within the tolerance at all steps
  std::string accuracy;               // the verdict of the worst step as text
  std::vector<std::string> remarks;   // sentences on what is not as asked
};

nlohmann::json toJson(const GenerationForm& record);
nlohmann::json toJson(const GenerationRecord& record);
// They are read by recordFromJson (core/record/records_json.h).

}  // namespace ipex_studio
