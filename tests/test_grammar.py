"""Sentences written by hand, English and Korean, that the rules of the grammar must produce."""

import pytest

from annotated_transformer.toy import pair
from annotated_transformer.toy.clauses import (
    action,
    because,
    both,
    fused,
    given,
    identity,
    if_,
    relative,
    state,
    statement,
    that,
)
from annotated_transformer.toy.lexicon import ADJECTIVES, NOUNS, VERBS
from annotated_transformer.toy.morphology import Token
from annotated_transformer.toy.nominals import (
    ITSELF,
    PRONOUNS,
    coordinate,
    located,
    marked,
    noun_phrase,
)
from annotated_transformer.toy.phrases import Phrase, join, nest, word

me, he, she, we, they, it = (PRONOUNS[name] for name in ("I", "he", "she", "we", "they", "it"))


def a(name, **options):
    return noun_phrase(NOUNS[name], "a", **options)


def the(name, **options):
    return noun_phrase(NOUNS[name], "the", **options)


def do(verb, thing=None, to=None, place=None, **auxiliaries):
    complements = [marked(thing, "OBJECT")] if thing else []
    complements += [marked(to, "TO", "to")] if to else []
    complements += [marked(place, "IN", "in")] if place else []
    return action(VERBS[verb], *complements, **auxiliaries)


def say(verb, subject, predicate, **auxiliaries):
    return action(VERBS[verb], that(subject, predicate), **auxiliaries)


def adjective(name):
    return ADJECTIVES[name]


SENTENCES = [
    # be
    (
        statement(me, identity(a("student"))),
        "I am a student",
        "나 는 학생 이다",
    ),
    (
        statement(she, identity(a("doctor"), negated=True)),
        "she is not a doctor",
        "그녀 는 의사 가 아니 다",
    ),
    (
        statement(we, identity(noun_phrase(NOUNS["farmer"], "", plural=True, counted=False))),
        "we are farmers",
        "우리 는 농부 이다",
    ),
    (
        statement(the("apple"), state(adjective("sweet"), very=True)),
        "the apple is very sweet",
        "사과 는 매우 달 다",
    ),
    (
        statement(the("house"), state(adjective("big"), negated=True)),
        "the house is not big",
        "집 은 크 지 않 다",
    ),
    # verbs and their auxiliaries
    (
        statement(the("bird"), do("sleep")),
        "the bird sleeps",
        "새 는 자 ㄴ다",
    ),
    (
        statement(they, do("sleep", negated=True)),
        "they do not sleep",
        "그들 은 자 지 않 는다",
    ),
    (
        statement(the("dog", plural=True), do("see", the("cat"))),
        "the dogs see the cat",
        "개 들 은 고양이 를 보 ㄴ다",
    ),
    (
        statement(a("rabbit"), do("eat", a("apple"))),
        "a rabbit eats an apple",
        "토끼 는 사과 를 먹 는다",
    ),
    (
        statement(he, do("love", me, negated=True)),
        "he does not love me",
        "그 는 나 를 사랑하 지 않 는다",
    ),
    (
        statement(she, do("love", the("king"), modal="must")),
        "she must love the king",
        "그녀 는 왕 을 사랑하 여야 하 ㄴ다",
    ),
    (
        statement(the("robot"), do("protect", they, modal="must")),
        "the robot must protect them",
        "로봇 은 그들 을 지키 어야 하 ㄴ다",
    ),
    (
        statement(we, do("sell", the("book"), modal="must", negated=True)),
        "we must not sell the book",
        "우리 는 책 을 팔 지 말 아야 하 ㄴ다",
    ),
    (
        statement(me, do("make", it, modal="can")),
        "I can make it",
        "나 는 그것 을 만들 ㄹ 수 있 다",
    ),
    (
        statement(the("child"), do("read", the("letter"), modal="can", negated=True)),
        "the child cannot read the letter",
        "아이 는 편지 를 읽 을 수 없 다",
    ),
    # receivers and places
    (
        statement(he, do("give", the("ball"), to=the("child"))),
        "he gives the ball to the child",
        "그 는 아이 에게 공 을 주 ㄴ다",
    ),
    (
        statement(the("girl"), do("show", the("picture"), to=she, modal="must")),
        "the girl must show the picture to her",
        "소녀 는 그녀 에게 그림 을 보여주 어야 하 ㄴ다",
    ),
    (
        statement(the("man"), do("buy", the("cake"), place=the("store"))),
        "the man buys the cake in the store",
        "남자 는 가게 에서 케이크 를 사 ㄴ다",
    ),
    # noun phrases
    (
        statement(
            noun_phrase(NOUNS["dog"], "my", adjective=ADJECTIVES["small"]),
            do("see", the("tree", adjective=ADJECTIVES["big"])),
        ),
        "my small dog sees the big tree",
        "내 작 은 개 는 크 ㄴ 나무 를 보 ㄴ다",
    ),
    (
        statement(
            noun_phrase(NOUNS["student"], "every"),
            do("obey", a("order", adjective=ADJECTIVES["important"], very=True)),
        ),
        "every student obeys a very important order",
        "모든 학생 은 매우 중요하 ㄴ 명령 을 따르 ㄴ다",
    ),
    (
        statement(coordinate(the("dog"), the("bear"), the("cat")), do("cry")),
        "the dog and the bear and the cat cry",
        "개 와 곰 과 고양이 는 울 ㄴ다",
    ),
    (
        statement(me, do("see", located(the("cat"), "on", the("table")))),
        "I see the cat on the table",
        "나 는 탁자 위 의 고양이 를 보 ㄴ다",
    ),
    (
        statement(
            located(the("bed"), "behind", located(the("tree"), "beside", the("school"))),
            state(adjective("small")),
        ),
        "the bed behind the tree beside the school is small",
        "학교 옆 의 나무 뒤 의 침대 는 작 다",
    ),
    # relative clauses
    (
        statement(relative(the("dog"), do("see", the("cat"))), do("play")),
        "the dog that sees the cat plays",
        "고양이 를 보 는 개 는 놀 ㄴ다",
    ),
    (
        statement(relative(the("dog"), do("see"), the("cat")), do("run")),
        "the dog that the cat sees runs",
        "고양이 가 보 는 개 는 달리 ㄴ다",
    ),
    (
        statement(he, do("eat", relative(the("melon"), do("sell", negated=True), me))),
        "he eats the melon that I do not sell",
        "그 는 내 가 팔 지 않 는 멜론 을 먹 는다",
    ),
    (
        statement(
            relative(the("cake"), do("give", to=the("child"), modal="can"), she),
            state(adjective("good")),
        ),
        "the cake that she can give to the child is good",
        "그녀 가 아이 에게 주 ㄹ 수 있 는 케이크 는 좋 다",
    ),
    (
        statement(me, do("like", relative(the("man"), identity(a("poet"))))),
        "I like the man who is a poet",
        "나 는 시인 인 남자 를 좋아하 ㄴ다",
    ),
    (
        statement(
            relative(the("boy"), identity(a("king"), negated=True)),
            do("obey", the("law"), modal="must"),
        ),
        "the boy who is not a king must obey the law",
        "왕 이 아니 ㄴ 소년 은 법 을 따르 아야 하 ㄴ다",
    ),
    (
        statement(we, do("like", relative(the("park"), state(adjective("quiet"), negated=True)))),
        "we like the park that is not quiet",
        "우리 는 조용하 지 않 은 공원 을 좋아하 ㄴ다",
    ),
    (
        statement(a("robot"), do("obey", given(the("order", plural=True), ITSELF), modal="must")),
        "a robot must obey the orders given it",
        "로봇 은 자신 에게 주어지 ㄴ 명령 을 따르 아야 하 ㄴ다",
    ),
    # clauses in clauses
    (
        statement(me, say("think", he, do("write", a("book")))),
        "I think that he writes a book",
        "나 는 그 가 책 을 쓰 ㄴ다고 생각하 ㄴ다",
    ),
    (
        statement(they, say("say", me, identity(a("doctor")), negated=True)),
        "they do not say that I am a doctor",
        "그들 은 내 가 의사 라고 말하 지 않 는다",
    ),
    (
        statement(she, say("believe", he, identity(a("student")))),
        "she believes that he is a student",
        "그녀 는 그 가 학생 이라고 믿 는다",
    ),
    (
        statement(
            the("woman"),
            say("say", the("boy"), say("think", the("bear"), do("chase", the("rabbit")))),
        ),
        "the woman says that the boy thinks that the bear chases the rabbit",
        "여자 는 소년 이 곰 이 토끼 를 쫓 는다고 생각하 ㄴ다고 말하 ㄴ다",
    ),
    (
        statement(the("tiger"), both(do("run"), do("catch", the("bird"), negated=True))),
        "the tiger runs and does not catch the bird",
        "호랑이 는 달리 고 새 를 잡 지 않 는다",
    ),
    (
        because(statement(the("poet"), do("laugh")), the("king"), state(adjective("happy"))),
        "the poet laughs because the king is happy",
        "왕 이 행복하 기 때문에 시인 은 웃 는다",
    ),
    (
        if_(statement(the("child"), do("cry")), me, do("eat", the("cake"))),
        "the child cries if I eat the cake",
        "내 가 케이크 를 먹 으면 아이 는 울 ㄴ다",
    ),
    (
        if_(statement(he, do("help", we)), she, identity(a("friend"))),
        "he helps us if she is a friend",
        "그녀 가 친구 이면 그 는 우리 를 도와주 ㄴ다",
    ),
]


@pytest.mark.parametrize(("phrase", "english", "korean"), SENTENCES)
def test_sentences(phrase, english, korean):
    made = pair(fused(phrase))
    assert " ".join(made.src) == english
    assert " ".join(made.tgt) == korean


def links(phrase):
    """Links as text, in the order of the Korean."""
    made = pair(fused(phrase))
    return " ".join(
        f"{made.tgt[j]}-{made.src[i]}" for i, j in sorted(made.alignment, key=lambda p: p[::-1])
    )


ALIGNMENTS = [
    (statement(me, identity(a("student"))), "나-I 학생-student 이다-am"),
    (
        statement(a("robot"), do("obey", given(the("order", plural=True), ITSELF), modal="must")),
        "로봇-robot 자신-it 주어지-given ㄴ-given 명령-orders 따르-obey 아야-must 하-must",
    ),
    (
        statement(she, identity(a("doctor"), negated=True)),
        "그녀-she 의사-doctor 아니-is 아니-not",
    ),
    (
        statement(the("dog", plural=True), do("see", it, modal="can", negated=True)),
        "개-dogs 들-dogs 그것-it 보-see ㄹ-cannot 수-cannot 없-cannot",
    ),
    (
        statement(me, say("think", he, identity(a("doctor")))),
        "나-I 그-he 의사-doctor 라고-that 라고-is 생각하-think",
    ),
    (
        statement(he, do("give", the("ball"), to=coordinate(the("boy"), the("girl")))),
        "그-he 소년-boy 과-and 소녀-girl 에게-to 공-ball 주-gives",
    ),
    (
        statement(
            relative(located(the("dog"), "on", the("bed")), do("see"), she),
            both(do("sleep"), do("run", place=the("park"), negated=True)),
        ),
        "그녀-she 보-sees 는-that 침대-bed 위-on 개-dog 자-sleeps 고-and "
        "공원-park 에서-in 달리-run 지-not 않-not",
    ),
    (
        because(statement(he, do("cry")), she, state(adjective("sad"), very=True)),
        "그녀-she 매우-very 슬프-sad 기-because 때문에-because 그-he 울-cries",
    ),
]


@pytest.mark.parametrize(("phrase", "expected"), ALIGNMENTS)
def test_alignments(phrase, expected):
    assert links(phrase) == expected


def test_depth_counts_clauses_and_prepositional_phrases():
    flat = do("give", the("ball"), to=the("child"), place=the("school"))
    on = located(the("cat"), "on", the("table"))
    assert statement(he, flat).depth == 0
    assert statement(on, flat).depth == 1
    assert statement(he, say("say", on, flat)).depth == 2
    assert if_(statement(he, flat), relative(the("dog"), do("see", on)), flat).depth == 3
    assert statement(relative(the("cat"), do("see"), he), do("see", on)).depth == 1


def test_join_orders_each_side_on_its_own():
    # One letter a word, so that the two sides spell the order.
    x, y, z = (word(letter, "", Token(letter.upper(), "")) for letter in "xyz")
    for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        joined = join(x, y, nest(z), korean=order)
        assert "".join(form for form, _ in joined.src) == "xyz"
        assert [form for form, _ in joined.tgt] == ["XYZ"[number] for number in order]
        assert all(joined.src[i][0].upper() == joined.tgt[j][0] for i, j in joined.links)
        assert len(joined.links) == 3
        assert joined.depth == 1
    assert join(x, Phrase()) == x
