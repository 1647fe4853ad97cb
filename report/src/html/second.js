// A second record file.
const ofValues = (values) => {
  const all = values.filter(Number.isFinite).sort((a, b) => a - b);
  const n = all.length;
  if (!n) return null;
  const median = (all[(n - 1) >> 1] + all[n >> 1]) / 2;
  const { processes, student } = data.rules;
  if (n < processes || !(all[0] > 0)) return { median, low: 0, high: 0 };
  const logs = all.map(Math.log);
  const mean = logs.reduce((sum, one) => sum + one, 0) / n;
  const t = student[n - 2] ?? 1.959964 + 2.3722712787051083 / (n - 1);
  const reach = (t * Math.hypot(...logs.map((one) => one - mean))) / Math.sqrt((n - 1) * n);
  const [low, high] = [mean - reach, mean + reach].map(Math.exp);
  return { median, low: +Math.min(median, low).toPrecision(12), high: +Math.max(median, high).toPrecision(12) };
};
const ofProcesses = (processes) => {
  const { clean, processes: enough } = data.rules;
  const ofClean = (own) => own.filter((one) => one.clean);
  let groups = processes.filter((own) => ofClean(own).length >= Math.min(clean, own.length || 1)).map(ofClean);
  const marked = groups.length < enough;
  if (!groups.length) groups = processes;
  const medians = groups.map((own) => ofValues(own.map((one) => one.value))).filter(Boolean);
  const all = ofValues(medians.map((one) => one.median));
  return all && { ...all, marked };
};
const unpack = (samples) => {
  const { calls = 1, total, noisy } = samples.total ? samples : { total: [samples] };
  const off = new Set(noisy);
  const all = total.map((sum, at) => ({ value: sum / (calls.map ? calls[at] : calls), clean: !off.has(at) }));
  if (!all[0] || !all.every(({ value }) => value >= 1e-6 && value < 9e15)) throw 0;
  return all;
};
const HOSTILE = /[\p{C}\p{Zl}\p{Zp}]/gu;
const FAILURES = ["wrong", "trapped", "failed"];
const readLines = (text) => {
  let [run, problem, bad] = [null, "", 0];
  const skip = (at, why) => {
    bad += 1;
    problem ||= `line ${at + 1}: ${why}`;
  };
  text.split("\n").forEach((own, at) => {
    if (!own.trim()) return;
    let line;
    try {
      line = JSON.parse(own, (_, value) => (value?.replace ? value.replace(HOSTILE, " ") : value));
    } catch {
      return skip(at, "not JSON");
    }
    if (line?.kind === "run") {
      if (line.schema === data.schema) return void (run = { header: line, cells: new Map(), failed: new Set(), left: new Set() });
      run = null;
      return skip(at, `layout version ${line.schema} where this page reads ${data.schema}`);
    }
    if (!line?.kind || !run) return skip(at, line?.kind ? "no header above it that this page reads" : "not a record");
    try {
      const { engine, strategy, guest, threads, metrics, process } = line;
      if (line.kind === "refusal") run[FAILURES.includes(line.status) ? "failed" : "left"].add([engine, strategy, guest, line.case, threads].join("\n"));
      if (line.kind !== "observations") return;
      const cell = { engine, strategy, guest, case: line.case, threads: threads ?? 1 };
      if (Object.values(cell).includes(undefined)) throw 0;
      const samples = metrics.call === undefined ? null : unpack(metrics.call);
      placesOf(Object.values(cell)).forEach((place) => place.endsWith("\n") || run.failed.delete(place));
      const key = [line.case, guest, `${engine}_${strategy}`, cell.threads].join(" ");
      if (!run.cells.has(key)) run.cells.set(key, { cell, processes: new Map() });
      // Of two lines of one process the later counts.
      const { processes } = run.cells.get(key);
      processes.delete(process);
      processes.set(process, samples);
    } catch {
      skip(at, "a record with missing or wrong fields");
    }
  });
  return { run, problem, bad };
};
const compareWith = (file, text) => {
  const { run, problem, bad } = readLines(text);
  if (!run) throw new Error(`it holds no run that this page can read${problem ? ` (${problem})` : ""}. Choose a records.jsonl that \`touchstone bench\` wrote.`);
  const { header } = run;
  const digests = new Map((header.works || []).map((own) => [`${own.case} ${own.guest}`, String(own.init?.sha256 || own.guest_sha256).slice(0, 16)]));
  const changedGuests = new Set(works.filter((own) => (digests.get(`${own.case} ${own.guest}`) ?? own.digest) !== own.digest).map((own) => own.guest));
  const found = new Map();
  let alone = 0;
  for (const [key, { cell, processes }] of run.cells) {
    if (placesOf(Object.values(cell)).some((place) => run.failed.has(place) || run.left.has(place))) continue;
    const estimate = ofProcesses([...processes.values()].filter(Boolean));
    if (!estimate || !(estimate.median > 0)) continue;
    if (!byKey.has(key)) alone += 1;
    else if (!changedGuests.has(cell.guest)) found.set(key, estimate);
  }
  if (!found.size) throw new Error("none of its cells is a cell of this page with the same guest. Choose a file of the same cases.");
  const machine = header.machine || {};
  const notes = [
    `Second file: ${file}, run ${header.run}, commit ${header.tools?.commit}, ${machine.cpu}.`,
    `${count(found.size, "cell")} compared, ${(cells.length - found.size).toLocaleString("en")} only in the first, ${alone.toLocaleString("en")} only in the second.`,
  ];
  if (machine.cpu !== data.run.cpu || machine.kernel !== data.run.kernel) notes.push("The machines differ: ratios compare machines as well.");
  if (changedGuests.size) notes.push(`Other bytes, not compared: ${[...changedGuests].join(", ")}.`);
  if (bad) notes.push(`${count(bad, "line")} skipped (${problem}).`);
  return { cells: found, text: notes.join(" ") };
};
const say = (text) => {
  $("message").textContent = text;
  $("message").hidden = !text;
};
const load = async (file) => {
  if (!file) return;
  try {
    if (file.size > 2 ** 28) throw new Error("it is larger than 256 MiB.");
    second = compareWith(file.name, await file.text());
    say("");
  } catch (error) {
    say(`${file.name} was not read: ${error.message}${second ? "\nThe file that was read before is still compared." : ""}`);
    return;
  }
  showSecond();
};
const showSecond = () => {
  $("second").textContent = second ? second.text : "";
  $("second").hidden = $("remove").hidden = !second;
  if (!second && state.sort === "second") state.sort = START.sort;
  changed();
};

