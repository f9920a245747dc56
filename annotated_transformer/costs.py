"""What a pass through a language model costs: operations, bytes, and the least time for them."""

from dataclasses import dataclass

from annotated_transformer.ground.inputs import require_sizes, require_whole
from annotated_transformer.language_model import LanguageModelConfig


@dataclass(frozen=True)
class Cost:
    """The floating-point operations of a computation, and the bytes it moves from memory."""

    flops: int
    bytes: int

    @property
    def intensity(self) -> float:
        """Return the arithmetic intensity: FLOPs for each byte."""
        return self.flops / self.bytes

    def seconds(self, flops_per_second: float, bytes_per_second: float) -> float:
        """Return the time that the roofline model allows: the slower of arithmetic and memory.

        t ≥ max(FLOPs / peak rate, bytes / bandwidth).

        Source: Williams et al. 2009.

        >>> Cost(flops=2_000_000, bytes=4_000_000).seconds(100e9, 10e9)
        0.0004
        """
        return max(self.flops / flops_per_second, self.bytes / bytes_per_second)


def layer_weights(config: LanguageModelConfig) -> int:
    """Count the weights in the matrices of one layer; biases and norms do not count.

    Attention has d·(h + g)·(d_k + d_v) with g heads of keys and values, the feed-forward network
    2·d·d_ff, with a gate 3·d·d_ff.
    """
    c, (d_k, d_v, kv_heads) = config, _heads(config)
    attention = (c.num_heads + kv_heads) * (d_k + d_v)
    return c.d_model * (attention + (3 if c.gated else 2) * c.d_ff)


def cache_bytes(config: LanguageModelConfig, itemsize: int = 4) -> int:
    """Return the bytes that the KV cache keeps of one token: N·g·(d_k + d_v) numbers.

    >>> cache_bytes(LanguageModelConfig(9, 9, d_model=32, num_layers=1, num_heads=4))
    256

    Raises:
        InputError: if ``itemsize`` is not an integer of at least 1.
    """
    require_sizes(itemsize=itemsize)
    d_k, d_v, kv_heads = _heads(config)
    return config.num_layers * kv_heads * (d_k + d_v) * itemsize


def cost_of_pass(
    config: LanguageModelConfig, new: int, past: int = 0, batch: int = 1, itemsize: int = 4
) -> Cost:
    """Count what one pass of ``new`` tokens costs in each text of a batch, after ``past`` tokens.

    A token takes 2 FLOPs for each weight, those of its logits among them, and 2·h·(d_k + d_v) in
    each layer for each token that it is compared with, masked or not. The pass moves every matrix
    once, and the KV cache of each text. Embeddings, biases, norms and activations are left out:
    they are smaller. ``itemsize`` is the number of bytes of one number.

    Source: Pope et al. 2023, section 2.

    Raises:
        InputError: if ``past`` is not an integer of at least 0, or another one not of at least 1.
    """
    require_sizes(new=new, batch=batch, itemsize=itemsize)
    require_whole("past", past, 0)
    new, past, batch, itemsize = (int(size) for size in (new, past, batch, itemsize))
    c, (d_k, d_v, _) = config, _heads(config)
    weights = c.num_layers * layer_weights(c) + c.d_model * c.tgt_vocab
    compared = c.num_layers * c.num_heads * (d_k + d_v) * (past + new)
    kept = batch * (past + new) * cache_bytes(c, itemsize)
    return Cost(2 * batch * new * (weights + compared), weights * itemsize + kept)


def _heads(config: LanguageModelConfig) -> tuple[int, int, int]:
    """Return d_k, d_v and the number of heads of keys and values."""
    width = config.d_model // config.num_heads
    return config.d_k or width, config.d_v or width, config.num_kv_heads or config.num_heads
