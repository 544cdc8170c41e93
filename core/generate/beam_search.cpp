// Beam search. See generate.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/clock.h"
#include "core/generate/choose_token.h"
#include "core/generate/generate.h"

namespace ipex_studio {
namespace {

// A text that goes on, or that has ended.
struct Beam {
  std::vector<std::int64_t> ids;
  std::vector<double> log_probabilities;
  double sum = 0;       // of them
  double score = 0;     // of a text that has ended
  std::size_t row = 0;  // among the texts of the decoder
};

// A token behind a beam.
struct Step {
  std::int64_t beam = 0, token = 0;
  double log_probability = 0, sum = 0;
};

class BeamSearch {
 public:
  BeamSearch(Decoder& decoder, const GenerateRequest& options) : decoder_(decoder), options_(options) {}

  GeneratedText run(const std::vector<std::int64_t>& prompt, const std::function<void(std::int64_t)>& progress) {
    GeneratedText text;
    live_.resize(1);
    for (std::int64_t step = 0; step < options_.max_new && !live_.empty(); ++step) {
      const std::int64_t begin = nowNs();
      goOn(step == 0 ? decoder_.begin(prompt) : decoder_.next(lastTokens()));
      text.step_ns.push_back(nowNs() - begin);
      text.cache_bytes = decoder_.cacheBytes();
      if (progress) progress(step + 1);
      if (isDecided()) break;
    }
    for (Beam& beam : live_) end(std::move(beam));
    text.ids = ended_.front().ids;
    text.log_probabilities = ended_.front().log_probabilities;
    return text;
  }

 private:
  double scoreOf(double sum, std::size_t length) const {
    return sum / std::pow(static_cast<double>(length), options_.length_penalty);
  }

  std::vector<std::int64_t> lastTokens() const {
    std::vector<std::int64_t> tokens(live_.size());
    for (const Beam& beam : live_) tokens[beam.row] = beam.ids.back();
    return tokens;
  }

  // Keeps the best texts that have ended, the best first.
  void end(Beam beam) {
    beam.score = scoreOf(beam.sum, beam.ids.size());
    const auto place = std::upper_bound(ended_.begin(), ended_.end(), beam.score,
                                        [](double score, const Beam& other) { return score > other.score; });
    ended_.insert(place, std::move(beam));
    if (ended_.size() > static_cast<std::size_t>(options_.beams)) ended_.pop_back();
  }

  // True if no text that goes on can score better than those that have ended: its sum can only fall, and its length
  // helps it most at one end of what is left.
  bool isDecided() const {
    if (live_.empty()) return true;
    if (ended_.size() < static_cast<std::size_t>(options_.beams)) return false;
    const std::size_t now = live_.front().ids.size() + 1, last = static_cast<std::size_t>(options_.max_new);
    const double best = live_.front().sum;
    return std::max(scoreOf(best, now), scoreOf(best, last)) <= ended_.back().score;
  }

  // The likeliest steps of all beams, equal ones by beam and token. Of each beam as many as there are beams can go on,
  // behind those that end a text.
  std::vector<Step> bestSteps(const at::Tensor& scores) const {
    const auto vocabulary = static_cast<std::size_t>(scores.size(1));
    const std::size_t most = static_cast<std::size_t>(options_.beams) + options_.eos.size();
    const auto better = [](const Step& a, const Step& b) {
      if (a.sum != b.sum) return a.sum > b.sum;
      return a.beam != b.beam ? a.beam < b.beam : a.token < b.token;
    };
    std::vector<Step> best, own;
    for (std::size_t b = 0; b < live_.size(); ++b) {
      const std::vector<double> values =
          logProbabilities(scores.data_ptr<float>() + live_[b].row * vocabulary, vocabulary);
      own.clear();
      for (std::size_t t = 0; t < vocabulary; ++t) {
        if (values[t] == -std::numeric_limits<double>::infinity()) continue;
        own.push_back(
            {static_cast<std::int64_t>(b), static_cast<std::int64_t>(t), values[t], live_[b].sum + values[t]});
      }
      const std::size_t kept = std::min(most, own.size());
      std::partial_sort(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(kept), own.end(), better);
      best.insert(best.end(), own.begin(), own.begin() + static_cast<std::ptrdiff_t>(kept));
    }
    std::sort(best.begin(), best.end(), better);
    return best;
  }

  void goOn(const at::Tensor& scores) {
    std::vector<Beam> next;
    for (const Step& step : bestSteps(scores)) {
      if (next.size() == static_cast<std::size_t>(options_.beams)) break;
      Beam beam = live_[static_cast<std::size_t>(step.beam)];
      beam.ids.push_back(step.token);
      beam.log_probabilities.push_back(step.log_probability);
      beam.sum = step.sum;
      if (endsText(options_, step.token)) {
        end(std::move(beam));
      } else {
        next.push_back(std::move(beam));
      }
    }
    live_ = std::move(next);
    if (!live_.empty()) decoder_.reorder(chooseRows());
  }

  // Gives each beam, whose row is still its parent's, a row of its own. The likeliest child keeps its parent's, so that
  // little is moved. Returns the rows of the parents.
  std::vector<std::int64_t> chooseRows() {
    constexpr std::int64_t kFree = -1;
    std::vector<std::int64_t> parents(live_.size(), kFree);
    std::vector<Beam*> others;
    for (Beam& beam : live_) {
      if (beam.row < parents.size() && parents[beam.row] == kFree) {
        parents[beam.row] = static_cast<std::int64_t>(beam.row);
      } else {
        others.push_back(&beam);
      }
    }
    std::size_t row = 0;
    for (Beam* beam : others) {
      while (parents[row] != kFree) ++row;
      parents[row] = static_cast<std::int64_t>(beam->row);
      beam->row = row;
    }
    return parents;
  }

  Decoder& decoder_;
  const GenerateRequest& options_;
  std::vector<Beam> live_;   // the likeliest first
  std::vector<Beam> ended_;  // the best first
};

}  // namespace

GeneratedText beamSearch(Decoder& decoder, const std::vector<std::int64_t>& prompt, const GenerateRequest& options,
                         const std::function<void(std::int64_t)>& progress) {
  return BeamSearch(decoder, options).run(prompt, progress);
}

}  // namespace ipex_studio
