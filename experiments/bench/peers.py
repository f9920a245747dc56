"""Models of other libraries, with our weights: the same input gives the same output."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.masking import padding_mask
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.transformer import Transformer
from oracles import hidden, marian_pairs, stack_pairs, to_theirs


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with embeddings, positions, and a tied output, which it lacks."""

    def __init__(self, ours: Transformer) -> None:
        super().__init__()
        c = ours.config
        self.embedding = nn.Embedding.from_pretrained(
            ours.tgt_embedding.tokens.weight.detach().clone(), freeze=False
        )
        self.bias = nn.Parameter(ours.output.bias.detach().clone())
        self.stacks = nn.Transformer(
            c.d_model, c.num_heads, c.num_layers, c.num_layers, c.d_ff, c.dropout, batch_first=True
        )
        self.stacks.encoder.norm = self.stacks.decoder.norm = None  # the paper has none there
        to_theirs(stack_pairs(ours, self.stacks))
        self.dropout, self.scale = nn.Dropout(c.dropout), math.sqrt(c.d_model)
        table = sinusoidal_encoding(c.max_length, c.d_model).float()
        self.register_buffer("table", table)

    def embed(self, tokens: Tensor) -> Tensor:
        """Compute the vectors of tokens and positions."""
        x = self.embedding(tokens) * self.scale
        return self.dropout(x + self.table[: tokens.size(1)])

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Logits."""
        src_hidden, tgt_hidden = (hidden(padding_mask(x)[:, 0, 0]) for x in (src, tgt))
        length = tgt.size(1)
        future = torch.ones(length, length, dtype=torch.bool, device=tgt.device).triu(1)
        x = self.stacks(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=future,
            src_key_padding_mask=src_hidden,
            tgt_key_padding_mask=tgt_hidden,
            memory_key_padding_mask=src_hidden,
            tgt_is_causal=True,
        )
        return F.linear(x, self.embedding.weight, self.bias)


class Marian(nn.Module):
    """MarianMT of Hugging Face, with sines and cosines in our order."""

    def __init__(self, ours: Transformer) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel  # not everybody has it

        c = ours.config
        self.model = MarianMTModel(
            MarianConfig(
                vocab_size=c.tgt_vocab, d_model=c.d_model, max_position_embeddings=c.max_length,
                encoder_layers=c.num_layers, decoder_layers=c.num_layers,
                encoder_attention_heads=c.num_heads, decoder_attention_heads=c.num_heads,
                encoder_ffn_dim=c.d_ff, decoder_ffn_dim=c.d_ff, activation_function="relu",
                dropout=c.dropout, scale_embedding=True, pad_token_id=PAD, bos_token_id=BOS,
                eos_token_id=EOS, decoder_start_token_id=BOS, forced_eos_token_id=None,
            )
        )  # fmt: skip
        with torch.no_grad():
            for stack in (self.model.model.encoder, self.model.model.decoder):
                table = stack.embed_positions.weight
                table.copy_(table.unflatten(1, (2, -1)).transpose(1, 2).flatten(1))
        to_theirs(marian_pairs(ours, self.model))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.model(
            input_ids=src,
            attention_mask=(src != PAD).long(),
            decoder_input_ids=tgt,
            decoder_attention_mask=(tgt != PAD).long(),
            use_cache=False,
        ).logits
        return logits


def m2m100(ours: Transformer) -> Any:
    """Make M2M100 of Hugging Face, which is pre-norm, with our positions and output bias."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    c = ours.config
    theirs = M2M100ForConditionalGeneration(
        M2M100Config(
            vocab_size=c.tgt_vocab, d_model=c.d_model, max_position_embeddings=c.max_length,
            encoder_layers=c.num_layers, decoder_layers=c.num_layers,
            encoder_attention_heads=c.num_heads, decoder_attention_heads=c.num_heads,
            encoder_ffn_dim=c.d_ff, decoder_ffn_dim=c.d_ff, activation_function=c.activation,
            scale_embedding=True, pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS,
            decoder_start_token_id=BOS,
        )
    ).eval()  # fmt: skip
    stacks = ((ours.encoder_norm, theirs.model.encoder), (ours.decoder_norm, theirs.model.decoder))
    with torch.no_grad():
        theirs.lm_head = nn.Linear(c.d_model, c.tgt_vocab)
        theirs.lm_head.weight = theirs.model.shared.weight
        theirs.final_logits_bias = theirs.lm_head.bias[None]
        to_theirs(marian_pairs(ours, theirs))
        for norm, stack in stacks:
            stack.layer_norm.load_state_dict(norm.state_dict())
            table = stack.embed_positions.weights
            table[PAD + 1 : PAD + 1 + c.max_length] = ours.src_embedding.positions.table
    return theirs
