"""ipex_studio under the name that scripts for Intel Extension for PyTorch import. It is no product of Intel's.

    import ipex_studio.alias
    ipex_studio.alias.activate()                  # for this process

    python -m ipex_studio.alias install           # for this Python, until `remove`

Both refuse where the real extension is installed.
"""
import argparse
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import shutil
import sys
from types import ModuleType
from typing import List, Optional

from .errors import Error

NAME = "intel_extension_for_pytorch"
_COUNTERPART = __package__ + ".compat"
_SIGN = "Made by `python -m ipex_studio.alias install`"
_PACKAGE = f'''"""ipex_studio under the name {NAME}. {_SIGN}; `remove` takes it away."""
import sys

from ipex_studio import alias

alias.activate()
sys.modules[__name__] = sys.modules["{_COUNTERPART}"]
'''


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers NAME and NAME.x with the modules of ipex_studio.compat themselves."""

    def find_spec(self, fullname: str, path=None, target=None) -> Optional[importlib.machinery.ModuleSpec]:
        if fullname != NAME and not fullname.startswith(NAME + "."):
            return None
        counterpart = _COUNTERPART + fullname[len(NAME):]
        try:
            found = importlib.util.find_spec(counterpart)
        except ModuleNotFoundError:
            found = None
        return found and importlib.machinery.ModuleSpec(
            fullname, self, is_package=found.submodule_search_locations is not None)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(_COUNTERPART + spec.name[len(NAME):])
        self._own_spec = module.__spec__  # the import system is about to give it that of the other name
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own_spec


_finder = _Finder()


def activate() -> None:
    """Makes `import intel_extension_for_pytorch` give ipex_studio in this process. Raises Error beside the real one."""
    if _finder in sys.meta_path:
        return
    _refuse_the_real_one()
    importlib.import_module(_COUNTERPART)
    sys.meta_path.insert(0, _finder)


def deactivate() -> None:
    """Takes the name back; what was imported under it stays with those that hold it."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in [name for name in sys.modules if name == NAME or name.startswith(NAME + ".")]:
        del sys.modules[name]


def install(folder: Optional[pathlib.Path] = None) -> List[pathlib.Path]:
    """Writes the package and its metadata beside ipex_studio, or into `folder`. Returns what was written."""
    _refuse_the_real_one()
    folder = folder or _own_folder()
    for old in _installed(folder):
        shutil.rmtree(old)
    from .compat import __version__
    package, metadata = folder / NAME, folder / f"{NAME}-{__version__}.dist-info"
    try:
        package.mkdir()
        metadata.mkdir()
    except OSError as problem:
        raise Error(f"The alias cannot be written to {folder}: {problem.strerror}.") from problem
    (package / "__init__.py").write_text(_PACKAGE, encoding="utf-8")
    (metadata / "INSTALLER").write_text("ipex_studio.alias\n", encoding="utf-8")
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {__version__}\n"
        f"Summary: ipex_studio under this name, no product of Intel's. {_SIGN}.\n", encoding="utf-8")
    files = [package / "__init__.py", metadata / "INSTALLER", metadata / "METADATA", metadata / "RECORD"]
    (metadata / "RECORD").write_text(
        "".join(f"{file.relative_to(folder).as_posix()},,\n" for file in files), encoding="utf-8")
    return [package, metadata]


def remove(folder: Optional[pathlib.Path] = None) -> List[pathlib.Path]:
    """Takes away what install() wrote. Returns it."""
    gone = _installed(folder or _own_folder())
    for path in gone:
        shutil.rmtree(path)
    return gone


def _own_folder() -> pathlib.Path:
    return pathlib.Path(__file__).resolve().parent.parent


def _installed(folder: pathlib.Path) -> List[pathlib.Path]:
    """What install() wrote to a folder, by its sign."""
    signed = [path.parent for pattern in (f"{NAME}/__init__.py", f"{NAME}-*.dist-info/METADATA")
              for path in folder.glob(pattern) if _SIGN in path.read_text(encoding="utf-8", errors="replace")]
    return sorted(signed)


def _refuse_the_real_one() -> None:
    found = importlib.machinery.PathFinder.find_spec(NAME)
    if found is None or found.origin is None:
        return
    if _SIGN not in pathlib.Path(found.origin).read_text(encoding="utf-8", errors="replace"):
        raise Error(f"Intel Extension for PyTorch is installed ({found.origin}): uninstall it first, or import ipex_studio "
                    "by its own name.")


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ipex_studio.alias", description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["install", "remove"])
    command = parser.parse_args(arguments).command
    try:
        paths = install() if command == "install" else remove()
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    done = "Wrote" if command == "install" else "Removed"
    print("\n".join(f"{done} {path}" for path in paths) or "There was nothing to remove.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
