"""The model of lesson 25, as its page trains it: it tells the story that it is asked for."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.tokens import PAD
from annotated_transformer.toy import story_fault, toy_stories

SPECIAL = ["<pad>", "<start>", "<end>", "<user>", "<assistant>"]
END, ASSISTANT = SPECIAL.index("<end>"), SPECIAL.index("<assistant>")

Message = dict[str, str]
Example = tuple[list[int], list[int]]
"""What is read, and the label at each position: the next token, or −100 if none counts."""


def parts(story: str) -> tuple[str, str, str]:
    """Split a story into what is told, the question and its answer."""
    told, _, end = story.removesuffix(" .").rpartition(" . ")
    question, _, answer = end.partition(" ? ")
    return f"{told} .", f"{question} ?", f"{answer} ."


def mood(told: str) -> str:
    """Say how a story ends."""
    return "sad" if told.split()[-2] in ("sad", "cries") else "happy"


def request(told: str) -> str:
    """Write the request for a story in which one hero looks for a thing; others have none."""
    words = told.removeprefix("one day ").split()
    who = f"the {words[2]}" if words[0] in ("a", "an") else words[0]
    sought = told.partition(" looks for ")[2].split()  # "some milk . then ..."
    return f"tell a {mood(told)} story about {who} and the {sought[1]} ." if sought else ""


def fits(told: str, wish: str) -> bool:
    """Whether a story holds together, and its mood, hero and thing are those of a request."""
    who, thing = wish[:-2].partition("about ")[2].split(" and ")
    fault = story_fault(f"{told} what does {who} look for ? {thing} .")
    return not fault and f"a {mood(told)} story" in wish


def dialogue(story: str) -> list[Message]:
    """Make a conversation of a story: the request, the story, its question and the answer."""
    told, question, answer = parts(story)
    contents = [request(told), told, question, answer]
    roles = ["user", "assistant"] * 2
    return [{"role": r, "content": c} for r, c in zip(roles, contents, strict=True)]


def chat_template(messages: Sequence[Message], add_generation_prompt: bool = False) -> list[str]:
    """Write a conversation as one text; for an answer it ends in ``<assistant>``."""
    text = ["<start>"]
    for message in messages:
        text += [f"<{message['role']}>", *message["content"].split(), "<end>"]
    return [*text, "<assistant>"] if add_generation_prompt else text


def answers_only(ids: list[int]) -> Example:
    """Return what is read, and the labels: those of the answers and of their ``<end>``."""
    labels, counts = [], False
    for token in ids:
        labels.append(token if counts else -100)
        counts = (counts or token == ASSISTANT) and token != END
    return ids[:-1], labels[1:]


@dataclass(frozen=True)
class Storyteller:
    """Stories, requests for them, and one vocabulary."""

    stories: list[str]
    words: list[str]

    @classmethod
    @cache
    def make(cls) -> "Storyteller":
        """Make 10,500 stories, of which the last 500 are for tests."""
        stories = toy_stories(10_500)
        found = {word for s in stories for word in f"{s} {request(parts(s)[0])}".split()}
        return cls(stories, SPECIAL + sorted(found))

    def ids(self, words: Sequence[str]) -> list[int]:
        """Convert words to ids."""
        return [self.words.index(word) for word in words]

    def build(self) -> LanguageModel:
        """Build an untrained language model."""
        sizes: Any = {"d_model": 64, "num_layers": 3, "num_heads": 4, "d_ff": 256}
        changes: Any = {"dropout": 0.0, "norm_position": "pre", "max_length": 160}
        number = len(self.words)
        config = LanguageModelConfig(number, number, **sizes, **changes, has_source=False)
        return LanguageModel(config)

    def asked(self, stories: Sequence[str]) -> list[str]:
        """Return those stories for which there is a request."""
        return [story for story in stories if request(parts(story)[0])]

    def plain(self, dice: random.Random) -> list[Example]:
        """Write what is read in pretraining: stories, and lists of four requests each."""
        asked = self.asked(self.stories[:10_000])
        wishes = [request(parts(story)[0]) for story in asked]
        lists = [" ".join(dice.sample(wishes, 4)) for _ in range(1500)]
        rows = [self.ids(["<start>", *t.split(), "<end>"]) for t in self.stories[:10_000] + lists]
        return [(row[:-1], row[1:]) for row in rows]

    def answers(self, model: LanguageModel, prompts: Sequence[list[str]]) -> list[str]:
        """Continue every prompt by its most probable words, up to ``<end>``."""
        rows = [torch.tensor(self.ids(prompt)) for prompt in prompts]
        read, new = pad_sequence(rows, batch_first=True, padding_side="left"), []
        with torch.no_grad():
            logits, state = model.extend(model.empty(len(read)), read)
            for _ in range(70):
                new.append(logits[:, -1].argmax(dim=-1, keepdim=True))
                logits, state = model.extend(state, new[-1])
        texts = [" ".join(self.words[i] for i in row) for row in torch.cat(new, dim=1).tolist()]
        return [text.split(" <end>")[0] for text in texts]

    def tell(self, model: LanguageModel, wishes: Sequence[str]) -> list[str]:
        """Ask for stories."""
        prompts = [chat_template([{"role": "user", "content": w}], True) for w in wishes]
        return self.answers(model, prompts)


def loss_of(model: LanguageModel, examples: Sequence[Example]) -> Tensor:
    """Compute the mean cross-entropy over the labels that count."""
    texts, labels = ([torch.tensor(row) for row in rows] for rows in zip(*examples, strict=True))
    logits = model(pad_sequence(texts, batch_first=True, padding_value=PAD))
    return F.cross_entropy(logits.mT, pad_sequence(labels, batch_first=True, padding_value=-100))


def train(
    model: LanguageModel, draw: Callable[[], Sequence[Example]], steps: int, rate: float = 4e-3
) -> None:
    """Train as the page does, on the batches that are drawn."""
    adam = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, rate, steps)
    for _ in range(steps):
        loss: Any = loss_of(model, draw())
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()


@cache
def pretrained(seed: int = 0) -> dict[str, Tensor]:
    """Pretrain a model for 1,000 steps; return its weights."""
    torch.manual_seed(seed)
    task, dice = Storyteller.make(), random.Random(seed)
    model, texts = task.build(), task.plain(dice)
    train(model, lambda: dice.sample(texts, 16), 1000)
    return {name: weight.clone() for name, weight in model.state_dict().items()}


def conversations(seed: int = 0, number: int = 200) -> list[list[Message]]:
    """Draw the conversations of fine-tuning."""
    task = Storyteller.make()
    return [*map(dialogue, random.Random(seed).sample(task.asked(task.stories[:10_000]), number))]


def new_stories(few: Sequence[list[Message]]) -> list[str]:
    """Return 100 stories for tests, whose hero and thing no conversation brings together."""
    task = Storyteller.make()
    known = {talk[0]["content"].partition("about ")[2] for talk in few}
    asked = task.asked(task.stories[10_000:])
    return [s for s in asked if request(parts(s)[0]).partition("about ")[2] not in known][:100]


def tune(model: LanguageModel, few: Sequence[list[Message]], seed: int = 0) -> None:
    """Fine-tune a model for 200 steps on the answers of conversations."""
    task, dice = Storyteller.make(), random.Random(seed)
    examples = [answers_only(task.ids(chat_template(talk))) for talk in few]
    train(model, lambda: dice.sample(examples, 16), 200)
