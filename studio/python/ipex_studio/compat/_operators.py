"""Operators that scripts call by the extension's names, as torch.ops.torch_ipex.NAME."""
import torch

from ..optim import cat_bfloat16_float, split_float_bfloat16
from . import _weight_only_operators

_libraries = []  # kept, for the operators live as long as they do


def _rnnt_embedding(weight: torch.Tensor, labels: torch.Tensor, out: torch.Tensor, first_label: int, batch: int,
                    width: int) -> None:
    """Writes the rows of labels (B, S) into out (B, S, width): zeros for first_label, which begins a sequence."""
    begins = labels.eq(first_label)
    with torch.no_grad():
        out.copy_(torch.nn.functional.embedding(labels.masked_fill(begins, 0), weight).masked_fill(begins.unsqueeze(-1), 0))


def _rnnt_update_batch(symbols, lengths, label_col, symbols_added, time_idxs, goes_on, ended, takes, label_to_put, labels,
                       next_label, hidden_0, hidden_1, new_hidden_0, new_hidden_1, features, feature, max_symbols, blank,
                       batch, first_label, max_len) -> bool:
    """One step of greedy decoding; batch is read from the tensors."""
    return torch.ops.ipex_studio.rnnt_update_batch(
        symbols, lengths, label_col, symbols_added, time_idxs, goes_on, ended, takes, label_to_put, labels, next_label,
        [hidden_0, hidden_1], [new_hidden_0, new_hidden_1], features, feature, max_symbols, blank, first_label, max_len)


_OPERATORS = (
    ("split_float_bfloat16(Tensor tensor) -> (Tensor, Tensor)", split_float_bfloat16),
    ("cat_bfloat16_float(Tensor top, Tensor bottom) -> Tensor", cat_bfloat16_float),
    ("rnnt_embedding(Tensor weight, Tensor labels, Tensor(a!) out, int first_label, int batch, int width) -> ()",
     _rnnt_embedding),
    ("rnnt_update_batch(Tensor symbols, Tensor lengths, Tensor(a!) label_col, Tensor(b!) symbols_added, "
     "Tensor(c!) time_idxs, Tensor(d!) goes_on, Tensor(e!) ended, Tensor(f!) takes, Tensor(g!) label_to_put, "
     "Tensor(h!) labels, Tensor(i!) next_label, Tensor(j!) hidden_0, Tensor(k!) hidden_1, Tensor new_hidden_0, "
     "Tensor new_hidden_1, Tensor features, Tensor(l!) feature, int max_symbols, int blank, int batch, int first_label, "
     "int max_len) -> bool", _rnnt_update_batch),
)


def install() -> None:
    """Registers them, where torch (since 2.0) lets several libraries share a namespace."""
    if _libraries or torch.__version__.startswith("1."):
        return
    for namespace, operators in (("torch_ipex", _OPERATORS + _weight_only_operators.TORCH_IPEX),
                                 ("ipex_prepack", _weight_only_operators.IPEX_PREPACK)):
        library = torch.library.Library(namespace, "FRAGMENT")
        _libraries.append(library)
        for schema, function in operators:
            library.define(schema)
            library.impl(schema.partition("(")[0], function, "CompositeExplicitAutograd")
