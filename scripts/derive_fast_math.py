#!/usr/bin/env python3
"""Derives the constants of include/mtf/math/fast_math.hpp and of the series in mtf/kokkos/kernels/random.hpp.

  scripts/derive_fast_math.py           prints them, line by line as the headers have them, with their errors
  scripts/derive_fast_math.py --check   also looks for these lines there; the exit code is the number of blocks that differ

Needs mpmath (pip install mpmath, in a virtual environment outside the repository) and a minute; the library needs neither.

Approximations are best in the sense of Chebyshev: of all functions of their form, the one whose largest relative error is
least, by Remez' exchange of reference points. Their coefficients are then rounded to float, the lowest power first, as it
counts most; after each the others are found anew, and take up what rounding it has cost. The errors printed are those of the
rounded coefficients in exact arithmetic. Those of evaluation in float come on top: tests/local/fast_math_test.cpp measures
both together.
"""
import argparse
import math
import pathlib
import struct
import sys

from mpmath import cos, erf, erfc, exp, fdot, log, lu_solve, matrix, mp, mpf, nstr, pi, polyval, sqrt, tanh

mp.prec = 120
ROOT = pathlib.Path(__file__).resolve().parent.parent
FAST_MATH = "include/mtf/math/fast_math.hpp"
RANDOM = "backends/kokkos/include/mtf/kokkos/kernels/random.hpp"
GRID = 500  # points among which largest errors are looked for


def grid(low, high):
    """Points that are dense at both ends, where errors have their extrema."""
    return [low + (high - low) * (1 - cos(pi * (i + mpf(1) / 2) / GRID)) / 2 for i in range(GRID)]


def to_float(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def bits(x):
    return struct.unpack("I", struct.pack("f", float(x)))[0]


def literal(x):
    if x == 1:
        return "1.0F"
    x = to_float(x)
    mantissa, exponent = float(x).hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{int(exponent)}F"


def polynomial(name, variable, coefficients):
    """The lines that evaluate it, coefficients from the lowest power."""
    lines = [f"float {name} = {literal(coefficients[-1])};"]
    for c in coefficients[-2::-1]:
        lines.append(f"{name} = {name} * {variable} {'-' if c < 0 else '+'} {literal(abs(c))};")
    return lines


def alternating(errors, count):
    """`count` places where the errors are large and of alternating sign; among them the largest."""
    found = []
    for i, e in enumerate(errors):  # the largest between two changes of sign
        if not found or (errors[found[-1]] > 0) != (e > 0):
            found.append(i)
        elif abs(e) > abs(errors[found[-1]]):
            found[-1] = i
    while len(found) > count:
        size = [abs(errors[i]) for i in found]
        ends = [0, len(found) - 1]
        if len(found) == count + 1:
            found.pop(min(ends, key=size.__getitem__))
        else:  # the smallest; inside, with its smaller neighbour
            k = size.index(min(size))
            del found[k]
            if k not in ends:
                del found[k - 1 if size[k - 1] < size[k + 1] else k]
    return found


def exchange(columns, target):
    """The coefficients for which max |sum of coefficient * column - target| is least (Remez 1934)."""
    rows, count = list(zip(*columns)), len(columns) + 1
    reference = [i * (GRID - 1) // (count - 1) for i in range(count)]
    for _ in range(50):
        a = matrix([[*rows[i], (-1) ** k] for k, i in enumerate(reference)])
        *solution, level = lu_solve(a, matrix([target[i] for i in reference]))
        errors = [fdot(zip(solution, row)) - t for row, t in zip(rows, target)]
        largest = max(abs(e) for e in errors)
        if largest < 1.001 * abs(level):
            return solution
        reference = alternating(errors, count)
    sys.exit(f"no best approximation: {nstr(largest, 5)} is not {nstr(level, 5)}")


class Approximation:
    """f(x) = (base(x) + scale(x) P(u(x))) / (1 + u(x) Q(u(x))) on [low, high]; P and Q have p and q coefficients."""

    def __init__(self, f, base, scale, u, low, high, p, q=0):
        points = grid(low, high)
        self.base, self.scale = ([g(x) / f(x) for x in points] for g in (base, scale))
        self.u = [u(x) for x in points]
        self.p, self.q = [None] * p, [None] * q  # rounded, where known
        self.denominator = [mpf(1)] * GRID
        for k in range(max(p, q)):
            for rounded, which in ((self.p, 0), (self.q, 1)):
                if k < len(rounded):
                    rounded[k] = to_float(self.best()[which][k])
        quotients = ((b + s * polyval(self.p[::-1], u)) / polyval([*self.q[::-1], 1], u) for b, s, u in self.terms())
        self.error = max(abs(q - 1) for q in quotients)

    def terms(self):
        return zip(self.base, self.scale, self.u)

    def best(self):
        """P and Q, best for the coefficients that are rounded. Times the denominator the error is linear in the others:
        that of the step before stands for it (Loeb 1957)."""
        for _ in range(10):
            weight = [1 / d for d in self.denominator]
            columns = [[w * s * u**k for w, s, u in zip(weight, self.scale, self.u)] for k in range(len(self.p))]
            columns += [[-w * u ** (k + 1) for w, u in zip(weight, self.u)] for k in range(len(self.q))]
            target = [w * (1 - b) for w, b in zip(weight, self.base)]
            unknown = []
            for c, column in zip(self.p + self.q, columns):
                if c is None:
                    unknown.append(column)
                else:
                    target = [t - c * x for t, x in zip(target, column)]
            found = iter(exchange(unknown, target))
            p, q = ([next(found) if c is None else c for c in rounded] for rounded in (self.p, self.q))
            before, self.denominator = self.denominator, [polyval([*q[::-1], 1], u) for u in self.u]
            if all(abs(d / b - 1) < mpf(10) ** -9 for d, b in zip(self.denominator, before)):
                break
        return p, q


def constants_of_ln2():
    """ln 2 in two parts: the first has 15 bits, so that its products with integers up to 2^9 are exact."""
    high = mpf(round(log(2) * 2**15)) / 2**15
    low = to_float(log(2) - high)
    values = (("log2_e", to_float(1 / log(2))), ("ln2_high", high), ("ln2_low", low))
    yield [f"inline constexpr float {name} = {literal(value)};" for name, value in values], abs(high + low - log(2))


def exponential():
    """e^r = 1 + r + r^2 P(r), |r| <= ln 2 / 2."""
    a = Approximation(exp, lambda r: 1 + r, lambda r: r * r, lambda r: r, -log(2) / 2, log(2) / 2, 5)
    yield polynomial("p", "r", a.p), a.error


def logarithm():
    """log(1 + r) = r - r^2 / 2 + r^3 P(r), sqrt(1/2) <= 1 + r < sqrt(2)."""
    low = sqrt(mpf(1) / 2)
    yield [f"constexpr std::uint32_t root = {bits(low):#x}U;"], abs(to_float(low) / low - 1)
    f, base = (lambda r: log(1 + r)), (lambda r: r - r * r / 2)
    a = Approximation(f, base, lambda r: r**3, lambda r: r, low - 1, 2 * low - 1, 8)
    yield polynomial("p", "r", a.p), a.error


def hyperbolic_tangent():
    """tanh x = x (1 + z P(z)) / (1 + z Q(z)), z = x^2: exact for small x. At the bound, from which on it is 1, 1 - tanh x
    is 4.2 units of the last place, a little less than the errors of evaluation; they grow with the bound."""
    bound = mpf("7.95")
    yield [f"constexpr float bound = {literal(bound**2)};"], 1 - tanh(bound)
    a = Approximation(tanh, lambda x: x, lambda x: x**3, lambda x: x * x, mpf(0), bound, 4, 4)
    yield [line for name, c in (("p", a.p), ("q", a.q)) for line in polynomial(name, "z", [1, *c])], a.error


def error_function():
    """erf x = x + x P(z), z = x^2, below the bound; above it 1 - e^-(t + t Q(t)), t = |x| up to 4, where it is 1 as a float.
    Errors are those of erf: what that of the exponent becomes by the exponential, to first order."""
    bound = mpf("0.93")
    small = to_float(bound)
    yield [f"constexpr float bound = {literal(small)};"], abs(small / bound - 1)
    a = Approximation(erf, lambda x: x, lambda x: x, lambda x: x * x, mpf("1e-20"), small, 6)
    yield polynomial("p", "z", a.p), a.error
    passed_on = lambda t: erfc(t) / erf(t)
    one, base = (lambda t: mpf(1)), (lambda t: 1 + passed_on(t) * (log(erfc(t)) + t))
    a = Approximation(one, base, lambda t: passed_on(t) * t, lambda t: t, small, mpf(4), 7)
    yield polynomial("q", "t", a.p), a.error


def error_of_start(start):
    """The largest error of one of Newton's steps towards 1 / sqrt(x), from the float y with the bits start - bits(x) / 2.
    In x, y is linear piece by piece, so x y^2 has its extrema at known places; the step makes y (1.5 - 0.5 x y^2) of y."""
    squares = []
    for e in (0, 1):  # x = 2^e (1 + m)
        top = start / 2**23 - (e + 127) / 2  # y's exponent and fraction for m = 0
        kink = 2 * (top - math.floor(top))  # where the exponent becomes less
        pieces = [0, kink, 1] if kink < 1 else [0, 1]
        for a, b in zip(pieces, pieces[1:]):
            exponent = math.floor(top - (a + b) / 4)
            y = lambda m: 2.0 ** (exponent - 127) * (1 + top - m / 2 - exponent)
            inside = (2 * (1 + top - exponent) - 2) / 3  # where the derivative of (1 + m) y^2 is 0
            squares += [2**e * (1 + m) * y(m) ** 2 for m in (a, b, inside) if a <= m <= b]
    return max(1 - math.sqrt(s) * (1.5 - 0.5 * s) for s in (min(squares), max(squares)))


def square_root():
    """The start for which the error after one step is least: Lomont 2003 found the same."""
    low, high = 0x5F300000, 0x5F400000
    while high - low > 2:
        a, b = low + (high - low) // 3, high - (high - low) // 3
        low, high = (low, b) if error_of_start(a) < error_of_start(b) else (a, high)
    start = min(range(low, high + 1), key=error_of_start)
    yield [f"constexpr std::uint32_t start = {start:#x}U;"], error_of_start(start)


def series_of_logarithm():
    """log m = 2 artanh s, s = (m - 1) / (m + 1), to s^15."""
    s = (sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)
    lines = ["double p = 2.0 / 15;", *(f"p = p * z + 2.0 / {k};" for k in range(13, 1, -2))]
    yield lines, 1 - sum(s**k / k for k in range(1, 17, 2)) / mp.atanh(s)


def series_of_sine():
    """sin a to a^17, |a| <= pi / 2."""
    lines = [f"double p = {1 / math.factorial(17):.16e};"]
    for k in range(15, 1, -2):
        lines.append(f"p = p * z {'+' if k % 4 == 1 else '-'} {1 / math.factorial(k):.16e};")
    yield lines, abs(1 - sum((-1) ** (k // 2) * (pi / 2) ** k / mp.factorial(k) for k in range(1, 18, 2)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    wrong = 0
    for header, derivations in (
        (FAST_MATH, (constants_of_ln2, exponential, logarithm, hyperbolic_tangent, error_function, square_root)),
        (RANDOM, (series_of_logarithm, series_of_sine)),
    ):
        there = [line.split("//")[0].strip() for line in (ROOT / header).read_text().splitlines()]
        for derivation in derivations:
            print(f"// {' '.join(derivation.__doc__.split())}")
            for lines, error in derivation():
                print(*lines, f"// error {nstr(mpf(error), 3)} = 2^{nstr(log(error, 2), 4)}", sep="\n")
                if check and not any(there[i : i + len(lines)] == lines for i in range(len(there))):
                    print(f"NOT in {header}")
                    wrong += 1
            print()
    return wrong


if __name__ == "__main__":
    sys.exit(main())
