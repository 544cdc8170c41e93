"""Attention to caches: step by step against attention of whole texts, with beams that change places, and in pages."""
import itertools
import math
import unittest

import torch

from ipex_studio.llm import functional
from ipex_studio.llm.modules import IndirectAccessKVCacheAttention, PagedAttention


def whole(query, key, value, scale):
    """Attention of the last tokens of texts (B, S, H, D) to all of their texts (B, K, Hk, D), in FP64."""
    query, key, value = (each.double().transpose(1, 2) for each in (query, key, value))
    group = query.shape[1] // key.shape[1]
    scores = query @ key.repeat_interleave(group, 1).transpose(2, 3) * scale
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1 + key.shape[2] - query.shape[2])
    return scores.masked_fill(later, -math.inf).softmax(-1) @ value.repeat_interleave(group, 1)


class IndirectAccess(unittest.TestCase):
    def check_decoding(self, dtype, tolerance, rows=4, steps=6, tokens=1):
        torch.manual_seed(1)
        beams, heads, key_heads, depth, width, prompt = 4, 6, 2, 17, 8, 5
        module = IndirectAccessKVCacheAttention(rows)

        def draw(length):
            return (torch.randn(beams, length, heads, depth).to(dtype), torch.randn(beams, length, key_heads, depth).to(dtype),
                    torch.randn(beams, length, key_heads, width).to(dtype))

        query, key, value = draw(prompt)
        result, weights, past = module(query, key, value, 3.0, None, None, torch.zeros(beams, 1, prompt, prompt))
        self.assertIsNone(weights)
        self.assertEqual(result.dtype, dtype)
        self.assertLess((result.double() - whole(query, key, value, 1 / 3)).abs().max(), tolerance)
        for step in range(steps):
            if step != 2:
                order = torch.randint(beams, (beams,))
                past[3][past[0].size(-2) - 1] = order
                key, value = key[order], value[order]
            query, new_key, new_value = draw(tokens)
            key, value = torch.cat((key, new_key), 1), torch.cat((value, new_value), 1)
            mask = torch.zeros(beams, 1, tokens, key.shape[1])
            result, _, past = module(query, new_key, new_value, 3.0, past, None, mask)
            self.assertLess((result.double() - whole(query, key, value, 1 / 3)).abs().max(), tolerance)
            self.assertEqual(past[0].shape, (1, key.shape[1], key.shape[1], 1))

    def test_steps_with_beams_that_change_places(self):
        self.check_decoding(torch.float32, 1e-5)
        self.check_decoding(torch.float64, 1e-13)
        self.check_decoding(torch.bfloat16, 0.02)
        self.check_decoding(torch.float32, 1e-5, rows=64)
        self.check_decoding(torch.float32, 1e-5, tokens=3)

    def test_texts_that_become_beams(self):
        torch.manual_seed(4)
        module, texts, beams = IndirectAccessKVCacheAttention(32), 2, 3
        query, key, value = (torch.randn(texts, 4, heads, 8) for heads in (4, 2, 2))
        past = (torch.zeros(1, 0, 0, 1), None, None, torch.zeros(1, texts * beams, dtype=torch.long))
        result, _, past = module(query, key, value, 2.0, past, None, torch.zeros(texts, 1, 4, 4))
        self.assertLess((result - whole(query, key, value, 0.5)).abs().max(), 1e-5)
        key, value = (each.repeat_interleave(beams, 0) for each in (key, value))
        for order in (None, torch.tensor([2, 0, 0, 4, 4, 3]), torch.tensor([0, 1, 1, 5, 3, 4])):
            if order is not None:
                past[3][past[0].size(-2) - 1] = order
                key, value = key[order], value[order]
            query, new_key, new_value = (torch.randn(texts * beams, 1, heads, 8) for heads in (4, 2, 2))
            key, value = torch.cat((key, new_key), 1), torch.cat((value, new_value), 1)
            result, _, past = module(query, new_key, new_value, 2.0, past, None, torch.zeros(1, 1, 1, key.shape[1]))
            self.assertLess((result - whole(query, key, value, 0.5)).abs().max(), 1e-5)
        with self.assertRaisesRegex(ValueError, "5 beams are not as many for each of 2 texts"):
            module(*(torch.randn(2, 1, 2, 8) for _ in range(3)), 2.0,
                   (torch.zeros(1, 0, 0, 1), None, None, torch.zeros(1, 5)), None, torch.zeros(2, 1, 1, 1))

    def test_nothing_moves_when_beams_change_places(self):
        module = IndirectAccessKVCacheAttention(32)
        new = [torch.randn(2, 3, 2, 8) for _ in range(3)]
        _, _, past = module(*new, 1.0, None, None, torch.zeros(2, 1, 3, 3))
        cache = past[1].data_ptr()
        past[3][2] = torch.tensor([1, 1])
        _, _, past = module(*(each[:, :1] for each in new), 1.0, past, None, torch.zeros(2, 1, 1, 4))
        self.assertEqual(past[1].data_ptr(), cache)

    def test_masks_and_threads(self):
        torch.manual_seed(2)
        query, key, value = (torch.randn(2, 40, 4, 16) for _ in range(3))
        step = [torch.randn(2, 1, 4, 16) for _ in range(3)]
        mask = torch.zeros(2, 1, 1, 41)
        mask[0, ..., 3:9], mask[1, ..., :40] = -math.inf, -math.inf
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        results = []
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            _, _, past = IndirectAccessKVCacheAttention(64)(query, key, value, 4.0, None, None, torch.zeros(1, 1, 40, 40))
            results.append(IndirectAccessKVCacheAttention(64)(*step, 4.0, past, None, mask)[0])
        self.assertTrue(torch.equal(results[0], results[1]) and torch.equal(results[0], results[2]))
        self.assertTrue(torch.allclose(results[0][1, :, 0], step[2][1, 0], atol=1e-6))
        kept = [torch.cat((all_of[:1, :3], all_of[:1, 9:], last[:1]), 1) for all_of, last in
                ((key, step[1]), (value, step[2]))]
        self.assertLess((results[0][0] - whole(step[0][:1], *kept, 0.25)[0]).abs().max(), 1e-5)

    def test_what_is_refused(self):
        new = [torch.randn(2, 3, 2, 8) for _ in range(3)]
        _, _, past = functional.indirect_access_kv_cache_attention(*new, 1.0, None, None, torch.zeros(2, 1, 3, 3), None, True,
                                                                   None, 16)
        past[3][2] = torch.tensor([0, 7])
        step = [each[:, :1] for each in new]
        with self.assertRaisesRegex(IndexError, "token 2 of beam 1 came from beam 7, and there are 2"):
            functional.indirect_access_kv_cache_attention(*step, 1.0, past, None, torch.zeros(2, 1, 1, 4))
        with self.assertRaisesRegex(ValueError, "neither head_mask nor alibi"):
            functional.indirect_access_kv_cache_attention(*step, 1.0, past, torch.ones(2))
        with self.assertRaisesRegex(RuntimeError, "do not fit the caches"):
            functional.indirect_access_kv_cache_attention(*(each[:1] for each in step), 1.0, past, None,
                                                          torch.zeros(1, 1, 1, 4))


class Pages(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.size, self.lengths = 4, [7, 1, 12]
        self.pages = torch.tensor([[5, 2, 0], [1, 0, 0], [7, 3, 6]], dtype=torch.int32)

    def fill(self, dtype, key_heads=2, depth=17, width=8):
        texts = [(torch.randn(length, key_heads, depth).to(dtype), torch.randn(length, key_heads, width).to(dtype))
                 for length in self.lengths]
        caches = (torch.zeros(8, key_heads, self.size, depth, dtype=dtype),
                  torch.zeros(8, key_heads, self.size, width, dtype=dtype))
        for text, (key, value) in enumerate(texts):
            places = torch.arange(len(key))
            slots = self.pages[text].long()[places // self.size] * self.size + places % self.size
            PagedAttention.reshape_and_cache(key, value, *caches, slots.int())
        return texts, caches

    def test_one_token_of_each_text(self):
        for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-13), (torch.bfloat16, 0.02)):
            texts, caches = self.fill(dtype)
            query = torch.randn(3, 6, 17).to(dtype)
            out = torch.empty(3, 6, 8, dtype=dtype)
            PagedAttention.single_query_cached_kv_attention(out, query, *caches, None, 0.3, self.pages,
                                                            torch.tensor(self.lengths, dtype=torch.int32), self.size, 12,
                                                            None)
            for text, (key, value) in enumerate(texts):
                expected = whole(query[text:text + 1, None], key[None], value[None], 0.3)[0, :, 0]
                self.assertLess((out[text].double() - expected).abs().max(), tolerance)

    def test_slopes_windows_and_caps(self):
        texts, caches = self.fill(torch.float64)
        query, slopes = torch.randn(3, 6, 17, dtype=torch.double), torch.rand(6, dtype=torch.double)
        for window, softcap, sloped in itertools.product((0, 3), (0.0, 0.5), (False, True)):
            result = functional.paged_attention(query, *caches, self.pages, torch.tensor(self.lengths), 0.3,
                                                slopes if sloped else None, window, softcap)
            for text, (key, value) in enumerate(texts):
                keys, values = (each.transpose(0, 1).repeat_interleave(3, 0) for each in (key, value))
                scores = (query[text, :, None] * keys).sum(-1) * 0.3
                if softcap:
                    scores = softcap * (scores / softcap).tanh()
                if sloped:
                    scores = scores + slopes[:, None] * torch.arange(1 - len(key), 1)
                if window:
                    scores[:, :max(0, len(key) - window)] = -math.inf
                expected = (scores.softmax(-1)[..., None] * values).sum(1)
                self.assertLess((result[text] - expected).abs().max(), 1e-12)

    def test_several_tokens_of_each_text(self):
        texts, caches = self.fill(torch.float32)
        counts = [3, 1, 12]
        query, out = torch.randn(16, 6, 17), torch.empty(16, 6, 8)
        begins, key_begins = (torch.tensor([0, *torch.tensor(each).cumsum(0).tolist()]) for each in
                              (counts, self.lengths))
        PagedAttention.flash_attn_varlen_func(out, query, *caches, begins, key_begins, 12, 12, 0.3, True, self.pages)
        for text, (key, value) in enumerate(texts):
            rows = slice(*begins[text:text + 2].tolist())
            expected = whole(query[rows][None], key[None], value[None], 0.3)[0].transpose(0, 1)
            self.assertLess((out[rows].double() - expected).abs().max(), 1e-5)

    def test_what_is_refused(self):
        _, caches = self.fill(torch.float32)
        query, lengths = torch.randn(3, 6, 17), torch.tensor(self.lengths)
        pages = self.pages.clone()
        pages[2, 1] = 8
        with self.assertRaisesRegex(IndexError, "page 1 of text 2 is 8, and there are 8"):
            functional.paged_attention(query, *caches, pages, lengths, 0.3)
        with self.assertRaisesRegex(IndexError, "text 0 has 13 keys in 3 pages of 4"):
            functional.paged_attention(query, *caches, self.pages, lengths + 6, 0.3)
        with self.assertRaisesRegex(IndexError, "the slot of token 1 is 32, and there are 32"):
            functional.write_pages(torch.randn(2, 2, 17), torch.randn(2, 2, 8), *caches, torch.tensor([-1, 32]))
        with self.assertRaisesRegex(RuntimeError, "query and caches are float32, float64 or bfloat16, and agree"):
            functional.paged_attention(query.double(), *caches, self.pages, lengths, 0.3)
        with self.assertRaisesRegex(TypeError, "scales are 1"):
            PagedAttention.reshape_and_cache(torch.randn(1, 2, 17), torch.randn(1, 2, 8), *caches, torch.tensor([0]), "fp8")


if __name__ == "__main__":
    unittest.main()
