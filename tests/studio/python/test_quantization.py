#!/usr/bin/python3
"""INT8 by the interfaces of both generations of Intel Extension for PyTorch."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import torch
from torch import nn
from torch.ao.quantization import MinMaxObserver, MovingAverageMinMaxObserver, QConfig, QConfigMapping

import ipex_studio
from ipex_studio import quantization
from ipex_studio._program import environment, find_program
from ipex_studio.quantization import (QuantConf, autotune, calibrate, convert, default_dynamic_qconfig_mapping,
                                      default_static_qconfig, default_static_qconfig_mapping,
                                      get_smooth_quant_qconfig_mapping, get_weight_only_quant_qconfig_mapping, prepare)
from networks import image, trained_net


class Block(nn.Module):
    """Convolutions with a residual sum and pools between them, and a linear layer."""

    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.pool = nn.MaxPool2d(2)
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.norm(self.stem(x))))
        x = torch.relu(self.second(torch.relu(self.first(x))) + x)
        return self.head(x.mean([2, 3]))


class Linears(nn.Module):
    """Two linear layers, the first behind channels of which one reaches far."""

    def __init__(self, width=64):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, 8)
        self.register_buffer("reach", torch.cat([torch.full((1,), 60.0), torch.ones(width - 1)]))

    def forward(self, x):
        return self.second(torch.relu(self.first(x * self.reach)))


def block():
    torch.manual_seed(3)
    net = Block()
    for seed in range(3):
        net(image(8, 16, seed))
    return net.eval()


def linears():
    torch.manual_seed(4)
    return Linears().eval()


def sqnr(result, wanted):
    return float(10 * torch.log10(wanted.double().square().sum() / (result.double() - wanted.double()).square().sum()))


def kinds(module):
    return [node.kind() for node in module.inlined_graph.nodes()]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        no_grad = torch.no_grad()
        no_grad.__enter__()
        self.addCleanup(no_grad.__exit__, None, None, None)

    def path(self, name):
        return os.path.join(self.folder, name)


class Earlier(Case):
    """QuantConf and calibrate()."""

    def setUp(self):
        super().setUp()
        self.model, self.x = block(), image(4, 16, 9)
        self.wanted = self.model(self.x)

    def calibrated(self, **options):
        conf = QuantConf(**options)
        with calibrate(conf):
            for seed in range(4):
                self.model(image(4, 16, seed))
        return conf

    def test_from_calibration_to_deployment(self):
        conf = self.calibrated(qscheme=torch.per_tensor_affine)
        conf.save(self.path("int8_conf.json"), default_recipe=True)
        quantized = convert(self.model, QuantConf(self.path("int8_conf.json")), self.x)
        self.assertGreater(sqnr(quantized(self.x), self.wanted), 25)
        self.assertIn("aten::quantize_per_tensor", kinds(quantized))
        self.assertFalse([kind for kind in kinds(quantized) if "ipex" in kind])
        quantized.save(self.path("int8.pt"))
        code = ("import sys, torch; m = torch.jit.load(sys.argv[1]); x, y = torch.load(sys.argv[2]); "
                "assert 'ipex_studio' not in sys.modules; print(float((m(x) - y).abs().max()))")
        torch.save((self.x, quantized(self.x)), self.path("values"))
        done = subprocess.run([sys.executable, "-c", code, self.path("int8.pt"), self.path("values")], text=True,
                              capture_output=True, check=False, env={**os.environ, "PYTHONPATH": ""})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(float(done.stdout), 1e-5)

    def test_the_file_and_the_object_give_the_same(self):
        conf = self.calibrated()
        conf.save(self.path("conf.json"))
        by_object, by_file = (convert(self.model, known, self.x) for known in (conf, QuantConf(self.path("conf.json"))))
        self.assertTrue(torch.equal(by_object(self.x), by_file(self.x)))

    def test_the_list_of_1_10(self):
        self.calibrated().save(self.path("conf.json"))
        with open(self.path("conf.json"), encoding="utf-8") as file:
            entries = json.load(file)
        self.assertEqual([entry["name"] for entry in entries], ["conv2d", "conv2d", "conv2d", "linear"])
        for entry in entries:
            self.assertEqual(entry["algorithm"], "min_max")
            self.assertEqual(len(entry["input_scales"]), 1)
            self.assertTrue(entry["inputs_quantized"][0])

    def test_symmetric_ranges(self):
        self.calibrated(qscheme=torch.per_tensor_symmetric).save(self.path("conf.json"))
        with open(self.path("conf.json"), encoding="utf-8") as file:
            points = {point for entry in json.load(file) for point in entry["input_zero_points"]}
        self.assertEqual(points, {128})
        with self.assertRaises(AssertionError):
            QuantConf(qscheme=torch.per_channel_affine)

    def test_results_while_calibrating_are_the_models(self):
        with calibrate(QuantConf()):
            self.assertTrue(torch.equal(self.model(self.x), self.wanted))

    def test_the_recipe_may_be_given_to_the_context_and_it_decorates(self):
        conf = QuantConf()

        @calibrate(conf, default_recipe=True)
        def run():
            self.model(self.x)

        run()
        self.assertGreater(sqnr(convert(self.model, conf, self.x)(self.x), self.wanted), 25)

    def test_losses_and_transformations_pass(self):
        conf = QuantConf()
        with calibrate(conf):
            nn.CrossEntropyLoss()(self.model(nn.Identity()(self.x)), torch.zeros(4, dtype=torch.long))
        convert(self.model, conf, self.x)

    def test_what_cannot_be(self):
        with self.assertRaisesRegex(ipex_studio.Error, "Nothing was calibrated"):
            QuantConf().save(self.path("conf.json"))
        conf = QuantConf()
        with calibrate(conf):
            self.model(self.x)
            linears()(torch.randn(2, 64))
        with self.assertRaisesRegex(ipex_studio.Error, "Block and Linears were calibrated with one QuantConf"):
            conf.save(self.path("conf.json"))
        alone = self.calibrated()
        alone.save(self.path("conf.json"))
        with self.assertRaisesRegex(ipex_studio.Error, "belongs to another model"):
            convert(linears(), QuantConf(self.path("conf.json")), torch.randn(2, 64))
        with self.assertRaisesRegex(ipex_studio.Error, "NaN"):
            with calibrate(QuantConf()):
                self.model(self.x * float("nan"))
        self.assertFalse(hasattr(nn.Module.__call__, "_ipex_calibrates"))

    def test_a_model_that_chooses_is_refused(self):
        class Chooses(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second, self.deep = nn.Linear(64, 64), nn.Linear(64, 8), False

            def forward(self, x):
                x = self.first(x)
                return self.second(torch.sigmoid(x) if self.deep else torch.relu(x))

        model = Chooses().eval()
        with self.assertRaisesRegex(ipex_studio.Error, "operator 1 is aten::sigmoid, and was aten::relu"):
            with calibrate(QuantConf()):
                model(torch.randn(2, 64))
                model.deep = True
                model(torch.randn(2, 64))

    def test_modules_of_torchscript(self):
        traced = torch.jit.trace(self.model, self.x)
        conf = QuantConf()
        with calibrate(conf):
            traced(self.x)
        self.assertGreater(sqnr(convert(traced, conf, (self.x,))(self.x), self.wanted), 25)

    def test_files_gain_plans(self):
        """The saved file computes in integers where the package is imported."""
        convert(self.model, self.calibrated(), self.x).save(self.path("int8.pt"))
        planned = ipex_studio.optimize(torch.jit.load(self.path("int8.pt")), sample_input=self.x)
        steps = ipex_studio.profile(self.path("int8.pt"), inputs=[self.x], iterations=3, warmup=0,
                                    db=self.path("profile.db"))
        products = [row for row in steps.rows if row["kind"] in ("convolution", "linear")]
        self.assertEqual(len(products), 4)
        for row in products:
            self.assertEqual(row["step_precision"], "int8", row)
        self.assertGreater(sqnr(planned(self.x), self.wanted), 25)


class Later(Case):
    """prepare() and convert()."""

    def setUp(self):
        super().setUp()
        self.model, self.x = block(), image(4, 16, 9)
        self.wanted = self.model(self.x)

    def prepared(self, mapping=default_static_qconfig_mapping, **options):
        prepared = prepare(self.model, mapping, example_inputs=self.x, **options)
        for seed in range(4):
            prepared(image(4, 16, seed))
        return prepared

    def test_static(self):
        prepared = self.prepared()
        self.assertIsInstance(prepared, Block)
        converted = convert(prepared)
        self.assertIsInstance(converted, Block)
        self.assertGreater(sqnr(converted(self.x), self.wanted), 25)
        traced = torch.jit.freeze(torch.jit.trace(converted, self.x))
        self.assertIn("aten::quantize_per_tensor", kinds(traced))
        self.assertFalse([kind for kind in kinds(traced) if "ipex" in kind])
        self.assertGreater(sqnr(traced(self.x), self.wanted), 25)
        torch.jit.save(traced, self.path("int8.pt"))
        again = torch.jit.load(self.path("int8.pt"))
        for _ in range(3):
            self.assertGreater(sqnr(again(self.x), self.wanted), 25)
        plans = again.__dict__["_ipex_forward"]._plans
        self.assertTrue(plans and all(plans.values()), "it runs by a plan of its own accord")
        self.assertTrue(torch.equal(self.model(self.x), self.wanted))

    def test_observers(self):
        for observer in (MinMaxObserver, MovingAverageMinMaxObserver):
            for scheme, dtype in ((torch.per_tensor_affine, torch.quint8), (torch.per_tensor_symmetric, torch.qint8)):
                qconfig = QConfig(activation=observer.with_args(qscheme=scheme, dtype=dtype),
                                  weight=default_static_qconfig.weight)
                self.assertGreater(sqnr(convert(self.prepared(qconfig))(self.x), self.wanted), 20)
        with self.assertRaises(AssertionError):
            prepare(self.model, QConfig(activation=default_static_qconfig.weight, weight=default_static_qconfig.weight))

    def test_layers_without_a_qconfig_stay(self):
        mapping = QConfigMapping().set_global(default_static_qconfig).set_module_name("first", None) \
            .set_object_type(nn.Linear, None)
        prepared = self.prepared(mapping)
        prepared.save_qconf_summary(qconf_summary=self.path("conf.json"))
        with open(self.path("conf.json"), encoding="utf-8") as file:
            operations = next(iter(json.load(file).values()))["q_op_infos"].values()
        forced = {entry["fqn"]: entry["input_tensor_infos"][0]["force_dtype"] for entry in operations}
        self.assertEqual(forced, {"stem": "torch.quint8", "first": "torch.float32", "second": "torch.quint8",
                                  "head": "torch.float32"})

    def test_what_is_saved_is_loaded(self):
        for mapping in (default_static_qconfig_mapping, get_smooth_quant_qconfig_mapping()):
            self.model, self.x = linears(), torch.randn(16, 64)
            prepared = prepare(self.model, mapping, example_inputs=self.x, inplace=False)
            prepared(self.x)
            prepared.save_qconf_summary(qconf_summary=self.path("conf.json"))
            fresh = prepare(self.model, mapping, example_inputs=self.x)
            fresh.load_qconf_summary(qconf_summary=self.path("conf.json"))
            results = [torch.jit.freeze(torch.jit.trace(convert(model), self.x))(self.x) for model in (prepared, fresh)]
            self.assertTrue(torch.equal(*results))

    def test_a_person_may_edit_the_file(self):
        prepared = self.prepared()
        prepared.save_qconf_summary(qconf_summary=self.path("conf.json"))
        with open(self.path("conf.json"), encoding="utf-8") as file:
            data = json.load(file)
        for entry in next(iter(data.values()))["q_op_infos"].values():
            if entry["fqn"] != "first":
                entry["input_tensor_infos"][0]["force_dtype"] = "torch.float32"
        with open(self.path("conf.json"), "w", encoding="utf-8") as file:
            json.dump(data, file)
        prepared.load_qconf_summary(qconf_summary=self.path("conf.json"))
        traced = torch.jit.freeze(torch.jit.trace(convert(prepared), self.x))
        self.assertEqual(kinds(traced).count("aten::quantize_per_tensor"), 1)

    def test_smooth_quant(self):
        model, x = linears(), torch.randn(64, 64)
        wanted = model(x)
        found = []
        for mapping in (QConfig(MinMaxObserver, default_static_qconfig.weight), get_smooth_quant_qconfig_mapping(alpha=0.5)):
            prepared = prepare(model, mapping, example_inputs=x)
            prepared(x)
            traced = torch.jit.freeze(torch.jit.trace(convert(prepared), x))
            found.append(sqnr(traced(x), wanted))
        self.assertGreater(found[1], found[0] + 3)

    def test_a_trace_that_is_not_frozen_can_be_saved(self):
        x = torch.randn(4, 64)
        converted = []
        for _ in range(2):  # of which one file holds both
            prepared = prepare(nn.Sequential(nn.Linear(64, 64), nn.ReLU()).eval(), default_static_qconfig_mapping,
                               example_inputs=x)
            prepared(x)
            converted.append(convert(prepared))
        with torch.no_grad():
            traced = torch.jit.trace(nn.Sequential(*converted).eval(), x)
            traced.save(self.path("traced.pt"))
            self.assertTrue(torch.equal(torch.jit.load(self.path("traced.pt"))(x), traced(x)))

    def test_dynamic_and_weight_only(self):
        model, x = linears(), torch.randn(16, 64)
        wanted = model(x)
        for mapping, least in ((default_dynamic_qconfig_mapping, 20), (get_weight_only_quant_qconfig_mapping(), 30),
                               (get_weight_only_quant_qconfig_mapping(group_size=32), 30)):
            converted = convert(prepare(model, mapping))
            self.assertGreater(sqnr(converted(x), wanted), least)
            traced = torch.jit.freeze(torch.jit.trace(converted, x))
            self.assertFalse([kind for kind in kinds(traced) if "ipex" in kind])
            self.assertGreater(sqnr(traced(x), wanted), least)
        int4 = get_weight_only_quant_qconfig_mapping(weight_dtype=quantization.WoqWeightDtype.INT4, group_size=32)
        self.assertGreater(sqnr(convert(prepare(model, int4))(x), wanted), 12)
        nf4 = get_weight_only_quant_qconfig_mapping(weight_dtype=quantization.WoqWeightDtype.NF4, group_size=32)
        self.assertGreater(sqnr(convert(prepare(model, nf4))(x), wanted), 18)
        with self.assertRaisesRegex(ipex_studio.Error, "INT8, INT4 or NF4"):
            get_weight_only_quant_qconfig_mapping(weight_dtype=7)

    def test_dynamic_layers_are_pytorchs_and_plans_read_them(self):
        model, x = linears(), torch.randn(16, 64)
        model.reach.fill_(1)
        converted = convert(prepare(model, default_dynamic_qconfig_mapping))
        self.assertIsInstance(converted.first, torch.nn.quantized.dynamic.Linear)
        traced = torch.jit.freeze(torch.jit.trace(converted, x))
        for _ in range(3):
            self.assertGreater(sqnr(traced(x), model(x)), 20)
        plans = traced.__dict__["_ipex_forward"]._plans
        self.assertTrue(plans and all(plans.values()))
        mapping = QConfigMapping().set_global(quantization.default_dynamic_qconfig).set_module_name("first", None)
        self.assertIs(type(convert(prepare(model, mapping)).first), nn.Linear)

    def test_a_call_after_saving_or_loading_begins_anew(self):
        has_run = quantization._utils.check_model_obsever_has_run
        prepared = prepare(self.model, default_static_qconfig_mapping, example_inputs=self.x)
        self.assertFalse(has_run(prepared))
        prepared(self.x)
        self.assertTrue(has_run(prepared))
        prepared.save_qconf_summary(self.path("first.json"))
        self.assertFalse(has_run(prepared))
        convert(prepared)
        prepared.load_qconf_summary(self.path("first.json"))
        prepared(self.x + 1)
        self.assertTrue(has_run(prepared))
        prepared.save_qconf_summary(self.path("second.json"))
        texts = []
        for name in ("first.json", "second.json"):
            with open(self.path(name), encoding="utf-8") as file:
                texts.append(file.read())
        self.assertFalse(texts[0] == texts[1])

    def test_arguments_by_name_and_nested_results(self):
        class Named(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(64, 64)

            def forward(self, x, scale=None):
                y = self.layer(x)
                return {"y": y if scale is None else y * scale, "x": x}

        model, x, scale = Named().eval(), torch.randn(8, 64), torch.tensor(2.0)
        prepared = prepare(model, default_static_qconfig_mapping, example_kwarg_inputs={"x": x, "scale": scale})
        prepared(x=x, scale=scale)
        results = convert(prepared)(x=x, scale=scale)
        self.assertGreater(sqnr(results["y"], model(x, scale)["y"]), 25)
        with self.assertRaisesRegex(ipex_studio.Error, "other types"):
            convert(prepared)(x)

    def test_inplace_and_what_cannot_be(self):
        with self.assertRaisesRegex(AssertionError, "Please do prepare the model before doing convert"):
            convert(self.model)
        with self.assertRaisesRegex(AssertionError, "needs example_inputs"):
            prepare(self.model, default_static_qconfig_mapping)
        with self.assertRaisesRegex(ipex_studio.Error, "Nothing was calibrated"):
            convert(prepare(self.model, default_static_qconfig_mapping, example_inputs=self.x))
        prepared = self.prepared(inplace=True)
        self.assertIs(prepared, self.model)
        self.assertIs(convert(prepared, inplace=True), self.model)
        self.assertGreater(sqnr(self.model(self.x), self.wanted), 25)


class Tuned(Case):
    def test_accuracy_is_kept(self):
        model, x = block(), image(64, 16, 5)
        labels = model(x).argmax(1)
        data = [(part, None) for part in x.split(16)]
        evaluate = lambda candidate: float((candidate(x).argmax(1) == labels).float().mean())  # noqa: E731
        tuned = autotune(model, data, eval_func=evaluate, sampling_sizes=[32], accuracy_criterion={"relative": 0.05})
        self.assertGreaterEqual(evaluate(convert(tuned)), 0.95)

    def test_layers_return_to_fp32_where_it_takes_that(self):
        model = linears()
        x = torch.randn(64, 64)
        wanted = model(x)
        evaluate = lambda candidate: min(sqnr(candidate(x), wanted), 200.0)  # noqa: E731
        alone = autotune(model, [x], sampling_sizes=[64])
        bound = evaluate(convert(alone)) + 3
        tuned = autotune(model, [x], eval_func=evaluate, accuracy_criterion={"absolute": 200 - bound})
        self.assertGreaterEqual(evaluate(convert(tuned)), bound)

    def test_smooth_quant_and_layers_kept_by_kind(self):
        model, x = linears(), torch.randn(64, 64)
        for arguments in ({"alpha": [0.1, 0.5]}, {"alpha": "auto"}):
            tuned = autotune(model, [x], calib_func=lambda prepared: prepared(x), smoothquant_args=arguments)
            self.assertGreater(sqnr(convert(tuned)(x), model(x)), 20)
        kept = autotune(model, [x], op_type_dict={"linear": {"weight": {"dtype": ["fp32"]}}})
        self.assertGreater(sqnr(convert(kept)(x), model(x)), 100)

    def test_what_cannot_be(self):
        with self.assertRaisesRegex(ipex_studio.Error, "data loader is empty"):
            autotune(block(), [])
        with self.assertRaises(ValueError):
            autotune(block(), [image()], accuracy_criterion={"odd": 1})


class FilesOfOthers(unittest.TestCase):
    """Files that round values and weights around plain layers, as the extension writes them."""

    def test_activations_and_sums_stay_in_integers(self):
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.weights = [torch.quantize_per_channel(0.1 * torch.randn(8, 8, 3, 3), torch.full((8,), 0.002),
                                                           torch.zeros(8, dtype=torch.long), 0, torch.qint8) for _ in "ab"]

            def forward(self, x):
                def rounded(y):
                    return torch.quantize_per_tensor(y, 0.1, 100, torch.quint8).dequantize()
                x = rounded(x)
                y = rounded(torch.relu(torch.conv2d(x, self.weights[0].dequantize(), padding=1)))
                return rounded(torch.relu(torch.conv2d(y, self.weights[1].dequantize(), padding=1) + x)) * 2

        x = torch.randn(1, 8, 9, 9)
        block = Block().eval()
        with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "block.pt")
            traced = torch.jit.freeze(torch.jit.trace(block, x))
            self.assertEqual(str(traced.graph).count("aten::dequantize"), 5)
            torch.jit.save(traced, path)
            done = subprocess.run([find_program(), "show", path, "--input", "x:1x8x9x9"], text=True, capture_output=True,
                                  check=True, env=environment())
            graph, expected = done.stdout, block(x)
            planned = ipex_studio.optimize(traced, sample_input=x)(x)
        self.assertNotIn("aten::relu", graph)
        self.assertEqual(len(re.findall(r"convolution{[^}]*result=u8[^}]*}[^\"]*relu", graph)), 2, graph)
        self.assertLessEqual((planned - expected).abs().max().item(), 0.201)  # a step


if __name__ == "__main__":
    unittest.main()
