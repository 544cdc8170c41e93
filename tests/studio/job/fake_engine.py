#!/usr/bin/python3
"""Stands in for ipex-studio-engine: says hello, then misbehaves as the file "behaviour" in its working folder says."""

import json
import os
import signal
import struct
import sys
import time

CHANNEL = 3


def send_bytes(body: bytes) -> None:
    os.write(CHANNEL, struct.pack("<I", len(body)) + body)


def send(message: dict) -> None:
    send_bytes(json.dumps(message).encode())


with open("behaviour", encoding="utf-8") as file:
    behaviour = file.read()
send({"type": "progress", "stage": "fake stage", "fraction": 0.5})
if behaviour == "hang":
    time.sleep(60)
elif behaviour == "exit":
    sys.exit(0)
elif behaviour.startswith("signal "):
    number = int(behaviour.split()[1])
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)  # Python ignores some
    os.kill(os.getpid(), number)
elif behaviour == "check":
    sys.stderr.write("plan.cpp:7: CHECK(a == b) failed: they differ\n")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGABRT)
elif behaviour == "oversize":
    os.write(CHANNEL, struct.pack("<I", 0xFFFFFFF0) + b"x")
    time.sleep(60)
elif behaviour == "garbage":
    send_bytes(b"\xff\x00 this is no JSON")
    time.sleep(60)
elif behaviour == "array":
    send_bytes(b"[1, 2]")
    time.sleep(60)
elif behaviour == "error":
    send({"type": "error", "code": 3, "text": "The file is bad."})
elif behaviour == "wrong error":
    send({"type": "error", "code": 77, "text": "?"})
elif behaviour == "limits":
    import resource

    send({"type": "limits", "core": resource.getrlimit(resource.RLIMIT_CORE)[1],
          "memory": resource.getrlimit(resource.RLIMIT_AS)[1],
          "data": resource.getrlimit(resource.RLIMIT_DATA)[1],
          "environment": sorted(os.environ), "threads": os.environ.get("OMP_NUM_THREADS"),
          "group": os.getpgid(0) == os.getpid(),
          "descriptors": sorted(int(fd) for fd in os.listdir("/proc/self/fd"))})
    time.sleep(60)
elif behaviour == "half a frame":
    os.write(CHANNEL, struct.pack("<I", 100) + b"{")
elif behaviour == "drip":
    body = json.dumps({"type": "late"}).encode()
    for byte in struct.pack("<I", len(body)) + body:
        os.write(CHANNEL, bytes([byte]))
        time.sleep(0.002)
    time.sleep(60)
