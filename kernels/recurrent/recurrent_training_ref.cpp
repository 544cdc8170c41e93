#include "kernels/recurrent/recurrent_training_ref.h"

#include <algorithm>
#include <cmath>

namespace ipex_studio {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// One sequence at one step: values, and how gradients pass through it.
class RefStep {
 public:
  RefStep(const RecurrentSequence& sequence, const RecurrentOperandsRef& operands, const double* given)
      : job_(sequence), at_(operands), given_(given) {}

  void forward(RecurrentNumbers* h, RecurrentNumbers* c) {
    h_ = *h;
    c_ = *c;
    const std::int64_t gates = job_.gates(), units = job_.units;
    for (std::int64_t row = 0; row < gates * units; ++row) {
      double sum = 0;
      for (std::int64_t k = 0; k < job_.states; ++k) sum += weight(row, k) * h_[index(k)];
      hidden_.push_back(sum);
    }
    for (std::int64_t unit = 0; unit < units; ++unit) {
      if (isLstm()) {
        c->at(index(unit)) =
            logistic(sumOf(1, unit)) * c_[index(unit)] + logistic(sumOf(0, unit)) * std::tanh(sumOf(2, unit));
        outputs_.push_back(logistic(sumOf(3, unit)) * std::tanh(c->at(index(unit))));
      } else {
        const double keep = logistic(sumOf(1, unit));
        outputs_.push_back((1 - keep) * fresh(unit) + keep * h_[index(unit)]);
      }
    }
    for (std::int64_t state = 0; state < job_.states; ++state) {
      double sum = job_.projected ? 0 : outputs_[index(state)];
      for (std::int64_t unit = 0; job_.projected && unit < units; ++unit)
        sum += at_.w_hr[index(state * units + unit)] * outputs_[index(unit)];
      h->at(index(state)) = sum;
    }
  }

  // `dh` and `dc` are those of the states after the step, then of those before it.
  void backward(RecurrentNumbers* dh, RecurrentNumbers* dc, double* dgiven, RecurrentResultsRef* results) const {
    const std::int64_t units = job_.units;
    RecurrentNumbers doutputs = *dh, dhidden(hidden_.size());
    if (job_.projected) {
      doutputs.assign(index(units), 0);
      for (std::int64_t state = 0; state < job_.states; ++state) {
        for (std::int64_t unit = 0; unit < units; ++unit) {
          doutputs[index(unit)] += at_.w_hr[index(state * units + unit)] * dh->at(index(state));
          results->dw_hr[index(state * units + unit)] += dh->at(index(state)) * outputs_[index(unit)];
        }
      }
    }
    RecurrentNumbers passed(index(job_.states));
    for (std::int64_t unit = 0; unit < units; ++unit) {
      const double of_output = doutputs[index(unit)];
      const auto give = [&](std::int64_t gate, double gradient, double scale) {
        dgiven[gate * units + unit] = gradient;
        dhidden[index(gate * units + unit)] = gradient * scale;
      };
      if (isLstm()) {
        const double in = logistic(sumOf(0, unit)), forget = logistic(sumOf(1, unit)), out = logistic(sumOf(3, unit));
        const double fresh = std::tanh(sumOf(2, unit)), shown = std::tanh(forget * c_[index(unit)] + in * fresh);
        const double of_c = dc->at(index(unit)) + of_output * out * (1 - shown * shown);
        give(0, of_c * fresh * in * (1 - in), 1);
        give(1, of_c * c_[index(unit)] * forget * (1 - forget), 1);
        give(2, of_c * in * (1 - fresh * fresh), 1);
        give(3, of_output * shown * out * (1 - out), 1);
        dc->at(index(unit)) = of_c * forget;
      } else {
        const double reset = logistic(sumOf(0, unit)), keep = logistic(sumOf(1, unit)), n = fresh(unit);
        const double of_n = of_output * (1 - keep) * (1 - n * n);
        give(0, of_n * scaled(unit) * reset * (1 - reset), 1);
        give(1, of_output * (h_[index(unit)] - n) * keep * (1 - keep), 1);
        give(2, of_n, reset);
        results->dhidden_bias[index(unit)] += of_n * reset;
        passed[index(unit)] = of_output * keep;
      }
    }
    for (std::size_t row = 0; row < dhidden.size(); ++row) {
      for (std::int64_t k = 0; k < job_.states; ++k) {
        passed[index(k)] += dhidden[row] * weight(static_cast<std::int64_t>(row), k);
        results->dw_hh[row * index(job_.states) + index(k)] += dhidden[row] * h_[index(k)];
      }
    }
    *dh = passed;
  }

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  bool isLstm() const { return job_.cell == RecurrentCell::kLstm; }
  double weight(std::int64_t row, std::int64_t k) const { return at_.w_hh[index(row * job_.states + k)]; }
  double sumOf(std::int64_t gate, std::int64_t unit) const {
    return given_[gate * job_.units + unit] + hidden_[index(gate * job_.units + unit)];
  }
  double scaled(std::int64_t unit) const {
    return hidden_[index(2 * job_.units + unit)] + (at_.hidden_bias.empty() ? 0 : at_.hidden_bias[index(unit)]);
  }
  double fresh(std::int64_t unit) const {
    return std::tanh(given_[2 * job_.units + unit] + logistic(sumOf(0, unit)) * scaled(unit));
  }

  const RecurrentSequence& job_;
  const RecurrentOperandsRef& at_;
  const double* given_;
  RecurrentNumbers h_, c_, hidden_, outputs_;
};

}  // namespace

RecurrentResultsRef refRecurrentTraining(const RecurrentSequence& job, const RecurrentOperandsRef& operands) {
  RecurrentResultsRef results;
  results.y.resize(static_cast<std::size_t>(job.total() * job.states));
  results.dgiven.resize(operands.given.size());
  results.dw_hh.resize(operands.w_hh.size());
  results.dw_hr.resize(operands.w_hr.size());
  results.dhidden_bias.resize(static_cast<std::size_t>(job.units));
  results.h = operands.h;
  results.c = operands.c;
  results.dh = operands.dh;
  results.dc = operands.dc;
  const auto part = [](const RecurrentNumbers& all, std::int64_t row, std::int64_t width) {
    const auto begin = all.begin() + row * width;
    return all.empty() ? RecurrentNumbers() : RecurrentNumbers(begin, begin + width);
  };
  const auto put = [](const RecurrentNumbers& row, std::int64_t place, RecurrentNumbers* all) {
    std::copy(row.begin(), row.end(), all->begin() + place * static_cast<std::int64_t>(row.size()));
  };
  std::vector<std::int64_t> firsts{0};
  for (const std::int64_t rows : job.rows) firsts.push_back(firsts.back() + rows);
  for (std::int64_t row = 0; row < job.rows[0]; ++row) {
    std::vector<std::int64_t> places;
    for (std::size_t step = 0; step < job.rows.size() && row < job.rows[step]; ++step)
      places.push_back(firsts[step] + row);
    if (job.reverse) std::reverse(places.begin(), places.end());
    RecurrentNumbers h = part(operands.h, row, job.states), c = part(operands.c, row, job.units);
    std::vector<RefStep> steps;
    for (const std::int64_t place : places) {
      steps.emplace_back(job, operands, operands.given.data() + place * job.gates() * job.units);
      steps.back().forward(&h, &c);
      put(h, place, &results.y);
    }
    put(h, row, &results.h);
    put(c, row, &results.c);
    RecurrentNumbers dh = part(operands.dh, row, job.states), dc = part(operands.dc, row, job.units);
    for (std::size_t step = places.size(); step-- > 0;) {
      for (std::int64_t k = 0; k < job.states; ++k)
        dh[static_cast<std::size_t>(k)] += operands.dy[static_cast<std::size_t>(places[step] * job.states + k)];
      steps[step].backward(&dh, &dc, results.dgiven.data() + places[step] * job.gates() * job.units, &results);
    }
    put(dh, row, &results.dh);
    put(dc, row, &results.dc);
  }
  return results;
}

}  // namespace ipex_studio
