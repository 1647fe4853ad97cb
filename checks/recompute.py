#!/usr/bin/env python3
"""Computes the numbers of BENCHMARK.md from records/ once more, without any code of Touchstone.

Needs Python 3.11 and its standard library. Reads the records, benches/pages.toml (which rows the page
has) and the page, and compares every time, interval and ratio of the verdict, the recommendations and
the tables of strategies, threads, engines and real work. A value agrees if it rounds to what the page
prints. Also prints how wide the intervals are. Exits with 1 if one differs, or if fewer values than expected were found.

    checks/recompute.py [FOLDER]     # the clone; this one by default
"""

import collections
import functools
import json
import math
import pathlib
import re
import statistics
import sys
import tomllib

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
ROOT = ROOT if ROOT.is_dir() else ROOT.parent.parent
FEWEST = 400  # values that the page has at least
UNITS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


@functools.cache
def student(freedom):
    """The 97.5 % quantile of Student's t distribution: its density, integrated and inverted."""
    scale = math.gamma((freedom + 1) / 2) / (math.sqrt(freedom * math.pi) * math.gamma(freedom / 2))
    density = lambda t: scale * (1 + t * t / freedom) ** (-(freedom + 1) / 2)

    def between(end, steps=4000):
        width = end / steps
        inner = sum((4 if n % 2 else 2) * density(n * width) for n in range(1, steps))
        return (density(0) + inner + density(end)) * width / 3

    low, high = 0.0, 15.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if between(middle) < 0.475 else (low, middle)
    return low


Estimate = collections.namedtuple("Estimate", "median low high modes")


def estimate(values):
    """Median, t interval of the logarithms' mean, and two modes, of one value of each process."""
    values = sorted(values)
    if not values:
        return None
    median = statistics.median(values)
    low = high = None
    if len(values) >= 3 and values[0] > 0:
        logs = [math.log(value) for value in values]
        mean = statistics.fmean(logs)
        reach = student(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
        low, high = min(median, math.exp(mean - reach)), max(median, math.exp(mean + reach))
    gaps = [(b / a, at) for at, (a, b) in enumerate(zip(values, values[1:]), 1)]
    gap, at = max(gaps, default=(0, 0))
    modes = None
    if gap > 1.5:
        modes = tuple((statistics.median(own), len(own)) for own in (values[:at], values[at:]))
    return Estimate(median, low, high, modes)


def over(above, below):
    has = above.low is not None and below.low is not None
    low, high = (above.low / below.high, above.high / below.low) if has else (None, None)
    modes = None
    if above.modes or below.modes:
        both = lambda of: of.modes or ((of.median, 0), (of.median, 0))
        quotient = lambda one, other: (one[0] / other[0], max(one[1], other[1]))
        modes = (quotient(both(above)[0], both(below)[1]), quotient(both(above)[1], both(below)[0]))
    return Estimate(above.median / below.median, low, high, modes)


def clean_groups(processes):
    """The clean ones of processes that have three (or all of fewer); all where none has."""
    groups = [[value for value, clean in own if clean] for own in processes]
    enough = [own for own, all in zip(groups, processes) if len(own) >= min(3, max(1, len(all)))]
    return enough or [[value for value, _ in own] for own in processes]


def samples(packed):
    if not isinstance(packed, dict):
        return [(packed, True)]
    calls, noisy = packed.get("calls", 1), set(packed.get("noisy", ()))
    call = lambda at: calls[at] if isinstance(calls, list) else calls
    return [(total / call(at), at not in noisy) for at, total in enumerate(packed["total"])]


def of_processes(processes):
    return estimate([statistics.median(own) for own in clean_groups(processes) if own])


class Records:
    def __init__(self, folder):
        self.cells, self.turns, self.points = {}, {}, {}
        for file in ("records", "peers", "density", "resets", "systems"):
            path = folder / f"{file}.jsonl"
            newest = self.runs(path)[-1:]
            for line in newest[0] if newest else []:
                self.add(line, self.turns)
            if file == "peers":
                peers = newest
        self.builds = []
        source = lambda run: (run[0]["machine"]["id"], run[0]["tools"]["commit"])
        binary = lambda run: run[0]["tools"]["binary"]
        binaries = {binary(run) for run in peers}
        for run in self.runs(folder / "layouts.jsonl"):
            if peers and source(run) == source(peers[0]) and binary(run) not in binaries:
                binaries.add(binary(run))
                self.builds.append({})
                for line in run:
                    self.add(line, self.builds[-1])

    @staticmethod
    def runs(path):
        lines = [json.loads(line) for line in path.open(encoding="utf-8")] if path.exists() else []
        begins = [at for at, line in enumerate(lines) if line["kind"] == "run"]
        return [lines[at:end] for at, end in zip(begins, [*begins[1:], len(lines)])]

    def add(self, line, turns):
        name = lambda of: f"{of['engine']}_{of['strategy']}"
        if line["kind"] == "observations":
            key = (line["case"], line["guest"], name(line), line.get("threads", 1))
            own = self.cells.setdefault(key, {})
            own.pop(line["process"], None)
            own[line["process"]] = line["metrics"]
        elif line["kind"] == "comparison":
            side = lambda of: (name(of), of.get("threads", 1), json.dumps(of.get("means", "contract")))
            key = (line["purpose"], line["case"], line["guest"], side(line["subject"]), side(line["baseline"]))
            turns.setdefault(key, {})[line["process"]] = line
        elif line["kind"] == "point" and "refused" not in line:
            place = dict(line["where"])
            executor = f"{place.pop('engine', '')}_{place.pop('strategy', '')}"
            key = (line["experiment"], executor, tuple(sorted(place.items())))
            self.points.setdefault(key, {})[line.get("process", 0)] = line.get("values", {})

    def time(self, case, guest, executor, threads=1, metric="call"):
        own = self.cells.get((case, guest, executor, threads), {})
        return of_processes([samples(of[metric]) for of in own.values() if metric in of])

    def fastest(self, case, guest, engine):
        """Of all strategies of an engine, without precompiled variants."""
        keys = [key for key in self.cells if key[:2] == (case, guest) and key[3] == 1]
        mine = [key[2] for key in keys if self.engine(key[2]) == engine and not key[2].endswith("_precompiled")]
        timed = [(self.time(case, guest, own), own) for own in mine]
        return min((own for own in timed if own[0]), default=(None, None), key=lambda own: own[0].median)

    @staticmethod
    def engine(executor):
        return re.split("_(?=instance_reuse|recreate_instance|pooling|interpreted)", executor)[0]

    def over_builds(self, key, ratio):
        """The ratio of a comparison, with an interval that covers builds with another layout."""
        others = [judged[0].median for turns in self.builds if (judged := self.judged(key, turns))]
        medians = [ratio.median, *others]
        over = estimate(medians)
        if over.low is None:
            return ratio
        return Estimate(
            ratio.median,
            min(ratio.low, over.low, *medians),
            max(ratio.high, over.high, *medians),
            ratio.modes,
        )

    def judged(self, key, turns=None):
        """Ratio and times of both sides of a comparison in turns."""
        processes = (self.turns if turns is None else turns).get(key)
        if not processes:
            return None
        timed = []
        for line in processes.values():
            noisy = set(line.get("noisy", ()))
            pairs = [(pair, at not in noisy) for at, pair in enumerate(line["rounds"])]
            timed.append([(pair, clean) for pair, clean in pairs if min(pair) > 0])
        groups = clean_groups(timed)
        of = lambda value: estimate([statistics.median(map(value, own)) for own in groups if own])
        return of(lambda pair: pair[0] / pair[1]), of(lambda pair: pair[0]), of(lambda pair: pair[1])

    def slow_down(self, case, guest, executor, threads):
        rate = lambda own: statistics.fmean(1 / value for value, clean in own if clean)
        both = []
        for n in (1, threads):
            own = self.cells.get((case, guest, executor, n), {})
            calls = {process: samples(of["call"]) for process, of in own.items() if "call" in of}
            enough = lambda all: sum(clean for _, clean in all) >= min(3, max(1, len(all)))
            both.append({process: rate(all) for process, all in calls.items() if enough(all)})
        ratios = [both[1][process] / alone for process, alone in both[0].items() if process in both[1]]
        # Too few processes have both.
        if len(ratios) < 3:
            return self.time(case, guest, executor, threads)[0] / self.time(case, guest, executor)[0]
        return 1 / statistics.median(ratios)


class Page:
    def __init__(self, text):
        self.text, self.checked, self.wrong = text, 0, []

    def tables(self, heading):
        """Rows of all tables of a section, each as {column: text}; the first column is ''."""
        match = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", self.text, re.M | re.S)
        columns = None
        for line in (match[1] if match else "").splitlines():
            if not line.startswith("|"):
                columns = None
                continue
            parts = [part.strip() for part in line.strip("|").split(" | ")]
            if columns is None:
                repeated = lambda at: " (again)" if parts[at] in parts[:at] else ""
                columns = [part + repeated(at) for at, part in enumerate(parts)]
            elif not parts[0].startswith("---"):
                yield dict(zip([""] + columns[1:], parts))

    def check(self, what, printed, value):
        """Compares `12.3 µs [11.9 – 12.8]`, a ratio, or two modes with a computed estimate."""
        printed = printed.split(" `")[0].split(" (in turns)")[0].replace("†", "").strip()
        unit = next((own for own in UNITS if re.search(rf"\d {own}\b", printed)), None)
        if "‡" in printed:
            shown = re.findall(r"([\d.]+) ?(ns|µs|ms|s|×)? \((\d+)\)", printed)
            pairs = [(one, UNITS.get(own, 1.0), mode[0]) for (one, own, _), mode in zip(shown, value.modes or ())]
        else:
            shown = re.findall(r"[\d.]+", printed)
            wanted = [value.median, value.low, value.high][: len(shown)]
            pairs = [(one, UNITS.get(unit, 1.0), own) for one, own in zip(shown, wanted)]
        ok = bool(pairs)
        for text, scale, own in pairs:
            self.checked += 1
            step = 10.0 ** -len(text.partition(".")[2])
            if own is not None and own / scale >= 1000 and "." not in text:
                step = 10 ** (math.floor(math.log10(own / scale)) - 2)  # three digits of a large factor
            ok = ok and own is not None and abs(float(text) - own / scale) <= 0.501 * step
        if not ok:
            self.wrong.append(f"{what}: the page has {printed}, the records {value}")


def widths(records, text):
    """Half of the intervals over their medians: of all cells, and as the page prints them."""
    timed = (records.time(*key) for key in records.cells)
    cells = [(own.high - own.low) / 2 / own.median for own in timed if own and own.low is not None]
    quarters = ", ".join(f"{100 * width:.1f}" for width in statistics.quantiles(cells, n=4))
    yield f"half width of an interval over the median, quartiles of {len(cells)} cells: {quarters} %"
    number = r"([\d.,]+)"
    interval = re.compile(rf"{number}[^\[\d|]{{0,12}}\[{number} – {number}\]")
    shown, wide = [], []
    for line in text.splitlines():
        for found in interval.finditer(line):
            median, low, high = (float(own.replace(",", "")) for own in found.groups())
            shown.append((high - low) / 2 / median if median else 0)
            # A ratio is wide where one of its sides, in the same row, has two modes.
            is_marked = line[found.end() :].startswith(("†", "‡")) or "‡" in line
            if shown[-1] > 0.15 and not is_marked:
                wide.append(found[0])
    share = f"{len(wide)} above 15 % without a mark: {'; '.join(wide) or 'none'}"
    yield f"the same of {len(shown)} values of the page, median: {100 * statistics.median(shown):.1f} %; {share}"


def places(measured, name):
    return (measured["name"], name, tuple(sorted(measured.get("where", {}).items())))


def expression(text, values):
    """A sum, a quotient, … of values of one process."""
    names = set(re.findall(r"[a-z_][\w.]*", text))
    numbers = {name: values[name] for name in names}
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, repr(float(numbers[name])))
    assert re.fullmatch(r"[\d.e+\-*/() ]+", text), text
    return eval(text)  # digits and operators alone


def rung(records, row, baseline):
    """Subject, baseline and how many times the subject's time the baseline takes."""
    subject, threads = row["subject"], row.get("threads", 1)
    if measured := row.get("experiment"):
        one, other = (records.points.get(places(measured, of)) for of in (subject, baseline))
        if not one or not other:
            return None
        value = measured["value"]
        if measured.get("rate"):
            sides = [estimate([of[value] for of in own.values()]) for own in (one, other)]
            ratio = estimate([one[n][value] / other[n][value] for n in one if n in other])
            return Estimate(1e9 / sides[0].median, *[None] * 3), Estimate(1e9 / sides[1].median, *[None] * 3), ratio
        if isinstance(next(iter(one.values())).get(value), dict):
            sides = [of_processes([samples(of[value]) for of in own.values()]) for own in (one, other)]
            rounds = []
            for n in (n for n in one if n in other):
                pairs = zip(samples(other[n][value]), samples(one[n][value]))
                rounds.append([(b / a, clean and also) for (b, clean), (a, also) in pairs])
            return *sides, of_processes(rounds)
        median = lambda own: statistics.median(expression(value, of) for of in own.values())
        sides = [Estimate(median(own), None, None, None) for own in (one, other)]
        return *sides, over(sides[1], sides[0])
    case, guest = row["call"]["case"], row["call"]["guest"]
    side = lambda of, means="contract": (of, threads, json.dumps(means))
    if row.get("deadline"):
        sides = [records.judged(("deadline", case, guest, side(of, "limited"), side(of))) for of in (subject, baseline)]
        return (sides[0][1], sides[1][1], over(sides[1][1], sides[0][1])) if all(sides) else None
    key = ("peers", case, guest, side(subject), side(baseline))
    if judged := records.judged(key):
        ratio = records.over_builds(key, judged[0])
        return judged[1], judged[2], over(Estimate(1.0, 1.0, 1.0, None), ratio)
    sides = [records.time(case, guest, of, threads) for of in (subject, baseline)]
    return (*sides, over(sides[1], sides[0])) if all(sides) else None


def verdict(page, records, division):
    rows = [row for rungs in division["rungs"] for row in rungs["rows"]]
    printed = list(page.tables("Verdict"))
    by_turns = lambda row, baseline: ("peers", row["call"]["case"], row["call"]["guest"],
                                      (row["subject"], row.get("threads", 1), '"contract"'),
                                      (baseline, row.get("threads", 1), '"contract"')) in records.turns
    at = 0
    for row in rows:
        names = [row["baseline"], *row.get("or", ())]
        plain = "experiment" not in row and not row.get("deadline")
        if plain and any(by_turns(row, name) for name in names):
            names = [name for name in names if by_turns(row, name)]
        found = [own for own in (rung(records, row, name) for name in names) if own]
        if not found:
            continue
        subject, baseline, ratio = min(found, key=lambda own: own[1].median)
        shown, at = printed[at], at + 1
        assert shown[""] == row["text"], (shown[""], row["text"])
        for column, value in (("Touchstone", subject), ("Wasmtime's pool", baseline), ("times slower", ratio)):
            page.check(f"verdict, {row['text']}, {column}", shown[column], value)


def loss(page, records, row, words):
    """A row of calls that write pages, where a strategy of the runtime's own is faster."""
    *parts, threads = row[""].split(", ")
    size, unit = row["Size"].split()
    where = {words[part][0]: words[part][1] for part in parts}
    where |= {"threads": int(threads.split()[0]), "pages": int(size) * {"KiB": 1, "MiB": 1024}[unit] // 4}
    own, time = re.fullmatch(r"`(\S+)` (.*)", row["The runtime's own"]).groups()
    picks = re.findall(r"`(\S+)` ([\d.]+ \S+) \(([\d.,]+) ×\)", row["Touchstone's picks, times longer"])
    for pick, picks_time, longer in picks:
        asked = {"subject": pick, "experiment": {"name": "resets", "where": where, "value": "call"}}
        subject, baseline, ratio = rung(records, asked, own)
        page.check(f"loss of {pick}, {row['']}", picks_time, subject)
        page.check(f"loss of {pick}, {row['']}, runtime's own", time, baseline)
        page.check(f"loss of {pick}, {row['']}, times", longer, Estimate(1 / ratio.median, *[None] * 3))


def main():
    records, page = Records(ROOT / "records"), Page((ROOT / "BENCHMARK.md").read_text(encoding="utf-8"))
    division = tomllib.loads((ROOT / "benches/pages.toml").read_text(encoding="utf-8"))
    payload = division["payload"]
    overview = [("call_empty_function", "test_runtime"), ("dirty_1mb_of_memory", "test_runtime")]
    verdict(page, records, division)
    needs = {need["need"]: need for need in division["needs"]}
    resets = tomllib.loads((ROOT / "benches/experiments/resets.toml").read_text(encoding="utf-8"))
    words = {text: (of["name"], value) for of in resets["dimensions"] for value, text in of.get("words", ())}
    for row in page.tables("Recommendations"):
        if "Size" in row:
            loss(page, records, row, words)
            continue
        need, pick = needs[row[""]], row["Pick"].split("`")[1]
        call, work = need["call"], need.get("payload", payload)
        own = (call["case"], call["guest"], pick)
        page.check(f"pick {pick}", row["Clean empty call"], records.time(*own))
        if row["On all threads"] != "–":
            page.check(f"{pick}, 2 threads", row["On all threads"].split(" (")[0], records.time(*own, 2))
            slow = Estimate(records.slow_down(*own, 2), None, None, None)
            page.check(f"{pick}, slow-down", row["On all threads"].split(" (")[1].rstrip(" ×)"), slow)
        side = (pick, 1, '"contract"')
        limited = records.judged(("deadline", work["case"], work["guest"], (pick, 1, '"limited"'), side))
        if row["With a deadline"] != "–":
            page.check(f"{pick}, deadline", row["With a deadline"], limited[0])
        in_turns = "in turns" in row["Clean call with JSON"]
        json_time = limited[2] if in_turns else records.time(work["case"], work["guest"], pick)
        if row["Clean call with JSON"] != "–":
            page.check(f"{pick}, JSON", row["Clean call with JSON"], json_time)
        elif json_time:
            page.wrong.append(f"{pick}, JSON: the page has no time, the records {json_time}")
    for row in page.tables("Engines at a glance"):
        engine = row[""].strip("`")
        for column, of in (("Best of all", overview[0]), ("Best clean call with JSON", (payload["case"], payload["guest"]))):
            fastest = records.fastest(*of, engine)[0]
            if row[column] != "–":
                page.check(f"{engine}, {column}", row[column], fastest)
            elif fastest:
                page.wrong.append(f"{engine}, {column}: the page has no time, the records {fastest}")
        own = row["Best clean empty call of the runtime's own"]
        if own != "–":
            name = f"{engine}_{own.split('`')[1]}"
            page.check(f"{name}, empty", own, records.time(*overview[0], name))
    for row in page.tables("Strategies"):
        for engine, text in list(row.items())[1:]:
            if not engine.startswith("`"):
                continue
            executor = f"{engine.strip('`')}_{row[''].strip('`')}"
            for of, part in zip(overview, text.split("<br>")):
                if part[:1].isdigit():
                    page.check(f"{executor}, {of[0]}", part, records.time(*of, executor))
    for row in page.tables("Threads"):
        executor, cells = row[""].strip("`"), list(row.values())[1:]
        for of, (alone, both, slower) in zip(overview, (cells[:3], cells[3:])):
            page.check(f"{executor}, {of[0]}", alone, records.time(*of, executor))
            page.check(f"{executor}, {of[0]}, 2 threads", both, records.time(*of, executor, 2))
            slow = Estimate(records.slow_down(*of, executor, 2), None, None, None)
            page.check(f"{executor}, {of[0]}, slow-down", slower, slow)
    groups = {row["label"]: row for group in division["work"] for row in group["rows"]}
    for row in page.tables("Real work"):
        of = groups[row[""]]
        for engine, text in list(row.items())[1:]:
            if text != "–":
                best = records.fastest(of["case"], of["guest"], engine.strip("`"))[0]
                page.check(f"{row['']}, {engine}", text, best)
    for line in (*page.wrong, *widths(records, page.text)):
        print(line)
    print(f"{page.checked} values of BENCHMARK.md computed again from records/, {len(page.wrong)} differ")
    if page.checked < FEWEST:
        print(f"at least {FEWEST} were expected: was the page laid out anew?")
    return int(bool(page.wrong) or page.checked < FEWEST)


if __name__ == "__main__":
    sys.exit(main())
