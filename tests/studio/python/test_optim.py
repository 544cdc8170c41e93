#!/usr/bin/python3
"""ipex_studio.optim against torch.optim: bits, double precision, states, groups, schedulers, sparse and half types."""
import copy
import io
import pickle
import unittest
import warnings

import torch
from torch import nn

import ipex_studio
from ipex_studio import optim

STOCK_BITS = torch.__version__.startswith("1.")  # square roots of later versions are MKL's, which round differently
SIZES = [(1,), (3,), (17,), (31,), (33,), (100,), (6, 5), (4, 3, 3, 3), ()]
OPTIONS = {
    "SGD": [dict(lr=0.1), dict(lr=0.1, weight_decay=0.1, maximize=True), dict(lr=0.1, momentum=0.9),
            dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1), dict(lr=0.1, momentum=0.9, nesterov=True)],
    "Adam": [{}, dict(weight_decay=0.1), dict(amsgrad=True, maximize=True), dict(betas=(0.3, 0.7), eps=1e-3)],
    "AdamW": [{}, dict(weight_decay=0.1, lr=0.01), dict(amsgrad=True, maximize=True)],
    "Adagrad": [{}, dict(lr_decay=0.1, weight_decay=0.1), dict(initial_accumulator_value=0.5, maximize=True)],
    "RMSprop": [{}, dict(centered=True), dict(momentum=0.9, weight_decay=0.1), dict(centered=True, momentum=0.9),
                dict(alpha=0.5, maximize=True)],
    "NAdam": [{}, dict(weight_decay=0.1, momentum_decay=0.01)],
    "RAdam": [{}, dict(weight_decay=0.1, betas=(0.5, 0.7))],
    "Adamax": [{}, dict(weight_decay=0.1, maximize=True)],
}


def cases():
    return [(name, options) for name, all_options in OPTIONS.items() for options in all_options]


def parameters(dtype=torch.float32, sizes=SIZES):
    torch.manual_seed(1)
    made = [nn.Parameter(torch.randn(size).to(dtype)) for size in sizes]
    if len(sizes) > 1:
        made.append(nn.Parameter(torch.randn(2, 3, 4, 4).to(dtype).to(memory_format=torch.channels_last)))
        made.append(nn.Parameter(torch.randn(40).to(dtype)[1:34]))  # begins beside an aligned address
        made.append(nn.Parameter(torch.randn(7, 9).to(dtype)[:, ::2]))
    return made


def give_gradients(made, step, dtype=None):
    torch.manual_seed(100 + step)
    for parameter in made:
        parameter.grad = torch.randn(parameter.shape).to(dtype or parameter.dtype)


def steps(optimizer, first, last, **arguments):
    made = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for step in range(first, last):
        give_gradients(made, step)
        optimizer.step(**arguments)
    return made


class Steps(unittest.TestCase):
    def assertSame(self, ours, theirs):
        for one, other in zip(ours, theirs):
            if STOCK_BITS:
                self.assertTrue(torch.equal(one.float(), other.float()), (one - other).abs().max())
            else:
                torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)

    def test_bits_are_those_of_the_for_loop(self):
        for name, options in cases():
            with self.subTest(name, **options):
                ours = getattr(optim, name)(parameters(), **options)
                stock = getattr(torch.optim, name)(parameters(), **options)
                self.assertSame(steps(ours, 0, 8), steps(stock, 0, 8))
                self.assertSame(_tensors(ours), _tensors(stock))

    def test_errors_against_double_precision(self):
        for fast in (False, True):
            for name, options in cases():
                with self.subTest(name, fast=fast, **options):
                    ours = getattr(optim, name)(parameters(), **options)
                    ours.fast = fast
                    exact = steps(getattr(torch.optim, name)(parameters(torch.float64), **options), 0, 50)
                    self.assertLess(_error(steps(ours, 0, 50), exact), 2e-6)

    def test_states_go_both_ways(self):
        for name, options in cases():
            with self.subTest(name, **options):
                ours, stock = (getattr(module, name)(parameters(), **options) for module in (optim, torch.optim))
                steps(ours, 0, 3)
                steps(stock, 0, 3)
                loaded_ours = getattr(optim, name)(copy.deepcopy(_all(stock)), **options)
                loaded_stock = getattr(torch.optim, name)(copy.deepcopy(_all(ours)), **options)
                loaded_ours.load_state_dict(_through_a_file(stock.state_dict()))
                loaded_stock.load_state_dict(_through_a_file(ours.state_dict()))
                expected = steps(stock, 3, 6)
                self.assertSame(steps(loaded_ours, 3, 6), expected)
                self.assertSame(steps(loaded_stock, 3, 6), expected)

    def test_an_optimizer_becomes_fused_in_the_middle(self):
        for name, options in cases():
            with self.subTest(name, **options):
                ours, stock = (getattr(torch.optim, name)(parameters(), **options) for _ in range(2))
                steps(ours, 0, 2)
                steps(stock, 0, 2)
                self.assertIs(optim.fused(ours), ours)
                self.assertIsInstance(ours, getattr(torch.optim, name))
                self.assertEqual((ours.fused, ours.params_attr), (True, {}))
                self.assertSame(steps(ours, 2, 5), steps(stock, 2, 5))

    def test_copies_and_pickles(self):
        ours = optim.Adam(parameters())
        ours.fast = True
        steps(ours, 0, 2)
        for other in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
            self.assertTrue(other.fast)
            made = steps(other, 2, 4)
            self.assertFalse(torch.equal(made[5], _all(ours)[5]))
        expected = steps(ours, 2, 4)
        self.assertTrue(torch.equal(made[5], expected[5]))

    def test_closures_see_gradients(self):
        weight = nn.Parameter(torch.ones(3))
        ours = optim.SGD([weight], lr=0.5)

        def closure():
            ours.zero_grad()
            loss = (weight * weight).sum()
            loss.backward()
            return loss

        self.assertEqual(ours.step(closure).item(), 3)
        self.assertTrue(torch.equal(weight.detach(), torch.zeros(3)))

    def test_groups_frozen_parameters_and_new_groups(self):
        def build(kind):
            made = parameters()
            optimizer = kind([dict(params=made[:3], lr=0.5, weight_decay=0.1), dict(params=made[3:6])], lr=0.01)
            for step in range(6):
                give_gradients(made, step)
                made[1].grad = None
                if step < 2:
                    made[4].grad = None
                if step == 3:
                    optimizer.add_param_group(dict(params=made[6:], lr=0.1))
                if step == 4:
                    optimizer.param_groups[0]["lr"] = 0.25
                optimizer.step()
            self.assertEqual(len(optimizer.state.get(made[1], {})), 0)
            return made

        self.assertSame(build(optim.Adam), build(torch.optim.Adam))

    def test_replaced_states_are_seen(self):
        ours, stock = (kind(parameters(), lr=0.1, momentum=0.9) for kind in (optim.SGD, torch.optim.SGD))
        for optimizer in (ours, stock):
            made = steps(optimizer, 0, 2)
            optimizer.state[made[2]]["momentum_buffer"] = torch.full_like(made[2], 3.)
            optimizer.state.pop(made[3])
        self.assertSame(steps(ours, 2, 4), steps(stock, 2, 4))

    def test_double_precision_may_be_the_default(self):
        made = parameters(sizes=[(5,)])
        torch.set_default_dtype(torch.float64)
        try:
            for kind in (optim.NAdam, optim.SGD, optim.RMSprop):
                optimizer = kind(made, lr=0.1)
                for _ in range(2):
                    made[0].grad = torch.ones(5, dtype=torch.float32)
                    optimizer.step()
                self.assertEqual(optimizer.state_dict()["state"].get(0, {}).get("step", torch.tensor(2)).item(), 2)
        finally:
            torch.set_default_dtype(torch.float32)

    def test_states_of_other_sizes_are_refused(self):
        ours = optim.AdamW(parameters(sizes=[(5,)]))
        made = steps(ours, 0, 1)
        ours.state[made[0]]["exp_avg"] = torch.zeros(4)
        with self.assertRaisesRegex(RuntimeError, r"states of other sizes for a parameter of the sizes \(5,\)"):
            ours.step()

    def test_schedulers(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kinds = (torch.optim.Adam, optim.Adam, torch.optim.Adam)
            before, after, stock = (kind(parameters(), lr=0.1) for kind in kinds)
            all_made = []
            for optimizer in (before, after, stock):
                scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
                if optimizer is before:
                    optim.fused(optimizer)
                for step in range(4):
                    made = steps(optimizer, step, step + 1)
                    scheduler.step()
                all_made.append(made)
        self.assertEqual(type(before), optim.Adam)
        self.assertSame(all_made[0], all_made[2])
        self.assertSame(all_made[1], all_made[2])

    def test_sparse_gradients(self):
        for name, options in (("SGD", dict(lr=0.1)), ("Adagrad", dict(lr=0.1))):
            nets = []
            for module in (optim, torch.optim):
                torch.manual_seed(0)
                net = nn.Sequential(nn.Embedding(20, 4, sparse=True), nn.Linear(4, 3))
                optimizer = getattr(module, name)(net.parameters(), **options)
                for step in range(3):
                    optimizer.zero_grad()
                    net(torch.tensor([[1, 5, 5, step]])).pow(2).sum().backward()
                    optimizer.step()
                nets.append(list(net.parameters()))
            self.assertSame(*nets)
        weight = nn.Parameter(torch.ones(3, 2))
        weight.grad = torch.ones(3, 2).to_sparse(1)
        with self.assertRaisesRegex(RuntimeError, "sparse"):
            optim.Adam([weight]).step()
        with self.assertRaisesRegex(RuntimeError, "Lamb has no step for these parameters: gradients are sparse"):
            optim.Lamb([weight]).step()

    def test_other_dtypes_take_the_stock_step(self):
        made = [nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3, dtype=torch.float64))]
        give_gradients(made, 0)
        ours = optim.SGD(made, lr=0.1)
        with self.assertLogs("ipex_studio", "WARNING") as said:
            ours.step()
            ours.step()
        self.assertEqual(len(said.output), 1)
        for parameter in made:
            torch.testing.assert_close(parameter.detach(), 1 - 0.2 * parameter.grad)

    def test_what_keeps_its_step(self):
        weight = nn.Parameter(torch.ones(3))

        class Own(torch.optim.SGD):
            pass

        replaced = torch.optim.SGD([weight], lr=0.1)
        replaced.step = lambda: None
        for optimizer, why in ((Own([weight], lr=0.1), "there is no fused one"), (replaced, "its step was replaced"),
                               (torch.optim.Adadelta([weight]), "there is no fused one"),
                               (torch.optim.Adam([weight], capturable=True), "capturable or differentiable is set")):
            kind = type(optimizer)
            with self.assertLogs("ipex_studio", "WARNING") as said:
                self.assertIs(ipex_studio.optimize(optimizer), optimizer)
            self.assertIn(why, said.output[0])
            self.assertIs(type(optimizer), kind)

    def test_gradients_are_scaled_clipped_and_checked_but_never_written(self):
        ours, stock = optim.AdamW(parameters()), torch.optim.AdamW(parameters())
        made, theirs = _all(ours), _all(stock)
        for step in range(3):
            give_gradients(made, step)
            give_gradients(theirs, step)
            kept = [parameter.grad.clone() for parameter in made]
            ours.step(gradient_scale=0.25, max_norm=0.5)
            for parameter in theirs:
                parameter.grad *= 0.25
            norm = nn.utils.clip_grad_norm_(theirs, 0.5)
            stock.step()
            self.assertAlmostEqual(ours.gradient_norm, norm.item(), places=4)
            self.assertTrue(all(torch.equal(parameter.grad, old) for parameter, old in zip(made, kept)))
        self.assertLess(_error(made, theirs), 1e-6)

    def test_a_scaler_leaves_scaling_to_fused_steps(self):
        ours, stock = optim.AdamW(parameters()), torch.optim.AdamW(parameters())
        expected = steps(stock, 0, 2)
        for step in range(2):
            give_gradients(_all(ours), step)
            for parameter in _all(ours):
                parameter.grad *= 1024
            ours.grad_scale = torch.tensor(1024.)
            for found in (1., 0.):
                ours.found_inf = torch.tensor(found)
                ours.step()
        self.assertSame(_all(ours), expected)

    def test_infinite_gradients_skip_a_step(self):
        for kind, options in ((optim.AdamW, {}), (optim.SGD, dict(lr=0.1, momentum=0.9, dampening=0.5))):
            ours, stock = kind(parameters(), **options), kind.__mro__[2](parameters(), **options)
            give_gradients(_all(ours), 7)
            _all(ours)[5].grad[3] = float("inf")
            ours.step(skip_infinite=True)
            self.assertFalse(torch.isfinite(torch.tensor(ours.gradient_norm)))
            self.assertSame(_all(ours), _all(stock))
            self.assertSame(steps(ours, 0, 2, skip_infinite=True), steps(stock, 0, 2))

    def test_models_get_fused_optimizers(self):
        def trained(**arguments):
            torch.manual_seed(0)
            net = nn.Linear(3, 2)
            return ipex_studio.optimize(net, optimizer=torch.optim.SGD(net.parameters(), lr=0.1), **arguments)

        net, optimizer = trained()
        self.assertIsInstance(optimizer, optim.SGD)
        net(torch.ones(1, 3)).sum().backward()
        before = net.weight.detach().clone()
        optimizer.step()
        self.assertFalse(torch.equal(net.weight, before))
        self.assertIs(type(trained(level="O0")[1]), torch.optim.SGD)
        self.assertIs(type(trained(fuse_update_step=False)[1]), torch.optim.SGD)
        self.assertIs(type(trained(level="O0", fuse_update_step=True)[1]), optim.SGD)


class InBackward(unittest.TestCase):
    """Steps while backward runs."""

    def trained(self, kind, in_backward, schedule=False, steps=5, **options):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 5), nn.Linear(5, 5))
        net[3].weight = net[2].weight  # its gradient is a sum
        optimizer = kind(net.parameters(), **options)
        if in_backward:
            optimizer.step_in_backward()
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5) if schedule else None
        freed = []
        for step in range(steps):
            optimizer.zero_grad()
            net(torch.randn(7, 6)).pow(2).sum().backward()
            freed.append(all(parameter.grad is None for parameter in net.parameters()))
            optimizer.step()
            if scheduler:
                scheduler.step()
        return list(net.parameters()), freed, optimizer

    def test_the_numbers_are_those_of_steps_behind_it(self):
        for kind, options in ((optim.SGD, dict(lr=0.1, momentum=0.9)), (optim.AdamW, dict(lr=0.01)),
                              (optim.Lamb, dict(lr=0.01, weight_decay=0.1)), (optim.NAdam, {})):
            for schedule in (False, True):
                expected, kept, _ = self.trained(kind, False, schedule, **options)
                made, freed, optimizer = self.trained(kind, True, schedule, **options)
                self.assertTrue(all(map(torch.equal, made, expected)))
                # The first step makes states, the second shows which gradient comes first.
                self.assertEqual((freed, kept), ([False, False, True, True, True], [False] * 5))

    def test_it_can_be_switched_off(self):
        made, _, optimizer = self.trained(optim.SGD, True, lr=0.1)
        with self.assertRaisesRegex(RuntimeError, "Steps within backward take no gradient_scale"):
            optimizer.step(max_norm=1)
        optimizer.step_in_backward(False)
        before = made[0].detach().clone()
        made[0].sum().backward()
        self.assertTrue(torch.equal(made[0].detach(), before))
        self.assertIsNotNone(made[0].grad)

    def test_loaded_states_count(self):
        _, _, optimizer = self.trained(optim.AdamW, True, lr=0.01)
        state = _through_a_file(optimizer.state_dict())
        made, _, other = self.trained(optim.AdamW, True, lr=0.01, steps=3)
        other.load_state_dict(state)
        for step in (6, 7):  # behind backward: hooks are placed, then it is known which gradient comes first
            made[1].sum().backward()
            other.step()
            other.zero_grad()
            self.assertEqual(other.state[made[1]]["step"].item(), step)
        made[1].sum().backward()
        self.assertIsNone(made[1].grad)
        self.assertEqual(other.state[made[1]]["step"].item(), 8)

    def test_another_gradient_may_come_first(self):
        one, other = (nn.Parameter(torch.ones(3)) for _ in range(2))
        optimizer = optim.SGD([one, other], lr=0.5)
        optimizer.step_in_backward()
        for step in range(6):
            optimizer.zero_grad()
            (one if step % 2 else other).sum().backward()
            optimizer.param_groups[0]["lr"] = 0.25
            optimizer.step()
        self.assertTrue(torch.equal(one, torch.full((3,), 0.25)))
        self.assertTrue(torch.equal(other, torch.full((3,), 0.25)))


class Halves(unittest.TestCase):
    """BF16 parameters as halves of FP32 numbers, or beside FP32 masters."""

    def run_both(self, build, dtype, split=True, rounded=False, sizes=((64,), (70,), (3, 33))):
        """The same steps, with gradients that both dtypes hold, of FP32 parameters and of their halves."""
        whole = parameters(torch.float32, sizes)
        for parameter in whole:
            parameter.data = parameter.detach().to(dtype).float()
        half = [nn.Parameter(parameter.detach().to(dtype)) for parameter in whole]
        one, two = build(whole), build(half)
        two.split, two.rounded = split, rounded
        for step in range(5):
            give_gradients(whole, step)
            for parameter, low in zip(whole, half):
                low.grad = parameter.grad.to(dtype)
                parameter.grad = low.grad.float()
            one.step()
            two.step()
        return whole, half, two

    def joined(self, optimizer, parameter):
        upper = parameter.detach().contiguous().view(torch.int16).int()
        lower = optimizer.state[parameter]["bf16_trail"].contiguous().view(torch.int16).int()
        return ((upper << 16) + (lower if optimizer.rounded else lower & 0xffff)).view(torch.float32)

    def builds(self):
        yield lambda made: optim.SGD(made, lr=0.1, momentum=0.9, weight_decay=0.1)
        yield lambda made: optim.AdamW(made)
        yield lambda made: optim.Adagrad(made, weight_decay=0.1)
        yield lambda made: optim.Lamb(made, weight_decay=0.1)
        yield lambda made: optim.Lars(made, lr=0.1, momentum=0.9, weight_decay=0.1)

    def test_split_numbers_are_those_of_an_fp32_run(self):
        for build in self.builds():
            for rounded in (False, True):
                whole, half, optimizer = self.run_both(build, torch.bfloat16, rounded=rounded)
                for parameter, low in zip(whole, half):
                    self.assertTrue(torch.equal(self.joined(optimizer, low), parameter), type(optimizer))
                    upper = (parameter.detach().view(torch.int32) + (0x8000 if rounded else 0)) >> 16
                    self.assertTrue(torch.equal(low.detach().view(torch.int16).int(), upper.short().int()))

    def test_masters_are_those_of_an_fp32_run(self):
        for build in self.builds():
            for dtype in (torch.bfloat16, torch.float16):
                whole, half, optimizer = self.run_both(build, dtype, split=False)
                for parameter, low in zip(whole, half):
                    self.assertTrue(torch.equal(optimizer.state[low]["master"], parameter))
                    self.assertTrue(torch.equal(low, parameter.to(dtype)))

    def test_states_survive_loading(self):
        whole, half, optimizer = self.run_both(lambda made: optim.AdamW(made), torch.bfloat16)
        other = optim.AdamW(copy.deepcopy(half))
        other.load_state_dict(_through_a_file(optimizer.state_dict()))
        for low, copied in zip(half, _all(other)):
            self.assertEqual(other.state[copied]["exp_avg"].dtype, torch.float32)
            self.assertTrue(torch.equal(self.joined(other, copied), self.joined(optimizer, low)))
        steps(optimizer, 9, 11)
        self.assertTrue(torch.equal(steps(other, 9, 11)[1], half[1]))


class Adafactor(unittest.TestCase):
    OPTIONS = ({}, dict(lr=0.1, weight_decay=0.1, maximize=True), dict(beta2_decay=-0.3, d=2.0, eps=(1e-5, 0.5)))

    def exact(self, parameter, state, step, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0,
              maximize=False):
        """One step in double precision, as torch.optim.Adafactor describes it."""
        gradient = parameter.grad.double() * (-1 if maximize else 1)
        least = torch.finfo(torch.float32).eps if eps[0] is None else eps[0]
        weight, number = step ** beta2_decay, parameter.double()

        def moved(key, mean):
            state[key] = torch.lerp(state.get(key, torch.zeros_like(mean)), mean, weight)
            return state[key]

        if gradient.dim() > 1:
            row, column = moved("row", (gradient ** 2).mean(-1, True)), moved("column", (gradient ** 2).mean(-2, True))
            variance = row @ column / row.mean(-2, True).clamp(min=least)
        else:
            variance = moved("all", gradient ** 2)
        update = gradient / variance.clamp(min=least ** 2).sqrt()
        size = max(eps[1], number.square().mean().sqrt().item()) * min(lr, step ** -0.5)
        size /= max(1.0, update.square().mean().sqrt().item() / d)
        return number * (1 - lr * weight_decay) - size * update

    def test_steps_against_double_precision(self):
        for options in self.OPTIONS:
            made = parameters()
            optimizer, states = optim.Adafactor(made, **options), [{} for _ in made]
            for step in range(1, 6):
                give_gradients(made, step)
                right = [self.exact(one, state, step, **options).detach() for one, state in zip(made, states)]
                optimizer.step()
                for parameter, number in zip(made, right):
                    self.assertLess((parameter.detach() - number).abs().max(), 2e-6)

    def test_halves_lose_nothing(self):
        sizes = [(33,), (6, 5), (4, 3, 3, 3)]
        halves = parameters(torch.bfloat16, sizes)
        made = [nn.Parameter(half.detach().float()) for half in halves]
        ours, whole = optim.Adafactor(halves), optim.Adafactor(made)
        for step in range(10):
            give_gradients(halves, step)
            for parameter, half in zip(made, halves):
                parameter.grad = half.grad.float()
            ours.step(), whole.step()
            if step == 5:
                ours.load_state_dict(copy.deepcopy(ours.state_dict()))
        for parameter, half in zip(made, halves):
            joined = optim.cat_bfloat16_float(half.detach(), ours.state[half]["bf16_trail"])
            self.assertTrue(torch.equal(joined, parameter.detach()))

    def test_states_go_on(self):
        one, other = parameters(), parameters()
        first, second = optim.Adafactor(one), optim.Adafactor(other)
        steps(first, 0, 4)
        steps(second, 0, 2)
        third = optim.Adafactor(other)
        third.load_state_dict(second.state_dict())
        steps(third, 2, 4)
        for a, b in zip(one, other):
            self.assertTrue(torch.equal(a, b))

    @unittest.skipUnless(hasattr(torch.optim, "Adafactor"), "torch has Adafactor from 2.5 on")
    def test_states_go_both_ways(self):
        for kinds in ((optim.Adafactor, torch.optim.Adafactor), (torch.optim.Adafactor, optim.Adafactor)):
            one, other = parameters(), parameters()
            first, second = kinds[0](one), kinds[1](other)
            steps(first, 0, 3)
            steps(second, 0, 3)
            first.load_state_dict(copy.deepcopy(second.state_dict()))
            steps(first, 3, 6)
            steps(second, 3, 6)
            for a, b in zip(one, other):
                torch.testing.assert_close(a, b, rtol=2e-5, atol=2e-6)
        stock = torch.optim.Adafactor(parameters())
        steps(stock, 0, 1)
        self.assertIs(type(optim.fused(stock)), optim.Adafactor)
        steps(stock, 1, 3)

    def test_what_is_refused(self):
        for wrong in (dict(lr=-1.0), dict(beta2_decay=0.5), dict(d=0.5), dict(weight_decay=-1.0), dict(eps=(None, -1))):
            with self.assertRaises(ValueError):
                optim.Adafactor(parameters(), **wrong)
        made = [nn.Parameter(torch.randn(3).double())]
        give_gradients(made, 0)
        with self.assertRaisesRegex(RuntimeError, "FP32 and BF16"):
            optim.Adafactor(made).step()


class SingleSteps(unittest.TestCase):
    """The functions with the names of the extension's operators."""

    def test_they_step_as_optimizers_do(self):
        empty = torch.empty(0)
        state = [torch.zeros(70) for _ in range(3)]
        functions = {
            optim.SGD: lambda p, g, other: optim.sgd_fused_step(p, g, None, other, 0.9, 0.1, 0.2, 0, False),
            optim.Lars: lambda p, g, other: optim.lars_fused_step(p, g, None, other, 0.9, 0.1, 1e-3, 0, 0.2, 0, False),
            optim.Adam: lambda p, g, other: optim.adam_fused_step(p, *state, g, other, True, 1, 0.9, 0.999, 0.1, 0.2,
                                                                  1e-8),
            optim.Adagrad: lambda p, g, other: optim.adagrad_fused_step(p, g, state[0], other, 1, 0.1, 0.2, 0, 1e-10),
            optim.Lamb: lambda p, g, other: optim.lamb_fused_step(p, *state[:2], g, other, 1, 0.9, 0.999, 0.1, 0.2,
                                                                  1e-8)}
        more = {optim.SGD: dict(momentum=0.9), optim.Lars: dict(momentum=0.9), optim.Adam: dict(amsgrad=True)}
        for kind, function in functions.items():
            with self.subTest(kind.__name__):
                expected, = parameters(sizes=[(70,)])
                start, copied = expected.detach().clone(), torch.empty(70, dtype=torch.bfloat16)
                optimizer = kind([expected], lr=0.1, weight_decay=0.2, **more.get(kind, {}))
                steps(optimizer, 0, 1)
                gradient, kept = expected.grad, expected.grad.clone()
                upper, lower = optim.split_float_bfloat16(start)
                for parameter, other in ((start.clone(), empty), (start.clone(), copied), (upper, lower)):
                    for tensor in state:
                        tensor.zero_()
                    function(parameter, gradient, other)
                    joined = optim.cat_bfloat16_float(upper, lower) if parameter is upper else parameter
                    self.assertTrue(torch.equal(joined, expected))
                    self.assertTrue(torch.equal(gradient, kept))
                self.assertTrue(torch.equal(copied, expected.bfloat16()))

    def test_halves_keep_the_order_of_the_whole(self):
        images = torch.rand(8, 6, 1, 1).to(memory_format=torch.channels_last)
        for whole in (torch.rand(6, 5).t(), torch.rand(9, 9)[2:5, 2:5], images, torch.rand(()), torch.rand(3, 0)):
            upper, lower = optim.split_float_bfloat16(whole)
            joined = optim.cat_bfloat16_float(upper, lower)
            self.assertTrue(torch.equal(joined, whole))
            self.assertEqual({upper.stride(), lower.stride(), joined.stride()}, {whole.stride()})

    def test_rows_that_come_twice_are_summed_first(self):
        whole = torch.randn(5, 3)
        upper, lower = optim.split_float_bfloat16(whole)
        self.assertTrue(torch.equal(optim.cat_bfloat16_float(upper, lower), whole))
        rows = torch.sparse_coo_tensor([[1, 4, 1]], torch.randn(3, 3), (5, 3))
        optim.packed_add(upper, lower, rows, -0.5)
        torch.testing.assert_close(optim.cat_bfloat16_float(upper, lower), whole - 0.5 * rows.to_dense())
        optim.packed_add(upper, lower, rows.to_dense(), 0.5)
        torch.testing.assert_close(optim.cat_bfloat16_float(upper, lower), whole)
        half = torch.empty(5, 3, dtype=torch.float16)
        optim.sync_master_weight_to_fp16(whole, half)
        self.assertTrue(torch.equal(half, whole.half()))


class Layerwise(unittest.TestCase):
    """Lamb, Lars and Lion against their formulas in double precision."""

    def compare(self, optimizer, step_of):
        exact = [parameter.detach().double() for parameter in _all(optimizer)]
        states = [{} for _ in exact]
        for step in range(1, 8):
            give_gradients(_all(optimizer), step)
            kept = [parameter.grad.clone() for parameter in _all(optimizer)]
            optimizer.step()
            for i, parameter in enumerate(_all(optimizer)):
                self.assertTrue(torch.equal(parameter.grad, kept[i]))
                exact[i] = step_of(exact[i], kept[i].double(), states[i], step)
        self.assertLess(_error(_all(optimizer), exact), 1e-6)

    def test_lamb(self):
        def step_of(p, g, state, step):
            m = state["m"] = 0.9 * state.get("m", 0) + (1 - 0.9) * g
            v = state["v"] = 0.999 * state.get("v", 0) + (1 - 0.999) * g * g
            u = m / (1 - 0.9 ** step) / ((v / (1 - 0.999 ** step)).sqrt() + 1e-8) + 0.1 * p
            return p - 0.01 * p.norm() / u.norm() * u

        self.compare(optim.Lamb(parameters(), lr=0.01, weight_decay=0.1), step_of)

    def test_lars(self):
        def step_of(lars):
            def run(p, g, state, step):
                lr = 0.1 * (1e-3 * p.norm() / (g.norm() + 0.1 * p.norm() + 1e-6) if lars else 1)
                g = g + 0.1 * p if lars else g
                state["buffer"] = 0.9 * state["buffer"] + g if "buffer" in state else g
                return p - lr * state["buffer"]
            return run

        options = dict(lr=0.1, momentum=0.9, weight_decay=0.1, epsilon=1e-6)
        self.compare(optim.Lars(parameters(), **options), step_of(True))
        self.compare(optim.Lars([dict(params=parameters(), lars=False)], **options), step_of(False))

    def test_lion(self):
        def step_of(p, g, state, step):
            m = state.get("m", torch.zeros_like(g))
            state["m"] = 0.99 * m + 0.01 * g
            return p * (1 - 0.01 * 0.1) - 0.01 * (0.9 * m + 0.1 * g).sign()

        self.compare(optim.Lion(parameters(), lr=0.01, weight_decay=0.1), step_of)

    def test_groups_of_lars(self):
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 2))
        groups = optim.create_optimizer_lars(net, 0.1, 0.9, 0.01, True, 0.0).param_groups
        self.assertEqual([(len(group["params"]), group["lars"], group["weight_decay"]) for group in groups],
                         [(2, True, 0.01), (2, False, 0), (2, False, 0.01)])
        self.assertEqual(len(optim.create_optimizer_lars(net, 0.1, 0.9, 0.01, False, 0.0).param_groups), 1)
        with self.assertRaisesRegex(ValueError, "Invalid eeta value: 2"):
            optim.Lars(net.parameters(), eeta=2)


def _all(optimizer):
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _tensors(optimizer):
    return [torch.as_tensor(value) for parameter in _all(optimizer)
            for key, value in sorted(optimizer.state.get(parameter, {}).items()) if value is not None]


def _error(made, exact):
    """The largest difference in parts of the largest number."""
    difference = max((one.detach().double() - other.detach().double()).abs().max() for one, other in zip(made, exact))
    return (difference / max(other.detach().abs().max() for other in exact)).item()


def _through_a_file(state):
    stream = io.BytesIO()
    torch.save(state, stream)
    stream.seek(0)
    return torch.load(stream)


if __name__ == "__main__":
    unittest.main()
