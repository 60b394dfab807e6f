"""The GPT in the explorer's page: it computes what the library's does, and answers what is typed."""

import base64
import json
from collections.abc import Iterator

import numpy as np
import pytest
from helpers.browser.pages import from_disk, page_of

from course_lib.cli import explorer_page, page_gpt
from course_lib.experiments.real_gpt import PROMPTS, real_gpt
from course_lib.experiments.real_translator import SENTENCES
from course_lib.widgets.model_trace import Trace
from course_lib.widgets.model_view import trace
from course_lib.widgets.modules import joined
from course_lib.widgets.trace_packing import pack

LONG = (
    "The song received positive reviews from music critics, who said that it was one of the best of the year"
)
TEXTS = {
    "ascii": "The game was released in the United",
    "accents": "Señor Müller était à Málaga, où",
    "emoji": "She said 👩‍🚀 that",
    # U+0085 is white space for Python and the tokenizer, but not for JavaScript's \s.
    "odd": "\ufeffa\x00 \x85, \x1c\t\n\u2028 ¬²³٣ _b\u0301",
    "one": "a",
    "long": f"{LONG}. In the early 20th century, he was born in London, and she played the role",
}
SCRIPT = joined("gpt.js") + "\nexport {PageGPT, bytePairEncoder, readWeights};"
LOAD = """async ([script, about, weights]) => {
  const url = URL.createObjectURL(new Blob([script], {type: "text/javascript"}));
  const {PageGPT, bytePairEncoder, readWeights} = await import(url);
  const file = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
  window.encode = bytePairEncoder(about);
  window.gpt = new PageGPT(readWeights(new DataView(file.buffer)), about);
}"""
# Arrays as text in base64: as numbers, they would take seconds on their way to Python.
TRACE = """async ([text, prefix]) =>
JSON.parse(JSON.stringify(await gpt.trace(text, prefix), (key, value) => {
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
    """A page that has the GPT alone."""
    with page_of(browser) as (page, _):
        load(page, page_gpt.weights())
        yield page


def load(page, weights: bytes) -> None:
    page.evaluate(LOAD, [SCRIPT, page_gpt.about(), base64.b64encode(weights).decode()])


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
        assert all(block[part] == its[part] for part in ("name", "parameters"))
        assert block["attentions"][0]["causal"] == its["attentions"][0]["causal"]
    assert [row[0] for row in found["candidates"]] == [row[0] for row in header["candidates"]]


def test_that_comparison_notices_a_single_wrong_weight(blank) -> None:
    changed = bytearray(page_gpt.weights())
    changed[-1001] ^= 64  # the upper byte of a number
    text = TEXTS["ascii"]
    load(blank, bytes(changed))
    found = blank.evaluate(TRACE, [text, trace("gpt", text).chosen_ids])
    load(blank, page_gpt.weights())
    assert max(errors(found, trace("gpt", text)).values()) > 1e-3


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """The explorer's page, with a single translation."""
    file = tmp_path_factory.mktemp("explorer") / "explorer.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer_page, "EXAMPLES", {**explorer_page.EXAMPLES, "translator": SENTENCES[:1]})
        explorer_page.main([str(file)])
    return file.as_uri()


@pytest.fixture
def disk(browser, address) -> Iterator:
    """That page with the GPT on it, opened from the disk without a network."""
    with from_disk(browser, address) as page:
        page.locator('[data-key="mode-gpt"]').click()
        page.locator(".mx-card-title", has_text="Block 4").wait_for()
        yield page


def read(page) -> list[str]:
    """The prompt's tokens on the page."""
    return page.locator(".mx-given").all_inner_texts()


def test_what_is_typed_is_read_after_a_pause_and_the_field_keeps_the_keyboard(disk) -> None:
    assert "runs in your browser and reads at most 40 tokens" in disk.locator("header").inner_text()
    before, field = read(disk), disk.get_by_label("Your sentence")
    field.fill("He was")
    assert read(disk) == before
    disk.wait_for_function("() => document.querySelectorAll('.mx-given').length === 2")
    field.press("End")
    field.press_sequentially(" born in")  # each letter before the pause is over, or not: all of it is read
    disk.wait_for_function("() => document.querySelectorAll('.mx-given').length === 4")
    assert field.input_value() == "He was born in" and field.evaluate("one => one === document.activeElement")
    assert read(disk) == ["He", "was", "born", "in"]
    own = trace("gpt", "He was born in")
    first = disk.locator(".mx-next .mx-bar").first
    p = float(own.logits[0].softmax(-1).max())
    assert first.inner_text().split() == [own.chosen[0].removeprefix("▁"), f"{100 * p:.1f}%"]


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "The text is empty: the model needs at least one token to start from."),
        ("word " * 60, "The text has 62 tokens, but the model on this page reads at most 40."),
        ("half \ud83d", "The text contains half of a character (a lone surrogate)."),
    ],
)
def test_a_text_that_it_cannot_read_gets_one_line_and_the_picture_stays(disk, text, says) -> None:
    before, field = read(disk), disk.get_by_label("Your sentence")
    field.evaluate("(one, text) => (one.value = JSON.parse(text))", json.dumps(text))
    field.press("Enter")
    disk.locator(".mx-message", has_text=says).wait_for()
    assert read(disk) == before
    field.fill("\x00🎉")  # bytes like any other
    field.press("Enter")
    disk.wait_for_function("() => document.querySelectorAll('.mx-given').length === 5")
    assert disk.locator(".mx-message").is_hidden()


def test_only_the_last_of_several_texts_is_shown(disk) -> None:
    field = disk.get_by_label("Your sentence")
    shown = disk.evaluate_handle(
        """() => { const shown = new Set(); new MutationObserver(() =>
          shown.add(document.querySelectorAll(".mx-given").length)).observe(document.querySelector(".mx-main"),
          {childList: true}); return shown; }"""
    )
    field.evaluate(
        """(field) => ["a", "a a", "a a a"].forEach((text) => {
          field.value = text; field.form.requestSubmit(); })"""
    )
    disk.wait_for_function("() => document.querySelectorAll('.mx-given').length === 3")
    disk.wait_for_timeout(300)
    assert shown.evaluate("shown => [...shown]") == [3]


def test_another_token_can_be_chosen_or_drawn(disk) -> None:
    disk.locator('[data-key="next"]').click()
    own = trace("gpt", PROMPTS[0])
    second = int(own.logits[0].topk(2).indices[1])
    disk.locator('[data-key="pick-1"]').click()
    after = trace("gpt", PROMPTS[0], [second])
    written = [tokens[1:] if tokens[0] == "▁" else tokens for tokens in after.chosen]
    disk.locator(".mx-now", has_text=written[0]).wait_for()
    disk.get_by_role("button", name="Next step").click()
    disk.locator(".mx-now", has_text=written[1]).wait_for()
    disk.evaluate("Math.random = () => 0.9999999")  # draws the least likely token that is left
    slider = disk.locator('[data-key="topK"]')
    slider.focus()
    for _ in range(3):
        disk.keyboard.press("ArrowRight")
    third = after.logits[1].topk(3).indices[2]
    drawn = trace("gpt", PROMPTS[0], [second, int(third)]).chosen[1]
    disk.locator('[data-key="draw"]').click()
    disk.locator(".mx-now", has_text=drawn.removeprefix("▁")).wait_for()
    assert "Step 2 of 12" in disk.locator(".mx-steps").inner_text()
