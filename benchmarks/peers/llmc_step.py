"""The training step of benchmarks/train-step-gpt2 in llm.c's train_gpt2 as it is: it reads the files that its own scripts
would write, here with our initial values and our batch, and prints each step's loss and time. No weight decay."""
import os
import re
import subprocess
import tempfile

import numpy as np

from common import arguments, compare, report


def write(path, header, arrays):
    """llm.c's files: 256 numbers, then the data."""
    with open(path, "wb") as f:
        np.array(header + [0] * (256 - len(header)), "<i4").tofile(f)
        for a in arrays:
            a.tofile(f)


def checkpoint(s):
    """The arrays in llm.c's order: for each kind of parameter all layers; matrices are [out, in]."""
    blocks = [s.block(i) for i in range(s.layers)]
    padded = -s.vocab % 128  # as llm.c's own checkpoints
    yield np.pad(s["token_embedding"], ((0, padded), (0, 0)))
    yield s["position_embedding"]
    for name in ["norm1", "qkv", "out", "norm2", "up", "down"]:
        for k in range(2):
            yield np.array([block[name][k].T for block in blocks])
    yield s["gamma_f"]
    yield s["beta_f"]


def main():
    options = arguments()
    s = options.start
    assert s.tied and s.ids.shape == (4, 64) and (s.labels.ravel()[:-1] == s.ids.ravel()[1:]).all(), "llm.c takes nothing else"
    with tempfile.TemporaryDirectory() as place:
        write(f"{place}/gpt2_124M.bin", [20240326, 3, s.sequence, s.vocab, s.layers, s.heads, s.d_model, s.vocab + -s.vocab % 128],
              checkpoint(s))
        stream = np.append(s.ids.ravel(), s.labels.ravel()[-1]).astype("<u2")
        data = f"{place}/dev/data/tinyshakespeare"
        os.makedirs(data)
        for part in ["train", "val"]:
            write(f"{data}/tiny_shakespeare_{part}.bin", [20240520, 1, stream.size], [stream])
        losses, times = [], []
        command = ["stdbuf", "-oL", os.path.abspath(options.program)]
        with subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, text=True) as program:
            try:
                while len(times) < 2 + options.steps and (line := program.stdout.readline()):
                    if found := re.match(r"step \d+: train loss (\S+) \(took (\S+) ms\)", line):
                        losses.append(float(found[1]))
                        times.append(float(found[2]) / 1e3)
                        if len(losses) == 2:
                            compare("llm.c", s, losses)
            finally:
                program.kill()
    report("llm.c", s, losses[:2], times[2:])


if __name__ == "__main__":
    main()
