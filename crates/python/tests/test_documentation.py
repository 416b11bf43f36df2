"""Every block of Python in the documentation runs, one after the other."""

import re
from pathlib import Path

import pytest
import tables

DOCS = Path(__file__).parents[3] / "docs"
NOT_INSTALLED = "from ray.rllib"
"""Blocks that need gigabytes of other packages; the page says with which versions they were tried."""


def test_the_tables_are_what_this_build_plays():
    """Else: cargo xtask python --tables."""
    page = (DOCS / "cluster.md").read_text(encoding="utf-8")
    assert tables.sweep_row(14) in page
    assert tables.written(page, "sweep", "other") != page


@pytest.mark.parametrize("page", ["python.md", "learning.md", "cluster.md"])
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    # Ray sends functions of the main module by value.
    names: dict[str, object] = {"__name__": "__main__"}
    for number, block in enumerate(blocks):
        if NOT_INSTALLED not in block:
            exec(compile(block, f"{page}, block {number}", "exec"), names)
