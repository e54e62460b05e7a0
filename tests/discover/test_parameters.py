import pytest

from centime.discover.parameters import without_readers, without_session


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("a=1&utm_source=x&b=2", "a=1&b=2"),
        ("UTM_Campaign=x", ""),
        ("fbclid", ""),
        ("a=1&&b=2&", "a=1&b=2"),
        ("myutm_source=x", "myutm_source=x"),
        ("PHPSESSID=abc&x=1", "x=1"),
        ("sid=0123456789abcdef", ""),
        ("sid=abcdefghijklmnopq", "sid=abcdefghijklmnopq"),
        ("sid=12", "sid=12"),
        ("gclid2=x", "gclid2=x"),
        ("b=2&a=1", "b=2&a=1"),
        ("_ga=1.2&c=%20", "c=%20"),
    ],
)
def test_parameters_about_the_reader_are_removed_and_no_others(query: str, rest: str) -> None:
    assert without_readers(query) == rest


@pytest.mark.parametrize(
    ("path", "rest"),
    [
        ("/a;jsessionid=12/b", "/a/b"),
        ("/a;v=1;JSESSIONID=12", "/a;v=1"),
        ("/(S(abcdefghijklmnopqrstuvwx))/b", "/b"),
        ("/(S(short))/b", "/(S(short))/b"),
        ("/a;b=c", "/a;b=c"),
    ],
)
def test_sessions_are_removed_from_paths(path: str, rest: str) -> None:
    assert without_session(path) == rest
