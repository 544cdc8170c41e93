#!/usr/bin/python3
"""optimize() keeps the contracts of Intel Extension for PyTorch: arguments, errors, copies, folding, casts, state."""
import copy
import inspect
import io
import pickle
import unittest
import warnings

import torch
from torch import nn

import ipex_studio
from networks import Net, image, trained_net

SIGNATURE = ["model", "dtype", "optimizer", "level", "inplace", "conv_bn_folding", "linear_bn_folding", "weights_prepack",
             "replace_dropout_with_identity", "optimize_lstm", "split_master_weight_for_bf16", "fuse_update_step",
             "auto_kernel_selection", "sample_input", "graph_mode", "concat_linear"]


class Normed(nn.Module):
    """A linear layer with normalization, convolutions of one and three dimensions, and an extra reader."""

    def __init__(self):
        super().__init__()
        self.line = nn.Conv1d(3, 4, 3, padding=1, padding_mode="circular", bias=False)
        self.line_norm = nn.BatchNorm1d(4, affine=False)
        self.flat = nn.Linear(8, 6)
        self.flat_norm = nn.BatchNorm1d(6)
        self.read = nn.Conv1d(4, 4, 1)
        self.read_norm = nn.BatchNorm1d(4)

    def forward(self, x):
        x = self.line_norm(self.line(x))
        y = self.read(x)
        x = self.read_norm(y) + y
        return self.flat_norm(self.flat(x.mean(1)))


def trained(model, *shape):
    for _ in range(3):
        model(torch.randn(*shape) * 2 + 1)
    return model.eval()


def node_kinds(model, x):
    with torch.no_grad():
        return {node.kind() for node in torch.jit.trace(model, x).inlined_graph.nodes()}


class Contracts(unittest.TestCase):
    def check(self, model, fast, *args):
        with torch.no_grad():
            torch.testing.assert_close(fast(*args), model(*args), rtol=1e-4, atol=1e-5)

    def test_the_signature(self):
        parameters = inspect.signature(ipex_studio.optimize).parameters
        self.assertEqual(list(parameters), SIGNATURE)
        self.assertEqual((parameters["level"].default, parameters["inplace"].default), ("O1", False))

    def test_errors(self):
        net = trained_net()
        with self.assertRaises(AssertionError) as caught:
            ipex_studio.optimize(net, optimizer=torch.optim.SGD(net.parameters(), 0.1))
        self.assertEqual(str(caught.exception), "The optimizer should not be given for inference mode")
        with self.assertRaises(RuntimeError) as caught:
            ipex_studio.optimize(net, level="O2")
        self.assertEqual(str(caught.exception), "Unexpected optimization level O2. Options are 'O0', 'O1'.")
        with self.assertRaisesRegex(RuntimeError, "Unexpected dtype torch.int8"):
            ipex_studio.optimize(net, dtype=torch.int8)
        mixed = trained_net()
        mixed.head.to("meta")
        with self.assertRaisesRegex(RuntimeError, "mixed with different device type"):
            ipex_studio.optimize(mixed)
        with self.assertRaisesRegex(TypeError, "not a function"):
            ipex_studio.optimize(lambda x: x)

    def test_inplace_or_a_copy(self):
        net = trained_net()
        fast = ipex_studio.optimize(net)
        self.assertIsNot(fast, net)
        self.assertIsNot(fast.conv.weight, net.conv.weight)
        self.assertIs(type(net.conv), nn.Conv2d)
        self.assertTrue(net.conv.weight.is_contiguous())
        self.assertIs(ipex_studio.optimize(net, inplace=True), net)

    def test_levels_and_switches(self):
        net = trained_net()
        for level, folds, given in (("O1", True, None), ("O0", False, None), ("O1", False, False), ("O0", True, True)):
            fast = ipex_studio.optimize(net, level=level, conv_bn_folding=given)
            self.check(net, fast, image())
            self.assertEqual("aten::batch_norm" not in node_kinds(fast, image()), folds, (level, given))
        for level, replaced, given in (("O1", True, None), ("O0", False, None), ("O1", False, False), ("O0", True, True)):
            fast = ipex_studio.optimize(net, level=level, replace_dropout_with_identity=given)
            self.assertEqual(type(fast.drop) is nn.Identity, replaced, (level, given))

    def test_folding_of_all_kinds(self):
        net = trained(Normed(), 4, 3, 8)
        fast = ipex_studio.optimize(net)
        self.check(net, fast, torch.randn(4, 3, 8))
        folded = {name for name, module in fast.named_modules() if "_ipex_norm" in module.__dict__}
        self.assertEqual(folded, {"line", "flat"})  # the third result is read twice
        self.assertEqual(list(fast.state_dict()), list(net.state_dict()))

    def test_layers_that_meet_on_some_ways_only_stay(self):
        class Ways(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 4, 1)
                self.norm = nn.BatchNorm2d(4)

            def forward(self, x, mask=None):
                y = self.conv(x)
                return y + 1 if mask is None else self.norm(y) * mask

        net = Ways()
        for _ in range(3):
            net(image() + 1, torch.ones(1))
        fast = ipex_studio.optimize(net.eval())
        self.check(net, fast, image())
        self.check(net, fast, image(), torch.ones(1))

    def test_folded_layers_train_and_give_gradients(self):
        net = trained_net()
        fast = ipex_studio.optimize(net, replace_dropout_with_identity=False)
        for model in (net, fast):
            model(image()).sum().backward()
        torch.testing.assert_close(fast.conv.weight.grad, net.conv.weight.grad)
        torch.testing.assert_close(fast.norm.weight.grad, net.norm.weight.grad)
        before = fast.norm.running_mean.clone()
        fast.train()(image())
        self.assertFalse(torch.equal(fast.norm.running_mean, before))

    def test_folded_weights_follow_loaded_ones(self):
        fast, other = ipex_studio.optimize(trained_net()), trained_net(seed=7)
        self.check(other, other, image())
        fast.load_state_dict(other.state_dict())
        self.check(other, fast, image())
        stock = Net().eval()
        stock.load_state_dict(fast.state_dict())
        self.check(other, stock, image())

    def test_hooks_of_folded_layers_see_what_they_saw(self):
        net = trained_net()
        fast = ipex_studio.optimize(net)
        self.check(net, fast, image())
        seen = {}
        for model in (net, fast):
            model.conv.register_forward_hook(lambda _, __, result, key=model: seen.__setitem__(key, result))
        self.check(net, fast, image())
        torch.testing.assert_close(seen[net], seen[fast], rtol=1e-4, atol=1e-5)

    def test_copies_and_pickles_of_folded_models(self):
        net = trained_net()
        fast = ipex_studio.optimize(net)
        self.check(net, fast, image())
        for other in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
            self.check(net, other, image())
            self.assertNotIn("aten::batch_norm", node_kinds(other, image()))
            self.assertIs(other.conv._ipex_norm, other.norm)
            self.assertIsInstance(other.conv, nn.Conv2d)
        scripted = torch.jit.script(nn.Sequential(fast.conv, fast.norm).eval())
        self.check(nn.Sequential(net.conv, net.norm), scripted, image())

    def test_traces_of_folded_models_are_stock(self):
        net = trained_net()
        fast = ipex_studio.optimize(net)
        with torch.no_grad():
            traced = torch.jit.freeze(torch.jit.trace(fast, image()))
        self.check(net, traced, image())
        self.assertNotIn("ipex_studio", str(traced.graph))

    def test_what_tracing_refuses_stays_and_warns_on_request(self):
        class Branch(Net):
            def forward(self, x):
                return super().forward(x) if x.sum() > 0 else super().forward(-x)

        net = trained(Branch(), 4, 3, 8, 8)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.check(net, ipex_studio.optimize(net), image())
        with self.assertWarnsRegex(UserWarning, "Conv BatchNorm folding failed during the optimize process."):
            ipex_studio.optimize(net, conv_bn_folding=True)

    def test_weights_are_channels_last_unless_switched_off(self):
        net = trained_net()
        self.assertTrue(ipex_studio.optimize(net).conv.weight.is_contiguous(memory_format=torch.channels_last))
        ipex_studio.disable_auto_channels_last()
        try:
            self.assertTrue(ipex_studio.optimize(net).conv.weight.is_contiguous())
        finally:
            ipex_studio.enable_auto_channels_last()

    def test_bf16_weights_and_fp32_state(self):
        net = trained_net()
        fast = ipex_studio.optimize(net, dtype=torch.bfloat16)
        self.assertEqual((fast.conv.weight.dtype, fast.head.bias.dtype, fast.norm.weight.dtype),
                         (torch.bfloat16, torch.bfloat16, torch.float32))
        with torch.no_grad(), torch.cpu.amp.autocast():
            torch.testing.assert_close(fast(image()).float(), net(image()).float(), rtol=0.05, atol=0.02)
        state = fast.state_dict()
        self.assertEqual(list(state), list(net.state_dict()))
        self.assertEqual({value.dtype for value in state.values() if value.is_floating_point()}, {torch.float32})
        stock = Net().eval()
        stock.load_state_dict(state)
        torch.testing.assert_close(stock.conv.weight, net.conv.weight, rtol=0.01, atol=0.001)
        fast.load_state_dict(trained_net(seed=4).state_dict())
        self.assertEqual(fast.conv.weight.dtype, torch.bfloat16)
        with self.assertRaisesRegex(AssertionError, "keep_vars"):
            fast.state_dict(keep_vars=True)
        self.assertEqual(copy.deepcopy(fast).state_dict()["conv.weight"].dtype, torch.float32)

    def test_tied_weights_stay_tied_when_cast(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(7, 4)
                self.head = nn.Linear(4, 7, bias=False)
                self.head.weight = self.table.weight
                self.norm = nn.LayerNorm(4)

            def forward(self, ids):
                return self.head(self.norm(self.table(ids).float()))

        fast = ipex_studio.optimize(Tied().eval(), dtype=torch.bfloat16)
        self.assertIs(fast.head.weight, fast.table.weight)
        self.assertEqual((fast.head.weight.dtype, fast.norm.weight.dtype), (torch.bfloat16, torch.float32))

    def test_a_shared_weight_keeps_its_layer_in_fp32(self):
        class Shared(nn.Module):
            def __init__(self):
                super().__init__()
                self.param = nn.Parameter(torch.rand(3, 3))
                self.layer = nn.Linear(3, 3)
                self.layer.weight = self.param

        fast = ipex_studio.optimize(Shared().eval(), dtype=torch.bfloat16)
        self.assertIs(fast.param, fast.layer.weight)
        self.assertEqual((fast.layer.weight.dtype, fast.layer.bias.dtype), (torch.float32, torch.float32))

    def test_shared_weights_share_memory_in_the_state(self):
        class Shared(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Embedding(3, 3), nn.Linear(3, 3)
                self.second.weight = self.first.weight

        fast = ipex_studio.optimize(Shared().eval(), dtype=torch.bfloat16)
        self.assertEqual(fast.second.weight.dtype, torch.bfloat16)
        state = fast.state_dict()
        self.assertEqual(state["first.weight"].dtype, torch.float32)
        self.assertEqual(state["first.weight"].data_ptr(), state["second.weight"].data_ptr())
        state["first.weight"].zero_()
        self.assertTrue(fast.state_dict()["first.weight"].any(), "what a script writes into its state stays there")

    def test_fp16_never_aborts(self):
        fast = ipex_studio.optimize(trained_net(), dtype=torch.float16)
        with torch.no_grad():
            fast(image().to(fast.conv.weight.dtype))

    def test_script_modules_without_a_guess_stay(self):
        scripted = torch.jit.script(nn.ReLU().eval())
        with self.assertLogs("ipex_studio", "WARNING"):
            self.assertIs(ipex_studio.optimize(scripted), scripted)
        self.assertIs(ipex_studio.optimize(scripted, level="O0"), scripted)


class Training(unittest.TestCase):
    """Layers are torch's own, steps are fused; copies belong together."""

    def step(self, model, optimizer):
        torch.manual_seed(0)
        optimizer.zero_grad()
        model(image()).sum().backward()
        optimizer.step()

    def test_model_and_optimizer_are_copied_together(self):
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        self.step(net, optimizer)
        with self.assertLogs("ipex_studio", "WARNING"):
            new, new_optimizer = ipex_studio.optimize(net, optimizer=optimizer, dtype=torch.bfloat16)
        self.assertIsNot(new_optimizer, optimizer)
        self.assertIs(new_optimizer.param_groups[0]["params"][0], next(new.parameters()))
        self.assertTrue(torch.equal(new_optimizer.state[new.head.bias]["momentum_buffer"],
                                    optimizer.state[net.head.bias]["momentum_buffer"]))
        self.step(net, optimizer)
        self.step(new, new_optimizer)
        torch.testing.assert_close(new.head.weight, net.head.weight, rtol=1e-4, atol=1e-5)

    def test_inplace_gives_both_back(self):
        net = Net()
        optimizer = torch.optim.Adam(net.parameters())
        new, new_optimizer = ipex_studio.optimize(net, optimizer=optimizer, inplace=True)
        self.assertIs(new, net)
        self.assertIs(new_optimizer, optimizer)

    def test_a_model_and_then_its_optimizer(self):
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        new = ipex_studio.optimize(net)
        new_optimizer = ipex_studio.optimize(optimizer)
        self.assertTrue(new_optimizer.fused)
        before, untouched = new.head.weight.clone(), net.head.weight.clone()
        self.step(new, new_optimizer)
        self.assertFalse(torch.equal(new.head.weight, before))
        self.assertTrue(torch.equal(net.head.weight, untouched))

    def test_an_optimizer_alone_stays(self):
        optimizer = torch.optim.SGD(Net().parameters(), lr=0.1)
        self.assertIs(ipex_studio.optimize(optimizer), optimizer)

    def test_checkpoints_load_into_stock_models(self):
        net = Net()
        new, optimizer = ipex_studio.optimize(net, optimizer=torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9))
        self.step(new, optimizer)
        stream = io.BytesIO()
        torch.save({"model": new.state_dict(), "optimizer": optimizer.state_dict()}, stream)
        stream.seek(0)
        saved = torch.load(stream)
        stock = Net()
        stock.load_state_dict(saved["model"])
        torch.optim.SGD(stock.parameters(), lr=0.1, momentum=0.9).load_state_dict(saved["optimizer"])


if __name__ == "__main__":
    unittest.main()
