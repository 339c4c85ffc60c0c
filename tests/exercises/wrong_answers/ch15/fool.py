"""Wrong answers to 15.fool, each with words of what the reader is told."""

from attnbook import scaled_dot_product_attention


def pair(judge):
    return judge(scaled_dot_product_attention)


def too_few_rows(judge):
    def attend(query, key, value):
        return scaled_dot_product_attention(query[..., :50, :], key, value)[0]

    return judge(attend)


WRONG = {
    pair: "`attend` has to return one tensor (..., Lq, Dv), here of shape (2, 300, 8); it "
    "returned a tuple",
    too_few_rows: "here of shape (2, 300, 8); it returned (2, 50, 8)",
}
