"""Reads run.sh's lines (shape, system, first two losses, milliseconds, tokens/s; ours before each of a peer's) and prints the
table: medians over the rounds, and the median of each peer's time divided by ours just before it."""
import statistics
import sys

runs = {}  # (shape, system): first loss; milliseconds, tokens/s and times ours of each run
for line in sys.stdin:
    shape, system, loss, _, ms, tokens = line.rstrip("\n").split("\t")
    if system == "mtf":
        ours = float(ms)
    runs.setdefault((shape, system), (loss, []))[1].append((float(ms), float(tokens), float(ms) / ours))

print("| shape | system | first loss | ms a step | tokens/s | times ours |\n|---|---|---|---|---|---|")
for (shape, system), (loss, figures) in runs.items():
    ms, tokens, times = map(statistics.median, zip(*figures))
    print(f"| {shape} | {system} | {loss} | {ms:.0f} | {tokens:.0f} | {times:.2f} |")
