from torch import nn

from annotated_transformer.layers import EncoderLayer, FeedForward, Residual
from annotated_transformer.multi_head_attention import MultiHeadAttention
from answers import wrong


@wrong("tied_logits", "without a transpose, the widths do not fit")
def _(x, E):
    return x @ E


wrong("unmoved_by_shuffling", "the printed letters that moved")("ABCEF")
wrong("unmoved_by_shuffling", "a tiny rounding taken for a movement")("D")
wrong("unmoved_by_shuffling", "every attention is blind to order, all of them")("ABCDEFG")

wrong("first_loss_limit", "where it says half a nat too much")(9)
wrong("first_loss_limit", "the rule's v/2 alone is one nat")(2)
wrong("first_loss_limit", "2 ln V, where v/2 is the logarithm of V")(10)


def layers(config):
    return nn.ModuleList(
        EncoderLayer(
            MultiHeadAttention(config.d_model, config.num_heads),
            FeedForward(config.d_model, config.d_ff),
            lambda: Residual(config.d_model, config.dropout, "pre"),
        )
        for _ in range(config.num_layers)
    )
