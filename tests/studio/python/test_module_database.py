#!/usr/bin/python3
"""PyTorch's database of modules through optimize(): the results are the module's own, layer by layer and by plans."""
import collections
import copy
import itertools
import logging
import types
import sys
import unittest
import warnings

import torch

import ipex_studio

MOST_SAMPLES = 2  # of each module


def module_database():
    # The database imports a library for writing tests, of which it needs nothing.
    stub = types.SimpleNamespace(TestCase=unittest.TestCase, ACCEPT=False)
    sys.modules.setdefault("expecttest", stub)
    from torch.testing._internal.common_modules import module_db
    return module_db


def is_near(result, wanted):
    if isinstance(wanted, torch.Tensor):
        return result.dtype == wanted.dtype and result.shape == wanted.shape and torch.allclose(
            result, wanted, rtol=1e-3, atol=1e-4, equal_nan=True)
    if isinstance(wanted, (tuple, list)):
        return len(result) == len(wanted) and all(map(is_near, result, wanted))
    return result == wanted


def samples():
    """(name, module in eval mode, arguments of a call that the module itself accepts)"""
    torch.manual_seed(0)
    for info in module_database():
        inputs = info.module_inputs_func(info, "cpu", torch.float32, False, training=False)
        for sample in itertools.islice(inputs, MOST_SAMPLES):
            made, given = sample.constructor_input, sample.forward_input
            module, arguments = info.module_cls(*made.args, **made.kwargs).eval(), (given.args, given.kwargs)
            try:
                call(module, arguments)
            except RuntimeError:  # some samples are of another dtype than their module
                continue
            yield info.name, module, arguments


def call(module, arguments):
    args, kwargs = copy.deepcopy(arguments)
    return module(*args, **kwargs)


class ModuleDatabase(unittest.TestCase):
    def setUp(self):
        logging.getLogger("ipex_studio").setLevel(logging.ERROR)
        self.addCleanup(logging.getLogger("ipex_studio").setLevel, logging.NOTSET)

    def test_results_are_the_modules_own(self):
        planned = collections.Counter()
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            for name, module, arguments in samples():
                wanted = call(module, arguments)
                for options in ({}, {"graph_mode": True}):
                    with self.subTest(name=name, **options):
                        fast = ipex_studio.optimize(module, **options)
                        for _ in range(2):
                            self.assertTrue(is_near(call(fast, arguments), wanted))
                planned[any(fast._ipex_plans._by_form.values())] += 1
        self.assertGreater(planned[True], 10 * planned[False], planned)


if __name__ == "__main__":
    unittest.main()
