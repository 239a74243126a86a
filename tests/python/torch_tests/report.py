"""Counts the verdicts that judge.py wrote, by what was asked and by kind: python report.py VERDICTS [--page PAGE]."""

import argparse
import collections
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "scripts"))

import page_part

ASKED = {
    "trace": "traced",
    "graph": "the graph, rebuilt in torch.fx, called twice",
    "fx": "the class of `-f fx`, called twice",
    "convert": "the program of `convert`, loaded and called twice",
    "security": "`check --security`",
    "torch": "what torch itself says",
    "judge": "not judged",
}
MOST_REASONS = 12


def lines(verdicts: list[dict]) -> list[str]:
    programs = sum(each["file"].endswith(".pt2") for each in verdicts)
    result = [f"{len(verdicts)} files: {len(verdicts) - programs} archives of TorchScript and {programs} exported programs.", ""]
    result += ["| | verdict | files |", "|---|---|---|"]
    for asked, text in ASKED.items():
        kinds = collections.Counter(each[asked].partition(":")[0] for each in verdicts if asked in each)
        result += [f"| {text} | {kind} | {count} |" for kind, count in kinds.most_common()]
    for asked, kind, title in (("trace", "not traced", "Not traced"), ("convert", "not converted", "Not converted")):
        reasons = collections.Counter(
            each[asked].partition(": ")[2].replace("|", "\\|") for each in verdicts if each.get(asked, "").startswith(kind + ":")
        )
        if reasons:
            result += ["", f"{title}, by reason (the first {MOST_REASONS}):", "", "| reason | files |", "|---|---|"]
            result += [f"| {reason} | {count} |" for reason, count in reasons.most_common(MOST_REASONS)]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verdicts", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    given = parser.parse_args()
    verdicts = [json.loads(line) for line in given.verdicts.read_text(encoding="utf-8").splitlines()]
    text = "\n".join(lines(verdicts)) + "\n"
    print(text)
    for each in verdicts:
        for asked in ASKED:
            if each.get(asked, "").startswith(("different", "crash")):
                print(f"{each['file']}: {asked}: {each[asked]}")
    if given.page:
        page_part.update(given.page, "scripts/torch_tests", f"\n{text}\n", check=False)


if __name__ == "__main__":
    main()
