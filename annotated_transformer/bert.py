"""BERT: a stack of encoder layers alone, which gives every token a vector in its context."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.ground.inputs import require_ids, require_sizes
from annotated_transformer.layers import EncoderLayer
from annotated_transformer.masking import padding_mask
from annotated_transformer.positional_encoding import LearnedPositionalEncoding
from annotated_transformer.tokens import PAD
from annotated_transformer.transformer import TransformerConfig


class Bert(nn.Module):
    """Encoder-only Transformer: every token attends to all tokens of its text, on both sides.

    Its input is the sum of three embeddings, normalised: of the token, of its position (learned)
    and of its segment, which tells the first text of a pair from the second.

    Source: Devlin et al. 2019, section 3; sentence vectors: Reimers and Gurevych 2019, section 3.

    >>> model = Bert(TransformerConfig.tiny(10, 10, activation="gelu"))
    >>> model(torch.tensor([[5, 6, 7], [8, 9, 0]])).shape
    torch.Size([2, 3, 64])
    """

    def __init__(self, config: TransformerConfig, segments: int = 2) -> None:
        """Make the model; of the two vocabularies it has the source's.

        Raises:
            InputError: if the number of segments is not an integer of at least 1.
        """
        super().__init__()
        require_sizes(segments=segments)
        self.config = c = config
        self.tokens = nn.Embedding(c.src_vocab, c.d_model)
        self.segments = nn.Embedding(segments, c.d_model)
        self.positions = LearnedPositionalEncoding(c.max_length, c.d_model)
        self.norm = c.normalisation(c.d_model)
        self.dropout = nn.Dropout(c.dropout)
        self.encoder = nn.ModuleList(
            EncoderLayer(c.self_attention(), c.feed_forward(), c.residual)
            for _ in range(c.num_layers)
        )

    def forward(
        self, tokens: Int[Tensor, "batch time"], segments: Int[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch time d_model"]:
        """Compute the hidden states: one vector per token (``segments`` is ``None``: all 0).

        Raises:
            InputError: if there is anything but ids of the vocabulary and of the segments, or a
                text is longer than the model has positions.
        """
        segments = torch.zeros_like(tokens) if segments is None else segments
        require_ids("tokens", tokens, self.tokens.num_embeddings)
        require_ids("segments", segments, self.segments.num_embeddings)
        x = self.positions(self.tokens(tokens) + self.segments(segments))
        x, mask = self.dropout(self.norm(x)), padding_mask(tokens)
        for layer in self.encoder:
            x = layer(x, mask)
        return x

    def sentence_vectors(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch d_model"]:
        """Compute the mean of each text's hidden states, without padding, scaled to length 1.

        The dot product of two such vectors is the cosine of their angle.
        """
        real = (tokens != PAD)[:, :, None]
        total = (self(tokens) * real).sum(dim=1)
        return F.normalize(total, dim=-1)  # the number of tokens would cancel
