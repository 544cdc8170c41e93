"""optimize(model) without a sample: linear layers by packed weights, and what stays as it was."""
import copy
import io
import pickle
import unittest

import torch
from torch import nn

import ipex_studio
from ipex_studio import _packed


class Layers(nn.Module):
    def __init__(self, inputs=192, hidden=160, outputs=96):
        super().__init__()
        self.first = nn.Linear(inputs, hidden)
        self.second = nn.Linear(hidden, outputs, bias=False)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def rows(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, 192)


def calls_of(model: nn.Module, *inputs: torch.Tensor) -> int:
    """How many layers a call computes by packed weights."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        model(*inputs)
    return sum(event.name == "ipex_studio::linear" for event in profile.events())


class PackedLayers(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.stock = Layers().eval()
        self.ours = ipex_studio.optimize(self.stock)

    def check(self, *sizes: int):
        x = rows(*sizes)
        expected = copy.deepcopy(self.stock).double()(x.double())
        self.assertLess((self.ours(x).double() - expected).abs().max().item(), 1e-5 * expected.abs().max().item())

    def test_gives_what_the_layers_give(self):
        with torch.no_grad():
            for sizes in ((64,), (1, 128), (2, 3, 40), (37,), (512,)):
                self.check(*sizes)
            self.assertEqual(calls_of(self.ours, rows(128)), 2)
        with torch.inference_mode():
            self.check(128)

    def test_little_work_stays_with_torch(self):
        with torch.no_grad():
            for sizes in ((), (1,), (4,), (0,), (3, 0)):
                self.assertEqual(calls_of(self.ours, rows(*sizes)), 0)
                self.assertTrue(torch.equal(self.ours(rows(*sizes)).isnan(), self.stock(rows(*sizes)).isnan()))

    def test_gradients_and_autocast_stay_with_torch(self):
        x = rows(128)
        self.assertEqual(calls_of(self.ours, x), 0)
        self.ours(x).sum().backward()
        self.assertIsNotNone(self.ours.first.weight.grad)
        with torch.no_grad(), torch.cpu.amp.autocast():
            self.assertEqual(self.ours(x).dtype, torch.bfloat16)

    def test_parameters_without_gradients_need_no_switch(self):
        self.ours.requires_grad_(False)
        self.assertEqual(calls_of(self.ours, rows(128)), 2)

    def test_written_and_replaced_weights_are_packed_anew(self):
        with torch.no_grad():
            self.check(128)
            for layers in (self.stock, self.ours):
                layers.first.weight.mul_(2)
            self.check(128)
            for layers in (self.stock, self.ours):
                layers.second.weight = nn.Parameter(layers.second.weight.detach() * 3)
            self.check(128)
            other = Layers().state_dict()
            for layers in (self.stock, self.ours):
                layers.load_state_dict(other)
            self.check(128)
            for layers in (self.stock, self.ours):
                layers.first.weight.data = layers.first.weight.data.flip(0)
            self.check(128)

    def test_copies_and_pickles(self):
        for copied in (copy.deepcopy(self.ours), pickle.loads(pickle.dumps(self.ours))):
            with torch.no_grad():
                self.assertEqual(calls_of(copied, rows(128)), 2)
        self.assertEqual(list(self.ours.state_dict()), list(self.stock.state_dict()))
        self.assertIsInstance(self.ours.first, nn.Linear)

    def test_traces_and_scripts_are_those_of_torch(self):
        with torch.no_grad():
            for made in (torch.jit.trace(self.ours, rows(128)), torch.jit.script(self.ours)):
                self.assertNotIn("ipex_studio", str(made.inlined_graph))
                file = io.BytesIO()
                torch.jit.save(made, file)

    def test_switches(self):
        with torch.no_grad():
            for model in (ipex_studio.optimize(self.stock, level="O0"),
                          ipex_studio.optimize(self.stock, weights_prepack=False)):
                self.assertEqual(calls_of(model, rows(128)), 0)
            self.assertEqual(calls_of(ipex_studio.optimize(self.stock, level="O0", weights_prepack=True), rows(128)), 2)

    def test_training_takes_layers_back(self):
        trained = ipex_studio.optimize(self.ours.train())
        self.assertFalse(any(type(layer).__dict__.get("_ipex_role") == _packed.ROLE for layer in trained.modules()))
        again = ipex_studio.optimize(trained.eval())
        with torch.no_grad():
            self.assertEqual(calls_of(again, rows(128)), 2)

    def test_layers_of_others_stay(self):
        class Own(nn.Linear):
            pass

        with torch.no_grad():
            self.assertEqual(calls_of(ipex_studio.optimize(nn.Sequential(Own(192, 192)).eval()), rows(128)), 0)


class TurnedLayers(unittest.TestCase):
    def test_gives_what_the_layer_gives(self):
        try:
            from transformers.pytorch_utils import Conv1D
        except ImportError:
            self.skipTest("takes transformers")
        stock = nn.Sequential(Conv1D(160, 192)).eval()
        ours = ipex_studio.optimize(stock)
        with torch.no_grad():
            for _ in range(2):
                self.assertEqual(calls_of(ours, rows(1, 128)), 1)
                x = rows(1, 128)
                torch.testing.assert_close(ours(x), stock(x), rtol=1e-5, atol=1e-5)
                for layers in (stock, ours):
                    layers[0].weight.mul_(2)
            for layers in (stock, ours):
                layers[0].weight.data = layers[0].weight.data.flip(0)
            torch.testing.assert_close(ours(x), stock(x), rtol=1e-5, atol=1e-5)
        self.assertEqual(calls_of(copy.deepcopy(ours), rows(1, 128).requires_grad_()), 0)


if __name__ == "__main__":
    unittest.main()
