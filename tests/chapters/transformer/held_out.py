from torch import nn

from annotated_transformer.layers import FeedForward
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


class Layer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.self_attention = MultiHeadAttention(d, heads)
        self.cross_attention = MultiHeadAttention(d, heads)
        self.feed_forward = FeedForward(d, 4 * d)
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(d) for _ in range(3))


@wrong("decoder_layer", "the last norm is that of cross-attention once more")
class NormTwice(Layer):
    def forward(self, y, memory, mask, memory_mask):
        y = self.norm_1(y + self.self_attention(y, y, y, mask))
        y = self.norm_2(y + self.cross_attention(y, memory, memory, memory_mask))
        return self.norm_2(y + self.feed_forward(y))


@wrong("decoder_layer", "both attentions read the input of the layer")
class SideBySide(Layer):
    def forward(self, y, memory, mask, memory_mask):
        heard = self.cross_attention(y, memory, memory, memory_mask)
        y = self.norm_1(y + self.self_attention(y, y, y, mask) + heard)
        return self.norm_3(y + self.feed_forward(y))
