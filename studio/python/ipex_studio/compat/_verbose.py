"""Lines of oneDNN about what it runs, in torch and, where both share the library, in plans."""
import torch


class verbose(torch.backends.mkldnn.verbose):  # pylint: disable=invalid-name # a context manager by the extension's name
    __doc__ = torch.backends.mkldnn.verbose.__doc__
    VERBOSE_OFF = torch.backends.mkldnn.VERBOSE_OFF
    VERBOSE_ON = torch.backends.mkldnn.VERBOSE_ON
    VERBOSE_ON_CREATION = torch.backends.mkldnn.VERBOSE_ON_CREATION
