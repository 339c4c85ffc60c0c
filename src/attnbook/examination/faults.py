"""The faults that can be found: where the book explains each, and which exercise trains it."""

from typing import NamedTuple


class Fault(NamedTuple):
    """The section about a fault, an exercise about it, and whether ordinary input shows it.

    `is_wrong` is false for a fault that does no harm on ordinary input, and for what may be meant.
    """

    section: str
    exercise: str = ""
    is_wrong: bool = True


FAULTS = {
    # the three lines
    "scale": Fault("3.8", "03.experiment"),
    "softmax_axis": Fault("3.7", "03.repair"),
    "values": Fault("3.6", "03.repair"),
    "transposed": Fault("3.6", "03.scores"),
    "numbers": Fault("3.6", "03.repair"),
    "overflow": Fault("3.7", "03.weights", is_wrong=False),
    "half": Fault("6.6", is_wrong=False),
    "one_row": Fault("11.11", is_wrong=False),
    "unequal": Fault("5.4", is_wrong=False),
    # heads
    "heads": Fault("4.6", "04.mix"),
    "shared_heads": Fault("4.5", "04.split"),
    "groups": Fault("11.4", "11.share"),
    # masks
    "mask_ignored": Fault("6.11", "06.verdict"),
    "mask_inverted": Fault("6.7", "06.pytorch"),
    "mask_after_softmax": Fault("6.5", "06.weights"),
    "mask_soft": Fault("15.5", "06.weights"),
    "mask_batch": Fault("6.9", "06.heads"),
    "nan": Fault("6.10", "06.weights"),
    "empty_row": Fault("6.10", "06.weights", is_wrong=False),
    "sees_future": Fault("6.11", "06.verdict"),
    "not_itself": Fault("6.3", "06.causal"),
    "sees_next": Fault("6.3", "06.causal"),
    "wrong_triangle": Fault("6.3", "06.causal"),
    "leak": Fault("6.11", "06.verdict"),
    "blind": Fault("6.11", "06.verdict"),
    "perhaps_blind": Fault("6.11", "06.verdict", is_wrong=False),
    "alignment": Fault("6.15", "06.causal"),
    "window": Fault("11.10", "11.kept"),
    # sentences of a batch, and padding
    "cross_batch": Fault("15.4", "04.shapes"),
    "padding_seen": Fault("6.8", "06.heads"),
    "left_padding": Fault("15.7", "12.repair"),
    # positions
    "order_blind": Fault("7.1", "07.order"),
    "order_counts": Fault("7.1", "07.order"),
    "position_batch": Fault("15.10", "07.encode"),
    "position_table": Fault("7.3", "07.repair"),
    "position_product": Fault("7.2", "07.encode"),
    "odd_width": Fault("7.3", "07.encode", is_wrong=False),
    "rotary": Fault("11.7", "11.pairs"),
    "rotary_precision": Fault("15.8", "11.pairs"),
    # layers and their parameters
    "random_eval": Fault("15.8"),
    "unreached": Fault("15.8", is_wrong=False),
    "unregistered": Fault("15.8"),
    "shared_layer": Fault("15.10", is_wrong=False),
    "norm_axis": Fault("8.4", "08.norm"),
    "residual": Fault("8.3", "08.repair"),
    # caches
    "cache_positions": Fault("11.6", "11.repair"),
    "cache_mask": Fault("11.2", "11.repair"),
    # two sequences
    "source_ignored": Fault("5.3", "05.roles"),
    "cross_causal": Fault("6.14", "08.repair"),
    "cross_roles": Fault("8.7", "05.roles"),
    # logits, losses, sampling
    "initial_loss": Fault("15.8", is_wrong=False),
    "not_logits": Fault("8.8"),
    "shift_none": Fault("9.4", "09.shift"),
    "shift_twice": Fault("15.10", "09.shift"),
    "loss": Fault("9.4", "09.loss"),
    "loss_padding": Fault("9.4", "09.loss"),
    "double_softmax": Fault("15.8"),
    "top_p": Fault("12.8", "12.top_p"),
    "top_k": Fault("12.8", "12.repair"),
    "temperature": Fault("12.8", "12.experiment"),
}
