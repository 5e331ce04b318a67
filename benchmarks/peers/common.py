"""What the peers share: the shapes of benchmarks/train-step, the count of flops, and the one line that each prints."""
import argparse
import statistics
import time

SHAPES = {
    "train-step": dict(batch=8, sequence=256, layers=6, d_model=512, heads=8, d_ff=2048, vocab=8192, tied=False),
    "gpt2": dict(batch=4, sequence=64, layers=12, d_model=768, heads=12, d_ff=3072, vocab=50257, tied=True),
}


class Shape:
    def __init__(self, name):
        self.name = name
        self.__dict__.update(SHAPES[name])
        self.d_head = self.d_model // self.heads

    def step_flops(self):
        """Contractions: three times the forward pass's, attention counted whole, as examples/transformer counts."""
        weights = self.layers * (4 * self.d_model**2 + 2 * self.d_model * self.d_ff) + self.d_model * self.vocab
        attention = self.layers * 2 * self.sequence * self.d_model
        return 3 * 2 * self.batch * self.sequence * (weights + attention)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", choices=SHAPES, default="train-step")
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--eager", action="store_true", help="PyTorch: without torch.compile")
    return parser.parse_args()


def seconds(f):
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def measure(name, shape, step, product, steps):
    """step() is one training step; product() one product of 2048 x 2048 matrices. They alternate, after two of each."""
    for _ in range(2):
        step()
        product()
    times, products = [], []
    for _ in range(steps):
        products.append(min(seconds(product) for _ in range(4)))
        times.append(seconds(step))
    peak = 2 * 2048**3 / statistics.median(products)
    median = statistics.median(times)
    rate = shape.step_flops() / median
    print(f"{name}: {1e3 * median:.1f} ms a step, {rate / 1e9:.1f} GFLOP/s, sgemm {peak / 1e9:.1f} GFLOP/s, "
          f"share {rate / peak:.3f}", flush=True)
