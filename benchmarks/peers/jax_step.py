"""The training step of benchmarks/train-step in JAX, jitted as a whole: forward, backward, AdamW; fp32."""
import jax
import jax.numpy as jnp

from common import Shape, arguments, measure


def initial(s, key):
    def normal(*shape):
        nonlocal key
        key, use = jax.random.split(key)
        return 0.02 * jax.random.normal(use, shape)

    def norm():
        return {"scale": jnp.ones(s.d_model), "bias": jnp.zeros(s.d_model)}

    def linear(n, m):
        return {"w": normal(n, m), "b": jnp.zeros(m)}

    def block():
        return {"norm1": norm(), "norm2": norm(), "qkv": linear(s.d_model, 3 * s.d_model),
                "out": linear(s.d_model, s.d_model), "up": linear(s.d_model, s.d_ff), "down": linear(s.d_ff, s.d_model)}

    p = {"token": normal(s.vocab, s.d_model), "position": normal(s.sequence, s.d_model),
         "blocks": [block() for _ in range(s.layers)], "norm": norm()}
    return p if s.tied else p | {"head": normal(s.d_model, s.vocab)}


def layer_norm(x, p):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]


def linear(x, p):
    return x @ p["w"] + p["b"]


def loss_of(s, p, ids, labels):
    x = p["token"][ids] + p["position"]
    visible = jnp.tril(jnp.ones((s.sequence, s.sequence), bool))
    for block in p["blocks"]:
        qkv = linear(layer_norm(x, block["norm1"]), block["qkv"])
        q, k, v = (y.reshape(s.batch, s.sequence, s.heads, s.d_head) for y in jnp.split(qkv, 3, -1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / s.d_head**0.5
        weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf))
        seen = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape)
        x = x + linear(seen, block["out"])
        x = x + linear(jax.nn.gelu(linear(layer_norm(x, block["norm2"]), block["up"])), block["down"])
    logits = layer_norm(x, p["norm"]) @ (p["token"].T if s.tied else p["head"])
    picked = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - picked).mean()


def adamw(p, g, m, v, t, rate=1e-4, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.1):
    m = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, m, g)
    v = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, v, g)

    def moved(p, m, v):
        return p - rate * (m / (1 - beta1**t) / (jnp.sqrt(v / (1 - beta2**t)) + epsilon) + decay * p)

    return jax.tree.map(moved, p, m, v), m, v


def main():
    options = arguments()
    s = Shape(options.shape)
    key = jax.random.key(1)
    p = initial(s, key)
    zeros = jax.tree.map(jnp.zeros_like, p)
    state = [p, zeros, jax.tree.map(jnp.copy, zeros), 1.0]
    ids, labels = (jax.random.randint(k, (s.batch, s.sequence), 0, s.vocab) for k in jax.random.split(key))

    def update(p, m, v, t, ids, labels):
        loss, g = jax.value_and_grad(lambda q: loss_of(s, q, ids, labels))(p)
        return loss, *adamw(p, g, m, v, t)

    compiled = jax.jit(update, donate_argnums=(0, 1, 2))

    def step():
        loss, p, m, v = compiled(*state, ids, labels)
        state[:] = p, m, v, state[3] + 1
        jax.block_until_ready(p)
        return float(loss)

    a = jax.random.uniform(key, (2048, 2048))
    product = jax.jit(jnp.matmul)
    measure(f"JAX {jax.__version__}, {s.name}", s, step, lambda: product(a, a).block_until_ready(), options.steps)


if __name__ == "__main__":
    main()
