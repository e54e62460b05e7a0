"""What `cluster.json` says is refused if it contradicts itself, with the way to get another one."""

import json
from pathlib import Path
from typing import Any

import pytest

from centime.cluster.folder import About, decode_about, encode_about, refuse_headless
from centime.cluster.opening import check_any_folder
from centime.model.errors import BadInput, DamagedFile

RIGHT: dict[str, Any] = json.loads(encode_about(About(partitions=3, created=1.0, incarnations=[1, 2, 3])))


@pytest.mark.parametrize(
    "wrong",
    [
        {"partitions": 4},
        {"partitions": -1},
        {"partitions": 99_999_999},
        {"incarnations": [1]},
        {"incarnations": [1, 2, -3]},
        {"homes": ["a"]},
        {"copies": ["a", "b", "c", "d"]},
        {"replicas": 7},
        {"seeds": 1},
    ],
)
def test_what_contradicts_itself_is_damaged(wrong: dict[str, Any]) -> None:
    assert decode_about(json.dumps(RIGHT).encode(), Path("cluster.json")).partitions == 3
    with pytest.raises(DamagedFile, match=r"cluster.json: .* centime cluster recover"):
        decode_about(json.dumps(RIGHT | wrong).encode(), Path("cluster.json"))


def test_partitions_without_their_file_are_no_new_crawl(tmp_path: Path) -> None:
    (tmp_path / "partitions" / "00").mkdir(parents=True)
    refuse_headless(tmp_path)
    (tmp_path / "partitions" / "00" / "centime.json").write_text("{}")
    for refusing in (refuse_headless, check_any_folder):
        with pytest.raises(BadInput, match=r"cluster.json is missing, .* restore it from a backup"):
            refusing(tmp_path)
    (tmp_path / "cluster.json").write_text("{}")
    refuse_headless(tmp_path)
