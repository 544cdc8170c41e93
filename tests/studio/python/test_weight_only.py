#!/usr/bin/python3
"""Weights as integers by the interface of Intel Extension for PyTorch: functions, layers, and operators by its names."""
import copy
import itertools
import pickle
import unittest

import torch
from torch import nn
from torch.nn import functional as stock

import ipex_studio
from ipex_studio.quantization import (WoqLowpMode, WoqWeightDtype, WoqWeightQScheme, convert, dequantize_per_block,
                                      dequantize_per_channel, get_weight_only_quant_qconfig_mapping, prepare,
                                      quantize_per_block, quantize_per_channel)
from ipex_studio.quantization._weight_only import WeightOnlyQuantizedLinear
from ipex_studio.quantization._weights import pack_halves

DTYPES = (WoqWeightDtype.INT8, WoqWeightDtype.INT4, WoqWeightDtype.NF4)


def layers(depth=31):
    torch.manual_seed(4)
    return nn.Sequential(nn.Linear(depth, 40), nn.ReLU(), nn.Linear(40, 7, bias=False)).eval()


def quantized(model, dtype=WoqWeightDtype.INT8, group=-1, **arguments):
    mapping = get_weight_only_quant_qconfig_mapping(weight_dtype=dtype, group_size=group, **arguments)
    return convert(prepare(model, mapping))


def rounded(weight, dtype, group, symmetric=False):
    """The weight, quantized and back, and what it is quantized to."""
    symmetric = symmetric or dtype == WoqWeightDtype.NF4
    if group < 0:
        made = quantize_per_channel(weight, dtype, sym_quant=symmetric)
        return dequantize_per_channel(*made, dtype, weight.shape), made
    made = quantize_per_block(weight, dtype, group, sym_quant=symmetric)
    return dequantize_per_block(*made, dtype, group, weight.shape), made


class Functions(unittest.TestCase):

    def test_a_weight_is_off_by_half_a_step_at_most(self):
        torch.manual_seed(0)
        weight = torch.randn(5, 37)
        for dtype, group, symmetric in itertools.product(DTYPES[:2], (-1, 16, 32), (False, True)):
            back, (packed, scales, zeros) = rounded(weight, dtype, group, symmetric)
            steps = scales.view(5, -1).repeat_interleave(37 if group < 0 else group, 1)[:, :37]
            self.assertLessEqual(float(((back - weight).abs() / steps).max()), 0.5 + 1e-4)
            self.assertEqual(zeros is None, symmetric)
            self.assertEqual(packed.dtype, torch.int8 if dtype == WoqWeightDtype.INT8 else torch.uint8)
            self.assertEqual(packed.shape[1], 37 if dtype == WoqWeightDtype.INT8 else 19)

    def test_parameters_that_are_given_are_used(self):
        weight = torch.tensor([[1.0, 2.0, -3.0, 4.0]])
        packed, _, _ = quantize_per_channel(weight, WoqWeightDtype.INT4, torch.tensor([1.0]), torch.tensor([5.0]))
        self.assertEqual(packed.tolist(), [[6 | 7 << 4, 2 | 9 << 4]])

    def test_nf4_takes_the_nearest_of_its_levels(self):
        table = torch.tensor([ipex_studio._engine.NF4_LEVELS])
        back, (_, scales, zeros) = rounded(3 * table, WoqWeightDtype.NF4, -1)
        self.assertEqual((scales.tolist(), zeros), ([3.0], None))
        self.assertTrue(torch.equal(back, 3 * table))
        with self.assertRaisesRegex(AssertionError, "no zero points"):
            quantize_per_channel(table, WoqWeightDtype.NF4)

    def test_weights_of_zeros_and_of_one_sign(self):
        for weight in (torch.zeros(2, 8), torch.full((2, 8), 0.5), torch.full((2, 8), -0.5)):
            for dtype in DTYPES:
                back, _ = rounded(weight, dtype, -1)
                self.assertLess(float((back - weight).abs().max()), 0.51 / 15)


class Layers(unittest.TestCase):

    def test_layers_multiply_by_the_rounded_weights(self):
        for depth, dtype, group in itertools.product((31, 64), DTYPES, (-1, 4, 32)):
            with self.subTest(depth=depth, dtype=dtype.name, group=group):
                model, x = layers(depth), torch.randn(3, depth)
                layer = quantized(model, dtype, group)[0]
                self.assertIsInstance(layer, WeightOnlyQuantizedLinear)
                weight, (packed, scales, zeros) = rounded(model[0].weight, dtype, group)
                self.assertTrue(torch.equal(layer._op_context.to_public(layer.weight), packed))
                self.assertTrue(torch.equal(layer._op_context.get_scales(), scales))
                self.assertEqual(layer._op_context.get_zero_points() is None, zeros is None)
                wanted = stock.linear(x.double(), weight.double(), model[0].bias.double())
                self.assertLess(float((layer(x).double() - wanted).abs().max()), 2e-6)

    def test_a_trace_holds_pytorchs_operators_and_copies_compute_alike(self):
        for dtype in DTYPES:
            model, x = quantized(layers(), dtype), torch.randn(3, 31)
            with torch.no_grad():
                wanted = model(x)
                traced = torch.jit.freeze(torch.jit.trace(model, x))
                self.assertFalse([node.kind() for node in traced.graph.nodes() if "ipex" in node.kind()])
                for result in (traced(x), copy.deepcopy(model)(x), pickle.loads(pickle.dumps(model))(x)):
                    torch.testing.assert_close(result, wanted, atol=1e-5, rtol=1e-5)

    def test_models_that_are_no_function_of_tensors(self):
        class Named(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(8, 8)
                self.again = self.linear

            def forward(self, x, by: str):
                return {by: self.again(self.linear(x))}

        model, x = Named().eval(), torch.randn(2, 8)
        made = quantized(model)
        self.assertIs(made.linear, made.again)
        torch.testing.assert_close(made(x, "y")["y"], model(x, "y")["y"], atol=0.02, rtol=0.02)
        self.assertIs(type(model.linear), nn.Linear)

    def test_types_of_operands(self):
        model, x = quantized(layers()), torch.randn(40, 31)
        with torch.no_grad():
            wanted = model(x)
            self.assertEqual(model(x.bfloat16()).dtype, torch.bfloat16)
            torch.testing.assert_close(model(x.bfloat16()).float(), wanted, atol=0.03, rtol=0.03)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                self.assertEqual(model(x).dtype, torch.bfloat16)
        x.requires_grad_()
        model(x).sum().backward()
        self.assertGreater(float(x.grad.abs().sum()), 0)

    def test_what_is_symmetric(self):
        def scheme(**arguments):
            return get_weight_only_quant_qconfig_mapping(**arguments).global_qconfig.weight_qscheme

        self.assertEqual(scheme(), WoqWeightQScheme.ASYMMETRIC)
        self.assertEqual(scheme(lowp_mode=WoqLowpMode.INT8), WoqWeightQScheme.SYMMETRIC)
        self.assertEqual(scheme(weight_dtype=WoqWeightDtype.NF4), WoqWeightQScheme.SYMMETRIC)
        with self.assertRaises(AssertionError):
            scheme(weight_dtype=WoqWeightDtype.NF4, weight_qscheme=WoqWeightQScheme.ASYMMETRIC)
        layer = quantized(layers(), weight_qscheme=WoqWeightQScheme.SYMMETRIC)[0]
        self.assertIsNone(layer._op_context.get_zero_points())

    def test_weights_that_are_quantized_already(self):
        torch.manual_seed(0)
        for columns, group in ((64, 32), (32, 4)):
            count = columns // group
            levels, zeros = torch.randint(0, 16, (8, columns)), torch.randint(6, 9, (8, count))
            scales, x = torch.rand(8, count), torch.randn(3, columns)
            words = pack_halves(stock.pad(zeros, (0, -count % 8))).view(torch.int32)
            for g_idx in (None, torch.arange(count).repeat(group)):
                group_of = torch.arange(columns) // group if g_idx is None else g_idx
                weight = (levels - zeros[:, group_of]) * scales[:, group_of]
                layer = WeightOnlyQuantizedLinear.from_float_and_int4_weight(
                    nn.Linear(columns, 8, bias=False), pack_halves(levels), scales, words, group_size=group, g_idx=g_idx)
                torch.testing.assert_close(layer(x), stock.linear(x, weight), atol=1e-4, rtol=1e-5)
                self.assertTrue(torch.equal(layer._op_context.to_public(layer.weight), pack_halves(levels)))


@unittest.skipIf(torch.__version__.startswith("1."), "torch 1.13 lets one library alone define operators of a namespace")
class Operators(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        import ipex_studio.compat  # noqa: F401 - brings the operators

    def test_operators_by_the_handle_of_a_weight(self):
        model, x = quantized(layers(40), WoqWeightDtype.INT4), torch.randn(3, 40)
        operators, handle = torch.ops.torch_ipex, model[0]._op_context.get_data_handle()
        others = [torch.randn(3, 40), torch.randn(3, 40)]
        y = model[0](x)
        for result, wanted in ((operators.ipex_woq_linear(x, handle), y), (operators.woq_linear_gelu(x, handle), stock.gelu(y)),
                               (operators.woq_linear_silu(x, handle), stock.silu(y)),
                               (operators.woq_linear_add_add(x, handle, others), y + others[0] + others[1]),
                               (operators.woq_linear_mul(x, handle, others[:1]), y * others[0])):
            self.assertTrue(torch.equal(result, wanted))
        with self.assertRaisesRegex(Exception, "takes 1 further operands, not 2"):
            operators.woq_linear_add(x, handle, others)

    def test_a_handle_of_no_weight_is_refused(self):
        with self.assertRaisesRegex(Exception, "of no weight of this process"):
            torch.ops.torch_ipex.ipex_woq_linear(torch.ones(1, 8), torch.tensor([140737000000000]))

    def test_weights_that_scripts_pack(self):
        linear, x = nn.Linear(64, 8), torch.randn(3, 64)
        qweight, scales, zeros = quantize_per_block(linear.weight, WoqWeightDtype.INT4, 32)
        arguments = ("int4", linear.weight.shape)
        packed, *rest, compensation = torch.ops.ipex_prepack.woq_linear_pack_weight(
            qweight, *arguments, scales, zeros, linear.bias, None, 32, 0)
        self.assertTrue(torch.equal(torch.ops.ipex_prepack.woq_linear_unpack_weight(packed, *arguments, 0), qweight))
        for weight in (packed, packed.clone()):
            found = torch.ops.torch_ipex.woq_linear(x, weight, *arguments, *rest, None, 32, 0, 0, compensation)
            wanted = stock.linear(x, dequantize_per_block(qweight, scales, zeros, WoqWeightDtype.INT4, 32), linear.bias)
            torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)


if __name__ == "__main__":
    unittest.main()
