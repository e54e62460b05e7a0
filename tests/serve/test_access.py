"""Who is answered, who may order, and what a hostile request or page cannot do."""

import asyncio
from pathlib import Path

import pytest

from centime.model.errors import BadInput, BadSetting
from centime.serve.access import Access, Attempts, Tokens, add_token
from centime.serve.listening import WindowServer, check_place, place_of, served_crawls
from tests.crawl.report.made import ROOT
from tests.serve.asking import Answered, Asker, cookie_of

PAGE = "/c/museum/overview"


@pytest.fixture
def guarded(small_folder: Path, tmp_path: Path) -> tuple[Asker, str]:
    """A window that needs a token, and the token."""
    token = add_token(tmp_path / "tokens", "anna")
    return Asker({"museum": small_folder}, Tokens(tmp_path / "tokens")), token


def test_tokens_are_stored_as_hashes_in_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    first, second = add_token(path, "anna"), add_token(path, "bert")
    assert first.encode() not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    tokens = Tokens(path)
    assert (tokens.holder(first), tokens.holder(second), tokens.holder("x")) == ("anna", "bert", None)
    with pytest.raises(BadInput, match="already"):
        add_token(path, "anna")
    with pytest.raises(BadInput, match="letters"):
        add_token(path, "an na")


@pytest.mark.parametrize("text", ["", "# nothing\n", "anna sha256:12\n", "anna\n"])
def test_a_file_without_a_valid_token_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens").write_text(text)
    with pytest.raises(BadInput, match="tokens"):
        Tokens(tmp_path / "tokens")


def test_other_machines_are_not_listened_to_without_a_token(tmp_path: Path) -> None:
    check_place("127.0.0.1", None)
    check_place("::1", None)
    check_place("localhost", None)
    with pytest.raises(BadSetting, match="token"):
        check_place("0.0.0.0", None)
    add_token(tmp_path / "tokens", "anna")
    check_place("0.0.0.0", Tokens(tmp_path / "tokens"))


@pytest.mark.parametrize(
    ("text", "place"),
    [("8400", ("127.0.0.1", 8400)), ("0.0.0.0:80", ("0.0.0.0", 80)), ("[::1]:9", ("::1", 9)), (":7", ("127.0.0.1", 7))],
)
def test_a_place_to_listen_at_is_read(text: str, place: tuple[str, int]) -> None:
    assert place_of(text) == place


@pytest.mark.parametrize("text", ["", "host", "1:2:3", "localhost:99999", "[::1]"])
def test_a_wrong_place_to_listen_at_is_refused(text: str) -> None:
    with pytest.raises(BadSetting):
        place_of(text)


def test_crawls_with_the_same_name_get_different_ones(small_folder: Path, tmp_path: Path) -> None:
    other = tmp_path / small_folder.name
    other.symlink_to(small_folder)
    assert list(served_crawls([small_folder, other])) == [small_folder.name, f"{small_folder.name}-2"]
    with pytest.raises(BadInput, match="twice"):
        served_crawls([small_folder, small_folder])
    with pytest.raises(BadInput, match="no such folder"):
        served_crawls([tmp_path / "nothing"])


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8400", "127.0.0.1.evil.example", "", "10.0.0.1", "a b"])
def test_a_request_for_another_name_gets_nothing_so_that_dns_rebinding_fails(small: Asker, host: str) -> None:
    answered = small.get(PAGE, headers={"host": host})
    assert answered.status == 421
    assert b"museum" not in answered.body


@pytest.mark.parametrize("host", ["127.0.0.1:8400", "localhost", "[::1]:8400", "127.1.2.3"])
def test_a_request_for_this_machine_is_answered(small: Asker, host: str) -> None:
    assert small.get(PAGE, headers={"host": host}).status == 200


def test_with_tokens_nothing_is_shown_without_one(guarded: tuple[Asker, str]) -> None:
    asker, token = guarded
    for path in ("/", PAGE, "/c/museum/copy?url=x", "/c/museum/orders", "/c/museum/events", "/help"):
        answered = asker.get(path)
        assert (answered.status, answered.headers["location"][:7]) == (303, "/login?")
    for path in ("/api/v1/crawls", "/api/v1/openapi.json", "/metrics", "/api/v1/crawls/museum/events"):
        assert asker.get(path).status == 401
        assert asker.get(path, headers={"authorization": "Bearer wrong"}).status == 401
    assert asker.get("/api/v1/crawls", headers={"authorization": f"Bearer {token}"}).status == 200
    assert asker.get("/static/style.css").status == 200
    asker.close()


def test_a_browser_logs_in_with_its_token_and_out_again(guarded: tuple[Asker, str]) -> None:
    asker, token = guarded
    wrong = asker.post("/login", {"token": "wrong", "to": PAGE})
    assert (wrong.status, wrong.cookies) == (403, [])
    right = asker.post("/login", {"token": token, "to": PAGE})
    assert (right.status, right.headers["location"]) == (303, PAGE)
    assert all(word in right.cookies[0] for word in ("HttpOnly", "SameSite=strict"))
    assert token not in right.cookies[0]
    cookie = {"cookie": cookie_of(right)}
    assert asker.get(PAGE, headers=cookie).status == 200
    key = form_key(asker.get("/c/museum/orders", headers=cookie))
    assert asker.post("/logout", {"key": key}, headers=cookie).status == 303
    assert asker.get(PAGE, headers=cookie).status == 303
    asker.close()


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"])
def test_a_login_leads_to_no_other_site(guarded: tuple[Asker, str], to: str) -> None:
    asker, token = guarded
    assert asker.post("/login", {"token": token, "to": to}).headers["location"] == "/"
    assert "evil" not in asker.get("/login", to=to).text
    asker.close()


def test_too_many_wrong_tokens_are_answered_with_429_and_lock_out_nobody_who_has_a_right_one(
    guarded: tuple[Asker, str],
) -> None:
    asker, token = guarded
    session = {"cookie": cookie_of(asker.post("/login", {"token": token}))}
    wrong, right = {"authorization": "Bearer no"}, {"authorization": f"Bearer {token}"}
    refused = [asker.get("/api/v1/crawls", headers=wrong) for _ in range(12)]
    assert [one.status for one in refused] == [401] * 10 + [429] * 2
    assert 1 <= int(refused[-1].headers["retry-after"]) <= 60
    again = asker.post("/login", {"token": "no"})
    assert (again.status, "retry-after" in again.headers) == (429, True)
    assert asker.get("/api/v1/crawls", headers=right).status == 200
    assert asker.get(PAGE, headers=session).status == 200
    assert asker.post("/login", {"token": token}).status == 303
    assert asker.get("/login").status == 200
    asker.close()


def test_attempts_are_forgotten_after_their_time() -> None:
    now = [0.0]
    attempts = Attempts(2, 60.0, lambda: now[0])
    attempts.count("a")
    attempts.count("a")
    assert (attempts.wait("a"), attempts.wait("b")) == (60, 0)
    now[0] = 59.5
    assert attempts.wait("a") == 1
    now[0] = 61.0
    assert not attempts.wait("a")


def test_a_token_that_is_added_is_admitted_at_once_and_one_that_is_removed_ends_with_its_sessions(
    guarded: tuple[Asker, str], tmp_path: Path
) -> None:
    asker, anna = guarded
    path = tmp_path / "tokens"
    bert = add_token(path, "bert")
    annas = {"cookie": cookie_of(asker.post("/login", {"token": anna}))}
    berts = {"cookie": cookie_of(asker.post("/login", {"token": bert}))}
    assert asker.get(PAGE, headers=annas).status == asker.get(PAGE, headers=berts).status == 200
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if line.startswith("bert")))
    assert asker.get(PAGE, headers=annas).status == 303
    assert asker.get("/api/v1/crawls", headers={"authorization": f"Bearer {anna}"}).status == 401
    assert asker.get(PAGE, headers=berts).status == 200
    add_token(path, "anna")  # another token of the same name
    assert asker.get(PAGE, headers=annas).status == 303
    asker.close()


@pytest.mark.parametrize("damage", ["anna sha256:12\n", "", None])
def test_a_damaged_file_of_tokens_admits_nobody_says_so_and_admits_again_when_it_is_mended(
    tmp_path: Path, damage: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokens"
    token = add_token(path, "anna")
    access = Access(Tokens(path))
    before, cookie = path.read_text(), access.log_in(token)
    assert cookie is not None
    if damage is None:
        path.unlink()
    else:
        path.write_text(damage)
    assert access.visitor("", f"Bearer {token}") is None
    assert access.visitor(cookie, "") is None
    assert access.log_in(token) is None
    assert ["no request is accepted" in record.message for record in caplog.records] == [True]
    path.write_text(before)
    assert access.visitor("", f"Bearer {token}") is not None
    assert access.visitor(cookie, "") is not None


def test_two_windows_of_one_machine_have_cookies_of_their_own(small_folder: Path) -> None:
    names = set()
    for port in (8400, 8401):
        asker = Asker({"museum": small_folder}, port=port)
        names.add(cookie_of(asker.get("/c/museum/orders")).partition("=")[0])
        names.add(cookie_of(asker.get("/c/museum/changes", seen="yes")).partition("=")[0])
        asker.close()
    assert len(names) == 4


@pytest.mark.parametrize(
    ("believed", "headers", "client", "secure"),
    [
        (True, {"x-forwarded-for": "1.1.1.1, 2001:db8::7", "x-forwarded-proto": "https"}, "2001:db8::7", True),
        (True, {"x-forwarded-for": "1.1.1.1"}, "1.1.1.1", False),
        (True, {"x-forwarded-for": "1.1.1.1, <script>", "x-forwarded-proto": "gopher"}, "127.0.0.1", False),
        (True, {"x-forwarded-for": ""}, "127.0.0.1", False),
        (True, {}, "127.0.0.1", False),
        (False, {"x-forwarded-for": "1.1.1.1", "x-forwarded-proto": "https"}, "127.0.0.1", False),
    ],
)
def test_a_proxy_is_believed_only_if_it_is_said_to_be_there_and_only_its_own_word(
    small_folder: Path,
    tmp_path: Path,
    believed: bool,
    headers: dict[str, str],
    client: str,
    secure: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = add_token(tmp_path / "tokens", "anna")
    asker = Asker({"museum": small_folder}, Tokens(tmp_path / "tokens"), behind_proxy=believed)
    counted: list[str] = []
    monkeypatch.setattr(asker.window.access.failures, "count", counted.append)
    asker.get("/api/v1/crawls", headers=headers | {"authorization": "Bearer no"})
    assert counted == [client]
    assert ("Secure" in asker.post("/login", {"token": token}, headers=headers).cookies[0]) == secure
    asker.close()


def test_the_server_itself_believes_no_proxy(small_folder: Path) -> None:
    server = WindowServer(served_crawls([small_folder]), Access(None))
    assert not server.config.proxy_headers
    asyncio.run(server.window.close())


def test_a_session_ends_after_its_time(tmp_path: Path) -> None:
    token = add_token(tmp_path / "tokens", "anna")
    now = [0.0]
    access = Access(Tokens(tmp_path / "tokens"), lambda: now[0])
    cookie = access.log_in(token)
    assert cookie is not None
    assert access.visitor(cookie, "") is not None
    now[0] = 8 * 86_400.0
    assert access.visitor(cookie, "") is None


def form_key(answered: Answered) -> str:
    return answered.text.partition('name="key" value="')[2].partition('"')[0]


def test_an_order_needs_a_form_of_this_server_for_this_browser(small: Asker, small_folder: Path) -> None:
    page = small.get("/c/museum/orders")
    cookie, key = {"cookie": cookie_of(page)}, form_key(page)
    order = {"order": "set", "values": "rate=5/s"}
    other = cookie_of(small.get("/c/museum/orders"))
    assert small.post("/c/museum/orders", order, headers=cookie).status == 403
    assert small.post("/c/museum/orders", order | {"key": key}).status == 403
    assert small.post("/c/museum/orders", order | {"key": key}, headers={"cookie": other}).status == 403
    assert small.post("/c/museum/orders", order | {"key": "\u20ac"}, headers=cookie).status == 403
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}):
        assert small.post("/c/museum/orders", order | {"key": key}, headers=cookie | headers).status == 403
    assert not list((small_folder / "commands").glob("[0-9]*"))


def test_an_order_of_the_api_must_be_json_which_a_page_of_another_site_cannot_send(small: Asker) -> None:
    body = b'{"order": "set", "values": "rate=5/s"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answered = small.ask("POST", "/api/v1/crawls/museum/orders", headers={"content-type": kind}, body=body)
        assert answered.status == 415


def test_a_body_that_is_too_large_is_refused_before_and_while_it_is_read(small: Asker) -> None:
    path = "/api/v1/crawls/museum/orders"
    for length in ("99999999", "-1", "nonsense"):
        assert small.ask("POST", path, headers={"content-length": length}).status == 413
    lying = {"content-length": "10", "content-type": "application/json"}
    assert small.ask("POST", path, headers=lying, body=b"x" * (2 << 20)).status == 413


@pytest.mark.parametrize(
    "path",
    [
        "/static/../application.py",
        "/static/..%2fapplication.py",
        "/static//etc/passwd",
        "/c/../museum/pages",
        "/c/museum/../../etc/passwd",
        "/c/museum/copy?url=file:///etc/passwd",
        "/c/museum/copy?url=../../etc/passwd",
        "/c/museum/page?url=/etc/passwd",
    ],
)
def test_no_address_leads_to_a_file(small: Asker, path: str) -> None:
    answered = small.get(path)
    assert answered.status in (400, 404)
    assert b"root:" not in answered.body


def test_a_kept_copy_is_in_a_sandbox_of_an_opaque_origin_wherever_it_is_opened(copies: Asker) -> None:
    front = next(row["url"] for row in copies.get("/api/v1/crawls/kept/pages").json["rows"] if row["url"].endswith("/"))
    answered = copies.get("/c/kept/copy", url=front)
    policy = answered.headers["content-security-policy"]
    assert answered.headers["content-type"].startswith("text/html")
    assert b"<script>alert(1)</script>" in answered.body
    assert policy.startswith("sandbox; default-src 'none'")
    assert "allow-" not in policy
    assert "script-src" not in policy
    page = copies.get("/c/kept/page", url=front).text
    assert "<iframe" in page
    assert " sandbox " in page
    assert "allow-" not in page


def test_a_copy_that_is_not_html_is_plain_text_or_a_file_to_save(copies: Asker) -> None:
    base = copies.get("/api/v1/crawls/kept/pages").json["rows"][0]["host"]
    plain = copies.get("/c/kept/copy", url=f"{base}/plain")
    assert plain.headers["content-type"] == "text/plain; charset=utf-8"
    data = copies.get("/c/kept/copy", url=f"{base}/data")
    assert data.headers["content-type"] == "application/octet-stream"
    assert data.headers["content-disposition"].startswith("attachment")
    assert data.headers["x-content-type-options"] == "nosniff"


def test_scripts_in_titles_and_urls_are_text_on_every_page(copies: Asker) -> None:
    rows = copies.get("/api/v1/crawls/kept/pages").json["rows"]
    addresses = ["/c/kept/pages", "/c/kept/next", "/c/kept/changes?diff=true", "/c/kept/overview"]
    for path in addresses:
        assert "<script>alert" not in copies.get(path).text
    for row in rows:
        page = copies.get("/c/kept/page", url=row["url"]).text
        assert "<script>" not in page
    for name, value in (("url", "<script>alert(1)</script>"), ("match", '"><script>'), ("words", "<script>")):
        for path in ("next", "pages", "page", "search", "changes", "hosts"):
            assert "<script>" not in copies.get(f"/c/kept/{path}", **{name: value}).text


def test_marks_that_reorder_text_are_shown_and_do_not_act() -> None:
    from centime.serve.rendering import outside, text

    assert text("a\u202eb") == "a\\u202eb"
    assert "href" not in outside("javascript:alert(1)")


def test_an_unknown_url_is_looked_up_and_nothing_else(small: Asker) -> None:
    assert small.get("/c/museum/page", url=ROOT).status == 200
    assert small.get("/c/museum/page", url="http://169.254.169.254/").status == 404
