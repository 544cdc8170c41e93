"""Layers of training by kernels: values, gradients and second derivatives against FP64, and what stays as it was."""
import copy
import importlib
import io
import itertools
import pickle
import unittest

import torch
from torch import nn
from torch.nn.functional import conv2d

import ipex_studio
from networks import Net, image

WIDTHS = (1, 3, 17, 33)
KINDS = (dict(kernel_size=1), dict(kernel_size=3, padding=1), dict(kernel_size=3, stride=2, padding=1, bias=False),
         dict(kernel_size=1, stride=2), dict(kernel_size=(3, 2), padding=(2, 1), dilation=(2, 1)))
DEPTHWISE = (dict(kernel_size=3, padding=1), dict(kernel_size=5, stride=2, padding=2), dict(kernel_size=7, padding=3),
             dict(kernel_size=9, padding=4), dict(kernel_size=3, padding=2, dilation=2))


def trained(layer: nn.Module) -> nn.Module:
    return ipex_studio.optimize(layer.train())


def is_ours(module: nn.Module) -> bool:
    classes = (nn.Conv2d, nn.ConvTranspose2d, nn.BatchNorm2d, nn.Linear, nn.LSTM, nn.GRU)
    return type(module) not in classes and isinstance(module, classes)


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference relative to the largest value."""
    return (a.double() - b.double()).abs().max().item() / max(1.0, b.abs().max().item())


class Convolution(unittest.TestCase):
    def check(self, layer: nn.Module, x: torch.Tensor):
        """Values and gradients against the layer of torch in double precision."""
        exact = copy.deepcopy(layer).double()
        layer = trained(layer)
        self.assertTrue(is_ours(layer))
        x = x.requires_grad_()
        exact_x = x.detach().double().requires_grad_()
        result, expected = layer(x), exact(exact_x)
        self.assertEqual(result.shape, expected.shape)
        self.assertLess(distance(result, expected), 1e-5)
        cotangent = torch.randn(result.shape)
        gradients = torch.autograd.grad(result, [x, *layer.parameters()], cotangent)
        right = torch.autograd.grad(expected, [exact_x, *exact.parameters()], cotangent.double())
        for gradient, correct in zip(gradients, right):
            self.assertEqual(gradient.shape, correct.shape)
            self.assertLess(distance(gradient, correct), 1e-5)
        for parameter, gradient in zip(layer.parameters(), gradients[1:]):
            self.assertEqual(gradient.stride(), parameter.stride())

    def test_gradients(self):
        torch.manual_seed(1)
        for channels, outputs, kind in itertools.product(WIDTHS, WIDTHS, KINDS):
            for batch, size in ((1, (9, 7)), (3, (2, 2)), (2, (4, 5))):
                with self.subTest(channels=channels, outputs=outputs, size=size, **kind):
                    self.check(nn.Conv2d(channels, outputs, **kind), torch.randn(batch, channels, *size))

    def test_gradients_of_groups(self):
        torch.manual_seed(2)
        for channels, kind in itertools.product((3, 17, 33, 64), DEPTHWISE):
            with self.subTest(channels=channels, **kind):
                self.check(nn.Conv2d(channels, channels, groups=channels, **kind), torch.randn(2, channels, 8, 9))
        self.check(nn.Conv2d(32, 64, 3, padding=1, groups=4), torch.randn(2, 32, 6, 5))
        self.check(nn.Conv2d(6, 12, 3, groups=6), torch.randn(2, 6, 6, 5))

    def test_gradients_of_transposed(self):
        torch.manual_seed(6)
        kinds = (dict(kernel_size=1), dict(kernel_size=2, stride=2), dict(kernel_size=3, padding=1, bias=False),
                 dict(kernel_size=4, stride=2, padding=1), dict(kernel_size=3, stride=2, padding=1, output_padding=1),
                 dict(kernel_size=(3, 2), stride=(1, 3), dilation=(2, 1), output_padding=(0, 2)))
        for channels, outputs, kind in itertools.product(WIDTHS, WIDTHS, kinds):
            for batch, size in ((1, (5, 4)), (3, (1, 2))):
                with self.subTest(channels=channels, outputs=outputs, size=size, **kind):
                    self.check(nn.ConvTranspose2d(channels, outputs, **kind), torch.randn(batch, channels, *size) + 0.5)
        self.check(nn.ConvTranspose2d(33, 33, 3, stride=2, groups=33), torch.randn(2, 33, 5, 4))

    def test_transposed_by_torch(self):
        layer, x = trained(nn.ConvTranspose2d(3, 4, 3, stride=2)), torch.randn(2, 3, 5, 5)
        self.assertEqual(layer(x, output_size=(12, 12)).shape, (2, 4, 12, 12))
        for other in (nn.ConvTranspose2d(3, 4, 3, dilation=3, stride=2, output_padding=2),
                      nn.ConvTranspose2d(3, 6, 3, stride=2, groups=3)):
            torch.testing.assert_close(trained(other)(x), other(x))
        double = copy.deepcopy(layer).double()
        x = torch.randn(1, 3, 3, 3, dtype=torch.double, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(double, x))
        self.assertTrue(torch.autograd.gradgradcheck(double, x))
        x = torch.randn(2, 3, 4, 4, requires_grad=True)
        gradient, = torch.autograd.grad(layer(x).sin().sum(), x, create_graph=True)
        gradient.square().sum().backward()
        self.assertTrue(layer.weight.grad.isfinite().all())

    def test_any_order_of_memory(self):
        torch.manual_seed(3)
        for x in (torch.randn(2, 6, 7, 5).to(memory_format=torch.channels_last), torch.randn(2, 7, 5, 12)[..., ::2],
                  torch.randn(7, 5, 2, 6), torch.randn(1, 6, 7, 5).expand(3, 6, 7, 5).detach()):
            x = x.permute(2, 3, 0, 1) if x.shape[0] == 7 else x.permute(0, 3, 1, 2) if x.shape[3] == 6 else x
            self.check(nn.Conv2d(6, 8, 3, padding=1), x)
        layer = trained(nn.Conv2d(3, 4, 3))
        x = torch.randn(2, 3, 5, 5)
        for cotangent in (torch.ones(1).expand(2, 4, 3, 3), torch.randn(2, 4, 3, 3)):
            gradient, = torch.autograd.grad(layer(x), layer.weight, cotangent)
            right, = torch.autograd.grad(conv2d(x, layer.weight, layer.bias), layer.weight, cotangent)
            torch.testing.assert_close(gradient, right)

    def test_gradients_that_nobody_asks_for(self):
        layer = trained(nn.Conv2d(3, 4, 3))
        x = torch.randn(2, 3, 5, 5)
        layer.weight.requires_grad_(False)
        layer(x).sum().backward()
        self.assertIsNone(layer.weight.grad)
        torch.testing.assert_close(layer.bias.grad, torch.full((4,), 18.0))
        with torch.no_grad():
            self.assertFalse(layer(x).requires_grad)

    def test_second_derivatives(self):
        torch.manual_seed(4)
        layer, x = trained(nn.Conv2d(3, 5, 3, padding=1)), torch.randn(2, 3, 5, 4, requires_grad=True)

        def penalty(layer, x):
            gradient, = torch.autograd.grad(layer(x).sin().sum(), x, create_graph=True)
            return torch.autograd.grad(gradient.square().sum(), [x, layer.weight])

        exact = copy.deepcopy(layer).double()
        for second, right in zip(penalty(layer, x), penalty(exact, x.detach().double().requires_grad_())):
            self.assertLess(distance(second, right), 1e-4)

    def test_not_a_number_stays_where_it_is(self):
        layer, x = trained(nn.Conv2d(3, 4, 3, padding=1)), torch.randn(2, 3, 6, 6)
        x[0, 1, 2, 2] = float("nan")
        expected = conv2d(x, layer.weight, layer.bias, padding=1)
        self.assertTrue(torch.equal(layer(x).isnan(), expected.isnan()))

    def test_wrong_sizes_raise_what_torch_raises(self):
        layer = trained(nn.Conv2d(3, 4, 3))
        for shape in ((2, 5, 6, 6), (2, 3, 2, 2), (6,)):
            with self.assertRaises(RuntimeError) as stock:
                nn.Conv2d(3, 4, 3)(torch.randn(shape))
            with self.assertRaises(RuntimeError) as ours:
                layer(torch.randn(shape))
            self.assertEqual(str(ours.exception).splitlines()[0], str(stock.exception).splitlines()[0])

    def test_what_torch_computes(self):
        same, circular = nn.Conv2d(3, 4, 3, padding="same"), nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular")
        for layer in (same, circular):
            x = torch.randn(2, 3, 5, 5)
            torch.testing.assert_close(trained(layer)(x), layer(x))
        layer = trained(nn.Conv2d(3, 4, 3))
        empty = layer(torch.randn(0, 3, 5, 5))
        self.assertEqual(empty.shape, (0, 4, 3, 3))
        empty.sum().backward()
        self.assertEqual(layer.weight.grad.abs().sum(), 0)
        self.assertEqual(layer(torch.randn(3, 5, 5)).shape, (4, 3, 3))
        with torch.cpu.amp.autocast():
            self.assertEqual(layer(torch.randn(2, 3, 5, 5)).dtype, torch.bfloat16)
        double = copy.deepcopy(layer).double()
        x = torch.randn(1, 3, 4, 4, dtype=torch.double, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(double, x))
        self.assertTrue(torch.autograd.gradgradcheck(double, x))

    def test_traces_have_operators_of_torch_alone(self):
        traced = torch.jit.trace(trained(nn.Sequential(nn.Conv2d(3, 4, 3))), torch.randn(1, 3, 5, 5))
        self.assertNotIn("ipex_studio", str(traced.inlined_graph))
        self.assertNotIn("ipex_studio", str(torch.jit.script(trained(nn.Conv2d(3, 4, 3))).inlined_graph))


class Dropout(unittest.TestCase):
    def test_gradient_has_the_mask_of_the_result(self):
        for x in (torch.randn(33, 7), torch.randn(2, 3, 5, 4).to(memory_format=torch.channels_last),
                  torch.randn(6, 5).t(), torch.randn(1, 4).expand(3, 4), torch.randn(8, 6)[:, ::2]):
            x = x.detach().requires_grad_()
            torch.manual_seed(5)
            y = torch.ops.ipex_studio.dropout(x, 0.25, True)
            factor = (y / x).detach()
            self.assertLess((factor * (factor - 1 / 0.75)).abs().max(), 1e-5)
            for cotangent in (torch.randn(y.shape), torch.randn(1).expand(y.shape)):
                gradient, = torch.autograd.grad(y, x, cotangent, retain_graph=True)
                torch.testing.assert_close(gradient, cotangent * factor)
            torch.manual_seed(5)
            self.assertTrue(torch.equal(torch.ops.ipex_studio.dropout(x.detach(), 0.25, True), y))
            self.assertFalse(torch.equal(torch.ops.ipex_studio.dropout(x.detach(), 0.25, True), y))

    def test_second_derivatives(self):
        x = torch.randn(40, requires_grad=True)
        y = torch.ops.ipex_studio.dropout(x, 0.5, True)
        factor = (y / x).detach()
        gradient, = torch.autograd.grad((y ** 3).sum(), x, create_graph=True)
        second, = torch.autograd.grad(gradient.sum(), x)
        torch.testing.assert_close(second, 6 * x.detach() * factor ** 3)

    def test_what_torch_computes(self):
        x = torch.randn(5, 3)
        self.assertTrue(torch.equal(torch.ops.ipex_studio.dropout(x, 0.5, False), x))
        self.assertTrue(torch.equal(torch.ops.ipex_studio.dropout(x, 0.0, True), x))
        self.assertEqual(torch.ops.ipex_studio.dropout(x, 1.0, True).abs().sum(), 0)
        self.assertEqual(torch.ops.ipex_studio.dropout(x.double(), 0.5, True).dtype, torch.double)
        self.assertEqual(torch.ops.ipex_studio.dropout(torch.ones(0, 3), 0.5, True).shape, (0, 3))
        with self.assertRaisesRegex(RuntimeError, "between 0 and 1"):
            torch.ops.ipex_studio.dropout(x, 1.5, True)


class BatchNorm(unittest.TestCase):
    KINDS = (dict(), dict(affine=False), dict(track_running_stats=False), dict(momentum=None), dict(momentum=0.3),
             dict(eps=0.1))

    def both(self, width, **kind):
        """A layer of ours and the same of torch in double precision."""
        layer = nn.BatchNorm2d(width, **kind)
        for parameter in layer.parameters():
            nn.init.normal_(parameter)
        exact = copy.deepcopy(layer).double()
        return trained(layer), exact

    def check(self, layer, exact, x):
        x = x.to(memory_format=torch.channels_last).requires_grad_()
        exact_x = x.detach().double().requires_grad_()
        result, expected = layer(x), exact(exact_x)
        self.assertLess(distance(result, expected), 1e-5)
        cotangent = torch.randn(result.shape)
        for gradient, right in zip(torch.autograd.grad(result, [x, *layer.parameters()], cotangent),
                                   torch.autograd.grad(expected, [exact_x, *exact.parameters()], cotangent.double())):
            self.assertLess(distance(gradient, right), 2e-5)
        for name, value in layer.named_buffers():
            self.assertLess(distance(value, dict(exact.named_buffers())[name]), 1e-5)

    def test_gradients_and_statistics(self):
        torch.manual_seed(6)
        for width, kind in itertools.product(WIDTHS, self.KINDS):
            layer, exact = self.both(width, **kind)
            for shape in ((2, width, 5, 7), (1, width, 3, 3), (4, width, 1, 1), (8, width, 12, 12)):
                with self.subTest(shape=shape, **kind):
                    self.check(layer, exact, torch.randn(shape) * 3 + 1)
            layer.eval(), exact.eval()
            self.check(layer, exact, torch.randn(2, width, 4, 4))

    def test_any_number_of_threads_gives_the_same_bits(self):
        torch.manual_seed(7)
        layer, _ = self.both(17)
        x = torch.randn(4, 17, 30, 30).to(memory_format=torch.channels_last).requires_grad_()
        cotangent, threads, results = torch.randn_like(x), torch.get_num_threads(), []
        try:
            for count in (1, 2):
                torch.set_num_threads(count)
                y = layer(x)
                results.append((y, *torch.autograd.grad(y, [x, *layer.parameters()], cotangent)))
        finally:
            torch.set_num_threads(threads)
        for one, two in zip(*results):
            self.assertTrue(torch.equal(one, two))

    def test_second_derivatives(self):
        torch.manual_seed(8)
        layer, exact = self.both(3)
        x = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last).requires_grad_()

        def penalty(layer, x):
            gradient, = torch.autograd.grad(layer(x).sin().sum(), x, create_graph=True)
            return torch.autograd.grad(gradient.square().sum(), [x, layer.weight])

        for second, right in zip(penalty(layer, x), penalty(exact, x.detach().double().requires_grad_())):
            self.assertLess(distance(second, right), 1e-4)

    def test_what_torch_computes(self):
        layer, _ = self.both(3)
        stock = nn.BatchNorm2d(3)
        stock.load_state_dict(layer.state_dict())
        for x in (torch.randn(2, 3, 4, 4), torch.randn(0, 3, 4, 4).to(memory_format=torch.channels_last)):
            torch.testing.assert_close(layer(x), stock(x))
        for wrong in (torch.randn(1, 3, 1, 1), torch.randn(3, 4), torch.randn(2, 4, 3, 3)):
            with self.assertRaises((RuntimeError, ValueError)) as right:
                stock(wrong)
            with self.assertRaises(type(right.exception)) as ours:
                layer(wrong)
            self.assertEqual(str(ours.exception), str(right.exception))
        self.assertEqual(layer.double()(torch.randn(2, 3, 4, 4).double()).dtype, torch.double)

    def test_statistics_are_seen_by_autograd(self):
        layer, _ = self.both(3)
        version = layer.running_mean._version
        layer(torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last))
        self.assertGreater(layer.running_mean._version, version)


class Linear(unittest.TestCase):
    def test_gradients(self):
        torch.manual_seed(10)
        for inputs, outputs, bias in itertools.product(WIDTHS, WIDTHS, (True, False)):
            for shape in ((1,), (5,), (3, 7), (2, 1, 31), ()):
                with self.subTest(inputs=inputs, outputs=outputs, shape=shape):
                    Convolution.check(self, nn.Linear(inputs, outputs, bias), torch.randn(*shape, inputs))

    def test_second_derivatives(self):
        torch.manual_seed(11)
        layer, x = trained(nn.Linear(5, 4)), torch.randn(3, 5, requires_grad=True)

        def penalty(layer, x):
            gradient, = torch.autograd.grad(layer(x).sin().sum(), x, create_graph=True)
            return torch.autograd.grad(gradient.square().sum(), [x, layer.weight, layer.bias])

        exact = copy.deepcopy(layer).double()
        for second, right in zip(penalty(layer, x), penalty(exact, x.detach().double().requires_grad_())):
            self.assertLess(distance(second, right), 1e-4)

    def test_what_torch_computes(self):
        layer = trained(nn.Linear(3, 4))
        for x in (torch.randn(0, 3), torch.randn(6, 2, 3).transpose(0, 1), torch.randn(2, 6)[:, ::2]):
            torch.testing.assert_close(layer(x), nn.functional.linear(x, layer.weight, layer.bias))
        with self.assertRaises(RuntimeError):
            layer(torch.randn(2, 4))
        with torch.no_grad():
            self.assertFalse(layer(torch.randn(2, 3)).requires_grad)
        double = copy.deepcopy(layer).double()
        x = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(double, x))
        self.assertTrue(torch.autograd.gradgradcheck(double, x))


class Recurrent(unittest.TestCase):
    """LSTM and GRU: values, states and all gradients against FP64, in all forms of their operands."""

    KINDS = (dict(), dict(bias=False), dict(num_layers=2), dict(bidirectional=True), dict(batch_first=True),
             dict(num_layers=2, bidirectional=True, batch_first=True))

    def layers(self, inputs, units):
        for kind in self.KINDS:
            for layer in (nn.LSTM, nn.GRU):
                yield layer(inputs, units, **kind)
        if units > 1:
            yield nn.LSTM(inputs, units, proj_size=(units + 1) // 2)
            yield nn.LSTM(inputs, units, proj_size=1, num_layers=2, bidirectional=True)

    def states(self, layer, batch):
        count = layer.num_layers * (2 if layer.bidirectional else 1)
        h = torch.randn(count, batch, layer.proj_size or layer.hidden_size)
        return (h, torch.randn(count, batch, layer.hidden_size)) if isinstance(layer, nn.LSTM) else (h,)

    def run_layer(self, layer, data, states, cotangents, pack):
        """Results and gradients of the input, states and parameters."""
        leaves = [data, *states]
        hx = (tuple(states) if isinstance(layer, nn.LSTM) else states[0]) if states else None
        y, last = layer(pack(data) if pack else data, hx)
        results = [y.data if pack else y, *(last if isinstance(last, tuple) else (last,))]
        if not cotangents:
            cotangents.extend(torch.randn(result.shape) for result in results)
        given = [cotangent.to(data.dtype) for cotangent in cotangents]
        return results + list(torch.autograd.grad(results, [*leaves, *layer.parameters()], given))

    def check(self, layer, data, states=(), pack=None):
        exact, stock = copy.deepcopy(layer).double(), copy.deepcopy(layer)
        layer, cotangents = trained(layer), []
        self.assertTrue(is_ours(layer))
        leaves = [tensor.detach().requires_grad_() for tensor in (data, *states)]
        doubles = [tensor.detach().double().requires_grad_() for tensor in (data, *states)]
        ours = self.run_layer(layer, leaves[0], leaves[1:], cotangents, pack)
        right = self.run_layer(exact, doubles[0], doubles[1:], cotangents, pack)
        torchs = self.run_layer(stock, leaves[0], leaves[1:], cotangents, pack)
        self.assertEqual(len(ours), len(right))
        for number, correct, other in zip(ours, right, torchs):
            self.assertEqual(number.shape, correct.shape)
            self.assertLess(distance(number, correct), max(1e-5, 2 * distance(other, correct)))

    def test_gradients(self):
        torch.manual_seed(20)
        for inputs, units in ((1, 1), (3, 17), (17, 3), (5, 33), (16, 100)):
            for layer in self.layers(inputs, units):
                for steps, batch in ((1, 1), (5, 3), (4, 9)):
                    shape = (batch, steps, inputs) if layer.batch_first else (steps, batch, inputs)
                    with self.subTest(layer=layer, shape=shape):
                        self.check(copy.deepcopy(layer), torch.randn(shape), self.states(layer, batch))
                        self.check(copy.deepcopy(layer), torch.randn(shape))

    def test_packed_sequences(self):
        torch.manual_seed(21)
        for inputs, units in ((1, 1), (3, 17), (33, 5)):
            for layer in self.layers(inputs, units):
                for lengths in ([5, 3, 3, 1], [2, 7, 1], [1], [4, 4]):
                    shape = (len(lengths), max(lengths)) if layer.batch_first else (max(lengths), len(lengths))

                    def pack(data):
                        return nn.utils.rnn.pack_padded_sequence(data, torch.tensor(lengths), layer.batch_first, False)

                    with self.subTest(layer=layer, lengths=lengths):
                        data = torch.randn(*shape, inputs)
                        self.check(copy.deepcopy(layer), data, self.states(layer, len(lengths)), pack)
                        self.check(copy.deepcopy(layer), data, (), pack)

    def test_dropout_between_layers_is_that_of_torch(self):
        for kind in (nn.LSTM, nn.GRU):
            stock = kind(5, 7, num_layers=3, dropout=0.4, bidirectional=True)
            ours, x = trained(copy.deepcopy(stock)), torch.randn(6, 4, 5)
            torch.manual_seed(22)
            right, _ = stock(x)
            torch.manual_seed(22)
            torch.testing.assert_close(ours(x)[0], right)
            torch.testing.assert_close(ours.eval()(x)[0], stock.eval()(x)[0])

    def test_gradients_that_nobody_asks_for(self):
        for kind in (nn.LSTM, nn.GRU):
            layer = trained(kind(4, 6))
            layer.weight_hh_l0.requires_grad_(False)
            layer.bias_ih_l0.requires_grad_(False)
            layer(torch.randn(3, 2, 4))[0].sum().backward()
            self.assertIsNone(layer.weight_hh_l0.grad)
            self.assertIsNone(layer.bias_ih_l0.grad)
            exact = copy.deepcopy(layer).double()
            for parameter in (layer.weight_ih_l0, layer.bias_hh_l0):
                self.assertTrue(parameter.grad.isfinite().all())
            with torch.no_grad():
                self.assertFalse(layer(torch.randn(3, 2, 4))[0].requires_grad)
            self.assertEqual(exact(torch.randn(3, 2, 4).double())[0].dtype, torch.double)

    def test_any_number_of_threads_gives_the_same_bits(self):
        torch.manual_seed(23)
        layer, threads, results = trained(nn.LSTM(33, 129, 2, bidirectional=True)), torch.get_num_threads(), []
        x, cotangent = torch.randn(7, 11, 33, requires_grad=True), torch.randn(7, 11, 258)
        try:
            for count in (1, 2):
                torch.set_num_threads(count)
                y = layer(x)[0]
                results.append((y, *torch.autograd.grad(y, [x, *layer.parameters()], cotangent)))
        finally:
            torch.set_num_threads(threads)
        for one, two in zip(*results):
            self.assertTrue(torch.equal(one, two))

    def test_second_derivatives_are_refused(self):
        layer, x = trained(nn.GRU(3, 4)), torch.randn(2, 2, 3, requires_grad=True)
        gradient, = torch.autograd.grad(layer(x)[0].sin().sum(), x, create_graph=True)
        right, = torch.autograd.grad(layer(x)[0].sin().sum(), x)
        torch.testing.assert_close(gradient.detach(), right)
        with self.assertRaisesRegex(RuntimeError, "second derivative of recurrent layers"):
            gradient.square().sum().backward()

    def test_what_torch_computes(self):
        for kind in (nn.LSTM, nn.GRU):
            stock = kind(3, 4, batch_first=True)
            ours = trained(copy.deepcopy(stock))
            for x in (torch.randn(5, 3), torch.randn(2, 0, 3), torch.randn(2, 4, 5)):
                try:
                    right = stock(x)[0]
                except (RuntimeError, ValueError) as error:
                    with self.assertRaises(type(error)) as raised:
                        ours(x)
                    self.assertEqual(str(raised.exception).splitlines()[0], str(error).splitlines()[0])
                else:
                    torch.testing.assert_close(ours(x)[0], right)
            for hx in (torch.zeros(1, 3, 4), torch.zeros(1, 2, 5)):
                hx = (hx, torch.zeros(1, 2, 4)) if kind is nn.LSTM else hx
                with self.assertRaises(RuntimeError) as right:
                    stock(torch.randn(2, 5, 3), hx)
                with self.assertRaises(RuntimeError) as raised:
                    ours(torch.randn(2, 5, 3), hx)
                self.assertEqual(str(raised.exception), str(right.exception))
            with torch.cpu.amp.autocast():
                self.assertEqual(ours(torch.randn(2, 5, 3))[0].shape, (2, 5, 4))
            double = copy.deepcopy(ours).double()
            x = torch.randn(2, 3, 3, dtype=torch.double, requires_grad=True)
            self.assertTrue(torch.autograd.gradcheck(lambda x: double(x)[0], x))
            self.assertTrue(torch.autograd.gradgradcheck(lambda x: double(x)[0], x))

    def test_traces_have_operators_of_torch_alone(self):
        layer = trained(nn.LSTM(3, 4))
        self.assertNotIn("ipex_studio", str(torch.jit.trace(layer, torch.randn(2, 2, 3)).inlined_graph))
        scripted = torch.jit.script(trained(nn.GRU(3, 4)))._c
        for name in scripted._method_names():
            self.assertNotIn("ipex_studio", str(scripted._get_method(name).graph))


class Autocast(unittest.TestCase):
    """Values in BF16, parameters, their gradients, and statistics in FP32."""

    LAYERS = (lambda: nn.Conv2d(17, 33, 3, padding=1), lambda: nn.Conv2d(17, 8, 1, stride=2, bias=False),
              lambda: nn.Conv2d(17, 17, 3, padding=1, groups=17), lambda: nn.ConvTranspose2d(17, 9, 3, stride=2),
              lambda: nn.Linear(9, 33), lambda: nn.BatchNorm2d(17))

    def run_layer(self, layer, x, cotangent, low):
        x = x.detach().clone(memory_format=torch.preserve_format).requires_grad_()
        with torch.cpu.amp.autocast(enabled=low):
            y = layer(x.to(torch.bfloat16) if low and isinstance(layer, nn.BatchNorm2d) else x)
        return y, torch.autograd.grad(y, [x, *layer.parameters()], cotangent.to(y.dtype))

    def test_values_and_gradients(self):
        torch.manual_seed(12)
        for make in self.LAYERS:
            stock = make()
            ours, exact = trained(copy.deepcopy(stock)), copy.deepcopy(stock).double()
            x = torch.randn(3, 17, 7, 9).to(memory_format=torch.channels_last)
            cotangent = torch.randn_like(stock(x))
            y, gradients = self.run_layer(ours, x, cotangent, True)
            with self.subTest(type(stock).__name__):
                self.assertTrue(is_ours(ours))
                self.assertEqual(y.dtype, torch.bfloat16)
                right, exact_gradients = self.run_layer(exact, x.double(), cotangent.double(), False)
                self.assertLess((y.double() - right).norm() / right.norm(), 0.01)
                for gradient, correct in zip(gradients, exact_gradients):
                    self.assertEqual(gradient.dtype, torch.float32)
                    self.assertLess((gradient.double() - correct).norm() / correct.norm(), 0.01)

    def test_weights_that_are_read_twice(self):
        torch.manual_seed(13)
        layer = trained(nn.Linear(17, 17))
        x = torch.randn(5, 17)
        with torch.cpu.amp.autocast():
            y = layer(layer(x))
        y.float().sum().backward()
        exact = copy.deepcopy(layer).double()
        exact.zero_grad()
        exact(exact(x.double())).sum().backward()
        for parameter, right in zip(layer.parameters(), exact.parameters()):
            self.assertLess((parameter.grad.double() - right.grad).norm() / right.grad.norm(), 0.02)

    def test_new_weights_count_in_the_next_step(self):
        layer, x = trained(nn.Linear(8, 8)), torch.randn(3, 8)
        for _ in range(3):
            with torch.cpu.amp.autocast():
                y = layer(x)
            expected = nn.functional.linear(x, layer.weight, layer.bias)
            self.assertLess((y.float() - expected).norm() / expected.norm(), 0.02)
            layer.weight.data.add_(1)

    def test_other_types_are_those_of_torch(self):
        layer = trained(nn.Conv2d(3, 4, 3))
        x = torch.randn(1, 3, 5, 5)
        with torch.cpu.amp.autocast(enabled=False):
            self.assertEqual(layer(x).dtype, torch.float32)
        with torch.no_grad(), torch.cpu.amp.autocast():
            self.assertEqual(layer(x).dtype, torch.bfloat16)


class Derivatives(unittest.TestCase):
    """Those that kernels do not know are computed by torch."""

    def layers(self):
        torch.manual_seed(9)
        for layer in (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(3, track_running_stats=False)):
            yield trained(copy.deepcopy(layer)), layer.to(memory_format=torch.channels_last).train()

    def image(self):
        return torch.randn(2, 3, 6, 6).to(memory_format=torch.channels_last)

    def test_forward_mode(self):
        for ours, stock in self.layers():
            x, tangent = self.image(), self.image()
            with torch.autograd.forward_ad.dual_level():
                results = [torch.autograd.forward_ad.unpack_dual(layer(torch.autograd.forward_ad.make_dual(x, tangent)))
                           for layer in (ours, stock)]
            torch.testing.assert_close(results[0].tangent, results[1].tangent)

    def test_transformations_of_functions(self):
        grad = importlib.import_module("torch.func" if hasattr(torch, "func") else "functorch").grad
        for ours, stock in self.layers():
            x = self.image()
            gradients = [grad(lambda x, layer=layer: layer(x).sin().sum())(x) for layer in (ours, stock)]
            torch.testing.assert_close(*gradients)

    def test_weights_that_change_before_backward(self):
        for ours, _ in self.layers():
            result = ours(self.image().requires_grad_())
            with torch.no_grad():
                ours.weight.add_(1)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                result.sum().backward()


class Models(unittest.TestCase):
    def test_losses_are_those_of_torch(self):
        torch.manual_seed(5)
        net = Net().train()
        net.drop.p = 0.0
        ours, optimizer = ipex_studio.optimize(net, optimizer=torch.optim.SGD(net.parameters(), 0.1, momentum=0.9))
        stock = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
        self.assertTrue(is_ours(ours.conv) and is_ours(ours.norm))

        def losses(model, optimizer):
            for step in range(20):
                optimizer.zero_grad()
                loss = model(image(8, seed=step)).square().mean()
                loss.backward()
                optimizer.step()
                yield loss.item()

        torch.testing.assert_close(list(losses(ours, optimizer)), list(losses(net, stock)), rtol=1e-3, atol=1e-5)

    def test_state_goes_both_ways(self):
        ours, stock = trained(Net()), Net()
        self.assertEqual(list(ours.state_dict()), list(stock.state_dict()))
        stream = io.BytesIO()
        torch.save(ours.state_dict(), stream)
        stream.seek(0)
        stock.load_state_dict(torch.load(stream))
        torch.testing.assert_close(ours.eval()(image()), stock.eval()(image()), rtol=1e-4, atol=1e-5)
        ours.load_state_dict(Net().state_dict())
        self.assertTrue(ours.conv.weight.is_contiguous(memory_format=torch.channels_last))

    def test_copies_and_pickles(self):
        ours = trained(Net())
        for copied in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
            self.assertTrue(is_ours(copied.conv))
            torch.testing.assert_close(copied.conv(image()), ours.conv(image()))

    def test_hooks_are_called(self):
        net, calls = Net(), []
        net.conv.register_forward_hook(lambda *_: calls.append("forward"))
        net.conv.register_full_backward_hook(lambda *_: calls.append("backward"))
        net.conv.weight.register_hook(lambda _: calls.append("weight"))
        ours = ipex_studio.optimize(net, inplace=True)
        ours(image()).sum().backward()
        self.assertEqual(sorted(calls), ["backward", "forward", "weight"])

    def test_what_stays(self):
        class Own(nn.Conv2d):
            def forward(self, x):
                return super().forward(x) + 1

        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Conv2d(3, 3, 3), nn.Conv2d(3, 3, 3)
                self.b.weight = self.a.weight

        parametrized = nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 4, 3))
        normed = nn.utils.weight_norm(nn.Conv2d(3, 4, 3))
        changed = nn.Conv2d(3, 4, 3)
        changed.forward = lambda x: x
        for layer in (Own(3, 4, 3), parametrized, normed, changed):
            self.assertEqual(type(ipex_studio.optimize(nn.Sequential(layer).train(), inplace=True)[0]), type(layer))
        tied = trained(Tied())
        self.assertFalse(is_ours(tied.a) or is_ours(tied.b))

    def test_switches(self):
        self.assertFalse(is_ours(ipex_studio.optimize(Net(), level="O0").conv))
        self.assertFalse(is_ours(ipex_studio.optimize(Net(), weights_prepack=False).conv))
        self.assertTrue(is_ours(ipex_studio.optimize(Net(), level="O0", weights_prepack=True).conv))
        ipex_studio.disable_auto_channels_last()
        try:
            self.assertFalse(is_ours(trained(Net()).conv))
        finally:
            ipex_studio.enable_auto_channels_last()

    def test_what_was_done_is_said(self):
        with self.assertLogs("ipex_studio", "INFO") as log:
            trained(Net())
        self.assertIn("Net trains 1 Conv2d, 1 BatchNorm2d and 1 Linear by kernels of ipex_studio", log.output[0])

    def test_then_for_inference(self):
        ours = trained(Net())
        expected = ours.eval()(image())
        fast = ipex_studio.optimize(ours)
        self.assertEqual(type(fast.conv).__name__, "Conv2d")
        with torch.no_grad():
            torch.testing.assert_close(fast(image()), expected, rtol=1e-4, atol=1e-5)
        self.assertTrue(is_ours(ours.conv))
        self.assertIn("_ipex_norm", fast.conv.__dict__)  # folded as a layer of torch


if __name__ == "__main__":
    unittest.main()
