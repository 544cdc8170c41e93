"""Modules and functions for training and inference that PyTorch lacks, or computes slowly on CPUs.

    from ipex_studio.nn.functional import interaction
    from ipex_studio.nn.graph import CSRGraph
    from ipex_studio.nn.modules import MergedEmbeddingBag
"""
from . import functional, graph, modules

__all__ = ["functional", "graph", "modules"]
