import subprocess
import sys
from itertools import pairwise

import pytest
from matplotlib.text import Annotation

from centime.lab.picture import LABEL_GAP, LOOKS, draw_line, name_lines, new_picture, png, say


def test_no_two_algorithms_look_the_same() -> None:
    same = {  # the same choice, in two experiments
        ("exact greedy", "best first"),
        ("exact greedy", "importance"),
        ("OPIC random", "random order"),
    }
    looks = {name: look for name, look in LOOKS.items() if name not in {second for _, second in same}}
    assert len(set(looks.values())) == len(looks)


def test_names_of_lines_that_end_together_do_not_touch() -> None:
    figure, (axes,) = new_picture("four lines")
    for place, name in enumerate(["OPIC random", "OPIC greedy", "OPIC cycle", "off-line"]):
        draw_line(axes, name, [1, 2], [place, 10 + 0.01 * place])
    name_lines(axes)
    heights = sorted(text.xyann[1] for text in axes.texts if isinstance(text, Annotation))
    assert len(heights) == 4
    assert all(upper - lower >= LABEL_GAP * 0.999 for lower, upper in pairwise(heights))
    assert max(heights) <= 1
    assert [text.get_text() for text in axes.texts] == ["OPIC random", "OPIC greedy", "OPIC cycle", "off-line"]
    assert b"Description\x00{seed}" in png(figure, "small print", "{seed}")


@pytest.mark.parametrize(
    ("number", "said"),
    [(0.0, "0"), (12.34, "12"), (0.00261, "0.0026"), (2.3e-10, "2e-10"), (131.0, "130"), (98765.0, "99\u202f000")],
)
def test_numbers_are_said_with_two_digits(number: float, said: str) -> None:
    assert say(number) == said


def test_the_lab_never_loads_pyplot() -> None:
    modules = "centime.lab.files, centime.lab.growth, centime.lab.windows"
    code = f"import sys, {modules}; print('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
