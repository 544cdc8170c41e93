#!/usr/bin/python3
"""Scripts written for an XPU run on a CPU: torch.xpu, its autocast, and what the extension tells about the machine."""
import unittest
from unittest import mock

import torch

import ipex_studio
from ipex_studio.compat import _C
from networks import trained_net, image


@unittest.skipIf(torch.xpu.is_available(), "there is an XPU, whose torch.xpu stays as it is")
class Xpu(unittest.TestCase):
    def test_what_needs_no_device_does_nothing(self):
        self.assertEqual(torch.xpu.device_count(), 0)
        torch.xpu.synchronize()
        torch.xpu.synchronize("xpu:0")
        torch.xpu.empty_cache()
        self.assertEqual((torch.xpu.memory_allocated(), torch.xpu.max_memory_allocated(0), torch.xpu.memory_stats()),
                         (0, 0, {}))
        self.assertIs(torch.xpu.optimize, ipex_studio.optimize)

    def test_what_needs_a_device_is_refused(self):
        with self.assertRaises((AssertionError, RuntimeError, NotImplementedError)):
            trained_net().to("xpu")

    def test_autocast_is_that_of_the_cpu(self):
        layer = torch.nn.Linear(4, 4).bfloat16()
        with torch.xpu.amp.autocast(enabled=True, dtype=torch.bfloat16):
            self.assertTrue(torch.xpu.amp.is_autocast_xpu_enabled())
            self.assertEqual(torch.xpu.amp.get_autocast_xpu_dtype(), torch.bfloat16)
            self.assertEqual(layer(torch.ones(2, 4)).dtype, torch.bfloat16)
        self.assertFalse(torch.xpu.amp.is_autocast_xpu_enabled())
        with torch.xpu.amp.autocast(enabled=False):
            self.assertFalse(torch.xpu.is_autocast_xpu_enabled())

    def test_a_step_within_autocast(self):
        net = trained_net().train()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
        net, optimizer = ipex_studio.optimize(net, optimizer=optimizer, dtype=torch.bfloat16)
        before = net.head.weight.detach().clone()
        with torch.xpu.amp.autocast(enabled=True, dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(net(image()), torch.tensor([0, 1]))
            loss.backward()
            optimizer.step()
        torch.xpu.synchronize()
        self.assertFalse(torch.equal(before, net.head.weight))

    def test_functions_of_an_authors_own_run_in_autocast(self):
        class Double(torch.autograd.Function):
            @staticmethod
            @torch.xpu.amp.custom_fwd
            def forward(ctx, x):
                return x * 2

            @staticmethod
            @torch.xpu.amp.custom_bwd
            def backward(ctx, gradient):
                return gradient * 2

        x = torch.ones(3, requires_grad=True)
        with torch.xpu.amp.autocast():
            Double.apply(x).sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 2, 2])


class Machine(unittest.TestCase):
    def levels(self, *flags):
        with mock.patch.object(_C, "_flags", lambda: frozenset(flags)):
            return _C._get_current_isa_level(), _C.onednn_has_bf16_support(), _C.isa_has_amx_support()

    def test_levels(self):
        avx512 = ("avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512dq")
        self.assertEqual(self.levels("sse4_2"), ("DEFAULT", False, False))
        self.assertEqual(self.levels("avx2", "fma"), ("AVX2", False, False))
        self.assertEqual(self.levels(*avx512, "avx512_vnni"), ("AVX512_VNNI", True, False))
        amx = (*avx512, "avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16")
        self.assertEqual(self.levels(*amx), ("AMX", True, True))
        self.assertEqual(self.levels(*amx, "avx512_fp16")[0], "AVX512_FP16")

    def test_this_machine_agrees_with_torch(self):
        if hasattr(torch.backends, "cpu"):
            self.assertEqual(torch.backends.cpu.get_cpu_capability().startswith("AVX512"), _C.isa_has_avx512_support())
        self.assertFalse(_C._has_xpu())
        self.assertTrue(_C.get_process_available_cores())

    def test_switches(self):
        _C.disable_jit_opt()
        try:
            self.assertFalse(_C.get_jit_opt())
        finally:
            _C.enable_jit_opt()
        self.assertTrue(_C.get_jit_opt())
        self.assertIsNone(_C.enable_jit_concat_linear())


class MathMode(unittest.TestCase):
    def test_modes(self):
        modes = ipex_studio.FP32MathMode
        self.assertEqual(ipex_studio.get_fp32_math_mode(), modes.FP32)
        ipex_studio.set_fp32_math_mode(mode=modes.BF32, device="cpu")
        try:
            self.assertEqual(ipex_studio.get_fp32_math_mode("cpu"), modes.BF32)
            with self.assertLogs("ipex_studio", "WARNING"):
                ipex_studio.set_fp32_math_mode(modes.TF32)
            self.assertEqual(ipex_studio.get_fp32_math_mode(), modes.BF32)
        finally:
            ipex_studio.set_fp32_math_mode()
        self.assertEqual(ipex_studio.get_fp32_math_mode(), modes.FP32)
        with self.assertRaisesRegex(RuntimeError, "Unexpected device type cuda"):
            ipex_studio.set_fp32_math_mode(modes.FP32, "cuda")


if __name__ == "__main__":
    unittest.main()
