"""What scripts and tests ask about prepared models, by the extension's names."""
import torch


def check_model_obsever_has_run(prepared_model: torch.nn.Module) -> bool:  # the extension's spelling
    """True if the prepared model was called since it was prepared, or its ranges were saved or loaded."""
    return prepared_model.__dict__["_ipex_quantization"].has_observed
