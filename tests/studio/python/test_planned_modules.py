#!/usr/bin/python3
"""optimize() on modules of Python: plans where they are right, the model itself everywhere else."""
import copy
import io
import pickle
import threading
import unittest
from collections import namedtuple

import torch
from torch import nn

import ipex_studio
from ipex_studio import _plans
from networks import Net, image, trained_net

Pair = namedtuple("Pair", "first second")


def plans_of(model):
    """The plans that calls of the model made."""
    return [traced for traced in model._ipex_plans._by_form.values() if traced is not None]


class Planned(unittest.TestCase):
    def check(self, model, fast, *args, **kwargs):
        with torch.no_grad():
            torch.testing.assert_close(fast(*args, **kwargs), model(*args, **kwargs), rtol=1e-4, atol=1e-5)

    def planned(self, model, *args, count=1, **options):
        fast = ipex_studio.optimize(model.eval(), sample_input=args, **options)
        self.check(model, fast, *args)
        self.assertEqual(len(plans_of(fast)), count)
        return fast

    def declined(self, model, reason, *args):
        with self.assertLogs("ipex_studio", "WARNING") as said:
            fast = self.planned(model, *args, count=0)
        self.assertRegex("\n".join(said.output), reason)
        return fast

    def test_the_copy_is_of_the_same_class_with_the_same_state(self):
        net = trained_net()
        fast = self.planned(net, image())
        self.assertIsNot(fast, net)
        self.assertIsInstance(fast, Net)
        self.assertEqual(type(fast).__name__, "Net")
        self.assertEqual(list(fast.state_dict()), list(net.state_dict()))
        self.assertFalse(_plans.is_planned(net))

    def test_inplace_changes_the_model_itself(self):
        net = trained_net()
        fast = ipex_studio.optimize(net, sample_input=image(), inplace=True)
        self.assertIs(fast, net)
        self.assertEqual(len(plans_of(net)), 1)

    def test_arguments_by_name_and_numbers(self):
        net = trained_net()
        fast = ipex_studio.optimize(net, sample_input={"x": image()})
        self.check(net, fast, x=image(seed=3))
        self.check(net, fast, image(), scale=2.0)
        self.check(net, fast, image(), scale=3.0)
        self.check(net, fast, image(), torch.tensor(3.0))
        self.assertEqual(len(plans_of(fast)), 4)

    def test_one_plan_serves_all_sizes(self):
        net = trained_net()
        fast = self.planned(net, image())
        for batch in range(3, 9):
            self.check(net, fast, image(batch=batch))
        self.assertEqual(len({id(traced.plan) for traced in plans_of(fast)}), 1)

    def test_code_that_depends_on_sizes_has_a_plan_for_each(self):
        class Odd(nn.Module):
            def forward(self, x):
                return x * len(x.shape) + torch.zeros([int(side) for side in x.shape]) + torch.tensor(x.numel() + 0.0)

        model = Odd()
        fast = ipex_studio.optimize(model.eval(), graph_mode=True)
        for side in (3, 4, 5):
            self.check(model, fast, torch.randn(side, 2))
        self.assertEqual(len(plans_of(fast)), 3)

    def test_a_branch_on_sizes_is_taken_by_each_size(self):
        class Branch(nn.Module):
            def forward(self, x):
                assert x.shape[1] == 2
                return x + 1 if x.shape[0] > 4 else x - 1

        model = Branch()
        fast = ipex_studio.optimize(model.eval(), graph_mode=True)
        for side in (2, 3, 5, 6, 4):
            self.check(model, fast, torch.randn(side, 2))
        self.assertEqual(len(plans_of(fast)), 5)

    def test_results_of_any_nesting(self):
        class Nested(nn.Module):
            def forward(self, x):
                return {"a": x + 1, "b": [x * 2, (x - 1, None)], "c": Pair(x, x.sum())}

        fast = self.planned(Nested(), torch.randn(3))
        with torch.no_grad():
            result = fast(torch.ones(3))
        self.assertIsInstance(result["c"], Pair)
        self.assertIsNone(result["b"][1][1])

    def test_gradients_are_those_of_the_model(self):
        net = trained_net()
        fast = self.planned(net, image())
        x = image().requires_grad_()
        with self.assertLogs("ipex_studio", "WARNING"):
            fast(x).sum().backward()
        self.assertIsNotNone(fast.conv.weight.grad)
        self.assertIsNotNone(x.grad)
        for parameter in fast.parameters():
            parameter.requires_grad_(False)
        self.assertFalse(fast(image()).requires_grad)

    def test_autocast_is_that_of_the_model(self):
        net = trained_net()
        fast = self.planned(net, image())
        with torch.no_grad(), torch.cpu.amp.autocast():
            self.assertEqual(fast(image()).dtype, net(image()).dtype)
            torch.testing.assert_close(fast(image()), net(image()), rtol=0.02, atol=0.01)

    def test_inference_mode(self):
        net = trained_net()
        fast = ipex_studio.optimize(net, graph_mode=True)
        with torch.inference_mode():
            torch.testing.assert_close(fast(image()), net(image()), rtol=1e-4, atol=1e-5)
        self.assertEqual(len(plans_of(fast)), 1)
        self.check(net, fast, image())

    def test_training_mode_drops_out(self):
        fast = self.planned(trained_net(), image(), replace_dropout_with_identity=False)
        fast.train()
        with torch.no_grad():
            self.assertFalse(torch.equal(fast(image()), fast(image())))
        fast.eval()

    def test_new_weights_are_used(self):
        net, other = trained_net(), trained_net(seed=5)
        fast = self.planned(net, image(), replace_dropout_with_identity=False)
        fast.load_state_dict(other.state_dict())
        self.check(other, fast, image())
        with torch.no_grad():
            for model in (fast, other):
                model.head.weight.mul_(2)
        self.check(other, fast, image())
        for model in (fast, other):
            model.conv = nn.Conv2d(3, 8, 1)
        other.conv.load_state_dict(fast.conv.state_dict())
        self.check(other, fast, image())
        fast.drop.train()
        with torch.no_grad():
            self.assertFalse(torch.equal(fast(image()), fast(image())))

    def test_casts_are_obeyed(self):
        fast = self.planned(trained_net(), image())
        double = fast.double()
        with torch.no_grad():
            self.assertEqual(double(image().double()).dtype, torch.float64)

    def test_copies_and_pickles_run_by_plans_of_their_own(self):
        net = trained_net()
        fast = self.planned(net, image())
        stream = io.BytesIO()
        torch.save(fast, stream)
        stream.seek(0)
        for other in (copy.deepcopy(fast), copy.copy(fast), pickle.loads(pickle.dumps(fast)), torch.load(stream, weights_only=False)):
            self.assertIsInstance(other, Net)
            self.check(net, other, image())
            self.assertEqual(len(plans_of(other)), 1)
            self.assertIsNot(plans_of(other)[0], plans_of(fast)[0])

    def test_state_goes_to_stock_models_and_back(self):
        fast = self.planned(trained_net(), image())
        stock = Net().eval()
        stock.load_state_dict(fast.state_dict())
        self.check(stock, fast, image())

    def test_tied_weights_stay_tied(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(6, 6)
                self.two = nn.Linear(6, 6)
                self.two.weight = self.one.weight

            def forward(self, x):
                return self.two(torch.relu(self.one(x)))

        fast = self.planned(Tied(), torch.randn(2, 6))
        self.assertIs(fast.one.weight, fast.two.weight)

    def test_tracing_and_scripting_see_the_model(self):
        net = trained_net()
        fast = self.planned(net, image())
        with torch.no_grad():
            traced = torch.jit.freeze(torch.jit.trace(fast, image()))
        self.assertNotIn("ipex_studio", traced.code)
        self.check(net, traced, image())
        scripted = torch.jit.script(self.planned(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), torch.randn(2, 3)))
        scripted(torch.randn(2, 3))

    def test_threads_share_plans(self):
        net = trained_net()
        fast = ipex_studio.optimize(net, graph_mode=True)
        with torch.no_grad():
            wanted = net(image())
        wrong = []

        def work():
            with torch.no_grad():
                for _ in range(10):
                    if not torch.allclose(fast(image()), wanted, atol=1e-5):
                        wrong.append(1)

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(wrong, [])
        self.assertEqual(len(plans_of(fast)), 1)

    def test_code_that_depends_on_values_stays(self):
        class Branch(nn.Module):
            def forward(self, x):
                return x + 1 if x.sum() > 0 else x - 1

        class Array(nn.Module):
            def forward(self, x):
                return x + float(x.detach().numpy().sum())

        class Layers(nn.Module):
            def forward(self, x):
                for _ in range(int(x.max())):
                    x = x * 2
                return x

        for model in (Branch(), Array(), Layers()):
            fast = self.declined(model, "depends on values", torch.ones(3))
            self.check(model, fast, -torch.ones(3))
            self.check(model, fast, 3 * torch.ones(3))

    def test_state_is_changed_once_a_call(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("calls", torch.zeros(1))
                self.count = 0

            def forward(self, x):
                self.calls += 1
                self.count += 1
                return x + self.calls

        fast = ipex_studio.optimize(Counter().eval(), graph_mode=True)
        with torch.no_grad(), self.assertLogs("ipex_studio", "WARNING"):
            for _ in range(3):
                fast(torch.zeros(2))
        self.assertEqual((fast.count, int(fast.calls)), (3, 3))

    def test_random_results_stay_random(self):
        class Random(nn.Module):
            def forward(self, x):
                return x + torch.rand_like(x)

        fast = ipex_studio.optimize(Random().eval(), graph_mode=True)
        with torch.no_grad(), self.assertLogs("ipex_studio", "WARNING"):
            self.assertFalse(torch.equal(fast(torch.ones(9)), fast(torch.ones(9))))

    def test_hooks_of_layers_are_called(self):
        net = trained_net()
        fast = self.planned(net, image())
        seen = []
        handle = fast.head.register_forward_hook(lambda *_: seen.append(1))
        with self.assertLogs("ipex_studio", "WARNING"):
            self.check(net, fast, image())
        self.assertEqual(seen, [1])
        handle.remove()

    def test_arguments_that_are_written_to(self):
        class Writer(nn.Module):
            def forward(self, x):
                return x.add_(1)

        fast = ipex_studio.optimize(Writer().eval(), graph_mode=True)
        x = torch.zeros(3)
        with torch.no_grad(), self.assertLogs("ipex_studio", "WARNING"):
            fast(x)
            fast(x)
        self.assertEqual(x.tolist(), [2, 2, 2])

    def test_what_cannot_be_taken_apart_goes_to_the_model(self):
        class Any(nn.Module):
            def forward(self, x, other):
                return x if other else x + 1

        fast = ipex_studio.optimize(Any().eval(), graph_mode=True)
        with torch.no_grad(), self.assertLogs("ipex_studio", "WARNING"):
            self.assertEqual(fast(torch.zeros(2), {3}).tolist(), [0, 0])
            self.assertEqual(fast(torch.zeros(2), object()).tolist(), [0, 0])


if __name__ == "__main__":
    unittest.main()
