"""The training step of benchmarks/train-step in Mesh-TensorFlow on one processor: forward, backward, AdamW; fp32."""
import itertools
import re

import mesh_tensorflow as mtf
import tensorflow.compat.v1 as tf

from common import arguments, measure


def loss_of(mesh, s, ids, labels):
    """Variables have the example's names; a norm's are NAME/layer_norm/layer_norm_scale and ..._bias."""
    batch, sequence, memory = (mtf.Dimension(n, e) for n, e in
                               [("batch", s.batch), ("sequence", s.sequence), ("memory", s.sequence)])
    d_model, d_ff, vocab = (mtf.Dimension(n, e) for n, e in
                            [("d_model", s.d_model), ("d_ff", s.d_ff), ("vocab", s.vocab)])
    heads, d_head = mtf.Dimension("heads", s.heads), mtf.Dimension("d_head", s.d_head)

    def variable(name, *dims):
        return mtf.get_variable(mesh, name, mtf.Shape(dims), initializer=tf.zeros_initializer())

    def norm(x, name):
        return mtf.layers.layer_norm(x, d_model, epsilon=1e-5, name=name)

    token = variable("token_embedding", vocab, d_model)
    x = mtf.gather(token, ids, vocab) + variable("position_embedding", sequence, d_model)
    at = mtf.Shape([sequence, memory])
    later = mtf.less(mtf.broadcast(mtf.range(mesh, sequence, tf.int32), at), mtf.broadcast(mtf.range(mesh, memory, tf.int32), at))
    hidden = mtf.cast(later, tf.float32) * -1e9
    for i in range(s.layers):
        b = f"blocks.{i}."
        h = norm(x, b + "norm1")
        q, k, v = (mtf.einsum([h, variable(f"{b}w{n}", d_model, heads, d_head)],
                              output_shape=[batch, sequence, heads, d_head]) + variable(f"{b}b{n}", heads, d_head)
                   for n in "qkv")
        k, v = mtf.rename_dimension(k, "sequence", "memory"), mtf.rename_dimension(v, "sequence", "memory")
        scores = mtf.einsum([q, k], output_shape=[batch, heads, sequence, memory]) * s.d_head**-0.5 + hidden
        seen = mtf.einsum([mtf.softmax(scores, memory), v], output_shape=[batch, sequence, heads, d_head])
        x += mtf.einsum([seen, variable(b + "wo", heads, d_head, d_model)],
                        output_shape=[batch, sequence, d_model]) + variable(b + "bo", d_model)
        h = norm(x, b + "norm2")
        a = mtf.gelu(mtf.einsum([h, variable(b + "w1", d_model, d_ff)], output_shape=[batch, sequence, d_ff])
                     + variable(b + "b1", d_ff))
        x += mtf.einsum([a, variable(b + "w2", d_ff, d_model)],
                        output_shape=[batch, sequence, d_model]) + variable(b + "b2", d_model)
    h = norm(x, "norm_f")
    output = token if s.tied else variable("output.0", d_model, vocab)
    logits = mtf.einsum([h, output], output_shape=[batch, sequence, vocab])
    return mtf.reduce_mean(mtf.layers.softmax_cross_entropy_with_logits(logits, mtf.one_hot(labels, vocab), vocab))


def our_name(name):
    return re.sub(r"norm(\w+)/layer_norm/layer_norm_(scale|bias)",
                  lambda m: ("gamma" if m[2] == "scale" else "beta") + m[1], name)


def main():
    options = arguments()
    s = options.start
    tf.disable_eager_execution()
    graph = mtf.Graph()
    mesh = mtf.Mesh(graph, "mesh")
    shape = mtf.Shape([mtf.Dimension("batch", s.batch), mtf.Dimension("sequence", s.sequence)])
    # Fed, or TensorFlow takes what depends on them alone for constants.
    batch = [tf.placeholder(tf.int32, s.ids.shape) for _ in range(2)]
    loss = loss_of(mesh, s, *(mtf.import_tf_tensor(mesh, x, shape) for x in batch))
    parameters = list(graph.trainable_variables)
    gradients = mtf.gradients([loss], [v.outputs[0] for v in parameters])
    # Its Adam lacks the correction of the moments' bias; these numbers, fed at each step, have it.
    numbers = [tf.placeholder(tf.float32, []) for _ in range(3)]
    rate, epsilon, decay = (mtf.import_tf_tensor(mesh, x, mtf.Shape([])) for x in numbers)
    optimizer = mtf.optimize.AdamWeightDecayOptimizer(learning_rate=rate, weight_decay_rate=decay, epsilon=epsilon,
                                                      exclude_from_weight_decay=["norm", r"\.b"])
    updates = optimizer.apply_grads(gradients, parameters)
    machine = mtf.placement_mesh_impl.PlacementMeshImpl(shape=[("all", 1)], layout=[], devices=["cpu:0"])
    lowering = mtf.Lowering(graph, {mesh: machine})
    value = lowering.export_to_tf_tensor(loss)
    train = tf.group([lowering.lowered_operation(u) for u in updates])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for v in parameters:
            v.get_master().load(s[our_name(v.name)], session)
        session.run(lowering.copy_masters_to_slices())
        steps = itertools.count(1)

        def step():
            t = next(steps)
            root = (1 - 0.999**t)**0.5
            corrected = root / (1 - 0.9**t)
            fed = zip(batch + numbers, [s.ids, s.labels, 1e-4 * corrected, 1e-8 * root, 0.1 / corrected])
            return session.run([value, train], dict(fed))[0]

        measure(f"Mesh-TensorFlow, TensorFlow {tf.__version__}", s, step, options.steps)


if __name__ == "__main__":
    main()
