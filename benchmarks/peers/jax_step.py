"""The training step of benchmarks/train-step in JAX, jitted as a whole: forward, backward, AdamW; fp32."""
import jax
import jax.numpy as jnp

from common import arguments, measure


def initial(s):
    p = {"token": s["token_embedding"], "position": s["position_embedding"],
         "blocks": [s.block(i) for i in range(s.layers)], "norm": (s["gamma_f"], s["beta_f"])}
    return jax.tree.map(jnp.array, p if s.tied else p | {"head": s["output.0"]})


def layer_norm(x, p):
    scale, bias = p
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + bias


def linear(x, p):
    w, b = p
    return x @ w + b


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
        decays = decay * p if p.ndim > 1 else 0
        return p - rate * (m / (1 - beta1**t) / (jnp.sqrt(v / (1 - beta2**t)) + epsilon) + decays)

    return jax.tree.map(moved, p, m, v), m, v


def main():
    options = arguments()
    s = options.start
    p = initial(s)
    zeros = jax.tree.map(jnp.zeros_like, p)
    state = [p, zeros, jax.tree.map(jnp.copy, zeros), 1.0]
    ids, labels = jnp.array(s.ids), jnp.array(s.labels)

    def update(p, m, v, t, ids, labels):
        loss, g = jax.value_and_grad(lambda q: loss_of(s, q, ids, labels))(p)
        return loss, *adamw(p, g, m, v, t)

    compiled = jax.jit(update, donate_argnums=(0, 1, 2))

    def step():
        loss, p, m, v = compiled(*state, ids, labels)
        state[:] = p, m, v, state[3] + 1
        jax.block_until_ready(p)
        return float(loss)

    measure(f"JAX {jax.__version__}", s, step, options.steps)


if __name__ == "__main__":
    main()
