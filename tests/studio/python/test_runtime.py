#!/usr/bin/python3
"""Work on chosen cores: pools, pinned threads, tasks, batches in parts."""
import copy
import os
import pickle
import threading
import unittest

import torch
from torch import nn

from ipex_studio.cpu.runtime import (CPUPool, MultiStreamBenchmarkModule, MultiStreamModule, MultiStreamModuleHint, Task,
                                     get_core_list_of_node_id, get_default_num_streams, is_runtime_ext_enabled, pin)
from ipex_studio.cpu.runtime.streams import _shares

CORES = sorted(os.sched_getaffinity(0))
CORE = CORES[-1:]
needs_two_cores = unittest.skipIf(len(CORES) < 2, "one core")


def thread_affinities():
    return {tuple(sorted(os.sched_getaffinity(int(thread)))) for thread in os.listdir("/proc/self/task")}


class Where(nn.Module):
    """Tells where it runs, and passes its inputs on."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, *args, **kwargs):
        self.seen.append((tuple(sorted(os.sched_getaffinity(0))), torch.get_num_threads(), threading.get_ident()))
        return kwargs or (args if len(args) > 1 else args[0])


class Pools(unittest.TestCase):
    def test_cores(self):
        self.assertTrue(is_runtime_ext_enabled())
        self.assertEqual(CPUPool().core_ids, CORES)
        self.assertEqual(CPUPool(CORE).cpu_pool.get_core_list(), CORE)
        self.assertEqual(CPUPool(range(CORES[0], CORES[0] + 1)).core_ids, CORES[:1])
        self.assertTrue(set(get_core_list_of_node_id(0)))
        self.assertEqual(get_default_num_streams(CPUPool()), len(CORES))

    def test_cores_that_are_not_there_are_left_out_aloud(self):
        with self.assertLogs("ipex_studio", "WARNING") as said:
            self.assertEqual(CPUPool(CORE + [9999]).core_ids, CORE)
        self.assertIn("9999", said.output[0])
        with self.assertRaisesRegex(RuntimeError, "9999"):
            CPUPool([9999])
        with self.assertRaisesRegex(ValueError, "node 9999"):
            CPUPool(node_id=9999)

    def test_core_ids_win_over_the_node(self):
        with self.assertLogs("ipex_studio", "WARNING"):
            self.assertEqual(CPUPool(CORE, node_id=0).core_ids, CORE)


class Pinned(unittest.TestCase):
    def state(self):
        return sorted(os.sched_getaffinity(0)), torch.get_num_threads()

    def test_with_and_decorator(self):
        before = self.state()

        @pin(CPUPool(CORE))
        def pinned(depth):
            return pinned(depth - 1) if depth else self.state()

        self.assertEqual(pinned(2), (CORE, 1))
        self.assertEqual(self.state(), before)
        with pin(CPUPool()):
            self.assertEqual(self.state(), (CORES, len(CORES)))
            with pin(CPUPool(CORE)):
                self.assertEqual(self.state(), (CORE, 1))
            self.assertEqual(self.state(), (CORES, len(CORES)))
        self.assertEqual(self.state(), before)

    def test_is_left_by_an_error(self):
        before = self.state()
        with self.assertRaises(KeyError), pin(CPUPool(CORE)):
            raise KeyError
        self.assertEqual(self.state(), before)

    @needs_two_cores
    def test_threads_that_were_started_earlier_follow(self):
        pool = CPUPool(CORES[:1])
        pool.core_ids = CORES[:1] * 2  # two threads on one core: they were started for two
        x = torch.rand(1 << 20)
        with pin(CPUPool(CORES[:2])):
            x.exp()
            before = thread_affinities()
            with pin(pool):
                x.exp()
                counted = [sorted(os.sched_getaffinity(int(thread))) for thread in os.listdir("/proc/self/task")]
            self.assertGreaterEqual(counted.count(CORES[:1]), 2)
            self.assertEqual(thread_affinities(), before)


class Tasks(unittest.TestCase):
    def test_runs_on_its_cores_in_a_thread_of_its_own(self):
        where, before = Where(), torch.get_num_threads()
        torch.set_num_threads(before)  # from now on threads that have not asked yet begin with it
        task = Task(where, CPUPool(CORE))
        futures = [task(torch.tensor(number)) for number in range(3)]
        self.assertEqual([int(future.get()) for future in futures], [0, 1, 2])
        self.assertEqual({seen[:2] for seen in where.seen}, {(tuple(CORE), 1)})
        self.assertEqual(len({seen[2] for seen in where.seen}), 1)
        self.assertNotEqual(where.seen[0][2], threading.get_ident())
        self.assertEqual(torch.get_num_threads(), before)
        later = []
        thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        self.assertEqual(later, [before])  # what a new thread begins with has not changed either

    def test_takes_the_modes_of_the_caller(self):
        def modes(x):
            return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), (x @ x).dtype

        task, x = Task(modes, CPUPool(CORE)), torch.rand(2, 2)
        self.assertEqual(task.run_sync(x), (True, False, torch.float32))
        with torch.no_grad():
            self.assertEqual(task.run_sync(x), (False, False, torch.float32))
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(task.run_sync(x), (False, True, torch.bfloat16))
        self.assertEqual(task.run_sync(x), (True, False, torch.float32))

    def test_gradients_come_back(self):
        layer, x = nn.Linear(3, 2), torch.rand(4, 3)
        Task(layer, CPUPool(CORE)).run_sync(x).sum().backward()
        self.assertTrue(torch.equal(layer.weight.grad, x.sum(0).expand(2, 3)))

    def test_raises_what_the_call_raised(self):
        def fails():
            raise KeyError("here")

        future = Task(fails, CPUPool(CORE))()
        with self.assertRaisesRegex(KeyError, "here"):
            future.get()

    def test_copies_are_tasks(self):
        layer, x = nn.Linear(3, 2), torch.rand(4, 3)
        for copied in (copy.deepcopy(Task(layer, CPUPool(CORE))), pickle.loads(pickle.dumps(Task(layer, CPUPool(CORE))))):
            self.assertTrue(torch.equal(copied.run_sync(x), layer(x)))


class Streams(unittest.TestCase):
    def test_shares(self):
        self.assertEqual(_shares(4, 3), [(0, 2), (2, 1), (3, 1)])
        self.assertEqual(_shares(6, 3), [(0, 2), (2, 2), (4, 2)])

    @needs_two_cores
    def test_parts_run_on_their_cores(self):
        where = Where()
        streams = MultiStreamModule(where, 2, CPUPool(CORES[:2]), concat_output=False)
        parts = streams(torch.arange(5))
        self.assertEqual([part.tolist() for part in parts], [[0, 1, 2], [3, 4]])
        self.assertEqual({seen[:2] for seen in where.seen}, {((CORES[0],), 1), ((CORES[1],), 1)})
        self.assertEqual(streams(torch.arange(1))[0].tolist(), [0])
        self.assertEqual(streams.get_stream_number(), 2)

    def test_one_stream_has_all_cores_and_leaves_the_thread_as_it_was(self):
        where, before = Where(), os.sched_getaffinity(0)
        self.assertTrue(torch.equal(MultiStreamModule(where, 1, CPUPool(CORE))(torch.arange(5)), torch.arange(5)))
        self.assertEqual(where.seen[0], (tuple(CORE), 1, threading.get_ident()))
        self.assertEqual(os.sched_getaffinity(0), before)

    @needs_two_cores
    def test_hints(self):
        x, y = torch.rand(4, 3), torch.rand(2, 5, 4)
        pool, Hint = CPUPool(CORES[:2]), MultiStreamModuleHint
        for ins, outs, args, kwargs in (
                (Hint(0, None, 2), Hint((0, None, 2)), (x, False, y), {}),
                (Hint(0, None, 2), Hint(0, None, 2), (x, False, y), {}),
                (Hint(((0, None), [2])), Hint(((0, None), [2])), (((x, "a"), [y]),), {}),
                (Hint({"x": 0, "y": 2}), Hint({"x": 0, "y": 2}), ({"x": x, "y": y},), {}),
                (Hint(x=0, y=2), Hint(x=0, y=2), (), {"x": x, "y": y})):
            with self.subTest(ins=ins, outs=outs):
                where = Where()
                found = MultiStreamModule(where, 2, pool, input_split_hint=ins, output_concat_hint=outs)(*args, **kwargs)
                self.assertEqual(len(where.seen), 2)
                wanted = kwargs or (args if len(args) > 1 else args[0])
                self.assertEqual(str(found), str(wanted))

    @needs_two_cores
    def test_what_does_not_fit_is_said(self):
        x, pool = torch.rand(4, 3), CPUPool(CORES[:2])
        with self.assertRaisesRegex(ValueError, "2 by position"):  # would have been dropped
            MultiStreamModule(Where(), 2, pool)(x, x)
        with self.assertRaisesRegex(ValueError, "mask"):
            MultiStreamModule(Where(), 2, pool)(x, mask=x)
        with self.assertRaisesRegex(ValueError, r"\[3, 4\]"):
            MultiStreamModule(Where(), 2, pool, input_split_hint=MultiStreamModuleHint(0, 0))(x, x[:3])
        with self.assertRaisesRegex(ValueError, "nested"):
            MultiStreamModule(Where(), 2, pool, output_concat_hint=MultiStreamModuleHint((0, 0)))(x)
        with self.assertRaisesRegex(ValueError, "0 streams"):
            MultiStreamModule(Where(), 0, pool)

    def test_more_streams_than_cores(self):
        with self.assertLogs("ipex_studio", "WARNING"):
            streams = MultiStreamModule(nn.Linear(3, 2), len(CORES) + 1)
        self.assertEqual(streams.get_stream_number(), len(CORES))
        self.assertEqual(MultiStreamModule(nn.Linear(3, 2)).get_stream_number(), len(CORES))

    def test_keeps_the_parameters_and_copies(self):
        layer = nn.Linear(3, 2)
        streams, x = MultiStreamModule(layer), torch.rand(5, 3)
        self.assertEqual(list(streams.state_dict()), ["model.weight", "model.bias"])
        self.assertTrue(torch.allclose(copy.deepcopy(streams)(x), layer(x)))

    @needs_two_cores
    def test_frozen_modules_with_plans(self):
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).eval()
        x = torch.rand(6, 3, 12, 12)
        with torch.no_grad():
            frozen = torch.jit.freeze(torch.jit.trace(model, x))
            streams = MultiStreamModule(frozen, 2, CPUPool(CORES[:2]))
            for _ in range(6):
                self.assertTrue(torch.allclose(streams(x), model(x), atol=1e-5))

    def test_benchmark_module_gives_the_whole_result(self):
        x = torch.rand(5, 3)
        self.assertTrue(torch.equal(MultiStreamBenchmarkModule(Where())(x), x))


if __name__ == "__main__":
    unittest.main()
