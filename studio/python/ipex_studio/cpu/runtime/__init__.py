"""Work on chosen cores: one call, calls beside each other, batches in parts.

    from ipex_studio.cpu import runtime

    pool = runtime.CPUPool([0, 1])
    with runtime.pin(pool):                        # this thread, and the threads that it computes with
        model(x)
    first = runtime.Task(model, pool)(x)           # begins at once, in a thread of its own
    first.get()
    runtime.MultiStreamModule(model, 2)(batch)     # a thread for each half of the cores and of the batch
"""
from .cores import CPUPool, get_core_list_of_node_id, is_runtime_ext_enabled, pin
from .streams import MultiStreamBenchmarkModule, MultiStreamModule, MultiStreamModuleHint, get_default_num_streams
from .task import Task

__all__ = ["CPUPool", "MultiStreamBenchmarkModule", "MultiStreamModule", "MultiStreamModuleHint", "Task",
           "get_core_list_of_node_id", "get_default_num_streams", "is_runtime_ext_enabled", "pin"]
