import pytest

from centime.store.archives.url_key import url_key

SESSION = "0123456789abcdefghijklemopqrstuv"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.archive.org/", "org,archive)/"),
        ("https://archive.org", "org,archive)/"),
        ("http://www34.archive.org/Index.HTML?B=a&b=b&A=b", "org,archive)/index.html?a=b&b=a&b=b"),
        ("http://www2foo.com/", "com,www2foo)/"),
        ("http://archive.org/goo/", "org,archive)/goo"),
        ("http://archive.org/goo/?", "org,archive)/goo"),
        ("http://archive.org/goo/?b&a", "org,archive)/goo?a&b"),
        ("http://archive.org/goo/?a=2&b&a=1", "org,archive)/goo?a=1&a=2&b"),
        ("http://archive.org/goo?a=1&", "org,archive)/goo?&a=1"),
        ("http://www.archive.org:80/", "org,archive)/"),
        ("https://www.archive.org:80/", "org,archive:80)/"),
        ("http://user:secret@archive.org:8080/#part", "org,archive:8080)/"),
        ("http://host.com//two///slashes?more//slashes", "com,host)/two/slashes?more//slashes"),
        ("http://host/%25%32%35", "host)/%25"),
        ("http://host.com/ab%23cd", "com,host)/ab%23cd"),
        ("http://host.com/%C3%84", "com,host)/%c3%84"),
        ("http://host.com/a%2Fb/%2e%2e/c", "com,host)/a/c"),
        ("http://127.0.0.5:8800/x", "5,0,0,127:8800)/x"),
        (
            f"http://archive.org/index.php?PHPSESSID={SESSION}&action=profile;u=4221",
            "org,archive)/index.php?action=profile;u=4221",
        ),
        (f"http://archive.org/?one=two&jsessionid={SESSION}&x=y", "org,archive)/?one=two&x=y"),
        ("http://archive.org/?CFID=1169580&CFTOKEN=48630702&dt=22", "org,archive)/?dt=22"),
        ("http://archive.org/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx", "org,archive)/mileg.aspx"),
        ("http://archive.org/(4hqa0555fwsecu455xqckv45)/mileg.aspx", "org,archive)/mileg.aspx"),
    ],
)
def test_keys_are_those_that_web_archives_look_up(url: str, key: str) -> None:
    assert url_key(url) == key
