import torch
from torch import nn

from annotated_transformer.multi_head_attention import MultiHeadAttention
from answers import wrong


wrong("pre_norm_growth", "grows with the number of layers")(4)
wrong("pre_norm_growth", "the squared length, not the length")(16)
wrong("pre_norm_growth", "normalised anyway, so it stays")(1)


wrong("keeps_words_apart", "a factor for smaller matrices, not larger")(0.1)
wrong("keeps_words_apart", "the matrices as they were")(1)
wrong("keeps_words_apart", "twice as large, thought to be enough")(2)


@wrong("layer_norm_derivative", "the outer product added")
def _(x, g):
    d, sigma = len(x), x.std(correction=0)
    n = (x - x.mean()) / sigma
    of_n = (torch.eye(d) - 1 / d + torch.outer(n, n) / d) / sigma
    return n / d, of_n, g @ of_n


@wrong("post_norm_layer", "the network before attention")
class NetworkFirst(nn.Module):
    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads)
        self.inner, self.outer = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x):
        x = self.norm_1(x + self.outer(torch.relu(self.inner(x))))
        return self.norm_2(x + self.attention(x, x, x))
