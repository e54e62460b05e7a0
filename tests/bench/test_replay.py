"""The comparisons of the replay benchmark find what is missing."""

from bench.replay import _compared, _missing
from bench.replay_browser import Loaded, sample
from centime.store.archives.url_key import url_key

LIVE, SERVED = "http://127.0.0.1:1", "http://127.0.0.1:2"


def test_what_a_program_got_and_the_archive_lacks_is_missing() -> None:
    held = {url_key(f"{LIVE}/a.png"), url_key(f"{LIVE}/b.css?v=1")}
    asked = {"/a.png": 200, "/b.css?v=1": 200, "/c.js": 200, "/gone": 404, "/robots.txt": 200}
    figures = list(_compared("x", LIVE, asked, held, 0))
    assert [figure.value for figure in figures] == [3, 2, 1]
    assert [figure.kept for figure in figures] == [None, None, False]


def test_what_a_replay_lacks_loses_or_asks_for_elsewhere_is_counted() -> None:
    live = Loaded(f"{LIVE}/", {f"{LIVE}/": 200, f"{LIVE}/a.png": 200, f"{LIVE}/gone": 404, f"{LIVE}/b.js": 200}, True)
    fine = {f"{SERVED}/docs/mp_/{url}": status for url, status in live.asked.items()} | {f"{SERVED}/static/w.js": 200}
    replayed = [figure.value for figure in _missing([live], [Loaded("", fine, True)], SERVED, LIVE)]
    assert replayed == [1, 4, 3, 0, 0, 0]
    broken = {f"{SERVED}/docs/{LIVE}/": 200, f"{SERVED}/docs/2026im_/{LIVE[5:]}/a.png": 404, f"{SERVED}/b.js": 404}
    figures = list(_missing([live], [Loaded("", broken, False)], SERVED, LIVE))
    assert [figure.value for figure in figures] == [0, 2, 3, 1, 1, 1]
    assert [figure.kept for figure in figures] == [False, None, None, False, False, False]


def test_a_sample_is_spread_over_all() -> None:
    assert sample([str(number) for number in range(100)], 4) == ["0", "25", "50", "75"]
    assert sample(["a", "b"], 5) == ["a", "b"]
