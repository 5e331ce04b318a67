#!/usr/bin/env python3
"""Files by safetensors' own library, small ones, for the test threads.checkpoint; and a check of what mtf writes.

  make.py                      writes model.safetensors, sharded/ and all_types.safetensors beside itself
  make.py --check DIR          reads every safetensors file in DIR (a checkpoint of mtf), compares its tensors' bytes with
                               the manifest's and the index's names, writes them again by the library, and compares bytes
Needs safetensors and numpy (pip install safetensors numpy).
"""
import json
import pathlib
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save, save_file

HERE = pathlib.Path(__file__).parent


def numbers(shape, start):
    """What the test computes too: start, start + 0.25, ..."""
    return (start + 0.25 * np.arange(np.prod(shape, dtype=int))).reshape(shape).astype(np.float32)


def make():
    tensors = {"w": numbers((4, 6), 1), "blocks.0.b": numbers((6,), 100), "blocks.1.b": numbers((6,), 200)}
    save_file(tensors, HERE / "model.safetensors", metadata={"format": "pt"})
    shards = HERE / "sharded"
    shards.mkdir(exist_ok=True)
    names = [["w"], ["blocks.0.b", "blocks.1.b"]]
    files = [f"model-{i + 1:05}-of-{len(names):05}.safetensors" for i in range(len(names))]
    for file, keys in zip(files, names):
        save_file({k: tensors[k] for k in keys}, shards / file, metadata={"format": "pt"})
    index = {
        "metadata": {"total_size": sum(t.nbytes for t in tensors.values())},
        "weight_map": {k: f for f, keys in zip(files, names) for k in keys},
    }
    (shards / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    types = ["bool", "uint8", "int8", "int16", "uint16", "float16", "int32", "uint32", "float32", "float64", "int64", "uint64"]
    save_file({t: np.array([[0, 1], [1, 0]], dtype=t) for t in types}, HERE / "all_types.safetensors")


def check(directory):
    directory = pathlib.Path(directory)
    manifest = json.loads((directory / "manifest.json").read_text()) if (directory / "manifest.json").exists() else None
    count = 0
    for path in sorted(directory.rglob("*.safetensors")):
        with safe_open(path, "np") as f:
            metadata = f.metadata()
            keys = list(f.keys())
        raw = path.read_bytes()
        if any(e["dtype"] == "BF16" for k, e in json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")]).items() if k != "__metadata__"):
            print(f"{path.name}: {len(keys)} tensors, opened; NumPy has no bfloat16, so they are not written again")
            continue
        assert save(load_file(path), metadata=metadata) == raw, f"{path}: the library writes other bytes"
        if manifest:
            entry = next(e for e in manifest["files"] if e["name"] == path.name)
            assert entry["bytes"] == len(raw) and sorted(entry["arrays"]) == sorted(keys), path
        count += 1
        print(f"{path.name}: {len(keys)} tensors, {len(raw)} bytes, the library writes the same")
    for index in directory.rglob("*.index.json"):
        for name, file in json.loads(index.read_text())["weight_map"].items():
            with safe_open(index.parent / file, "np") as f:
                assert name in f.keys(), f"{index}: {name} is not in {file}"
    assert count, f"{directory} has no safetensors files that could be compared"


if len(sys.argv) == 1:
    make()
elif len(sys.argv) == 3 and sys.argv[1] == "--check":
    check(sys.argv[2])
else:
    sys.exit(__doc__)
