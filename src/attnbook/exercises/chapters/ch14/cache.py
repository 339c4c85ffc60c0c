"""Which changes of a configuration shrink the cache?"""

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _

CHANGES = {
    "a": "`num_key_value_heads` becomes 4",
    "b": "`num_attention_heads` becomes 64",
    "c": "`sliding_window` is 4096 in every layer",
    "d": "`rope_theta` becomes 1000000",
    "e": "`kv_lora_rank` is 512 and `qk_rope_head_dim` is 64",
    "f": "`index_topk` is 2048 and `index_head_dim` is 128",
    "g": "`full_attention_interval` is 4: the layers between are linear",
    "h": "`num_experts` is 128 and `num_experts_per_tok` is 8",
}
TABLE = "\n".join(f'| `"{letter}"` | {change} |' for letter, change in CHANGES.items())


def cache_becomes(change: str) -> str:
    if change in ("a", "c", "e", "g"):
        return "smaller"
    return "larger" if change == "f" else "equal"


EXERCISE = Exercise(
    title="What a field does to the cache",
    level=1,
    minutes=8,
    section="14.12",
    prompt=f"""
A model has 32 layers with 32 query heads and 8 key heads of width 128 (`head_dim`), no windows and
no latent. Its cache holds 131,072 words. One thing changes in its config.json, and everything else
stays. `cache_becomes(change)` returns `"smaller"`, `"equal"` or `"larger"`.

| change | config.json |
|:--|:--|
{TABLE}
""",
    stub="""
def cache_becomes(change):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"a": "", "b": "", "c": "", "d": ""}
    then = {"e": "", "f": "", "g": "", "h": ""}
    return (first | then)[change]
""",
    reference=cache_becomes,
    cases=lambda generator: [
        Case((letter,), note=_("change {name}").format(name=letter)) for letter in CHANGES
    ],
    choices={
        ("b", "larger"): "Queries are not kept. The number of key heads and their width stay.",
        ("b", "smaller"): "More query heads share the same key heads, which are as wide as before.",
        ("e", "equal"): "A layer kept 2 · 8 · 128 = 2,048 numbers for a word. Count what it keeps "
        "now, for all heads together.",
        ("e", "larger"): "All heads share one latent and one rotary key: 512 + 64 numbers per "
        "word.",
        ("f", "smaller"): "A later query may choose any word, so no key is dropped. The indexer "
        "saves reading and computing, not memory.",
        ("f", "equal"): "No key is dropped, and the indexer has a narrow key of its own for each "
        "word. It is kept, too.",
        ("g", "equal"): "A linear layer keeps a state of fixed size and no keys. Only every fourth "
        "layer has a cache that grows.",
        ("g", "larger"): "The states of linear layers do not grow with the text, and three of four "
        "layers no longer keep keys.",
        (("d", "h"), "smaller"): "This changes neither how many keys are kept nor their width.",
        (("d", "h"), "larger"): "This adds no keys and makes none wider.",
        (("a", "c"), "equal"): "Count the numbers that a layer keeps for a word, and for how many "
        "words it keeps them. One of the two has changed.",
        (("a", "c"), "larger"): "The change leaves fewer keys: count those of one layer.",
    },
    hints=(
        "The cache has four factors: layers that keep keys, words that they keep, key heads, and "
        "the width of a key and a value.",
        "Ask for each field which of the factors it changes. Some change none.",
        "Four become smaller. One becomes larger, because something is kept in addition.",
    ),
    insight="Fewer key heads, a latent, windows and linear layers shrink the cache. An indexer "
    "does not: it chooses what is read.",
    comes_back="The figure in 14.12 computes the cache of any config.json that you paste.",
)
