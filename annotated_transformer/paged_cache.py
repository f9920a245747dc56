"""A paged KV cache and continuous batching: texts that come, grow and leave share one memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.batches import pad
from annotated_transformer.decoding import Limits, next_log_probs
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_sizes, require_whole
from annotated_transformer.language_model import LanguageModel, ReadState
from annotated_transformer.multi_head_attention import KeyValues
from annotated_transformer.tokens import PAD
from annotated_transformer.translator import evaluating, positions_of, require_writer


class PagedCache:
    """The KV cache of many texts in one pool of pages; the page table of a text lists its pages.

    Token t of a text is in cell t mod page_size of page number ⌊t / page_size⌋ of its table. A cell
    has the token, its keys and its values. Page 0 is padding: it is in no table.

    Source: Kwon et al. 2023, section 4.
    """

    def __init__(self, model: LanguageModel, pages: int, page_size: int) -> None:
        """Make the pages, all of them free.

        Raises:
            InputError: if a number is not an integer of at least 1, or if a layer of the model
                keeps something other than keys and values.
        """
        require_sizes(pages=pages, page_size=page_size)
        require_writer(model)
        self.page_size, self.free = page_size, list(range(pages, 0, -1))
        empty = model.empty(0)
        past = cast(tuple[KeyValues, ...], empty.past)
        for kept in empty.past:
            if not isinstance(kept, KeyValues):
                name = type(kept).__name__
                raise InputError(f"a layer keeps a {name}: pages hold keys and values only.")
        keys, values = past[0].keys, past[0].values
        self.widths = [keys.size(3), values.size(3)]
        self.tokens = empty.tokens.new_full((pages + 1, page_size), PAD)
        cell = len(empty.past), keys.size(1), sum(self.widths)
        self.kept = keys.new_zeros(pages + 1, page_size, *cell)

    def reserve(self, table: list[int], length: int) -> bool:
        """Add pages to a table until ``length`` tokens fit; return whether enough were free."""
        more = -(-length // self.page_size) - len(table)
        if more > len(self.free):
            return False
        table += [self.free.pop() for _ in range(more)]
        return True

    def release(self, table: list[int]) -> None:
        """Free all pages of a table."""
        self.tokens[table] = PAD
        self.free += table
        table.clear()

    def gather(self, tables: Int[Tensor, "batch page"]) -> ReadState:
        """Copy the pages of each text side by side, to a state that the model extends."""
        kept = self.kept[tables].flatten(1, 2)  # (batch, time, layers, heads, d_k + d_v)
        layers = kept.permute(2, 0, 3, 1, 4)
        past = tuple(KeyValues(*layer.split(self.widths, dim=-1)) for layer in layers)
        return ReadState(self.tokens[tables].flatten(1), past)

    def write(self, tables: Int[Tensor, "batch page"], state: ReadState, new: int) -> None:
        """Copy the last ``new`` columns of a state, none of them padding, to their cells."""
        t = positions_of(state.tokens)[:, -new:]  # (batch, new)
        page, cell = tables.gather(1, t // self.page_size), t % self.page_size
        self.tokens[page, cell] = state.tokens[:, -new:]
        for i, past in enumerate(cast(tuple[KeyValues, ...], state.past)):
            newest = torch.cat([past.keys, past.values], dim=-1)[:, :, -new:]
            self.kept[page, cell, i] = newest.transpose(1, 2)


@dataclass(eq=False)
class Request:
    """A source, and the answer to it as far as it is generated; or, without a source, a text."""

    src: list[int]
    most: int  # tokens after the first at which the answer ends, if not by ``EOS``
    answer: list[int]  # it begins with what is read first, BOS or the first token of a prompt
    table: list[int] = field(default_factory=list)  # of its pages; empty while it waits


class Engine:
    """Continuous batching: texts join and leave the batch at every step, by greedy search.

    If a text needs a page and none is free, the newest is preempted: it waits, and will be read
    anew (recomputation). The oldest always goes on, so every request is answered.

    Source: Yu et al. 2022, section 3; preemption: Kwon et al. 2023, section 4.5.
    """

    def __init__(self, model: LanguageModel, pages: int, page_size: int) -> None:
        self.model, self.cache = model, PagedCache(model, pages, page_size)
        self.waiting: list[Request] = []
        self.running: list[Request] = []  # both with the oldest first

    def submit(self, src: Sequence[int], extra_length: int = 50) -> Request:
        """Let a source wait for its answer, which has the limits of :func:`greedy`.

        To a model of texts without a source it is a prompt, which the answer begins with.

        Raises:
            InputError: if it is too long for the model, or for all pages together.
        """
        require_whole("extra_length", extra_length, 0)
        row = self._rows([src])
        prompt: list[int] = []
        if not self.model.config.has_source:
            prompt, row = row[row != PAD].tolist(), row.new_full((1, 1), PAD)
        limits = Limits(self.model, row, len(prompt) + extra_length, [prompt])
        most = int(limits.longest)
        require_whole("the room for an answer", most, 1)
        begun = [*limits.first.tolist(), *prompt[limits.given :]]
        request = Request(row[row != PAD].tolist(), most - limits.given, begun)
        cells = (len(self.cache.tokens) - 1) * self.cache.page_size
        require_whole("the length of a request", len(request.src) + most, 1, cells)
        self.waiting.append(request)
        return request

    def step(self) -> None:
        """Add a token to the answer of every text that runs, and let others join."""
        for request in list(self.running):
            while request in self.running and not self._has_room(request):
                self.cache.release(self.running[-1].table)
                self.waiting.insert(0, self.running.pop())
        with evaluating(self.model):
            while self.waiting and self._has_room(self.waiting[0]):
                self._prefill(self.waiting[0])
                self.running.append(self.waiting.pop(0))
            if self.running:
                self._decode()

    def _has_room(self, request: Request) -> bool:
        return self.cache.reserve(request.table, len(request.src) + len(request.answer))

    def _prefill(self, request: Request) -> None:
        state = self.model.start(self._rows([request.src]))
        if read := request.answer[:-1]:  # a prompt, or before it was preempted
            _, state = self.model.extend(state, self._rows([read]))
        self.cache.write(self._rows([request.table]), state, state.tokens.size(1))

    def _decode(self) -> None:
        tables = self._rows([request.table for request in self.running])
        newest = self._rows([request.answer[-1:] for request in self.running])
        logits, state = self.model.extend(self.cache.gather(tables), newest)
        chosen = next_log_probs(logits[:, 0], self.model.begin).argmax(dim=-1)
        self.cache.write(tables, state, 1)
        for request, token in zip(list(self.running), chosen.tolist(), strict=True):
            request.answer.append(token)
            if token in self.model.ends or len(request.answer) > request.most:
                self.cache.release(request.table)
                self.running.remove(request)

    def _rows(self, rows: Sequence[Sequence[int]]) -> Int[Tensor, "batch time"]:
        return pad(rows, self.cache.tokens.device)
