#!/usr/bin/python3
"""Copies a shared library so that it takes its own functions before those of the same name of libraries loaded earlier.

  private_library.py FROM TO

torch from pip has a oneDNN of its own inside libtorch_cpu, whose inline functions would stand in for those of the
system's oneDNN and work on objects of another version. The copy has the name of TO, so that it is no other's either.
"""
import os
import struct
import sys

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NULL, DT_STRTAB, DT_SONAME, DT_SYMBOLIC, DT_FLAGS = 0, 5, 14, 16, 30
DF_SYMBOLIC = 2


class Library:
    """An ELF file of 64 bits, little endian, in memory."""

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01":
            raise SystemExit("This is no shared library of 64 bits.")
        self.data = bytearray(data)
        begin, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQ", data, begin + size * i) for i in range(count)]
        # type, flags, offset, address, physical address, bytes
        self.loaded = [header for header in headers if header[0] == PT_LOAD]
        dynamic = next(header for header in headers if header[0] == PT_DYNAMIC)
        places = range(dynamic[2], dynamic[2] + dynamic[5], 16)
        self.entries = [(place, *struct.unpack_from("<QQ", data, place)) for place in places]

    def find(self, tag):
        return next(((place, value) for place, known, value in self.entries if known == tag), (None, None))

    def bind_to_itself(self):
        place, flags = self.find(DT_FLAGS)
        if place is not None:
            struct.pack_into("<QQ", self.data, place, DT_FLAGS, flags | DF_SYMBOLIC)
            return
        ends = [place for place, tag, _ in self.entries if tag == DT_NULL]
        if len(ends) < 2:
            raise SystemExit("There is no room for DT_SYMBOLIC.")
        struct.pack_into("<QQ", self.data, ends[0], DT_SYMBOLIC, 0)

    def rename(self, name):
        """Writes the name over the old one."""
        address = self.find(DT_STRTAB)[1] + self.find(DT_SONAME)[1]
        offset = next(address - header[3] + header[2] for header in self.loaded
                      if header[3] <= address < header[3] + header[5])
        room = self.data.index(0, offset) - offset
        if len(name) > room:
            raise SystemExit(f"A name of at most {room} characters is needed.")
        self.data[offset:offset + room] = name.encode().ljust(room, b"\0")


def holds(path, data):
    if not os.path.exists(path):
        return False
    with open(path, "rb") as file:
        return file.read() == data


def main():
    source, target = sys.argv[1:]
    with open(source, "rb") as file:
        library = Library(file.read())
    library.bind_to_itself()
    library.rename(os.path.basename(target))
    if not holds(target, library.data):
        with open(target + ".new", "wb") as file:
            file.write(library.data)
        os.replace(target + ".new", target)  # programs may run with the one that is there


if __name__ == "__main__":
    main()
