"""How long the pictures took in each front end, as a file of numbers and as a table."""

import json
import statistics

from course_lib.cli.environment import ROOT
from course_lib.utils.files import atomic_path

ARTIFACTS = ROOT / "artifacts" / "browser"
AIM = 150  # milliseconds from the key to the picture


class Report:
    """Milliseconds by front end and widget."""

    def __init__(self) -> None:
        self.times: dict[str, dict[str, list[float]]] = {}
        self.opened: dict[str, float] = {}

    def add(self, front_end: str, widget: str, milliseconds: list[float]) -> None:
        self.times.setdefault(front_end, {}).setdefault(widget, []).extend(milliseconds)

    def numbers(self) -> dict:
        return {
            "seconds to open": self.opened,
            "milliseconds": {
                front_end: {widget: summary(times) for widget, times in widgets.items() if times}
                for front_end, widgets in self.times.items()
            },
        }

    def table(self) -> str:
        """One line for each widget and front end; ≈ in front, as on all that depends on the machine."""
        lines = [f"≈ opened in {front_end}: {seconds:.1f} s" for front_end, seconds in self.opened.items()]
        lines.append(f"≈ {'widget':26}{'front end':14}moves  median ms  95 % within")
        for front_end, widgets in self.numbers()["milliseconds"].items():
            for widget, found in widgets.items():
                late = "" if found["median"] <= AIM else f"  over the aim of {AIM}"
                times = f"{found['moves']:5}{found['median']:11.0f}{found['p95']:13.0f}"
                lines.append(f"≈ {widget:26}{front_end:14}{times}{late}")
        return "\n".join(lines)

    def write(self) -> None:
        for name, text in (
            ("latency.json", json.dumps(self.numbers(), indent=2)),
            ("latency.txt", self.table()),
        ):
            with atomic_path(ARTIFACTS / name) as part:
                part.write_text(text + "\n", encoding="utf-8")
        print(f"\n{self.table()}")


def summary(times: list[float]) -> dict[str, float]:
    """How many, their median, and what 95 of 100 stay below."""
    last = statistics.quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
    return {"moves": len(times), "median": round(statistics.median(times), 1), "p95": round(last, 1)}
