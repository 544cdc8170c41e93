// ipex_studio::train_lstm, train_gru: aten::lstm and aten::gru with their gradients, by kernels/recurrent; schemas are
// those of PyTorch, for sequences of one length (`input`) and packed ones (`data`).
//
// FP32 on the CPU: layers, directions, projections and dropout between layers as PyTorch has them, with the same random
// numbers. Products of the inputs and gradients of weights are matrix products over all steps at once. The bits are the
// same for any number of threads. Other types, autocast, wrong sizes and transformations of functions go to PyTorch's
// operators. Gradients cannot be differentiated.
#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/script.h>

#include "kernels/recurrent/recurrent_training.h"
#include "kernels/torch/layers/autocast.h"
#include "kernels/torch/layers/kept_linear.h"
#include "kernels/torch/layers/plain_floats.h"

namespace ipex_studio {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using MaybeTensor = c10::optional<at::Tensor>;
using Sizes = std::vector<std::int64_t>;

at::Tensor tensorOf(const MaybeTensor& tensor) { return tensor ? *tensor : at::Tensor(); }

MaybeTensor maybe(const at::Tensor& tensor) { return tensor.defined() ? MaybeTensor(tensor) : MaybeTensor(); }

float* floatsOf(const at::Tensor& tensor) { return tensor.defined() ? tensor.data_ptr<float>() : nullptr; }

LinearProblem problemOf(const at::Tensor& rows, const at::Tensor& w) {
  return {rows.size(0), w.size(1), w.size(0), at::get_num_threads(), false};
}

// result = bias + a·b, by blocks whose sizes the matrices alone decide, each on one thread: a library that shares a
// product among threads divides its sums by how many there are. There are two items at least, because libraries use one
// thread only where threads are at work already.
void blockProduct(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias, const at::Tensor& result) {
  constexpr std::int64_t kRows = 256, kColumns = 512;
  const std::int64_t rows = result.size(0), columns = result.size(1);
  const std::int64_t wide = (columns + kColumns - 1) / kColumns, blocks = (rows + kRows - 1) / kRows * wide;
  at::parallel_for(0, std::max<std::int64_t>(blocks, 2), 1, [&](std::int64_t begin, std::int64_t end) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
    for (std::int64_t block = begin; block < std::min(end, blocks); ++block) {
      const std::int64_t row = block / wide * kRows, column = block % wide * kColumns;
      const std::int64_t high = std::min(kRows, rows - row), across = std::min(kColumns, columns - column);
      const at::Tensor left = a.narrow(0, row, high), right = b.narrow(1, column, across);
      at::Tensor part = result.narrow(0, row, high).narrow(1, column, across);
      if (bias.defined()) {
        at::addmm_out(part, bias.narrow(0, column, across), left, right);
      } else {
        at::mm_out(part, left, right);
      }
    }
  });
}

// x·wᵀ + b of matrices without gaps.
at::Tensor rowProducts(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b) {
  at::Tensor y = at::empty({x.size(0), w.size(0)}, x.options());
  const auto linear = keptLinear(problemOf(x, w));
  if (linear) {
    linear->forward(floatsOf(x), floatsOf(w), floatsOf(b), floatsOf(y));
  } else {
    blockProduct(x, w.t(), b, y);
  }
  return y;
}

at::Tensor sourceGradient(const at::Tensor& dy, const at::Tensor& w) {
  at::Tensor dx = at::empty({dy.size(0), w.size(1)}, dy.options());
  const auto linear = keptLinear(problemOf(dy, w));
  if (linear) {
    linear->sourceGradient(floatsOf(w), floatsOf(dy), floatsOf(dx));
  } else {
    blockProduct(dy, w, {}, dx);
  }
  return dx;
}

// The gradient of weights, and that of a bias where it is wanted.
std::pair<at::Tensor, at::Tensor> weightGradient(const at::Tensor& x, const at::Tensor& dy, bool biased) {
  at::Tensor dw = at::empty({dy.size(1), x.size(1)}, dy.options());
  const auto linear = keptLinear(problemOf(dy, dw));
  if (!linear) {
    blockProduct(dy.t(), x, {}, dw);
    return {dw, biased ? dy.sum(0) : at::Tensor()};
  }
  at::Tensor db = biased ? at::empty({dy.size(1)}, dy.options()) : at::Tensor();
  linear->weightGradient(floatsOf(x), floatsOf(dy), floatsOf(dw), floatsOf(db));
  return {dw, db};
}

// Gradients whose derivatives nobody computes, instead of such that seem to be constant.
class FirstDerivative : public torch::autograd::Function<FirstDerivative> {
 public:
  static variable_list forward(AutogradContext*, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                               const at::Tensor&, const at::Tensor&, const at::Tensor&,
                               const variable_list& gradients) {
    return gradients;
  }

  static variable_list backward(AutogradContext*, const variable_list&) {
    TORCH_CHECK(false, "there is no second derivative of recurrent layers; layers of torch.nn have one");
  }
};

// Parameters of one direction of a layer; those that it lacks are undefined.
struct DirectionWeights {
  at::Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

RecurrentSequence sequenceOf(bool is_lstm, bool reverse, Sizes rows, const at::Tensor& w_hh, bool projected) {
  RecurrentSequence job;
  job.cell = is_lstm ? RecurrentCell::kLstm : RecurrentCell::kGru;
  job.reverse = reverse;
  job.projected = projected;
  job.units = w_hh.size(0) / job.gates();
  job.states = w_hh.size(1);
  job.rows = std::move(rows);
  job.threads = at::get_num_threads();
  return job;
}

// One direction of a layer over the rows of all steps: results of the steps, the last hidden state and the cell's.
class TrainDirection : public torch::autograd::Function<TrainDirection> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& h0,
                               const MaybeTensor& given_c, const at::Tensor& w_ih, const at::Tensor& w_hh,
                               const MaybeTensor& given_b_ih, const MaybeTensor& given_b_hh,
                               const MaybeTensor& given_w_hr, const Sizes& rows, bool is_lstm, bool reverse) {
    const at::Tensor c0 = tensorOf(given_c), b_ih = tensorOf(given_b_ih), b_hh = tensorOf(given_b_hh);
    const at::Tensor w_hr = tensorOf(given_w_hr);
    at::AutoDispatchBelowADInplaceOrView below;
    const RecurrentSequence job = sequenceOf(is_lstm, reverse, rows, w_hh, w_hr.defined());
    const std::int64_t total = x.size(0), units = job.units;
    const at::Tensor in = x.contiguous(), ih = w_ih.contiguous(), hh = w_hh.contiguous();
    const at::Tensor hr = job.projected ? w_hr.contiguous() : at::Tensor();
    at::Tensor bias, hidden_bias;
    if (b_ih.defined() && is_lstm) {
      bias = b_ih + b_hh;
    } else if (b_ih.defined()) {
      bias = b_ih.clone();
      bias.narrow(0, 0, 2 * units).add_(b_hh.narrow(0, 0, 2 * units));
      hidden_bias = b_hh.narrow(0, 2 * units, units).contiguous();
    }
    const at::Tensor gates = rowProducts(in, ih, bias);
    const at::Tensor y = at::empty({total, job.states}, x.options()), before = at::empty_like(y);
    const at::Tensor kept = at::empty({total, units}, x.options());
    const at::Tensor outputs = job.projected ? at::empty_like(kept) : at::Tensor();
    const at::Tensor h = h0.clone(at::MemoryFormat::Contiguous);
    const at::Tensor c = is_lstm ? c0.clone(at::MemoryFormat::Contiguous) : at::Tensor();
    RecurrentForward operands;
    operands.w_hh = floatsOf(hh);
    operands.w_hr = floatsOf(hr);
    operands.hidden_bias = floatsOf(hidden_bias);
    operands.gates = floatsOf(gates);
    operands.h = floatsOf(h);
    operands.c = floatsOf(c);
    operands.y = floatsOf(y);
    operands.before = floatsOf(before);
    operands.kept = floatsOf(kept);
    operands.outputs = floatsOf(outputs);
    recurrentForward(job, operands);
    context->save_for_backward({x, w_ih, w_hh, w_hr, gates, before, kept, outputs});
    context->saved_data["rows"] = rows;
    context->saved_data["is_lstm"] = is_lstm;
    context->saved_data["reverse"] = reverse;
    const auto asks = [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
    context->saved_data["wanted"] =
        std::vector<bool>{asks(x), asks(h0), asks(c0), asks(w_ih), asks(w_hh), asks(b_ih), asks(b_hh), asks(w_hr)};
    return is_lstm ? variable_list{y, h, c} : variable_list{y, h};
  }

  static variable_list backward(AutogradContext* context, const variable_list& given) {
    const variable_list saved = context->get_saved_variables();
    if (!at::GradMode::is_enabled()) return gradients(context, saved, given);
    variable_list result;
    {
      const at::NoGradGuard no_grad;
      result = gradients(context, saved, given);
    }
    variable_list defined;
    std::copy_if(result.begin(), result.end(), std::back_inserter(defined),
                 [](const at::Tensor& t) { return t.defined(); });
    const at::Tensor& last = given.back();  // of the cell's state, or the hidden one once more
    defined = FirstDerivative::apply(given[0], given[1], last, saved[0], saved[1], saved[2], defined);
    auto next = defined.begin();
    for (at::Tensor& gradient : result) {
      if (gradient.defined()) gradient = *next++;
    }
    return result;
  }

 private:
  enum Place : int { kX, kH0, kC0, kWIh, kWHh, kBIh, kBHh, kWHr };

  static variable_list gradients(AutogradContext* context, const variable_list& saved, const variable_list& given) {
    const at::Tensor &x = saved[0], &w_ih = saved[1], &w_hh = saved[2], &w_hr = saved[3], &before = saved[5];
    const bool is_lstm = context->saved_data["is_lstm"].toBool();
    const RecurrentSequence job = sequenceOf(is_lstm, context->saved_data["reverse"].toBool(),
                                             context->saved_data["rows"].toIntVector(), w_hh, w_hr.defined());
    const c10::List<bool> wanted = context->saved_data["wanted"].toBoolList();
    const at::Tensor dy = given[0].contiguous(), dh = given[1].clone(at::MemoryFormat::Contiguous);
    const at::Tensor dc = is_lstm ? given[2].clone(at::MemoryFormat::Contiguous) : at::Tensor();
    const at::Tensor hh = w_hh.contiguous(), hr = w_hr.defined() ? w_hr.contiguous() : at::Tensor();
    const at::Tensor dgates = at::empty_like(saved[4]);
    const at::Tensor dhidden = is_lstm ? dgates : at::empty_like(dgates);
    const at::Tensor dstates = job.projected ? at::empty_like(dy) : at::Tensor();
    RecurrentBackward operands;
    operands.w_hh = floatsOf(hh);
    operands.w_hr = floatsOf(hr);
    operands.gates = floatsOf(saved[4]);
    operands.before = floatsOf(before);
    operands.kept = floatsOf(saved[6]);
    operands.dy = floatsOf(dy);
    operands.dh = floatsOf(dh);
    operands.dc = floatsOf(dc);
    operands.dgates = floatsOf(dgates);
    operands.dhidden = floatsOf(dhidden);
    operands.dstates = floatsOf(dstates);
    recurrentBackward(job, operands);
    variable_list result(11);
    if (wanted[kX]) result[kX] = sourceGradient(dgates, w_ih.contiguous());
    if (wanted[kH0]) result[kH0] = dh;
    if (wanted[kC0]) result[kC0] = dc;
    const bool biased = wanted[kBIh] || wanted[kBHh];
    if (wanted[kWIh] || biased) std::tie(result[kWIh], result[kBIh]) = weightGradient(x.contiguous(), dgates, biased);
    if (wanted[kWHh] || (biased && !is_lstm))
      std::tie(result[kWHh], result[kBHh]) = weightGradient(before, dhidden, biased && !is_lstm);
    if (wanted[kBHh] && is_lstm) result[kBHh] = result[kBIh].clone();
    if (wanted[kWHr]) result[kWHr] = weightGradient(saved[7], dstates, false).first;
    for (int place = 0; place <= kWHr; ++place) {
      if (!wanted[place]) result[place] = at::Tensor();
    }
    return result;
  }
};

// The layers as the arguments of PyTorch's operators describe them.
struct Layers {
  bool is_lstm;
  at::TensorList parameters;
  bool biased;
  std::int64_t count;
  double dropout;
  bool train, bidirectional;

  std::int64_t directions() const { return bidirectional ? 2 : 1; }
  std::size_t perDirection() const { return parameters.size() / static_cast<std::size_t>(count * directions()); }
  bool projected() const { return perDirection() == (biased ? 5u : 3u); }

  DirectionWeights of(std::int64_t layer, std::int64_t direction) const {
    const at::TensorList part =
        parameters.slice(perDirection() * static_cast<std::size_t>(layer * directions() + direction), perDirection());
    DirectionWeights weights{part[0], part[1], {}, {}, {}};
    if (biased) {
      weights.b_ih = part[2];
      weights.b_hh = part[3];
    }
    if (projected()) weights.w_hr = part.back();
    return weights;
  }
};

bool hasSizes(const at::Tensor& tensor, at::IntArrayRef sizes) {
  return isPlainFloats(tensor) && tensor.sizes() == sizes;
}

// True if kernels compute layers for `inputs` numbers of each row, from states h and c of `batch` sequences.
bool fits(const Layers& layers, const at::Tensor& x, const at::Tensor& h, const at::Tensor& c, std::int64_t batch) {
  if (autocastIsOn() || !isPlainFloats(x) || x.numel() == 0 || h.dim() != 3 || layers.count < 1) return false;
  const std::int64_t directions = layers.directions(), gates = layers.is_lstm ? 4 : 3;
  const std::size_t plain = layers.biased ? 4 : 2;
  if (layers.parameters.size() % static_cast<std::size_t>(layers.count * directions) != 0) return false;
  if (layers.perDirection() != plain && !(layers.is_lstm && layers.perDirection() == plain + 1)) return false;
  const at::Tensor& first = layers.parameters[1];
  if (!isPlainFloats(first) || first.dim() != 2 || first.numel() == 0 || first.size(0) % gates != 0) return false;
  const std::int64_t units = first.size(0) / gates, states = first.size(1);
  if (!layers.projected() && states != units) return false;
  if (!hasSizes(h, {layers.count * directions, batch, states})) return false;
  if (layers.is_lstm && !hasSizes(c, {layers.count * directions, batch, units})) return false;
  std::int64_t inputs = x.size(-1);
  for (std::int64_t layer = 0; layer < layers.count; ++layer) {
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const DirectionWeights w = layers.of(layer, direction);
      if (!hasSizes(w.w_ih, {gates * units, inputs}) || !hasSizes(w.w_hh, {gates * units, states})) return false;
      if (layers.biased && !(hasSizes(w.b_ih, {gates * units}) && hasSizes(w.b_hh, {gates * units}))) return false;
      if (layers.projected() && !hasSizes(w.w_hr, {states, units})) return false;
    }
    inputs = directions * states;
  }
  return true;
}

struct LayersResult {
  at::Tensor y, h, c;
};

// `x` holds the rows of all steps.
LayersResult runLayers(const Layers& layers, at::Tensor x, const Sizes& rows, const at::Tensor& h,
                       const at::Tensor& c) {
  variable_list last_h, last_c;
  for (std::int64_t layer = 0; layer < layers.count; ++layer) {
    variable_list results;
    for (std::int64_t direction = 0; direction < layers.directions(); ++direction) {
      const DirectionWeights w = layers.of(layer, direction);
      const std::int64_t place = layer * layers.directions() + direction;
      const variable_list of =
          TrainDirection::apply(x, h[place], maybe(layers.is_lstm ? c[place] : at::Tensor()), w.w_ih, w.w_hh,
                                maybe(w.b_ih), maybe(w.b_hh), maybe(w.w_hr), rows, layers.is_lstm, direction == 1);
      results.push_back(of[0]);
      last_h.push_back(of[1]);
      if (layers.is_lstm) last_c.push_back(of[2]);
    }
    x = results.size() == 1 ? results[0] : at::cat(results, 1);
    if (layers.train && layers.dropout != 0 && layer + 1 < layers.count) x = at::dropout(x, layers.dropout, true);
  }
  return {x, at::stack(last_h), layers.is_lstm ? at::stack(last_c) : at::Tensor()};
}

// Sequences of one length, [steps, batch, inputs], or with the batch first.
LayersResult runTensor(const Layers& layers, const at::Tensor& input, const at::Tensor& h, const at::Tensor& c,
                       bool batch_first) {
  const at::Tensor in = batch_first ? input.transpose(0, 1) : input;
  const std::int64_t steps = in.size(0), batch = in.size(1);
  LayersResult result =
      runLayers(layers, in.reshape({steps * batch, in.size(2)}), Sizes(static_cast<std::size_t>(steps), batch), h, c);
  result.y = result.y.view({steps, batch, -1});
  if (batch_first) result.y = result.y.transpose(0, 1);
  return result;
}

bool fitsTensor(const Layers& layers, const at::Tensor& input, const at::Tensor& h, const at::Tensor& c,
                bool batch_first) {
  return input.dim() == 3 && fits(layers, input, h, c, input.size(batch_first ? 0 : 1));
}

// The number of rows of each step; empty if these are none of packed sequences.
Sizes rowsOf(const at::Tensor& data, const at::Tensor& batch_sizes) {
  if (data.dim() != 2 || batch_sizes.dim() != 1 || batch_sizes.scalar_type() != at::kLong ||
      !batch_sizes.device().is_cpu() || !batch_sizes.has_storage() || batch_sizes.numel() == 0)
    return {};
  const at::Tensor sizes = batch_sizes.contiguous();
  const auto* const first = sizes.data_ptr<std::int64_t>();
  Sizes rows(first, first + sizes.numel());
  std::int64_t total = 0;
  for (std::size_t step = 0; step < rows.size(); ++step) {
    if (rows[step] < 1 || (step > 0 && rows[step] > rows[step - 1])) return {};
    total += rows[step];
  }
  return total == data.size(0) ? rows : Sizes{};
}

using Lstm = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using Gru = std::tuple<at::Tensor, at::Tensor>;

Lstm trainLstm(const at::Tensor& input, at::TensorList hx, at::TensorList params, bool has_biases,
               std::int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) {
  const Layers layers{true, params, has_biases, num_layers, dropout, train, bidirectional};
  if (hx.size() != 2 || !fitsTensor(layers, input, hx[0], hx[1], batch_first))
    return at::lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first);
  const LayersResult result = runTensor(layers, input, hx[0], hx[1], batch_first);
  return {result.y, result.h, result.c};
}

Lstm trainLstmData(const at::Tensor& data, const at::Tensor& batch_sizes, at::TensorList hx, at::TensorList params,
                   bool has_biases, std::int64_t num_layers, double dropout, bool train, bool bidirectional) {
  const Layers layers{true, params, has_biases, num_layers, dropout, train, bidirectional};
  const Sizes rows = rowsOf(data, batch_sizes);
  if (hx.size() != 2 || rows.empty() || !fits(layers, data, hx[0], hx[1], rows[0]))
    return at::lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional);
  const LayersResult result = runLayers(layers, data, rows, hx[0], hx[1]);
  return {result.y, result.h, result.c};
}

Gru trainGru(const at::Tensor& input, const at::Tensor& hx, at::TensorList params, bool has_biases,
             std::int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) {
  const Layers layers{false, params, has_biases, num_layers, dropout, train, bidirectional};
  if (!fitsTensor(layers, input, hx, {}, batch_first))
    return at::gru(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first);
  const LayersResult result = runTensor(layers, input, hx, {}, batch_first);
  return {result.y, result.h};
}

Gru trainGruData(const at::Tensor& data, const at::Tensor& batch_sizes, const at::Tensor& hx, at::TensorList params,
                 bool has_biases, std::int64_t num_layers, double dropout, bool train, bool bidirectional) {
  const Layers layers{false, params, has_biases, num_layers, dropout, train, bidirectional};
  const Sizes rows = rowsOf(data, batch_sizes);
  if (rows.empty() || !fits(layers, data, hx, {}, rows[0]))
    return at::gru(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional);
  const LayersResult result = runLayers(layers, data, rows, hx, {});
  return {result.y, result.h};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "train_lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
      "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
      trainLstm);
  m.def(
      "train_lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, "
      "float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)",
      trainLstmData);
  m.def(
      "train_gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
      "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
      trainGru);
  m.def(
      "train_gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
      "float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
      trainGruData);
}

}  // namespace ipex_studio
