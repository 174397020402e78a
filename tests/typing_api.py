"""The public API as a user's type checker sees it. Checked by mypy --strict, never run."""

import sparkdiag


async def live() -> str:
    report: sparkdiag.Report = await sparkdiag.diagnose("http://spark-a:8000", tools=True, timeout=30.0)
    return report.verdict


def rest() -> list[str]:
    report = sparkdiag.diagnose_text("log", "more")
    sparkdiag.diagnose_exchange(request={"messages": []}, response=None, status=502, context={"engine": "vllm"})
    sparkdiag.diagnose_capture("capture")
    sparkdiag.diagnose_sync("http://spark-a:8000", passive=True)
    suspicious: bool = sparkdiag.suspicious({"choices": []})
    first: sparkdiag.Diagnosis = report.diagnoses[0]
    steps: list[str] = [step.do for step in first.fix if not suspicious]
    probes: list[str] = [probe.probe for probe in report.next_probes]
    return [*steps, *probes, report.fingerprint]
