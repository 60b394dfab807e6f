// Runs in the page before anything else. `course.since`: when the last key or button was pressed or let go.
// `course.watch(frame)`: from then on counts the pictures and the texts that appear inside this element.
window.course = {
  since: 0,
  frame: null,
  pictures: 0,
  latency: 0,
  watch(frame) {
    this.frame = frame;
    this.pictures = 0;
    if (!frame.dataset.watched) {
      frame.dataset.watched = "yes";
      // "load" does not bubble, but it can be caught on its way down
      frame.addEventListener("load", (event) => this.loaded(event), true);
    }
  },
  loaded(event) {
    if (event.target.tagName === "IMG" && event.currentTarget === this.frame) {
      this.pictures += 1;
      this.latency = performance.now() - this.since;
    }
  },
  text() {
    const line = this.frame.querySelector('[role="status"]');
    return line ? line.parentElement.textContent : null; // with what stands below it
  },
};
for (const kind of ["keydown", "pointerdown", "pointermove", "pointerup", "change"]) {
  window.addEventListener(kind, () => { course.since = performance.now(); }, true);
}
