from xml.etree import ElementTree as ET

import pytest

import elsinore.quantitative as qre
from elsinore.errors import ElsinoreError

B, M, E, D = (qre.event(name) for name in "BMED")
EPISODE = qre.split(qre.atom(B), qre.iterate(qre.atom(M), qre.count()), qre.atom(E), qre.right)
QUERY = qre.filter(M.val > 3) >> qre.sliding(qre.atom(), 2, qre.sum())


def test_the_tree_shows_each_node_with_its_rate() -> None:
    assert EPISODE.explain().splitlines()[:2] == ["split(right): B M* E", "├─ atom(B): B"]
    assert "│  └─ atom(M): M" in EPISODE.explain()


def test_the_text_names_stages_and_the_algorithm_of_a_window() -> None:
    text = QUERY.explain()
    assert ">> stage 2" in text
    assert "sliding(2, sum) (two stacks): any+" in text


def test_there_is_a_warning_for_a_rate_that_never_matches() -> None:
    never = qre.atom(qre.predicate((M.v > 5) & (M.v < 3), "odd"))
    assert never.explain().splitlines()[-1].startswith("warning: the rate odd never matches")


def test_pictures_contain_every_node() -> None:
    picture = ET.fromstring(EPISODE.explain("svg"))
    classes = [element.get("class") for element in picture.iter()]
    assert (classes.count("node"), classes.count("edge")) == (5, 4)
    assert EPISODE.explain("mermaid").count('["') == 5
    assert "#gt;" in QUERY.explain("mermaid")
    stages = ET.fromstring(QUERY.explain("svg"))
    texts = [(element.text or "").replace("\xa0", " ") for element in stages.iter()]
    assert {">>", "sliding(2, sum) (two stacks)", "any* (M.val > 3)"} <= set(texts)


def test_the_representation_of_a_query_contains_its_rate() -> None:
    assert repr(qre.atom(M, len)) == "<atom(M, len): M>"
    assert repr(QUERY).count(" >> <sliding") == 1


def test_the_error_for_an_unknown_format_suggests_the_nearest() -> None:
    with pytest.raises(ElsinoreError, match="Did you mean 'mermaid'"):
        QUERY.explain("mermade")


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        (qre.match(B.plus()), ["match(B+): B+"]),
        (qre.filter(M), ["filter(M): any* M"]),
        (qre.map(len), ["map(len): any+"]),
        (qre.iterate(qre.atom(M), qre.count()), ["iterate(count): M*", "└─ atom(M): M"]),
        (qre.iterate1(qre.atom(M), qre.mean()), ["iterate1(mean): M+", "└─ atom(M): M"]),
        (qre.iterate1(qre.atom(M), 0, max), ["iterate1(0, max): M+", "└─ atom(M): M"]),
        (qre.iterate_n(qre.atom(M), 2, qre.top(1)), ["iterate_n(2, top(1)): M M", "└─ atom(M): M"]),
        (qre.iter_last(qre.atom(M)), ["iter_last: M+", "└─ atom(M): M"]),
        (qre.tumbling(qre.atom(M), 2, qre.sum()), ["tumbling(2, sum): (M M)+", "└─ atom(M): M"]),
        (
            qre.count_in_window(qre.atom(M), 9, bool),
            ["count_in_window(9, bool) (the oldest value is taken out): M+", "└─ atom(M): M"],
        ),
    ],
)
def test_a_derived_form_is_shown_by_its_name_alone(query: qre.Query, tree: list[str]) -> None:
    assert query.explain().splitlines() == tree
