#!/usr/bin/python3
"""optimize() on modules of TorchScript."""
import copy
import io
import unittest
import warnings
from typing import Optional

import torch

import ipex_studio
from networks import Net, image, trained_net


def regions(module):
    return module.code.count("ipex_studio.region")


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: Optional[torch.Tensor] = None):
        return torch.relu(x) if y is None else torch.relu(x) + y


class Cross(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x: torch.Tensor, memory: torch.Tensor, pad: torch.Tensor):
        return self.attention(x, memory, memory, key_padding_mask=pad)[0]


class Masked(torch.nn.Module):
    """Layers on the rows that a mask chooses, and writes by masks and places."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(2))
        self.token = torch.nn.Parameter(torch.randn(8))

    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        y = x * 2.0
        for layer in self.layers:
            y[mask] = torch.relu(layer(y[mask]))
        y[y < 0] = y[y < 0] * 0.1
        places = (~mask).nonzero()
        y[places[:, 0], places[:, 1]] = self.token
        return y


class ScriptModules(unittest.TestCase):
    def check(self, module, fast, *args):
        with torch.no_grad():
            torch.testing.assert_close(fast(*args), module(*args), rtol=1e-5, atol=1e-5)

    def test_a_traced_module_becomes_a_plan(self):
        x = image()
        traced = torch.jit.trace(trained_net(), x)
        fast = ipex_studio.optimize(traced, sample_input=x)
        self.assertIsInstance(fast, torch.jit.ScriptModule)
        self.assertEqual(regions(fast), 1)
        self.assertEqual(regions(traced), 0)
        self.check(traced, fast, x)
        self.check(traced, fast, image(batch=5, side=6))

    def test_other_sizes_get_plans_beside_a_torch_with_another_onednn(self):
        x = image()
        fast = ipex_studio.optimize(torch.jit.trace(trained_net(), x), sample_input=x)
        with warnings.catch_warnings(record=True) as said, torch.no_grad():
            warnings.simplefilter("always")
            for _ in range(3):
                fast(image(batch=5))
        self.assertEqual([str(warning.message) for warning in said if "original code" in str(warning.message)], [])

    def test_attention_needs_no_form_for_calls_with_one_tensor(self):
        torch.manual_seed(1)
        scripted = torch.jit.script(Cross().eval())
        x, memory, pad = torch.randn(2, 5, 16), torch.randn(2, 5, 16), torch.rand(2, 5) > 0.7
        pad[:, 0] = False
        fast = ipex_studio.optimize(scripted, sample_input=(x, memory, pad))
        self.assertNotIn("__is__", str(fast.graph))
        self.assertEqual(regions(fast), 1)
        self.check(scripted, fast, x, memory, pad)
        self.check(scripted, fast, x, x, pad)

    def test_masks_of_any_count_choose_rows_in_regions(self):
        torch.manual_seed(2)
        scripted = torch.jit.script(Masked().eval())
        x, mask = torch.randn(3, 7, 8), torch.rand(3, 7) > 0.5
        fast = ipex_studio.optimize(scripted, sample_input=(x, mask))
        self.assertNotIn("index_put", fast.code)
        self.check(scripted, fast, x, mask)
        for other in (torch.rand(3, 7) > 0.3, torch.zeros(3, 7, dtype=torch.bool), torch.ones(3, 7, dtype=torch.bool)):
            self.check(scripted, fast, x, other)
        self.check(scripted, fast, torch.randn(2, 4, 8), torch.rand(2, 4) > 0.5)
        with self.assertRaises(Exception):
            fast(x, torch.rand(2, 7) > 0.5)

    def test_inputs_are_guessed(self):
        traced = torch.jit.trace(trained_net(), image())
        fast = ipex_studio.optimize(traced)
        self.assertEqual(regions(fast), 1)
        self.check(traced, fast, image())

    def test_arguments_come_as_tuple_or_by_name_and_defaults_stand_in(self):
        scripted = torch.jit.script(Sum().eval())
        x, y = torch.randn(3, 4), torch.randn(3, 4)
        for sample in ((x, y), [x, y], {"x": x, "y": y}, x):
            fast = ipex_studio.optimize(scripted, sample_input=sample)
            self.check(scripted, fast, x, y)
        with self.assertRaisesRegex(TypeError, "sample_input names z, but forward takes x, y"):
            ipex_studio.optimize(scripted, sample_input={"z": x})
        with self.assertRaisesRegex(ipex_studio.Error, "has 3 values, but forward takes 2") as caught:
            ipex_studio.optimize(scripted, sample_input=(x, y, x))
        self.assertEqual(caught.exception.exit_code, 2)

    def test_saved_modules_load_again(self):
        x = image()
        traced = torch.jit.trace(trained_net(), x)
        stream = io.BytesIO()
        torch.jit.save(ipex_studio.optimize(traced, sample_input=x), stream)
        stream.seek(0)
        self.check(traced, torch.jit.load(stream), x)

    def test_wrong_sample_inputs_are_errors(self):
        traced = torch.jit.trace(trained_net(), image())
        with self.assertRaises(ipex_studio.Error) as caught:
            ipex_studio.optimize(traced, sample_input=torch.randn(1, 4, 8, 8))
        self.assertNotIn("\n", str(caught.exception))

    def test_frozen_modules_are_optimized_too(self):
        x = image()
        frozen = torch.jit.freeze(torch.jit.trace(trained_net(), x))
        fast = ipex_studio.optimize(frozen, sample_input=x)
        self.assertEqual(regions(fast), 1)
        self.check(frozen, fast, x)

    def test_optimized_modules_stay_and_take_what_frozen_ones_do(self):
        x = image()
        traced = torch.jit.trace(trained_net(), x)
        fast = ipex_studio.optimize(traced, sample_input=x)
        self.assertIs(ipex_studio.optimize(fast, sample_input=x), fast)
        self.assertIs(ipex_studio.optimize(fast), fast)
        for other in (fast.eval(), torch.jit.freeze(fast), copy.deepcopy(fast), torch.jit.optimize_for_inference(fast)):
            self.check(traced, other, x)

    def test_kernels_are_measured_on_request(self):
        x = image()
        traced = torch.jit.trace(trained_net(), x)
        self.check(traced, ipex_studio.optimize(traced, sample_input=x, auto_kernel_selection=True), x)

    def test_training_mode_stays_and_is_said(self):
        scripted = torch.jit.script(Net())
        with self.assertLogs("ipex_studio", "WARNING"):
            self.assertIs(ipex_studio.optimize(scripted), scripted)


if __name__ == "__main__":
    unittest.main()
