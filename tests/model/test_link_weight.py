import pytest

from centime.model.errors import BadSetting
from centime.model.link_weight import KINDS, LinkWeights, link_weights


def test_a_text_and_a_mapping_give_the_same_weights() -> None:
    expected = LinkWeights(internal=0.3, external=1.0)
    assert link_weights(" internal = 0.3,external=1") == expected
    assert link_weights({"internal": 0.3, "external": 1}) == expected
    assert [expected.of(kind) for kind in KINDS] == [0.3, 1.0, 1.0, 1.0, 1.0]
    assert expected.of("nofollow", 0.0) == 0.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("internal", "a kind and a number"),
        ("inward=1", "unknown kind of link 'inward'"),
        ("internal=1,internal=2", "given twice"),
        ("internal=much", "must be a number"),
        ({"internal": None}, "must be a number"),
        ("internal=-1", "zero or more"),
        ("internal=nan", "finite"),
    ],
)
def test_what_is_no_weight_is_refused(given: str, said: str) -> None:
    with pytest.raises(BadSetting, match=said):
        link_weights(given)
