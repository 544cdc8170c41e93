#!/usr/bin/python3
"""Stands in for a worker on another machine: `able_worker.py PROGRAM ABILITIES worker` runs PROGRAM worker, but says that its
machine has the ABILITIES (JSON) instead of its own."""

import json
import os
import struct
import subprocess
import sys
import threading

program, abilities, command = sys.argv[1:]
worker = subprocess.Popen([program, command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def forward() -> None:
    while chunk := os.read(0, 1 << 16):
        worker.stdin.write(chunk)
        worker.stdin.flush()
    worker.stdin.close()


threading.Thread(target=forward, daemon=True).start()
while head := worker.stdout.read(4):
    message = json.loads(worker.stdout.read(struct.unpack("<I", head)[0]))
    if message["type"] == "opened":
        message["precisions"] = json.loads(abilities)
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(struct.pack("<I", len(body)) + body)
    sys.stdout.buffer.flush()
sys.exit(worker.wait())
