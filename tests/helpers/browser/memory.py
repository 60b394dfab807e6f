"""What a page and the kernels behind it hold."""

import psutil
from playwright.sync_api import Page

MOVES = 150  # keys or clicks
GARBAGE = MOVES * 10 * 2**10  # bytes that a page may grow by during these moves: its counters and caches
KERNEL = 30 * 2**20  # bytes that a kernel may grow by: its memory also varies where nothing is kept


def heap(page: Page) -> float:
    """Bytes that the page's scripts hold after a garbage collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    return metrics["JSHeapUsedSize"]


def kernel() -> int:
    """Bytes of the kernels of the servers that these tests started."""
    return sum(map(kernel_memory, psutil.Process().children(recursive=True)))


def kernel_memory(process: psutil.Process) -> int:
    """Bytes of a kernel; 0 for any other process, and for one that has ended."""
    try:
        is_kernel = "ipykernel_launcher" in process.cmdline()
        return process.memory_info().rss if is_kernel else 0
    except psutil.Error:
        return 0


class Growth:
    """How much the page and the kernels have grown since this was made, MOVES moves before."""

    def __init__(self, page: Page):
        self.page, self.before = page, (heap(page), kernel())

    def check(self, what: str) -> None:
        """Print the growth; raise AssertionError where it is more than GARBAGE or KERNEL."""
        self.page.wait_for_timeout(1500)  # the kernel answers what is still on its way
        after = heap(self.page), kernel()
        script, python = (b - a for a, b in zip(self.before, after, strict=True))
        print(f"\n≈ {what}, {MOVES} moves: page {script / 2**20:+.2f} MiB, kernel {python / 2**20:+.2f} MiB")
        assert script < GARBAGE and python < KERNEL
