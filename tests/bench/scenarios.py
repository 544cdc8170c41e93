"""What is compared: networks, and for each the batches, threads and instances of the modes that people quote."""

import dataclasses
from typing import List, Tuple

# Batch 1, and a batch large enough to fill a machine. DLRM's "one" is 128 requests, as such a model is served.
NETWORKS = {
    "resnet50": (1, 16),
    "mobilenet_v3_large": (1, 16),
    "efficientnet_b0": (1, 16),
    "unet": (1, 4),
    "vit_small": (1, 16),
    "bert_base": (1, 8),
    "bert_large": (1, 8),
    "dlrm": (128, 2048),
    "ssd_head": (1, 8),
    "gpt2_decode": (1, 16),
}
# Families that nothing here was made for; the same bar holds.
PROBES = {
    "densenet121": (1, 16),
    "shufflenet_v2": (1, 16),
    "resnext50": (1, 8),
    "regnet_y": (1, 16),
    "swin_tiny": (1, 8),
    "convnext_tiny": (1, 8),
    "vgg16": (1, 8),
    "squeezenet": (1, 16),
    "googlenet": (1, 16),
    "inception_v3": (1, 8),
    "mnasnet": (1, 16),
    "mobilenet_v2": (1, 16),
    "efficientnet_v2_s": (1, 8),
    "resnet18": (1, 16),
    "maxvit": (1, 4),
    "swin_v2": (1, 8),
    "vit_b_16": (1, 8),
    "deeplab": (1, 8),
    "lraspp": (1, 16),
    "video_resnet": (1, 4),
    "lstm_tagger": (1, 16),
    "gru_tagger": (1, 16),
    "llama_prompt": (1, 4),
    "t5_encoder": (1, 8),
    "speech_encoder": (1, 8),
    "mixer_small": (1, 8),
}
SWEEP = (1, 2, 4, 8, 16, 32, 64)
# Number of cores of an instance in realtime mode.
REALTIME_CORES = 4


@dataclasses.dataclass(frozen=True)
class Scenario:
    network: str
    mode: str
    batch: int
    threads: int
    instances: int = 1
    precision: str = "fp32"

    @property
    def label(self) -> str:
        return f"{self.network}-{self.mode}-{self.precision}-b{self.batch}-t{self.threads}x{self.instances}"


def scenarios(networks: List[str], modes: List[str], threads: List[int], cores: int,
              realtime_cores: int = REALTIME_CORES, precision: str = "fp32") -> List[Scenario]:
    """latency: smallest batch; offline: throughput batch, one instance; realtime: smallest batch, as many instances of
    a few cores as fit; sweep: every batch of SWEEP with all cores."""
    every = []
    for network in networks:
        small, large = {**NETWORKS, **PROBES}[network]
        for mode in modes:
            cases: List[Tuple[int, int, int]] = []
            if mode == "latency":
                cases = [(small, count, 1) for count in threads]
            elif mode == "offline":
                cases = [(large, count, 1) for count in threads]
            elif mode == "realtime":
                size = min(realtime_cores, cores)
                cases = [(small, size, cores // size)]
            elif mode == "sweep":
                cases = [(small * factor, max(threads), 1) for factor in SWEEP]
            every += [Scenario(network, mode, *case, precision=precision) for case in cases]
    return every
