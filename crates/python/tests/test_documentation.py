"""Every block of Python in the documentation runs, one after the other."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_blocks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / "python.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"python.md, block {number}", "exec"), names)
