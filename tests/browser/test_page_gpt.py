"""The GPT that runs in the explorer's page: it reads and computes what the library's does, and answers what is typed."""

import base64

import numpy as np
import pytest

pytest.importorskip("playwright", reason="needs a browser: python -m course_lib test --browser")

from helpers.browser.pages import page_of  # noqa: E402

from course_lib.cli import page_gpt  # noqa: E402
from course_lib.experiments.real_gpt import real_gpt  # noqa: E402
from course_lib.widgets.model_trace import MAX_NEW, MAX_SOURCE, Trace  # noqa: E402
from course_lib.widgets.model_view import trace  # noqa: E402
from course_lib.widgets.modules import joined  # noqa: E402
from course_lib.widgets.trace_packing import pack  # noqa: E402

LONG = "The song received positive reviews from music critics, who said that it was one of the best of the year"
TEXTS = {
    "ascii": "The game was released in the United",
    "accents": "Señor Müller était à Málaga, où",
    "emoji": "She said 👩‍🚀 that",
    "odd": "\ufeffa\x00\x85 \x1c\t\n\u2028 ¬²³٣ _b\u0301",
    "one": "a",
    "long": f"{LONG}. In the early 20th century, he was born in London, and she played the role",
}
LOAD = """async ([script, about, weights]) => {
  const url = URL.createObjectURL(new Blob([script], {type: "text/javascript"}));
  const {PageGPT, bytePairEncoder, readWeights} = await import(url);
  const file = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
  window.encode = bytePairEncoder(about);
  window.gpt = new PageGPT(readWeights(new DataView(file.buffer)), about);
}"""
# Arrays as text in base64: as numbers, they would take seconds on their way to Python.
TRACE = """async ([text, prefix]) => JSON.parse(JSON.stringify(await gpt.trace(text, prefix), (key, value) => {
  if (!ArrayBuffer.isView(value)) return value;
  if (!(value instanceof Float32Array)) return Array.from(value);
  let bytes = "";
  for (const byte of new Uint8Array(value.buffer)) bytes += String.fromCharCode(byte);
  return btoa(bytes);
}))"""


def numbers(array: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(array["data"]), "<f4").reshape(array["shape"])


def error(array: dict, own) -> float:
    """The largest difference, in parts of the largest number."""
    found = numbers(array)
    assert found.shape == tuple(own.shape)
    return float(np.abs(found - own.numpy()).max() / own.abs().max())


def errors(found: dict, own: Trace) -> dict[str, float]:
    """The errors of all that a block computes, and of the logits relative to the largest."""
    result = {}
    for i, (block, mine) in enumerate(zip(found["decoder"], own.decoder, strict=True)):
        for part in ("q", "k", "v", "weights"):
            result[f"{part} {i}"] = error(block["attentions"][0][part], getattr(mine.attentions[0], part))
        for j, (stream, its) in enumerate(zip(block["residual"], mine.residual, strict=True)):
            result[f"residual {i} {j}"] = error(stream, its)
        result[f"hidden {i}"] = error(block["hidden"], mine.hidden)
    logits = np.empty_like(own.logits.numpy())
    np.put_along_axis(logits, np.array(found["orders"]), numbers(found["logits"]), axis=-1)
    relative = own.logits - own.logits.amax(-1, keepdim=True)
    result["logits"] = float(np.abs(logits - relative.numpy()).max() / relative.abs().max())
    return result


@pytest.fixture(scope="module")
def blank(browser):
    """A page that has the GPT alone; `load` gives it other weights."""
    with page_of(browser) as (page, _):
        page.load = lambda weights: page.evaluate(LOAD, [SCRIPT, page_gpt.about(), base64.b64encode(weights).decode()])
        page.load(page_gpt.weights())
        yield page


SCRIPT = joined("gpt.js") + "\nexport {PageGPT, bytePairEncoder, readWeights};"


@pytest.mark.parametrize("name", TEXTS)
def test_the_pages_gpt_computes_what_the_librarys_does(blank, name) -> None:
    text, prefix = TEXTS[name], [300, 400] if name == "accents" else []
    own, found = trace("gpt", text, prefix), blank.evaluate(TRACE, [text, prefix])
    assert found["target_ids"][: own.prompt] == real_gpt()[1].encode(text)
    wrong = {part: size for part, size in errors(found, own).items() if not size < 1e-4}
    assert not wrong
    header, _ = pack(own, *real_gpt())
    assert found.keys() == header.keys() - {"text"} | {"orders"}
    for part in header.keys() - {"text", "encoder", "decoder", "logits", "tails", "candidates"}:
        assert found[part] == (list(header[part]) if part == "temperatures" else header[part]), part
    for block, its in zip(found["decoder"], header["decoder"], strict=True):
        assert block.keys() == its.keys() and block["attentions"][0].keys() == its["attentions"][0].keys()
        assert [block[part] for part in ("name", "parameters")] == [its[part] for part in ("name", "parameters")]
        assert block["attentions"][0]["causal"] == its["attentions"][0]["causal"]
    assert [row[0] for row in found["candidates"]] == [row[0] for row in header["candidates"]]


def test_that_comparison_notices_a_single_wrong_weight(blank) -> None:
    changed = bytearray(page_gpt.weights())
    changed[-1001] ^= 64  # the upper byte of a number
    text = TEXTS["ascii"]
    blank.load(bytes(changed))
    found = blank.evaluate(TRACE, [text, trace("gpt", text).chosen_ids])
    blank.load(page_gpt.weights())
    assert max(errors(found, trace("gpt", text)).values()) > 1e-3
