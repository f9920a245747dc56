import torch
from torch import nn

from annotated_transformer.batches import Batch
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.layers import EncoderLayer
from annotated_transformer.masking import causal_mask, target_mask
from annotated_transformer.transformer import Embedding
from transformer_workbook.chapters.language_model import exercises as lesson
from transformer_workbook.chapters.language_model import proofs

BATCH = Batch.of([([5, 6, 7], [8, 9]), ([9, 8], [7])])


def pairs():
    everything = torch.ones_like(causal_mask(6)[0, 0])
    proofs.pairs(everything, source=3)


def sees_everything(*sizes):
    """Make the lesson's model without its mask."""
    model = lesson.decoder_only.reference(*sizes)
    for block in model.layers:
        block.register_forward_pre_hook(lambda block, inputs: (inputs[0], None))
    return model


def one_text():
    proofs.one_text(sees_everything, LanguageModel)


class CountsColumns(nn.Module):
    """Its positions are the columns of the batch, padding included."""

    def __init__(self, config):
        super().__init__()
        self.src_embedding = Embedding(config.src_vocab, config)
        self.tgt_embedding = Embedding(config.tgt_vocab, config)
        self.layers = nn.ModuleList(
            EncoderLayer(config.self_attention(), config.feed_forward(), config.residual)
            for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(config.d_model)
        self.output = nn.Linear(config.d_model, config.tgt_vocab)
        self.output.weight = self.tgt_embedding.tokens.weight

    def forward(self, src, tgt_in):
        columns = torch.arange(src.size(1) + tgt_in.size(1))[None]
        of_src, of_tgt = columns.tensor_split([src.size(1)], dim=1)
        x = [self.src_embedding(src, of_src), self.tgt_embedding(tgt_in, of_tgt)]
        x, mask = torch.cat(x, dim=1), target_mask(torch.cat([src, tgt_in], dim=1))
        for layer in self.layers:
            x = layer(x, mask)
        return self.output(self.norm(x[:, src.size(1) :]))


def language_model():
    proofs.language_model(CountsColumns, LanguageModel)


class Forgets(LanguageModel):
    """It forgets the source when it goes token by token."""

    def step(self, state, token):
        return super().step(self.empty(len(token)), token)


def model(kind=LanguageModel):
    return kind(LanguageModelConfig.tiny(12, 12, norm_position="pre")).eval()


def prefill_and_decode():
    proofs.prefill_and_decode(model(Forgets), BATCH)


def loss_on_the_target():
    proofs.loss_on_the_target(torch.tensor(1.0), model(), BATCH)


REFUTED = {
    pairs: "this is not true: of 24 pairs in an encoder–decoder, -12 are gone",
    one_text: "the package's differs from your class by",
    language_model: "your class differs from the package by",
    prefill_and_decode: "one at a time differs from all tokens at once by",
    loss_on_the_target: "the mean over 5 target tokens differs from your loss by",
}
