"""The report of a check: findings, verdicts, and their presentation."""

from __future__ import annotations

import html
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple

from ._command import CommandError, Error

#: Verdicts of findings that make a kernel wrong.
WRONG = frozenset({"error"})
#: Verdicts of findings that make a kernel wrong only in a strict check.
POSSIBLE = frozenset({"possible"})


class FindingsError(Error):
    """A kernel is wrong. ``report`` has the findings."""

    def __init__(self, report: "Report") -> None:
        super().__init__(str(report))
        self.report = report


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Finding:
    """A finding about one line of a kernel."""

    #: The file of the line: a source if the PTX has debug information, else the PTX.
    file: str
    #: The name of the kernel in the PTX.
    kernel: str
    #: The line, from 1; ``None`` if the debug information has none.
    line: Optional[int]
    #: ``order``, ``async``, ``races`` or ``barriers``.
    check: str
    #: ``error``, ``possible``, ``warning``, ``note``, ``not-checked``, or ``allowed`` if a comment in the source allows
    #: the finding.
    verdict: str
    message: str
    #: Lines of the PTX, with their text.
    notes: Tuple[str, ...] = ()
    #: The remedy; ``None`` if none is known.
    help: Optional[str] = None
    #: The execution that shows the finding: ``command`` repeats it, ``first`` and ``second`` are its accesses.
    execution: Optional[Dict[str, Any]] = None
    #: The finding in the JSON of the command.
    raw: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name of the kernel in its source, if it is known."""
        return str(self.raw.get("name") or self.kernel)

    @property
    def is_wrong(self) -> bool:
        """Whether the finding makes the kernel wrong."""
        return self.verdict in WRONG

    def to_dict(self) -> Dict[str, Any]:
        """The finding as plain values."""
        return {name: _plain(value) for name, value in asdict(self).items() if name != "raw"}


@dataclass(frozen=True)
class Verdict:
    """The answer to a question about a kernel."""

    file: str
    kernel: str
    #: ``free``, ``lost``, ``missing``, ``race``, ``divergent``, ``open`` or ``not-asked``.
    verdict: str
    #: The conditions under which the proof holds.
    assumptions: Tuple[str, ...] = ()
    #: ``order``, ``async``, ``races`` or ``barriers``.
    question: str = "races"
    #: Whether the time limit ended the work on the question.
    stopped: bool = False

    def to_dict(self) -> Dict[str, Any]:
        """The verdict as plain values."""
        return {name: _plain(value) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Report:
    """The report of a check of one or more kernels.

    A report prints as text, is drawn in a notebook, and is true if no kernel is wrong:

    >>> import ptx_atomics
    >>> report = ptx_atomics.check('''
    ... .version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .visible .entry nothing() { ret; }
    ... ''')
    >>> report.ok
    True
    >>> print(report)
    nothing wrong
    """

    findings: Tuple[Finding, ...] = ()
    #: The verdict on the races of each kernel, after :func:`ptx_atomics.races`.
    kernels: Tuple[Verdict, ...] = ()
    #: The verdict on each kernel and question.
    verdicts: Tuple[Verdict, ...] = ()
    #: The errors of inputs that could not be read, in words.
    errors: Tuple[str, ...] = ()
    #: The texts of files that do not exist any more, by their names.
    texts: Dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    sarif: Optional[Callable[[], str]] = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether no kernel is wrong and all inputs were read. An open finding does not make a kernel wrong."""
        return not self.errors and not self.wrong

    @property
    def wrong(self) -> List[Finding]:
        """The findings that make a kernel wrong."""
        return [finding for finding in self.findings if finding.is_wrong]

    def __bool__(self) -> bool:
        return self.ok

    def raise_for_findings(self) -> None:
        """Raises :class:`FindingsError` if a kernel is wrong."""
        if self.wrong:
            raise FindingsError(self)

    def to_dict(self) -> Dict[str, Any]:
        """The report as plain values."""
        return {
            "ok": self.ok,
            "findings": [finding.to_dict() for finding in self.findings],
            "kernels": [kernel.to_dict() for kernel in self.kernels],
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "errors": list(self.errors),
        }

    def to_json(self, indent: Optional[int] = 2) -> str:
        """The report as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def to_sarif(self) -> str:
        """The report as SARIF 2.1.0, for code viewers. The kernels are checked once more."""
        if self.sarif is None:
            raise Error("SARIF needs the report of a check")
        return self.sarif()

    def __str__(self) -> str:
        parts = list(self.errors)
        for alike in self._alike():
            more = f"\n  = note: and {len(alike) - 1} more findings at these lines" if len(alike) > 1 else ""
            parts.append(self._text(alike[0]) + more)
        for kernel in self.kernels:
            parts.append("\n".join([f"{kernel.kernel}: {kernel.verdict}", *(f"  if {why}" for why in kernel.assumptions)]))
        return "\n\n".join(part.rstrip() for part in parts) or "nothing wrong"

    def _alike(self) -> List[List[Finding]]:
        """The findings, grouped by their lines: one mistake of a source causes many findings in its PTX."""
        groups: Dict[Tuple[Any, ...], List[Finding]] = {}
        for finding in self.findings:
            key = (finding.file, finding.line, finding.kernel, finding.check, finding.verdict, _places(finding))
            groups.setdefault(key, []).append(finding)
        return list(groups.values())

    def _line(self, finding: Finding) -> Optional[str]:
        """The line of a finding, if its file can be read."""
        if finding.line is None:
            return None
        text = self.texts.get(finding.file)
        if text is None:
            try:
                text = Path(finding.file).read_text(encoding="utf-8", errors="replace")
            except (OSError, ValueError):
                return None
        lines = text.splitlines()
        return lines[finding.line - 1] if 0 < finding.line <= len(lines) else None

    def _text(self, finding: Finding) -> str:
        head = f"{finding.verdict}: {finding.message}"
        place = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
        lines = [head, f"  --> {place}, in {finding.name}"]
        source = self._line(finding)
        if source is not None:
            lines += ["   |", f"   | {source.strip()}", "   |"]
        lines += [f"  = note: {note}" for note in finding.notes]
        if finding.execution and finding.execution.get("command"):
            lines.append(f"  = note: repeat it: {finding.execution['command']}")
        if finding.help:
            lines.append(f"  = help: {finding.help}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [_row(alike[0], self._line(alike[0])) for alike in self._alike()]
        rows += [_verdict_row(kernel) for kernel in self.kernels]
        rows += [f"<tr><td>not read</td><td></td><td><pre>{html.escape(error)}</pre></td></tr>" for error in self.errors]
        if not rows:
            return "<p>nothing wrong</p>"
        head = "<tr><th>verdict</th><th>place</th><th>what</th></tr>"
        return f"<table style='text-align:left'>{head}{''.join(rows)}</table>"


def _places(finding: Finding) -> FrozenSet[Optional[int]]:
    """The lines of both accesses, in the source if it is known."""
    sites = [(finding.execution or {}).get(which) or {} for which in ("first", "second")]
    return frozenset((site.get("source") or site).get("line") for site in sites) | {finding.raw.get("first")}


COLORS = {"error": "#c00", "race": "#c00", "divergent": "#c00", "same-value": "#c00", "free": "#080", "possible": "#b60"}


def _cell(verdict: str) -> str:
    return f"<td style='color:{COLORS.get(verdict, '#666')};font-weight:bold'>{html.escape(verdict)}</td>"


def _row(finding: Finding, source: Optional[str]) -> str:
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    what = [html.escape(finding.message)]
    if source is not None:
        what.append(f"<pre>{html.escape(source.strip())}</pre>")
    if finding.execution:
        what.append(_drawing(finding.execution))
    if finding.help:
        what.append(f"<b>help:</b> {html.escape(finding.help)}")
    left = "style='text-align:left;vertical-align:top'"
    where = f"<td {left}>{html.escape(place)}<br>{html.escape(finding.kernel)}</td>"
    return f"<tr>{_cell(finding.verdict)}{where}<td {left}>{'<br>'.join(what)}</td></tr>"


def _verdict_row(kernel: Verdict) -> str:
    why = "<br>".join(html.escape(f"if {one}") for one in kernel.assumptions)
    name = html.escape(kernel.kernel)
    return f"<tr>{_cell(kernel.verdict)}<td>{name}</td><td style='text-align:left'>{why}</td></tr>"


def _drawing(execution: Dict[str, Any]) -> str:
    """Two accesses without an order, as SVG: a column for each thread, and an edge between them."""
    sites = [site for site in (execution.get("first"), execution.get("second")) if site]
    boxes = []
    for column, site in enumerate(sites):
        x = 10 + 300 * column
        words = [_thread(site), str(site.get("instruction") or ""), f"line {site.get('line')} of the PTX"]
        text = "".join(f"<text x='{x + 8}' y='{24 + 18 * row}'>{html.escape(word)}</text>" for row, word in enumerate(words))
        boxes.append(f"<rect x='{x}' y='6' width='270' height='60' fill='none' stroke='#888'/>{text}")
    edge = ""
    if len(sites) == 2:
        edge = (
            "<line x1='280' y1='36' x2='310' y2='36' stroke='#c00' stroke-dasharray='4'/>"
            "<text x='262' y='84' fill='#c00'>no order</text>"
        )
    style = "font-family:monospace;font-size:12px"
    return f"<svg width='600' height='92' style='{style}' fill='currentColor'>{''.join(boxes)}{edge}</svg>"


def _thread(site: Dict[str, Any]) -> str:
    return f"thread {site.get('thread')} of CTA {site.get('cta')}"


def of_report(report: Dict[str, Any]) -> Tuple[Tuple[Finding, ...], Tuple[Verdict, ...]]:
    """The findings and the verdicts of ``check --format json``, in version 1 of its schema."""
    findings = tuple(_finding(kernel, one) for kernel in report["kernels"] for one in kernel["findings"])
    verdicts = tuple(
        Verdict(
            file=kernel["program"],
            kernel=kernel["kernel"],
            verdict=answer["verdict"],
            assumptions=tuple(answer["assumptions"]),
            question=answer["question"],
            stopped=answer["stopped"],
        )
        for kernel in report["kernels"]
        for answer in kernel["answers"]
    )
    return findings, verdicts


def _finding(kernel: Dict[str, Any], one: Dict[str, Any]) -> Finding:
    return Finding(
        file=one["file"],
        kernel=kernel["kernel"],
        line=one["line"],
        check=one["question"],
        verdict=_verdict(one),
        message=one["message"],
        notes=tuple(one["notes"]),
        help=one["help"],
        execution=one["evidence"] if one["evidence"]["kind"] == "witness" else None,
        raw={"name": kernel["name"], **one},
    )


def _verdict(one: Dict[str, Any]) -> str:
    if one["allowed"] is not None:
        return "allowed"
    if one["not_checked"]:
        return "not-checked"
    return "possible" if one["possible"] else str(one["severity"])


__all__ = ["CommandError", "Error", "Finding", "FindingsError", "Report", "Verdict"]
