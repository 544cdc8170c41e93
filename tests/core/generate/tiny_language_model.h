// A language model of two layers in TorchScript, in the forms in which files hold them; all have the same weights.
#pragma once

#include <string>

#include "core/torch/torch_compat.h"

namespace ipex_studio::testing {

constexpr std::int64_t kVocabulary = 5, kContext = 24;

inline torch::jit::Module tinyLanguageModel(const std::string& forward) {
  const at::Generator generator = at::detail::createCPUGenerator(11);
  torch::jit::Module module("Tiny");
  const auto weight = [&](const char* name, at::IntArrayRef sizes) {
    module.register_parameter(name, at::randn(sizes, generator), false);
  };
  weight("e", {kVocabulary, 8});
  weight("p", {kContext, 8});
  weight("wq", {2, 8, 8});
  weight("wk", {2, 8, 8});
  weight("wv", {2, 8, 8});
  weight("o", {8, kVocabulary});
  module.define(R"(
def heads(self, x, w):
  return x.matmul(w).view(x.size(0), x.size(1), 2, 4).transpose(1, 2)

def attend(self, x, i: int, k, v, mask):
  w = self.heads(x, self.wq[i]).matmul(k.transpose(2, 3)) * 0.3
  w = w.masked_fill(mask == 0, -10000.0).softmax(-1)
  y = w.matmul(v).transpose(1, 2)
  return x + y.reshape(x.size(0), x.size(1), 8)

def causal(self, tokens: int, whole: int):
  return torch.ones([tokens, whole]).tril(whole - tokens)

def body(self, ids, places, mask, ks: List[Tensor], vs: List[Tensor]) -> Tuple[Tensor, List[Tensor], List[Tensor]]:
  x = torch.embedding(self.e, ids) + torch.embedding(self.p, places)
  nk: List[Tensor] = []
  nv: List[Tensor] = []
  for i in range(2):
    k = torch.cat([ks[i], self.heads(x, self.wk[i])], 2)
    v = torch.cat([vs[i], self.heads(x, self.wv[i])], 2)
    x = self.attend(x, i, k, v, mask)
    nk.append(k)
    nv.append(v)
  return x.matmul(self.o), nk, nv

def grown(self, ids, ks: List[Tensor], vs: List[Tensor]) -> Tuple[Tensor, List[Tensor], List[Tensor]]:
  n = ks[0].size(2)
  t = ids.size(1)
  return self.body(ids, torch.arange(n, n + t), self.causal(t, n + t), ks, vs)

def nothing(self, ids) -> List[Tensor]:
  return [torch.zeros([ids.size(0), 2, 0, 4]), torch.zeros([ids.size(0), 2, 0, 4])]

)" + forward);
  module.eval();
  return module;
}

// forward(ids) -> logits
constexpr char kWholeText[] = R"(
def forward(self, ids):
  return self.grown(ids, self.nothing(ids), self.nothing(ids))[0]
)";

constexpr char kListOfPairs[] = R"(
def forward(self, ids, past: List[Tuple[Tensor, Tensor]]):
  y, ks, vs = self.grown(ids, [p[0] for p in past], [p[1] for p in past])
  return y, [(ks[i], vs[i]) for i in range(len(ks))]
)";

constexpr char kTupleOfPairs[] = R"(
def forward(self, ids, past: Tuple[Tuple[Tensor, Tensor], Tuple[Tensor, Tensor]]):
  y, ks, vs = self.grown(ids, [past[0][0], past[1][0]], [past[0][1], past[1][1]])
  return y, ((ks[0], vs[0]), (ks[1], vs[1]))
)";

constexpr char kFlat[] = R"(
def forward(self, input_ids, k0, v0, k1, v1):
  y, ks, vs = self.grown(input_ids, [k0, k1], [v0, v1])
  return y, ks[0], vs[0], ks[1], vs[1]
)";

// One tensor [layers, keys and values, texts, heads, tokens, 4].
constexpr char kStacked[] = R"(
def forward(self, ids, past):
  y, ks, vs = self.grown(ids, [past[0, 0], past[1, 0]], [past[0, 1], past[1, 1]])
  return y, torch.stack([torch.stack([ks[0], vs[0]]), torch.stack([ks[1], vs[1]])])
)";

// The same with a mask, which has to be as long as the cache and the new tokens.
constexpr char kMasked[] = R"(
def forward(self, ids, past, attention_mask):
  t = ids.size(1)
  n = past.size(4)
  assert attention_mask.size(1) == n + t
  mask = self.causal(t, n + t) * attention_mask[:, None, None, :]
  y, ks, vs = self.body(ids, torch.arange(n, n + t), mask, [past[0, 0], past[1, 0]], [past[0, 1], past[1, 1]])
  return y, torch.stack([torch.stack([ks[0], vs[0]]), torch.stack([ks[1], vs[1]])])
)";

// As Hugging Face's: a mask, places, and no cache at the beginning; results in a dictionary would have one type.
constexpr char kOptional[] = R"(
def forward(self, input_ids, attention_mask, position_ids, past_key_values: Optional[List[Tuple[Tensor, Tensor]]]=None,
            use_cache: bool=False):
  ks = self.nothing(input_ids)
  vs = self.nothing(input_ids)
  if past_key_values is not None:
    ks = [p[0] for p in past_key_values]
    vs = [p[1] for p in past_key_values]
  t = input_ids.size(1)
  mask = self.causal(t, attention_mask.size(1)) * attention_mask[:, None, None, :]
  y, ks, vs = self.body(input_ids, position_ids, mask, ks, vs)
  kept: List[Tuple[Tensor, Tensor]] = []
  if use_cache:
    kept = [(ks[i], vs[i]) for i in range(len(ks))]
  return y, kept, y.sum()
)";

// Room for all tokens from the beginning, written in place; the first place as an int.
constexpr char kFixed[] = R"(
def forward(self, ids, k_cache, v_cache, start_pos: int):
  t = ids.size(1)
  places = torch.arange(start_pos, start_pos + t)
  x = torch.embedding(self.e, ids) + torch.embedding(self.p, places)
  mask = torch.arange(k_cache.size(3))[None, :] <= places[:, None]
  for i in range(2):
    k_cache[i].index_copy_(2, places, self.heads(x, self.wk[i]))
    v_cache[i].index_copy_(2, places, self.heads(x, self.wv[i]))
    x = self.attend(x, i, k_cache[i], v_cache[i], mask)
  return x.matmul(self.o)[:, -1], k_cache, v_cache
)";

// Takes no account of the order inside of a call, as what was traced for one token.
constexpr char kOneToken[] = R"(
def forward(self, ids, past: List[Tuple[Tensor, Tensor]]):
  n = past[0][0].size(2)
  t = ids.size(1)
  y, ks, vs = self.body(ids, torch.arange(n, n + t), torch.ones([1, 1]), [p[0] for p in past], [p[1] for p in past])
  return y, [(ks[i], vs[i]) for i in range(len(ks))]
)";

}  // namespace ipex_studio::testing
