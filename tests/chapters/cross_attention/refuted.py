from annotated_transformer.attention import SelfAttention
from annotated_transformer.batches import Batch
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.transformer import Transformer, TransformerConfig
from transformer_workbook.chapters.cross_attention import proofs


class Louder(MultiHeadAttention):
    """Its outputs are twice as large."""

    def attend(self, query, seen, mask=None, positions=None):
        return 2 * super().attend(query, seen, mask, positions)


class Common(MultiHeadAttention):
    """All positions attend with the mean of their queries."""

    def attend(self, query, seen, mask=None, positions=None):
        return super().attend(query.mean(dim=1, keepdim=True).expand_as(query), seen, mask)


class Leaky(SelfAttention):
    """Padding of the source gets weight."""

    def forward(self, x, memory, real):
        return self.attention(self.query(x), self.key(memory), self.value(memory))


def one_head():
    proofs.one_head(Leaky, MultiHeadAttention)


def two_sentences():
    proofs.two_sentences(Louder)


def old_attentions():
    proofs.old_attentions(Louder)


def what_a_position_sees():
    proofs.what_a_position_sees(Common)


def decoder_layer():
    proofs.decoder_layer(lambda layer, x, *_: layer.residual_3(x, layer.feed_forward))


def cut_off():
    model = Transformer(TransformerConfig.tiny(12, 12, dropout=0.0))
    batch = Batch.of([([5, 6, 7, 8, 9], [7, 8]), ([9, 8, 7, 6, 5, 4], [8])])
    proofs.cut_off(model, model, batch)


REFUTED = {
    one_head: "that of the package's layer with one head differs from the output of your class",
    two_sentences: "that of the layer differs from the output of a loop",
    old_attentions: "one head with W_K = I differs from Luong's dot attention",
    what_a_position_sees: "this is not true: in cross-attention, a target position depends on no",
    decoder_layer: "that of yours differs from the output of the package's decoder layer",
    cut_off: "this is not true: with cross-attention at zero, the logits are the same",
}
