"""The training step of benchmarks/train-step in Mesh-TensorFlow on one processor: forward, backward, Adam; fp32."""
import mesh_tensorflow as mtf
import numpy as np
import tensorflow.compat.v1 as tf

from common import Shape, arguments, measure


def loss_of(mesh, s, ids, labels):
    batch, sequence, memory = (mtf.Dimension(n, e) for n, e in
                               [("batch", s.batch), ("sequence", s.sequence), ("memory", s.sequence)])
    d_model, d_ff, vocab = (mtf.Dimension(n, e) for n, e in
                            [("d_model", s.d_model), ("d_ff", s.d_ff), ("vocab", s.vocab)])
    heads, d_head = mtf.Dimension("heads", s.heads), mtf.Dimension("d_head", s.d_head)

    def variable(name, *dims):
        start = tf.zeros_initializer() if len(dims) == 1 or name[-2] == "b" else tf.random_normal_initializer(stddev=0.02)
        return mtf.get_variable(mesh, name, mtf.Shape(dims), initializer=start)

    token = variable("token", vocab, d_model)
    x = mtf.gather(token, ids, vocab) + variable("position", sequence, d_model)
    at = mtf.Shape([sequence, memory])
    later = mtf.less(mtf.broadcast(mtf.range(mesh, sequence, tf.int32), at), mtf.broadcast(mtf.range(mesh, memory, tf.int32), at))
    hidden = mtf.cast(later, tf.float32) * -1e9
    for i in range(s.layers):
        h = mtf.layers.layer_norm(x, d_model, name=f"norm1_{i}")
        q, k, v = (mtf.einsum([h, variable(f"w{n}_{i}", d_model, heads, d_head)],
                              output_shape=[batch, sequence, heads, d_head]) + variable(f"{n}_b{i}", heads, d_head)
                   for n in "qkv")
        k, v = mtf.rename_dimension(k, "sequence", "memory"), mtf.rename_dimension(v, "sequence", "memory")
        scores = mtf.einsum([q, k], output_shape=[batch, heads, sequence, memory]) * s.d_head**-0.5 + hidden
        seen = mtf.einsum([mtf.softmax(scores, memory), v], output_shape=[batch, sequence, heads, d_head])
        x += mtf.einsum([seen, variable(f"wo_{i}", heads, d_head, d_model)],
                        output_shape=[batch, sequence, d_model]) + variable(f"bo_{i}", d_model)
        h = mtf.layers.layer_norm(x, d_model, name=f"norm2_{i}")
        a = mtf.gelu(mtf.einsum([h, variable(f"w1_{i}", d_model, d_ff)], output_shape=[batch, sequence, d_ff])
                     + variable(f"b1_{i}", d_ff))
        x += mtf.einsum([a, variable(f"w2_{i}", d_ff, d_model)],
                        output_shape=[batch, sequence, d_model]) + variable(f"b2_{i}", d_model)
    h = mtf.layers.layer_norm(x, d_model, name="norm")
    output = token if s.tied else variable("output", d_model, vocab)
    logits = mtf.einsum([h, output], output_shape=[batch, sequence, vocab])
    return mtf.reduce_mean(mtf.layers.softmax_cross_entropy_with_logits(logits, mtf.one_hot(labels, vocab), vocab))


def main():
    options = arguments()
    s = Shape(options.shape)
    tf.disable_eager_execution()
    graph = mtf.Graph()
    mesh = mtf.Mesh(graph, "mesh")
    shape = mtf.Shape([mtf.Dimension("batch", s.batch), mtf.Dimension("sequence", s.sequence)])
    ids, labels = (mtf.import_tf_tensor(mesh, np.random.randint(s.vocab, size=(s.batch, s.sequence), dtype=np.int32), shape)
                   for _ in range(2))
    loss = loss_of(mesh, s, ids, labels)
    gradients = mtf.gradients([loss], [v.outputs[0] for v in graph.trainable_variables])
    optimizer = mtf.optimize.AdamWeightDecayOptimizer(learning_rate=1e-4, weight_decay_rate=0.1)
    updates = optimizer.apply_grads(gradients, graph.trainable_variables)
    machine = mtf.placement_mesh_impl.PlacementMeshImpl(shape=[("all", 1)], layout=[], devices=["cpu:0"])
    lowering = mtf.Lowering(graph, {mesh: machine})
    value = lowering.export_to_tf_tensor(loss)
    train = tf.group([lowering.lowered_operation(u) for u in updates])
    a = tf.constant(np.random.rand(2048, 2048).astype(np.float32))
    # Fed, or TensorFlow takes the product for a constant.
    left = tf.placeholder(tf.float32, (2048, 2048))
    product = tf.reduce_sum(tf.matmul(left, a))
    values = np.random.rand(2048, 2048).astype(np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(lowering.copy_masters_to_slices())
        measure(f"Mesh-TensorFlow on TensorFlow {tf.__version__}, {s.name}", s, lambda: session.run([value, train]),
                lambda: session.run(product, {left: values}), options.steps)


if __name__ == "__main__":
    main()
