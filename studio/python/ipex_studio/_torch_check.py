"""Refuses a torch that the extension was not built for, before anything of it is loaded."""
from ._build import TORCH, VERSION


def minor(version: str) -> str:
    """"2.8" of "2.8.0+cpu"."""
    return ".".join(version.split("+")[0].split(".")[:2])


def check_torch(running: str, built: str = TORCH) -> None:
    """Raises ImportError that names both versions if `running` is not of the minor version `built`."""
    if minor(running) != minor(built):
        raise ImportError(
            f"ipex_studio {VERSION} was built for torch {minor(built)} and cannot run in torch {running}; "
            f"build it for this torch (pip install ./studio/python), or install torch {minor(built)}.")
