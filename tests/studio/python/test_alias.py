#!/usr/bin/python3
"""ipex_studio under the name that scripts import."""
import contextlib
import importlib.machinery
import io
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import torch

import ipex_studio
from ipex_studio import alias

REAL = importlib.machinery.PathFinder.find_spec(alias.NAME)
PACKAGE = pathlib.Path(ipex_studio.__file__).parent
SCRIPT = """
import torch
import intel_extension_for_pytorch as ipex
from intel_extension_for_pytorch.frontend import optimize
model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).eval()
model = ipex.optimize(model)
with torch.no_grad():
    print(model(torch.ones(1, 3, 5, 5)).shape, optimize is ipex.optimize, ipex.__version__)
"""


def python(*words, path, code=0):
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(path)})
    if done.returncode != code:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout + done.stderr


@unittest.skipIf(REAL, "the real extension is installed in this environment")
class Activated(unittest.TestCase):
    def tearDown(self):
        alias.deactivate()

    def test_names_are_the_same_objects(self):
        with self.assertRaises(ImportError):
            import intel_extension_for_pytorch
        ipex_studio.alias.activate()
        alias.activate()
        import intel_extension_for_pytorch as ipex
        import intel_extension_for_pytorch.frontend
        self.assertIs(ipex.enable_onednn_fusion, ipex_studio.enable_onednn_fusion)
        self.assertIs(intel_extension_for_pytorch.frontend, ipex.frontend)
        self.assertEqual(sys.modules["ipex_studio.compat"].__spec__.name, "ipex_studio.compat")

    def test_frozen_modules_come_back_themselves(self):
        alias.activate()
        import intel_extension_for_pytorch as ipex
        with torch.no_grad():
            frozen = torch.jit.freeze(torch.jit.trace(torch.nn.Linear(4, 4).eval(), torch.ones(2, 4)))
        self.assertIs(ipex.optimize(frozen), frozen)
        self.assertIsNot(ipex.optimize(frozen, sample_input=torch.ones(2, 4)), frozen)

    def test_rows_of_a_sample_are_noted(self):
        alias.activate()
        import intel_extension_for_pytorch as ipex
        model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2)).train()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        ours, _ = ipex.optimize(model, optimizer=optimizer, sample_input=torch.ones(10, 6), auto_kernel_selection=True)
        self.assertEqual([ours[0].batch_size_collapsed, ours[2].batch_size_collapsed], [10, 10])
        self.assertTrue(torch.equal(ours[1].running_mean, model[1].running_mean))

    def test_layers_that_read_one_value_become_one(self):
        alias.activate()
        from intel_extension_for_pytorch.fx.concat_linear import concat_linear

        class Heads(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.query, self.key, self.other = torch.nn.Linear(6, 4), torch.nn.Linear(6, 3), torch.nn.Linear(4, 2)

            def forward(self, x):
                query = self.query(x)
                return query, self.key(x), self.other(query)

        traced, x = torch.fx.symbolic_trace(Heads()), torch.randn(5, 6)
        joined = concat_linear(traced)
        widths = [part.out_features for part in joined.modules() if isinstance(part, torch.nn.Linear)]
        self.assertEqual(sorted(widths), [2, 7])
        for one, other in zip(joined(x), traced(x)):
            torch.testing.assert_close(one, other)
        self.assertIs(concat_linear(traced, inplace=True), traced)

    def test_layers_are_known_by_the_classes_that_scripts_ask_for(self):
        alias.activate()
        import intel_extension_for_pytorch as ipex
        from intel_extension_for_pytorch.nn import FrozenBatchNorm2d
        from intel_extension_for_pytorch.nn.utils._weight_prepack import _IPEXConv2d, _IPEXLinear
        linear = torch.nn.Linear(8, 8)
        self.assertNotIsInstance(linear, _IPEXLinear)
        self.assertIsInstance(ipex.optimize(linear.eval()), _IPEXLinear)
        self.assertNotIsInstance(ipex.optimize(linear.eval(), level="O0"), _IPEXLinear)
        self.assertIsInstance(ipex.optimize(torch.nn.Conv2d(3, 3, 3).train()), _IPEXConv2d)
        self.assertNotIsInstance(ipex.optimize(torch.nn.Conv2d(3, 3, 3).train()), _IPEXLinear)
        self.assertIs(FrozenBatchNorm2d, ipex_studio.nn.modules.FrozenBatchNorm2d)

    def test_language_models(self):
        alias.activate()
        import intel_extension_for_pytorch as ipex
        from intel_extension_for_pytorch.cpu._auto_kernel_selection import _disable_tpp, _enable_tpp, _using_dnnl, _using_tpp
        self.assertIs(ipex.llm.functional.fusions.bgmv_expand, ipex_studio.llm.lora.bgmv_expand)
        self.assertIs(ipex.llm.functional.sgmv_shrink, ipex_studio.llm.lora.sgmv_shrink)
        self.assertIs(ipex.llm.functional.rms_norm, ipex_studio.llm.functional.rms_norm)
        self.assertIs(ipex.llm.modules.MambaMixer, ipex_studio.llm.modules.MambaMixer)
        _enable_tpp()
        self.assertEqual((_using_tpp(), _using_dnnl()), (True, True))
        _disable_tpp()
        self.assertFalse(_using_tpp())

    def test_runtime(self):
        alias.activate()
        import intel_extension_for_pytorch as ipex
        self.assertIs(ipex.cpu.runtime.Task, ipex_studio.cpu.runtime.Task)
        self.assertTrue(ipex._C.is_runtime_ext_enabled())
        pool = ipex._C.get_current_cpu_pool()
        self.assertTrue(ipex._C.is_same_core_affinity_setting(pool.core_ids))
        self.assertEqual(float(ipex.cpu.runtime._MultiStreamBenchmarkModule(torch.nn.ReLU())(torch.tensor(-1.0))), 0)
        threads = torch.get_num_threads()
        ipex._C.set_cpu_pool(ipex.cpu.runtime.CPUPool(pool.core_ids[:1]))
        self.assertEqual((ipex._C.get_process_available_cores(), torch.get_num_threads()), (pool.core_ids[:1], 1))
        ipex._C.set_cpu_pool(pool)
        torch.set_num_threads(threads)
        self.assertEqual(ipex._C.get_process_available_cores(), pool.core_ids)

    @unittest.skipIf(torch.__version__.startswith("1."), "torch 1.13 lets no two libraries share a namespace")
    def test_operators_by_name(self):
        alias.activate()
        import intel_extension_for_pytorch  # noqa: F401 - registers them
        for x in (torch.rand(20, 10), torch.rand(20, 10).t(), torch.rand(9, 9)[2:5, 2:5]):
            top, bottom = torch.ops.torch_ipex.split_float_bfloat16(x)
            self.assertEqual((top.dtype, top.stride()), (torch.bfloat16, x.stride()))
            whole = torch.ops.torch_ipex.cat_bfloat16_float(top, bottom)
            self.assertTrue(torch.equal(whole, x))
            self.assertEqual(whole.stride(), x.stride())

    def test_tensors(self):
        alias.activate()
        from intel_extension_for_pytorch.utils.channels_last_1d import is_contiguous_channels_last_1d, to_channels_last_1d
        x = torch.randn(2, 3, 5)
        self.assertTrue(torch.equal(torch.from_numpy(x.bfloat16().numpy()), x.bfloat16().float()))
        self.assertEqual(torch.from_numpy(x.numpy()).data_ptr(), x.data_ptr())
        self.assertFalse(is_contiguous_channels_last_1d(x))
        self.assertTrue(is_contiguous_channels_last_1d(to_channels_last_1d(x)))
        self.assertTrue(torch.equal(to_channels_last_1d(x), x))
        layer = torch.nn.Conv1d(3, 4, 5)
        expected = layer(torch.ones(1, 3, 9))
        self.assertTrue(is_contiguous_channels_last_1d(to_channels_last_1d(layer).weight))
        torch.testing.assert_close(layer(torch.ones(1, 3, 9)), expected)

    def test_embedding_bags_may_be_put_in_the_place_of_torchs(self):
        alias.activate()
        import intel_extension_for_pytorch as ipex
        functions = ipex.nn.functional._embeddingbag
        bag = torch.nn.EmbeddingBag(10, 3, mode="sum", sparse=True)
        arguments = torch.tensor([1, 2, 4, 5]), torch.tensor([0, 3])
        wanted = bag(*arguments)
        with unittest.mock.patch.object(torch, "embedding_bag", functions._embeddingbag):
            result = bag(*arguments)
        result.sum().backward()
        self.assertTrue(torch.equal(result, wanted) and bag.weight.grad.is_sparse)
        self.assertIs(torch.embedding_bag, functions.torch_embedding_bag)

    def test_modules_without_memory(self):
        alias.activate()
        import intel_extension_for_pytorch as ipex
        with ipex.OnDevice(dtype=torch.bfloat16, device="meta"):
            layer, index, here = torch.nn.Linear(4, 3), torch.zeros(2, dtype=torch.long), torch.ones(2, device="cpu")
        self.assertEqual((layer.weight.device.type, layer.weight.dtype), ("meta", torch.bfloat16))
        self.assertEqual((index.device.type, index.dtype), ("meta", torch.long))
        self.assertEqual((here.device.type, here.dtype), ("cpu", torch.bfloat16))
        with ipex.OnDevice(dtype=torch.bfloat16, device="meta", enabled=False):
            self.assertEqual(torch.zeros(2).device.type, "cpu")
        self.assertEqual(torch.zeros(2).device.type, "cpu")

    def test_names_beside_optimize(self):
        alias.activate()
        import intel_extension_for_pytorch as ipex
        from intel_extension_for_pytorch.cpu.utils.verbose import VERBOSE_ON, verbose
        self.assertIs(verbose, ipex.verbose)
        self.assertEqual(VERBOSE_ON, ipex.VERBOSE_ON)
        logger = logging.getLogger("ipex_studio")
        self.addCleanup(logger.setLevel, logger.level)
        for level in ("error", logging.ERROR):
            ipex.set_logging_level(level)
            self.assertEqual(logger.level, logging.ERROR)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            ipex.version()
        self.assertIn(ipex.__version__, said.getvalue())
        ipex._set_compiler_backend("torchscript")
        self.assertEqual(ipex._get_compiler_backend(), "torchscript")
        ipex._set_compiler_backend()
        self.assertRaises(RuntimeError, ipex._set_compiler_backend, "other")
        ipex._disable_dnnl()
        self.assertFalse(ipex._using_dnnl())
        ipex._enable_dnnl()
        self.assertTrue(ipex._using_dnnl())
        model, x = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU()).eval(), torch.ones(2, 6)
        torch.testing.assert_close(ipex.fast_bert(model)(x), model(x))
        self.assertRaises(AssertionError, ipex.fast_bert, model, torch.float16)
        try:
            import torchvision
        except ImportError:
            return
        self.assertIs(ipex.roi_align, torchvision.ops.roi_align)

    def test_what_scripts_ask_about_the_machine(self):
        alias.activate()
        import intel_extension_for_pytorch as ipex
        import intel_extension_for_pytorch._C as core
        self.assertIs(ipex._C, core)
        self.assertFalse(core._has_xpu())
        self.assertIs(ipex.xpu, torch.xpu)
        self.assertEqual(ipex.FP32MathMode.BF32, ipex_studio.FP32MathMode.BF32)
        with ipex.verbose(ipex.verbose.VERBOSE_OFF):
            pass

    def test_what_is_missing_is_said(self):
        alias.activate()
        import intel_extension_for_pytorch as ipex
        with self.assertRaisesRegex(AttributeError, "no counterpart of intel_extension_for_pytorch.jit"):
            ipex.jit
        with self.assertRaises(ModuleNotFoundError):
            import intel_extension_for_pytorch.no_such.module
        self.assertFalse(hasattr(ipex, "no_such"))


@unittest.skipIf(REAL, "the real extension is installed in this environment")
class Installed(unittest.TestCase):
    """In a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_scripts_run_unchanged(self):
        path = f"{self.folder}:{PACKAGE.parent}"
        alias.install(self.folder)
        self.assertIn("torch.Size([1, 4, 3, 3]) True", python("-c", SCRIPT, path=path))
        version = python("-c", "import importlib.metadata as m, torch; "
                         "print(m.version('intel_extension_for_pytorch')[:4] == torch.__version__[:4])", path=path)
        self.assertEqual(version, "True\n")
        alias.install(self.folder)
        self.assertEqual(len(alias.remove(self.folder)), 2)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_activate_works_beside_the_installed_alias(self):
        alias.install(self.folder)
        code = "import ipex_studio.alias; ipex_studio.alias.activate()" + SCRIPT
        self.assertIn("True", python("-c", code, path=f"{self.folder}:{PACKAGE.parent}"))

    def test_the_real_one_is_refused_and_stays(self):
        real = self.folder / alias.NAME
        real.mkdir()
        (real / "__init__.py").write_text("x = 1\n", encoding="utf-8")
        path = f"{self.folder}:{PACKAGE.parent}"
        said = python("-m", "ipex_studio.alias", "install", path=path, code=1)
        self.assertIn("Intel Extension for PyTorch is installed", said)
        code = "import ipex_studio.alias\ntry: ipex_studio.alias.activate()\nexcept ipex_studio.Error as error: print(error)"
        self.assertIn("uninstall it first", python("-c", code, path=path))
        self.assertEqual(alias.remove(self.folder), [])
        self.assertTrue(real.exists())

    def test_the_command(self):
        said = python("-m", "ipex_studio.alias", "remove", path=PACKAGE.parent)
        self.assertIn("nothing to remove", said)


if __name__ == "__main__":
    unittest.main()
