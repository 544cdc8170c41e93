"""Reads core/rooms.txt: which rooms and which libraries the files of a room may include."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS_FILE = ROOT / "core/rooms.txt"
TOP_FOLDERS = ("core", "passes", "kernels", "profiler", "studio")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
LIBRARIES = {
    "torch": re.compile(r"^(torch|ATen|c10)/"),
    "onednn": re.compile(r"^(dnnl|oneapi/)"),
    "sqlite": re.compile(r"^sqlite3"),
    "imgui": re.compile(r"^(imgui|backends/imgui)"),
    "glfw": re.compile(r"^GLFW/"),
    "opencl": re.compile(r"^CL/"),
}


class Room:
    """A line of rooms.txt: `rooms` and `libraries` are sets of names."""

    def __init__(self, name, rooms, libraries):
        self.name = name
        self.rooms = rooms
        self.libraries = libraries


def parse_rooms(text):
    """Rooms by name. Raises ValueError for a line of another form, a room named twice and one that has no line."""
    rooms = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = re.fullmatch(r"([a-z0-9_/]+):([a-z0-9_/ ]*)(?:\|([a-z0-9 ]*))?", line)
        if not found or found.group(1) in rooms:
            raise ValueError(f"line {number}: {line}")
        rooms[found.group(1)] = Room(found.group(1), set(found.group(2).split()), set((found.group(3) or "").split()))
    for room in rooms.values():
        unknown = (room.rooms - set(rooms)) | (room.libraries - set(LIBRARIES))
        if unknown:
            raise ValueError(f"{room.name} names {', '.join(sorted(unknown))}")
    return rooms


def read_rooms():
    return parse_rooms(ROOMS_FILE.read_text(encoding="utf-8"))


def room_of(path):
    """The room of a file: its folder, relative to the root."""
    return pathlib.PurePosixPath(path).parent.as_posix()


def source_files():
    """Headers and sources of all rooms, relative to the root."""
    return sorted(path.relative_to(ROOT).as_posix() for folder in TOP_FOLDERS
                  for pattern in ("*.h", "*.cpp") for path in (ROOT / folder).rglob(pattern))


def includes_of(path):
    for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found.group(1)


def forbidden(room, included):
    """True if files of `room` may not include `included`: a header of ours or of a library."""
    if included.split("/")[0] in TOP_FOLDERS + ("tests", "samples") and "/" in included:
        other = room_of(included)
        return other != room.name and other not in room.rooms
    return any(pattern.match(included) for name, pattern in LIBRARIES.items() if name not in room.libraries)
