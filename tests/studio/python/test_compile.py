#!/usr/bin/python3
"""torch.compile with the backend "ipex_studio": graphs of inference run by plans, all else as torch runs it."""
import time
import unittest
from unittest import mock

import torch
from torch import nn

import ipex_studio
from ipex_studio import _compile
from networks import image, trained_net

HAS_COMPILE = hasattr(torch, "compile")


def modules_made(function):
    """What a call makes plans for: each graph with its weights."""
    made = []
    give_plans = _compile.give_plans
    _compile.give_plans = lambda module, tune: made.append(give_plans(module, tune)) or module
    try:
        function()
    finally:
        _compile.give_plans = give_plans
    return made


def plans_of(made):
    return [plan for module in made for plan in module._ipex_plans._by_form.values() if plan is not None]


@unittest.skipUnless(HAS_COMPILE, f"torch {torch.__version__} has no torch.compile")
class Compile(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.net = trained_net()

    def check(self, compiled, model, *args):
        with torch.no_grad():
            for _ in range(2):
                torch.testing.assert_close(compiled(*args), model(*args), rtol=1e-4, atol=1e-5)

    def test_a_graph_runs_by_a_plan_under_both_names(self):
        for name in ("ipex_studio", "ipex"):
            with self.subTest(name=name):
                torch._dynamo.reset()
                made = modules_made(lambda: self.check(torch.compile(self.net, backend=name), self.net, image()))
                self.assertEqual(len(plans_of(made)), 1)

    def test_graphs_of_little_work_stay_as_they_are(self):
        tiny = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
        for model, x in ((tiny, torch.randn(1, 32)), (nn.ReLU(), torch.randn(8, 8))):
            torch._dynamo.reset()
            self.assertEqual(modules_made(lambda: self.check(torch.compile(model, backend="ipex_studio"), model, x)), [])
        torch._dynamo.reset()
        wide = nn.Sequential(nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 10)).eval()
        compiled = torch.compile(wide, backend="ipex_studio")
        self.assertEqual(len(modules_made(lambda: self.check(compiled, wide, torch.randn(4, 256)))), 1)

    def test_calls_without_plans_go_around_the_checks(self):
        tiny = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
        compiled = torch.compile(tiny, backend="ipex_studio")
        around = type(compiled)._ipex_around
        with mock.patch.object(around, "compiled", wraps=around.compiled) as calls, torch.no_grad():
            for _ in range(8):
                torch.testing.assert_close(compiled(torch.ones(1, 32)), tiny(torch.ones(1, 32)))
            self.assertEqual(calls.call_count, around.CALLS + 1)  # the first one compiles
            torch.testing.assert_close(compiled(input=torch.ones(1, 32)), tiny(torch.ones(1, 32)))
            for _ in range(8):  # other sizes, for which a plan pays
                torch.testing.assert_close(compiled(torch.ones(512, 32)), tiny(torch.ones(512, 32)))
            self.assertEqual(calls.call_count, around.CALLS + 10)
        tiny.train()
        compiled(torch.ones(1, 32)).sum().backward()
        self.assertIsNotNone(tiny[0].weight.grad)

    def test_what_is_slower_by_its_plan_goes_around_it(self):
        for slow in ("compiled", "stock"):
            calls = {"compiled": 0, "stock": 0}

            def call(name, x):
                calls[name] += 1
                _compile._Work.seen += name == "compiled"  # as a plan does
                time.sleep(2e-3 if name == slow else 2e-4)
                return x

            around = _compile._Around(lambda x: call("compiled", x), lambda x: call("stock", x)).caller()
            for _ in range(_compile._Around.FIRST + 2 * _compile._Race.ROUNDS + 1):
                around(torch.ones(2))
            before = dict(calls)
            for _ in range(5):
                around(torch.ones(2))
            self.assertEqual(calls[slow], before[slow])

    def test_hooks_and_modes_count_in_calls_around_the_checks(self):
        tiny = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)).eval()
        compiled, x, seen = torch.compile(tiny, backend="ipex_studio"), torch.ones(1, 8), []
        with torch.no_grad():
            for _ in range(6):
                self.assertTrue(torch.equal(compiled(x), tiny(x)))
            handles = [tiny.register_forward_hook(lambda *_: seen.append("stock")),
                       compiled.register_forward_hook(lambda *_: seen.append("compiled"))]
            compiled(x)
            self.assertIn("compiled", seen)
            handles.pop().remove()
            seen.clear()
            compiled(x)
            self.assertIn("stock", seen)
            handles.pop().remove()
            compiled.train()
            self.assertFalse(torch.equal(compiled(x), compiled(x)))
            tiny[0].weight = nn.Parameter(torch.zeros(8, 8))
            tiny[0].bias = nn.Parameter(torch.ones(8))
            self.assertTrue(torch.equal(compiled.eval()(x), torch.ones(1, 8)))
        self.assertEqual(list(compiled.state_dict()), ["_orig_mod.0.weight", "_orig_mod.0.bias"])
        self.assertIsInstance(compiled, torch._dynamo.eval_frame.OptimizedModule)

    def test_functions_without_plans_go_around_the_checks(self):
        @torch.compile(backend="ipex_studio")
        def function(x):
            return x + 1

        with torch.no_grad():
            for _ in range(8):
                self.assertTrue(torch.equal(function(torch.ones(3)), torch.ones(3) + 1))
        self.assertEqual(function.__name__, "function")

    def test_it_is_a_decorator_too(self):
        @torch.compile(backend="ipex_studio")
        def function(x):
            return torch.relu(x) * 2 + x

        made = modules_made(lambda: self.check(function, lambda x: torch.relu(x) * 2 + x, image()))
        self.assertEqual(len(plans_of(made)), 1)

    def test_other_backends_stay(self):
        self.check(torch.compile(self.net, backend="eager"), self.net, image())

    def test_sizes_that_vary_share_one_plan(self):
        compiled = torch.compile(self.net, backend="ipex_studio", dynamic=True)

        def run():
            for batch in (2, 3, 5, 7):
                self.check(compiled, self.net, image(batch=batch))

        (module,) = modules_made(run)
        self.assertEqual(len(set(map(id, plans_of([module])))), 1)

    def test_results_may_be_sizes(self):
        def function(x):
            return torch.relu(x).flatten(1), x.shape[0], 3

        compiled = torch.compile(function, backend="ipex_studio", dynamic=True)
        for batch in (2, 3, 4):
            with torch.no_grad():
                result, size, three = compiled(image(batch=batch))
            torch.testing.assert_close(result, torch.relu(image(batch=batch)).flatten(1))
            self.assertEqual((size, three), (batch, 3))

    def test_new_weights_are_seen(self):
        compiled = torch.compile(self.net, backend="ipex_studio")
        self.check(compiled, self.net, image())
        with torch.no_grad():
            self.net.head.weight.mul_(3)
            self.net.norm.running_mean.add_(1)
        self.check(compiled, self.net, image())
        self.net.load_state_dict(trained_net(seed=5).state_dict())
        self.check(compiled, self.net, image())
        self.net.head.weight = nn.Parameter(torch.randn_like(self.net.head.weight))
        self.check(compiled, self.net, image())

    def test_modules_that_share_code_keep_their_weights(self):
        nets = [trained_net(seed=seed) for seed in range(4)]

        @torch.compile(backend="ipex_studio")
        def run(net, x):
            return net(x)

        with torch.no_grad():
            for _ in range(2):
                for net in nets:
                    torch.testing.assert_close(run(net, image()), net(image()), rtol=1e-4, atol=1e-5)

    def test_gradients_are_torchs(self):
        compiled, x = torch.compile(self.net, backend="ipex_studio"), image()
        compiled(x).sum().backward()
        gradients = [parameter.grad.clone() for parameter in self.net.parameters()]
        self.net.zero_grad()
        self.net(x).sum().backward()
        for gradient, parameter in zip(gradients, self.net.parameters()):
            torch.testing.assert_close(gradient, parameter.grad)

    def test_training_mode_changes_statistics(self):
        net, other = trained_net().train(), trained_net().train()
        net.drop.p = other.drop.p = 0.0
        compiled = torch.compile(net, backend="ipex_studio")
        with torch.no_grad():
            for _ in range(3):
                torch.testing.assert_close(compiled(image()), other(image()))
        torch.testing.assert_close(net.norm.running_mean, other.norm.running_mean)

    def test_a_write_to_an_argument_is_seen(self):
        def function(x):
            x.add_(1)
            return torch.relu(x)

        compiled, given, wanted = torch.compile(function, backend="ipex_studio"), image(), image()
        with torch.no_grad():
            for _ in range(3):
                torch.testing.assert_close(compiled(given), function(wanted))
                torch.testing.assert_close(given, wanted)

    def test_graph_breaks_and_control_flow(self):
        def function(x, flag):
            y = torch.relu(x) * 2
            if y.sum() > 0:
                y = y + 1
            return y.tanh() if flag else y

        compiled = torch.compile(function, backend="ipex_studio")
        for x in (image(), -image().abs()):
            for flag in (True, False):
                self.check(compiled, function, x, flag)

    def test_inference_mode_and_autocast(self):
        compiled = torch.compile(self.net, backend="ipex_studio")
        with torch.inference_mode():
            for _ in range(2):
                torch.testing.assert_close(compiled(image()), self.net(image()), rtol=1e-4, atol=1e-5)
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(compiled(image()).dtype, torch.bfloat16)

    def test_max_autotune_and_options(self):
        self.check(torch.compile(self.net, backend="ipex_studio", mode="max-autotune"), self.net, image())
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, "has no options"), torch.no_grad():
            torch.compile(self.net, backend="ipex_studio", options={"no": "such"})(image())


class Race(unittest.TestCase):
    def winner(self, plan, graph):
        race, turns = _compile._Race(), []
        while race.winner is None:
            turns.append(race.is_turn_of_plan())
            race.note(turns[-1], 9.0 if len(turns) <= 3 else (plan if turns[-1] else graph))
        self.assertEqual(turns, [True] * 3 + [False, True] * 4)
        return race.winner

    def test_a_plan_that_is_slower_is_left(self):
        self.assertTrue(self.winner(plan=1.0, graph=2.0))
        self.assertTrue(self.winner(plan=1.0, graph=0.97))
        self.assertFalse(self.winner(plan=1.0, graph=0.5))

    @unittest.skipUnless(HAS_COMPILE, f"torch {torch.__version__} has no torch.compile")
    def test_results_are_right_on_either_way(self):
        for faster in (True, False):
            torch._dynamo.reset()
            net = trained_net()
            with mock.patch.object(_compile._Race, "note", lambda race, *_: setattr(race, "winner", faster)), torch.no_grad():
                compiled = torch.compile(net, backend="ipex_studio")
                for _ in range(3):
                    torch.testing.assert_close(compiled(image()), net(image()), rtol=1e-4, atol=1e-5)


@unittest.skipUnless(hasattr(torch, "export"), f"torch {torch.__version__} has no torch.export")
class Export(unittest.TestCase):
    def test_an_exported_program_gets_plans_as_a_module(self):
        net = trained_net()
        module = torch.export.export(net, (image(),)).module()
        fast = ipex_studio.optimize(module, sample_input=image())
        with torch.no_grad():
            torch.testing.assert_close(fast(image()), net(image()), rtol=1e-4, atol=1e-5)
        self.assertEqual(len([plan for plan in fast._ipex_plans._by_form.values() if plan is not None]), 1)


if __name__ == "__main__":
    unittest.main()
