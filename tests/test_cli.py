"""The command line in this process: verbs, options, exit statuses and sentences. Its library is a stand-in."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import sparkdiag
from sparkdiag.cli import main
from sparkdiag.cli.dispatch import parser_of
from sparkdiag.cli.verbs import DEFAULT, KEY_OPTIONS, PLANNED, PLANNED_OPTIONS, VERBS
from sparkdiag.diagnosis import Diagnosis, Report
from sparkdiag.errors import InputError, Interrupted

NOWHERE: dict[str, str | None] = dict.fromkeys(("target", "node", "container", "rank", "run"))
FAULT = Diagnosis("chapter.a-fault", "r", "A title", "fault", "likely", "A cause.", NOWHERE)
REPORTS = {
    "fault": Report("1.2.3", "abc", "python", "fault", (FAULT,)),
    "healthy": Report("1.2.3", "abc", "python", "healthy"),
    "inconclusive": Report("1.2.3", "abc", "python", "inconclusive"),
}


class Library:
    """Stands in for diagnose_sync: notes the call, returns or raises what it was told."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[str, ...], dict[str, Any]]] = []
        self.answer: Report | BaseException = REPORTS["fault"]

    def __call__(self, *targets: str, **options: Any) -> Report:
        self.calls.append((targets, options))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    stand_in = Library()
    monkeypatch.setitem(vars(sparkdiag), "diagnose_sync", stand_in)
    return stand_in


def refusal(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The sentence on standard error of a call that must be refused."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("sparkdiag: ")
    assert err.count("\n") == 1
    return err.removeprefix("sparkdiag: ").rstrip("\n")


@pytest.mark.parametrize(("verdict", "status"), [("fault", 1), ("healthy", 0), ("inconclusive", 3)])
def test_the_exit_status_is_the_verdict(
    library: Library, capsys: pytest.CaptureFixture[str], verdict: str, status: int
) -> None:
    library.answer = REPORTS[verdict]
    assert main(["http://spark-a:8000"]) == status
    assert capsys.readouterr().out.startswith(f"{verdict}: ")


def test_options_go_to_the_library_and_those_not_given_do_not(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "secret")
    assert main(["http://a:1"]) == 1
    words = "http://a:1 --log x.log --tools --log y.log z.log --model m --api-key-env SOME_KEY --client-reads reasoning"
    rest = "--anonymize --passive --max-generated 0 --save d --timeout 2.5 --rule-engine python --json"
    assert main([*words.split(), *rest.split()]) == 1
    assert library.calls == [
        (("http://a:1",), {}),
        (
            ("http://a:1", "z.log"),
            {
                "log": ("x.log", "y.log"),
                "tools": True,
                "model": "m",
                "api_key": "secret",
                "client_reads": "reasoning",
                "passive": True,
                "anonymize": True,
                "max_generated": 0,
                "save": "d",
                "timeout": 2.5,
                "rule_engine": "python",
            },
        ),
    ]


def test_standard_input_and_dashes(library: Library) -> None:
    main(["-"])
    main(["--log", "x"])
    main(["--tools", "--", "--odd-name", "replay"])
    assert [targets for targets, _ in library.calls] == [("-",), (), ("--odd-name", "replay")]


def test_a_file_named_like_a_verb(library: Library) -> None:
    main(["./replay"])
    main(["./lint", "rules"])
    assert [targets for targets, _ in library.calls] == [("./replay",), ("./lint", "rules")]


def test_a_value_of_an_option_is_no_verb(library: Library) -> None:
    main(["--model", "rules", "http://a:1"])
    assert library.calls == [(("http://a:1",), {"model": "rules"})]


def test_options_may_stand_before_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "rules", "nothing-like-it"]) == 2
    assert "rules has no 'nothing-like-it'" in capsys.readouterr().err


@pytest.mark.parametrize("format", ["json", "line", "markdown"])
def test_formats(library: Library, capsys: pytest.CaptureFixture[str], format: str) -> None:
    assert main(["http://a:1", "--format", format]) == 1
    out = capsys.readouterr().out
    if format == "json":
        assert json.loads(out) == REPORTS["fault"].to_dict()
    else:
        assert out.startswith({"line": "fault ", "markdown": "**fault: "}[format])


def test_json_is_short_for_its_format(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    main(["http://a:1", "--format", "json"])
    long = capsys.readouterr().out
    main(["--json", "http://a:1"])
    assert capsys.readouterr().out == long


def test_output_goes_to_a_file(library: Library, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "report.txt"
    assert main(["http://a:1", "--output", str(file)]) == 1
    assert capsys.readouterr().out == ""
    assert file.read_text().startswith("fault: A title (likely, 0.70)\n")


def test_an_output_that_cannot_be_is_refused_before_anything_is_done(
    library: Library, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "there is no folder" in refusal(capsys, "http://a:1", "--output", str(tmp_path / "no" / "x"))
    assert "this is a folder" in refusal(capsys, "http://a:1", "--output", str(tmp_path))
    assert library.calls == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_a_sentence(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, "http://a:1", "--output", "/dev/full") == (
        "--output /dev/full cannot be written: No space left on device"
    )


def test_no_colour_for_files_pipes_and_no_color(
    library: Library, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["http://a:1"])
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sparkdiag.cli.output._is_terminal", lambda: True)
    main(["http://a:1"])
    assert capsys.readouterr().out.startswith("\x1b[1;31mfault: ")
    monkeypatch.setenv("NO_COLOR", "1")
    main(["http://a:1"])
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("TERM", "dumb")
    main(["http://a:1"])
    assert "\x1b" not in capsys.readouterr().out


def test_the_width_follows_a_terminal_within_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparkdiag.cli import output

    options = parser_of(DEFAULT).parse([])
    assert output.width(options) == 80
    monkeypatch.setattr(output, "_is_terminal", lambda: True)
    monkeypatch.setattr("sys.stdout.fileno", lambda: 1, raising=False)
    for columns, expected in ((50, 50), (300, 100), (0, 80)):
        size = os.terminal_size((columns, 24))
        monkeypatch.setattr(os, "get_terminal_size", lambda _, size=size: size)
        assert output.width(options) == expected


def test_an_interrupt_prints_the_partial_report(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    library.answer = Interrupted(REPORTS["inconclusive"])
    assert main(["http://a:1"]) == 130
    out, err = capsys.readouterr()
    assert out.startswith("inconclusive: ")
    assert err == "sparkdiag: interrupted\n"
    library.answer = KeyboardInterrupt()
    assert main(["http://a:1"]) == 130


def test_an_error_on_purpose_is_its_sentence(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    library.answer = InputError("there is no such file", place="nosuch.log")
    assert refusal(capsys, "nosuch.log") == "nosuch.log: there is no such file"
    library.answer = InputError("odd\x1b[2J name")
    assert refusal(capsys, "x.log") == "odd\\x1b[2J name"


def test_a_defect_is_short_and_keeps_its_traceback(
    library: Library, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    library.answer = KeyError("what nobody thought of")
    assert main(["http://a:1"]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("sparkdiag: a defect of sparkdiag itself: KeyError; please report it with the traceback in ")
    assert err.count("\n") == 1
    (file,) = tmp_path.iterdir()
    assert str(file) in err
    assert "what nobody thought of" in file.read_text()
    assert main(["http://a:1", "--debug"]) == 4
    assert "what nobody thought of" in capsys.readouterr().err


def test_nothing_to_do_is_refused(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys).startswith("no target: ")
    assert refusal(capsys, "--tools").startswith("no target: ")


@pytest.mark.parametrize("verb", PLANNED)
def test_verbs_of_later_are_refused_with_those_of_now(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    message = refusal(capsys, verb, "something")
    assert message == f"the verb {verb} is not built yet; there are {', '.join(VERBS)}. A file of that name is ./{verb}"


@pytest.mark.parametrize("option", PLANNED_OPTIONS)
def test_options_of_later_are_refused(library: Library, capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert refusal(capsys, "http://a:1", option, "x").startswith(f"{option} (")
    assert refusal(capsys, option, "http://a:1").endswith("is not built yet")
    assert library.calls == []


@pytest.mark.parametrize("option", KEY_OPTIONS)
def test_a_key_on_the_command_line_is_refused_and_not_repeated(
    library: Library, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    for words in ((option, "sk-very-secret"), (f"{option}=sk-very-secret",)):
        message = refusal(capsys, "http://a:1", *words)
        assert "--api-key-env VAR" in message
        assert "sk-very" not in message
    assert library.calls == []


def test_api_key_env_wants_a_variable(
    library: Library, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    assert refusal(capsys, "http://a:1", "--api-key-env", "NO_SUCH_KEY") == (
        "the environment variable NO_SUCH_KEY is not set"
    )
    monkeypatch.setenv("NO_SUCH_KEY", "")
    assert "NO_SUCH_KEY is empty" in refusal(capsys, "http://a:1", "--api-key-env", "NO_SUCH_KEY")
    for key in ("sk-very-secret", "hf_verysecret"):
        message = refusal(capsys, "http://a:1", "--api-key-env", key)
        assert "secret" not in message
        assert "not the key itself" in message


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--modle x http://a:1", "there is no option --modle; did you mean --model?"),
        ("--tool http://a:1", "there is no option --tool; did you mean --tools?"),
        ("--modle=secret http://a:1", "there is no option --modle; did"),
        ("-x http://a:1", "there is no option -x (see sparkdiag --help)"),
        ("http://a:1 --model", "--model: expected one argument"),
        ("http://a:1 --timeout soon", "--timeout: 'soon' is no number of seconds above 0"),
        ("http://a:1 --timeout 0", "--timeout: '0' is no number of seconds above 0"),
        ("http://a:1 --timeout nan", "--timeout: 'nan' is no number of seconds above 0"),
        ("http://a:1 --max-generated -5", "--max-generated: "),
        ("http://a:1 --max-generated 1.5", "--max-generated: '1.5' is no number of tokens"),
        ("http://a:1 --rule-engine pyton", "--rule-engine: 'pyton' is no rule engine; did you mean python?"),
        ("http://a:1 --client-reads reasonin", "--client-reads: 'reasonin' is no key for the thought; did you mean"),
        ("http://a:1 --format html", "the format html is not built yet; there are text, json, line, markdown"),
        ("http://a:1 --format jsn", "there is no format 'jsn'; did you mean json?"),
        ("rulse list", "'rulse' is neither a verb nor a file; did you mean rules?"),
        ("lnt x", "'lnt' is neither a verb nor a file; did you mean lint?"),
        ("help", "for help: sparkdiag --help"),
        ("rules", "rules needs one of list, check, show, compile"),
        ("rules lst", "rules has no 'lst'; did you mean list?"),
        ("rules list more", "rules list takes no word 'more'"),
        ("rules show", "rules show takes one id"),
        ("rules check a b", "rules check takes no word 'b'"),
        ("rules list --model x", "there is no option --model"),
        ("rules list --forma json", "there is no option --forma"),
        ("explain", "explain takes one id"),
        ("why", "why takes an id and the evidence: sparkdiag why ID TARGET..."),
        ("why-not some-id", "why-not takes an id and the evidence: sparkdiag why-not ID TARGET..."),
        ("replay", "replay takes one capture"),
        ("replay a b", "replay takes one capture"),
        ("demo a b", "demo takes one case, not 2"),
    ],
)
def test_wrong_usage_is_a_sentence(
    library: Library, capsys: pytest.CaptureFixture[str], words: str, sentence: str
) -> None:
    assert refusal(capsys, *words.split()).startswith(sentence)
    assert library.calls == []


@pytest.mark.parametrize("verb", [DEFAULT, *VERBS])
def test_every_option_has_a_help_text(verb: str) -> None:
    for action in parser_of(verb)._actions:
        assert action.help, action.option_strings


@pytest.mark.parametrize("verb", [None, *VERBS])
def test_help(capsys: pytest.CaptureFixture[str], verb: str | None) -> None:
    assert main([*([verb] if verb else []), "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: sparkdiag {verb or 'TARGET...'} ")
    assert "--json" in text
    assert max(len(line) for line in text.split("\n")) <= 80


def test_help_names_what_is_here_and_nothing_of_later(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    text = capsys.readouterr().out
    for verb, (_, words) in VERBS.items():
        assert f"  {verb:<9} {words}\n" in text
    for option in ("--log", "--model", "--api-key-env", "--client-reads", "--tools", "--passive", "--max-generated"):
        assert option in text
    words = set(text.replace(",", " ").split())
    assert not words & {*PLANNED, *PLANNED_OPTIONS, "html", "sarif", "junit"}


def test_help_wins_over_what_else_is_wrong(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "-h"]) == 0
    assert main(["-h", "why-not"]) == 0
    assert capsys.readouterr().out.count("usage: ") == 2


def test_one_argument_type_is_one_word(library: Library) -> None:
    assert main(["--output=/dev/null", "--timeout=5", "http://a:1"]) == 1
    assert library.calls == [(("http://a:1",), {"timeout": 5.0})]
