from centime.change.reading import Verdict
from centime.lab.webbox.noise import noise
from tests.change.reads import Host, page


def test_a_crawler_learns_the_noise_of_a_box_and_sees_a_change_beside_it() -> None:
    host, requests = Host(), iter(range(100_000))

    def write(content: str) -> str:
        return page(content) + noise(next(requests)).decode()

    verdicts = [[host.read(number, lambda: write("opens at 10:00")) for number in range(8)] for _ in range(12)]
    assert set(verdicts[-1]) == {Verdict.VOLATILE}
    assert sum(row.count(Verdict.CHANGED) for row in verdicts) <= 12
    assert host.read(3, lambda: write("opens at 09:00")) is Verdict.CHANGED
