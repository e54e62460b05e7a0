from typing import Any

import pytest

from centime.fetch.settings import FetchSettings
from centime.model.errors import BadSetting


@pytest.mark.parametrize(
    ("agent", "product"),
    [
        ("centime/0.1 (+https://example.org/bot)", "centime"),
        ("MyBot", "mybot"),
        ("My-Bot_2/1.0", "my-bot_2"),
        ("Mozilla/5.0 (compatible; Centime/0.1; +https://example.org)", "centime"),
    ],
)
def test_the_robot_is_called_by_its_product_token(agent: str, product: str) -> None:
    assert FetchSettings(user_agent=agent).product == product


@pytest.mark.parametrize(
    "bad",
    [
        {"user_agent": ""},
        {"user_agent": "bot\r\nX: y"},
        {"user_agent": "böt"},
        {"user_agent": "(x)"},
        {"delay_seconds": -1.0},
        {"delay_seconds": float("nan")},
        {"address_delay_seconds": -1.0},
        {"address_delay_seconds": float("nan")},
        {"total_seconds": 0.0},
        {"connections": 0},
        {"most_body_bytes": 0},
        {"allow_networks": ("ten",)},
        {"resolve": (("a.test", "elsewhere"),)},
    ],
)
def test_what_cannot_be_meant_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(BadSetting):
        FetchSettings(**bad).check()
