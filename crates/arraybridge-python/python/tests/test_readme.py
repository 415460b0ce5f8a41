"""The README's example runs."""

import pathlib


def test_the_example_runs(package):
    package("arraybridge_rs")
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    examples = [part.split("```", 1)[0] for part in text.split("```python\n")[1:]]
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})
