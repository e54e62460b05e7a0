import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from centime.model.spreadsheet import FORMULAS, csv_lines

CELLS = st.none() | st.integers() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@given(st.lists(st.fixed_dictionaries({"a": CELLS, "b": CELLS}), max_size=4))
def test_rows_are_read_back_and_no_text_is_a_formula(rows: list[dict[str, object]]) -> None:
    head, *found = read("".join(csv_lines(("a", "b"), rows)))
    assert head == ["a", "b"]
    for row, cells in zip(rows, found, strict=True):
        for value, cell in zip((row["a"], row["b"]), cells, strict=True):
            assert cell.removeprefix("'") == ("" if value is None else str(value).removeprefix("'"))
            assert not isinstance(value, str) or not cell.startswith(FORMULAS)


def test_a_formula_is_marked_lists_are_json_and_what_is_missing_is_empty() -> None:
    row = {"title": "=HYPERLINK(1)", "links": ["a", 1], "right": True, "score": -1.5}
    assert read("".join(csv_lines(("title", "links", "right", "score", "none"), [row])))[1] == [
        "'=HYPERLINK(1)",
        '["a", 1]',
        "true",
        "-1.5",
        "",
    ]
