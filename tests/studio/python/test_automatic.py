#!/usr/bin/python3
"""Frozen modules that scripts make and load themselves get plans, and nothing else of torch changes."""
import io
import os
import tempfile
import unittest
from typing import List
from unittest import mock

import torch
from torch import nn

import ipex_studio
from ipex_studio import _kernel_times
from networks import image, trained_net


def frozen_net():
    with torch.no_grad():
        return torch.jit.freeze(torch.jit.trace(trained_net(), image()))


def plans_of(module):
    return [plan for plan in module.__dict__["_ipex_forward"]._plans.values() if plan is not None]


class Automatic(unittest.TestCase):
    def run_thrice(self, module, *args):
        with torch.no_grad():
            for _ in range(3):
                result = module(*args)
        return result

    def test_a_frozen_trace_gets_a_plan(self):
        frozen, net = frozen_net(), trained_net()
        with torch.no_grad():
            torch.testing.assert_close(self.run_thrice(frozen, image()), net(image()), rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(frozen(image(batch=5)), net(image(batch=5)), rtol=1e-4, atol=1e-5)
        self.assertEqual(len(plans_of(frozen)), 1)
        self.assertIn("ipex_studio::region", str(plans_of(frozen)[0].graph))

    def test_a_function_that_was_saved_gets_a_plan(self):
        weight = torch.randn(64, 64)
        function = torch.jit.trace(lambda x: torch.relu(torch.mm(x, weight)), torch.randn(8, 64))
        stream = io.BytesIO()
        torch.jit.save(function, stream)
        stream.seek(0)
        loaded, x = torch.jit.load(stream), torch.randn(8, 64)
        mode = loaded.training  # such files are said to be in training mode
        torch.testing.assert_close(self.run_thrice(loaded, x), torch.relu(torch.mm(x, weight)), rtol=1e-5, atol=1e-5)
        self.assertEqual(len(plans_of(loaded)), 1)
        self.assertEqual(loaded.training, mode)
        stream.seek(0)
        self.assertIn("ipex_studio::region", str(ipex_studio.optimize(torch.jit.load(stream), sample_input=x).graph))

    def test_sums_in_bf16_may_be_rounded_otherwise(self):
        layers = [nn.Linear(256, 256).bfloat16() for _ in range(4)]
        with torch.no_grad():
            frozen = torch.jit.freeze(torch.jit.trace(nn.Sequential(*layers).eval(), torch.ones(8, 256, dtype=torch.bfloat16)))
            x = torch.randn(64, 256).bfloat16()
            expected = x
            for layer in layers:
                expected = layer(expected)
            result = self.run_thrice(frozen, x)
        self.assertEqual(len(plans_of(frozen)), 1)
        self.assertLess((result.float() - expected.float()).norm(), 0.03 * expected.float().norm())

    def test_recurrent_layers_of_bf16_get_a_plan(self):
        for kind in (nn.LSTM, nn.GRU):
            torch.manual_seed(0)
            layer = kind(16, 24, num_layers=2, bidirectional=True, batch_first=True).eval()
            x = torch.randn(3, 9, 16)
            with torch.no_grad():
                expected = layer.bfloat16().float()(x.bfloat16().float())
                frozen = torch.jit.freeze(torch.jit.trace(layer.bfloat16(), x.bfloat16()))
                result = self.run_thrice(frozen, x.bfloat16())
            graph = str(plans_of(frozen)[0].graph)
            self.assertTrue("ipex_studio::region" in graph and kind.__name__.lower() + "(" not in graph, graph)
            for ours, wanted in ((result[0], expected[0]), *zip(result[1] if kind is nn.LSTM else [result[1]],
                                                                expected[1] if kind is nn.LSTM else [expected[1]])):
                self.assertEqual(ours.dtype, torch.bfloat16)
                self.assertLess((ours.float() - wanted).norm(), 0.004 * wanted.norm())

    def test_what_asks_for_its_mode_stays_in_training_mode(self):
        class Noisy(nn.Module):
            def forward(self, x):
                return x * 2 if self.training else x
        noisy = torch.jit.script(Noisy()).train()
        with self.assertLogs("ipex_studio", "WARNING"):
            self.assertIs(ipex_studio.optimize(noisy, sample_input=torch.ones(2)), noisy)

    def test_the_module_and_its_file_stay_stock(self):
        frozen = frozen_net()
        self.run_thrice(frozen, image())
        self.assertIsInstance(frozen, torch.jit.ScriptModule)
        self.assertNotIn("ipex_studio", frozen.code)
        stream = io.BytesIO()
        torch.jit.save(frozen, stream)
        stream.seek(0)
        loaded = torch.jit.load(stream)
        self.run_thrice(loaded, image())
        self.assertEqual(len(plans_of(loaded)), 1)

    def test_it_can_be_switched_off(self):
        frozen = frozen_net()
        ipex_studio.enable_onednn_fusion(False)
        try:
            self.run_thrice(frozen, image())
            self.assertEqual(plans_of(frozen), [])
        finally:
            ipex_studio.enable_onednn_fusion(True)
        self.run_thrice(frozen, image())
        self.assertEqual(len(plans_of(frozen)), 1)

    def test_gradients_and_autocast_are_torchs(self):
        frozen = frozen_net()
        self.run_thrice(frozen, image())
        x = image().requires_grad_()
        frozen(x).sum().backward()
        self.assertIsNotNone(x.grad)
        with torch.no_grad(), torch.cpu.amp.autocast():
            self.assertEqual(frozen(image()).dtype, trained_net()(image()).dtype)

    def test_modules_with_state_of_their_own_stay(self):
        loaded = io.BytesIO()
        torch.jit.save(torch.jit.trace(trained_net(), image()), loaded)
        loaded.seek(0)
        self.assertIs(type(torch.jit.load(loaded)), torch.jit.RecursiveScriptModule)

    def test_random_results_stay_random(self):
        class Random(nn.Module):
            def forward(self, x):
                return x + torch.rand_like(x)

        frozen = torch.jit.freeze(torch.jit.script(Random().eval()))
        self.run_thrice(frozen, torch.ones(9))
        self.assertFalse(torch.equal(frozen(torch.ones(9)), frozen(torch.ones(9))))

    def test_arguments_are_written_to_once_a_call(self):
        class Writer(nn.Module):
            def forward(self, x):
                return x.add_(1).sum()

        frozen = torch.jit.freeze(torch.jit.script(Writer().eval()))
        x = torch.zeros(3)
        self.run_thrice(frozen, x)
        self.assertEqual(x.tolist(), [3, 3, 3])

    def test_lists_and_numbers_as_arguments(self):
        class Scaled(nn.Module):
            def forward(self, xs: List[torch.Tensor], scale: float):
                return torch.relu(xs[0] * scale + xs[1])

        frozen = torch.jit.freeze(torch.jit.script(Scaled().eval()))
        xs = [torch.randn(3, 4), torch.randn(3, 4)]
        for scale in (2.0, 3.0):
            torch.testing.assert_close(self.run_thrice(frozen, xs, scale), torch.relu(xs[0] * scale + xs[1]))

    def test_optimized_modules_are_left_alone(self):
        fast = ipex_studio.optimize(frozen_net(), sample_input=image())
        self.assertIs(type(fast), torch.jit.RecursiveScriptModule)


class MeasuredKernels(unittest.TestCase):
    """Kernels are measured at the second call, once for all processes."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        environment = mock.patch.dict(os.environ, XDG_DATA_HOME=self._folder.name)
        environment.start()
        self.addCleanup(environment.stop)
        self.begin_as_a_new_process()
        self.addCleanup(self.begin_as_a_new_process)
        with torch.no_grad():
            traced = torch.jit.trace(trained_net(width=24), image(side=32))
        self._file = os.path.join(self._folder.name, "net.pt")
        torch.jit.save(torch.jit.freeze(traced), self._file)

    def begin_as_a_new_process(self):
        _kernel_times._wait_for_writers()
        _kernel_times._known.clear()
        _kernel_times._is_read = False

    def results(self, calls=6):
        """Results of a module that was just loaded, and the number of entries that its plan adds to what is known."""
        loaded, added = torch.jit.load(self._file), []
        remember = _kernel_times.remember
        with torch.no_grad(), mock.patch.object(_kernel_times, "remember", lambda record: added.append(remember(record))):
            results = [loaded(image(side=32)) for _ in range(calls)]
        return results, sum(added)

    def test_are_remembered_and_give_the_same_bits(self):
        results, added = self.results()
        self.assertGreater(added, 2)
        torch.testing.assert_close(results[0], results[1], rtol=1e-4, atol=1e-5)
        for result in results[2:]:
            self.assertTrue(torch.equal(result, results[1]))
        again, added = self.results()
        self.assertEqual(added, 0)
        self.begin_as_a_new_process()
        later, added = self.results()
        self.assertEqual(added, 0)
        self.assertTrue(torch.equal(again[1], results[1]) and torch.equal(later[1], results[1]))

    def test_are_those_of_the_program(self):
        threads = torch.get_num_threads()
        job = {"threads": threads, "iterations": 3, "warmup": 0, "inputs": [image(side=32)]}
        ipex_studio.run(self._file, **job)
        self.assertEqual(self.results()[1], 0)
        known = len(_kernel_times._known)
        self.begin_as_a_new_process()
        os.remove(os.path.join(self._folder.name, "ipex-studio", "profile.db"))
        self.assertGreater(self.results()[1], 2)
        self.begin_as_a_new_process()
        ipex_studio.run(self._file, **job)
        _kernel_times.remembered()
        self.assertEqual(len(_kernel_times._known), known)

    def test_none_are_measured_without_a_budget(self):
        ipex_studio.set_measuring_budget(0)
        try:
            results, added = self.results()
        finally:
            ipex_studio.set_measuring_budget(5)
        self.assertEqual(added, 0)
        torch.testing.assert_close(results[0], results[5], rtol=1e-4, atol=1e-5)
        with self.assertRaises(ValueError):
            ipex_studio.set_measuring_budget(-1)


if __name__ == "__main__":
    unittest.main()
