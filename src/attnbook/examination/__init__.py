"""Experiments on a reader's own attention code: `attnbook.examine`.

What is asked, and how it is called
examine         `examine` itself: one examination from the question to the report
kinds           the kind of a thing that was not named, guessed
facts           the kinds, and what only the author knows
refusals        what cannot be examined, and why
calling         how to call a thing, and which of its tensors is the result
subject         the thing, called with tensors of our layout
exam            the subject, the facts and the report, which every experiment gets
pace            the time that the experiments take
reach           the modules and tensors that the thing can reach
state           what is restored afterward

One module for each kind, which runs its experiments in order
cores           a function of queries, keys and values: core_input, core_names, core_limits
layers          rows in, rows out: layer_input, layer_names, layer_limits
language_models         ids in, logits out: model_input
sequence_to_sequence    a source and a target in, logits out: model_input, memory
positions       tables of positions, and rotations
losses          logits and ids in, a number out
samplers        top-p, top-k, and a sampler

Experiments that several kinds share
rows            who moves whom: one row is changed
order           another order of the rows
masks           masks in the form that the thing takes
padding         padding beside a sentence
not_finite      rows that are nan or inf
contexts        the second sequence of cross-attention
norms           norms that average along the sequence
blocks          residual connections
parameters      registered, used, not shared
caches          word by word against the whole text

The numbers of a layer, rebuilt from its own matrices
matrices        the matrices as functions of rows
projections     which of them makes queries, keys and values
reference       attention of our own, right or with one known mistake
rebuild         the layer's numbers, right or with one known mistake
rebuilt_parts   the attentions inside a block or a model

What runs inside, watched
trace           the products and softmaxes; what goes into parts and comes out
traced_scores   the scale and the softmax
roles           the queries, keys and values

What the reader is told
report          the findings, as data, text and HTML
faults          each fault's section, exercise and level
crashes         an error, with the reader's line and the shapes
advice          what to say or to do if code cannot be called
"""
