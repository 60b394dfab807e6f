"""The model explorer in JupyterLab, on the page of `present`, and on its own page from the disk."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from helpers.browser.memory import MOVES, Growth
from helpers.browser.pages import FRONT_ENDS, contrast, from_disk, open_lab, page_of, violations
from helpers.browser.report import ARTIFACTS
from playwright.sync_api import Page

from course_lib.cli import explorer_page
from course_lib.experiments.real_translator import SENTENCES
from course_lib.generation.sampling import next_token_probabilities
from course_lib.widgets.model_tour import TOUR
from course_lib.widgets.model_view import trace
from course_lib.widgets.modules import FOLDER
from course_lib.widgets.trace_packing import TOP

SIZES = {"laptop": (1280, 720), "projector": (1920, 1080), "phone": (390, 844)}
TIMED = """async ([key, ready]) => {
  const start = performance.now();
  document.querySelector(`.mx [data-key="${key}"]`).click();
  if (!document.querySelector(ready)) throw new Error(`${key} does not lead to ${ready}`);
  await new Promise(requestAnimationFrame);
  return new Promise((done) => setTimeout(() => done(performance.now() - start)));
}"""


def press(page, key: str) -> None:
    """Click the button with this key."""
    page.locator(f'.mx [data-key="{key}"]').first.click()


def words(page, selector: str) -> list[str]:
    return page.locator(f".mx {selector}").all_inner_texts()


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """The page without a kernel."""
    file = tmp_path_factory.mktemp("explorer") / "explorer.html"
    explorer_page.main([str(file)])
    return file.as_uri()


@contextmanager
def opened(browser, address: str, width: int = 1280, height: int = 720, **more) -> Iterator[Page]:
    with from_disk(browser, address, width, height, **more) as page:
        page.locator(".mx-card").first.wait_for()
        yield page


@pytest.fixture
def disk(browser, address) -> Iterator[Page]:
    """The page, opened from the disk without a network."""
    with opened(browser, address) as page:
        yield page


def tour(page) -> None:
    """Open a block and a head, hover over a weight, step the decoder, change the temperature."""
    press(page, "encoder-1")
    assert words(page, ".mx-crumbs") and "Encoder block 2" in words(page, ".mx-crumbs")[0]
    press(page, "head-0-0")
    assert "Attention weights" in words(page, ".mx-map")[0]
    page.locator(".mx .attention-map-cells").hover(position={"x": 60, "y": 20})
    tip = page.locator(".mx .attention-map-tip")
    tip.wait_for(state="visible")
    assert "query The, key" in tip.inner_text() and "weight 0." in tip.inner_text()
    now = page.locator(".mx-now").inner_text()
    page.get_by_role("button", name="Next step").click()
    assert page.locator(".mx-now").inner_text() != now
    press(page, "next")
    before = words(page, ".mx-next-bars .mx-bar-number")
    slider = page.locator('.mx [data-key="temperature"]')
    slider.focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    assert words(page, ".mx-next-bars .mx-bar-number") != before
    press(page, "crumb-model")
    assert page.locator(".mx-panel").count() == 0


def guided_tour(page, live: bool) -> None:
    """Go through the guided tour by the keyboard, back one step, and out with Escape."""
    page.get_by_role("button", name="Tour", exact=True).click()
    bar = page.locator(".mx-tour")
    for i, step in enumerate(TOUR, start=1):
        says = f"{i} of {len(TOUR)}. {step['title']}. {step['text' if live else 'offline']}"
        assert bar.get_by_role("status").inner_text() == says
        assert page.locator(".mx-toured").count() and page.locator(".mx-toured").first.is_visible()
        assert page.locator(".mx-panel").count() == (step["opens"] != "model")
        assert page.evaluate("document.activeElement.dataset.key") == "tour-next"
        if i < len(TOUR):
            page.keyboard.press("Enter")
    page.get_by_role("button", name="Back").click()
    assert "7 of 8" in bar.inner_text()
    page.keyboard.press("Escape")
    assert bar.is_hidden() and page.locator(".mx-toured").count() == 0
    assert page.evaluate("document.activeElement.dataset.key") == "tour"


def test_a_tour_from_the_disk(disk) -> None:
    tour(disk)
    guided_tour(disk, live=False)
    press(disk, "mode-gpt")
    disk.locator(".mx-card-title", has_text="Block 4").wait_for()
    guided_tour(disk, live=True)
    press(disk, "tour")
    for _ in TOUR:
        press(disk, "tour-next")  # the last one is called "Done"
    assert disk.locator(".mx-tour").is_hidden()


@pytest.mark.parametrize("look", ["laptop", "phone"])
def test_each_step_of_the_tour_shows_what_it_is_about(browser, address, look) -> None:
    width, height = SIZES[look]
    with opened(browser, address, width, height) as page:
        press(page, "tour")
        for i, step in enumerate(TOUR, start=1):
            page.wait_for_timeout(150)
            page.screenshot(path=ARTIFACTS / f"model_explorer-{look}-tour-{i}.png")
            bar = page.locator(".mx-tour").bounding_box()
            part = page.locator(".mx-toured").first.bounding_box()
            assert page.evaluate("document.body.scrollWidth") <= width
            assert bar["y"] >= 0 and 0 <= part["y"] and part["y"] + part["height"] <= height, step["title"]
            if i > 1:  # step 1 is about the toolbar
                assert part["y"] >= bar["y"] + bar["height"], step["title"]
            press(page, "tour-next")


def test_the_boxes_name_the_chapters_and_link_to_them(browser, tmp_path) -> None:
    file = tmp_path / "explorer.html"
    file.write_text(explorer_page.page("notebooks/"), encoding="utf-8")
    with opened(browser, file.as_uri()) as page:
        assert words(page, ".mx-about") == ["chapters 4, 6d", *["chapters 3, 5"] * 3, "chapters 4, 6d",
                                            *["chapters 2, 3, 5"] * 2, "chapters 1, 6b"]  # fmt: skip
        press(page, "decoder-0")
        links = page.locator(".mx-links a")
        assert [link.get_attribute("href") for link in links.all()] == [
            f"notebooks/{name}.html"
            for name in ("02_bmm_and_masking", "03_multi_head_attention", "05_fg_vs_preln")
        ]


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_a_tour_with_a_kernel(browser, request, front_end) -> None:
    name, open_page = FRONT_ENDS[front_end]
    server = request.getfixturevalue(name)
    with page_of(browser) as (page, trouble):
        open_page(page, server)
        page.locator(".mx-card").first.wait_for(timeout=60_000)
        page.locator(".course-model_explorer").screenshot(path=ARTIFACTS / f"{front_end}-model_explorer.png")
        tour(page)
        guided_tour(page, live=True)
        press(page, "crumb-model")
        field = page.get_by_label("Your sentence")
        field.fill("I am a student.")
        field.press("Enter")
        page.locator(".mx-sentence button", has_text="Soy").wait_for(timeout=20_000)
        press(page, "next")
        press(page, "pick-1")
        page.wait_for_function("() => !document.querySelector('.mx-message').textContent", timeout=20_000)
        assert page.locator(".mx-now").inner_text() != "Soy"
        field.fill("word " * 70)
        field.press("Enter")
        page.locator(".mx-message", has_text="at most 40").wait_for(timeout=20_000)
        press(page, "mode-gpt")
        page.locator(".mx-card-title", has_text="Block 3").wait_for(timeout=20_000)
        assert not trouble.errors and not trouble.foreign
    assert "Traceback" not in server.log.read_text()


def test_the_kernels_probabilities_and_the_pages_are_the_same(disk) -> None:
    settings = [(1.0, 0, 1.0), (0.0, 0, 1.0), (1.7, 5, 1.0), (0.6, 0, 0.9), (2.0, 40, 0.85), (1.0, 1, 0.3)]
    found = disk.evaluate(
        """async ([settings, script]) => {
          const url = URL.createObjectURL(new Blob([script], {type: "text/javascript"}));
          const {nextTokenProbabilities, readTrace} = await import(url);
          const {header, numbers} = JSON.parse(document.getElementById("traces").textContent)
            .traces["The car was running."];
          const inflate = async (text) => new Response(new Blob([Uint8Array.from(atob(text),
            (c) => c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
          const parsed = JSON.parse(new TextDecoder().decode(await inflate(header)));
          const trace = readTrace(parsed, new DataView(await inflate(numbers)));
          return settings.map(([temperature, topK, topP]) => trace.chosen.map((_, step) =>
            nextTokenProbabilities(trace, step, {temperature, topK, topP})));
        }""",
        [settings, (FOLDER / "trace.js").read_text(encoding="utf-8")],
    )
    logits = trace("translator", "The car was running.").logits
    for (temperature, top_k, top_p), steps in zip(settings, found, strict=True):
        for step, page in enumerate(steps):
            p = next_token_probabilities(
                logits[step], temperature, top_k or None, top_p if top_p < 1 else None
            )
            kept = int((p > 0).sum())
            own = p.sort(descending=True).values[:TOP]
            reached = page["kept"] is not None
            tolerance = 1e-5 if reached else float(own[-1]) / top_p  # beyond the list, one token at most
            assert page["probabilities"] == pytest.approx(own.tolist(), abs=tolerance)
            assert page["kept"] == kept if reached else kept > TOP


def fits(page, name: str, key: str | None, height: float = math.inf) -> None:
    """Open a part of the model: the page is no wider than the window, and no higher than this."""
    if key:
        press(page, key)
    page.wait_for_timeout(150)
    page.screenshot(path=ARTIFACTS / f"model_explorer-{name}-{key or 'model'}.png", full_page=True)
    wide, tall = page.evaluate("[document.body.scrollWidth, document.documentElement.scrollHeight]")
    assert wide <= page.viewport_size["width"] and tall <= height, key


@pytest.mark.parametrize("look", SIZES)
def test_it_fits_the_window(browser, address, look) -> None:
    with opened(browser, address, *SIZES[look]) as page:
        for key in (None, "decoder-1", "head-1-1", "next", "tokens-encoder"):
            fits(page, look, key, math.inf if look == "phone" else SIZES[look][1])


def test_a_long_sentence_fits_a_laptop(disk) -> None:
    disk.get_by_label("Example sentences").select_option(label=max(SENTENCES, key=len))
    disk.locator(".mx-sentence button").nth(20).click()
    for key in (None, "decoder-1", "head-1-1"):
        fits(disk, "long", key, 720)


def test_a_click_is_answered_in_the_next_frame(disk, report) -> None:
    """TIMED throws unless the new picture is there at once; how long it takes is reported, not tested."""
    spent = []
    for _ in range(10):
        spent.append(disk.evaluate(TIMED, ["decoder-1", ".mx-flow"]))
        spent.append(disk.evaluate(TIMED, ["head-1-1", ".mx-arithmetic"]))
        disk.evaluate(TIMED, ["crumb-model", ".mx-hint"])
    report.add("from disk", "model_explorer", spent)


WALK = ("encoder-1", "head-0-0", "crumb-model", "decoder-1", "head-1-1", "crumb-model", "next", "crumb-model")


def walk(page, times: int) -> None:
    """Click through blocks and heads, and step the decoder on each round."""
    for i in range(times):
        if i % len(WALK) == 0:
            page.locator(".mx-sentence button").nth(i // len(WALK) % 4).click()
        press(page, WALK[i % len(WALK)])


@pytest.mark.parametrize("front_end", ["disk", "lab"])
def test_nothing_grows_while_it_is_used(browser, address, request, capsys, front_end) -> None:
    with page_of(browser, 1280, 900) as (page, trouble):
        if front_end == "lab":
            open_lab(page, request.getfixturevalue("lab"))
        else:
            page.goto(address)
        page.locator(".mx-card").first.wait_for(timeout=60_000)
        walk(page, 48)
        growth = Growth(page)
        walk(page, MOVES)
        with capsys.disabled():
            growth.check(f"model explorer, {front_end}")
        assert not trouble.errors


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_and_operate_it(browser, address, scheme) -> None:
    with opened(browser, address, color_scheme=scheme) as page:
        for keys in ([], ["decoder-0"], ["head-0-1"], ["next"], ["tokens-decoder"], ["tour", "tour-next"]):
            for key in keys:
                page.locator(f'.mx [data-key="{key}"]').first.focus()
                page.keyboard.press("Enter")
            page.wait_for_timeout(200)
            assert not violations(page), keys
            assert not contrast(page.locator(".mx"))


def test_the_keyboard_stays_where_it_is(disk) -> None:
    press(disk, "encoder-0")
    disk.locator('.mx [data-key="token-2"]').focus()
    disk.keyboard.press("Enter")
    assert disk.evaluate("document.activeElement.dataset.key") == "token-2"
    assert disk.locator('.mx [data-key="token-2"]').get_attribute("aria-pressed") == "true"
    press(disk, "head-0-2")
    disk.locator(".mx .attention-map-cells").focus()
    disk.keyboard.press("ArrowDown")
    assert "attention-map-cells" in disk.evaluate("document.activeElement.className")
    assert "matches" in words(disk, ".mx-product h5")[0] and "running" in words(disk, ".mx-product h5")[0]


FLYING = "document.getAnimations().filter((one) => one.effect.target?.className === 'mx-flying')"


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_data_is_seen_to_flow_unless_less_motion_is_wanted(browser, address, motion) -> None:
    with opened(browser, address, reduced_motion=motion) as page:
        for key in ("Next step", "tokens-encoder", "encoder-0", "head-0-0", "tour"):
            press(page, key)
            found = page.evaluate(
                f"""() => new Promise(requestAnimationFrame).then(() => {FLYING}.map((one) => {{
                  one.pause(); one.currentTime = 180; return one.effect.getTiming().duration}}))"""
            )
            page.screenshot(path=ARTIFACTS / f"model_explorer-{motion}-{key.replace(' ', '-')}.png")
            assert bool(found) == (motion == "no-preference"), key
            assert all(200 <= duration <= 400 for duration in found)
            page.evaluate(f"{FLYING}.forEach((one) => one.finish())")
            page.wait_for_function("() => !document.querySelector('.mx-flying')")
