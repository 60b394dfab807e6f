// Runs in the page before anything else. `course.since`: when the last key or button was pressed or let go.
// `course.watch(frame)`: from then on counts the pictures and the texts that appear inside this element; a
// picture is an image that was loaded, or a map that changed: its cells, its labels, or what is framed.
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
      frame.addEventListener("load", (event) => {
        if (event.target.tagName === "IMG") this.saw(frame);
      }, true);
      new MutationObserver((changes) => {
        if (changes.some(({target}) => ofMap(target))) this.saw(frame);
      }).observe(frame, {subtree: true, childList: true, characterData: true, attributeFilter: ["style", "hidden"]});
    }
  },
  saw(frame) {
    if (frame !== this.frame) return;
    this.pictures += 1;
    this.latency = performance.now() - this.since;
  },
  text() {
    const line = this.frame.querySelector('[role="status"]');
    return line ? line.parentElement.textContent : null; // with what stands below it
  },
};

/** Whether the element belongs to the drawing of a map: neither its hint nor its words for screen readers. */
function ofMap(target) {
  const element = target.nodeType === Node.ELEMENT_NODE ? target : target.parentElement;
  return !!element?.closest(".attention-map") && !element.closest(".attention-map-tip, .attention-map-words");
}

const write = CanvasRenderingContext2D.prototype.putImageData;
const cells = new WeakMap(); // what is on a canvas, as text
CanvasRenderingContext2D.prototype.putImageData = function (image, ...place) {
  const text = `${image.width} ${image.data.join(" ")}`;
  if (cells.get(this.canvas) !== text && course.frame?.contains(this.canvas)) course.saw(course.frame);
  cells.set(this.canvas, text);
  write.call(this, image, ...place);
};

for (const kind of ["keydown", "pointerdown", "pointermove", "pointerup", "change"]) {
  window.addEventListener(kind, () => { course.since = performance.now(); }, true);
}
