const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const PAGE = 200;

// Elements. A text is never parsed as HTML.
const set = (node, attributes) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  return node;
};
const h = (tag, attributes = {}, ...children) => {
  const node = set(document.createElement(tag), attributes);
  node.append(...children.filter((child) => child != null));
  return node;
};
const svg = (tag, attributes, ...children) => {
  const node = set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
  node.append(...children);
  return node;
};

// Numbers, as src/report/units.rs writes them: ties go to the even digit.
const fixed = (value, places) => {
  const long = value.toFixed(places + 60);
  const short = long.slice(0, -60).replace(/\.$/, "");
  const isDown = /^50*$/.test(long.slice(-60)) && "02468".includes(short.at(-1));
  return isDown ? short : value.toFixed(places);
};
const significant = (value, digits) => {
  const print = (of) => fixed(value, of > 0 ? Math.max(0, Math.min(9, digits - 1 - Math.floor(Math.log10(of)))) : 0);
  return print(Number(print(value)));
};
const TIMES = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
const unitOf = (ns) => TIMES.find(([, scale]) => Number(significant(ns / scale, 4)) >= 1) || TIMES[3];
const time = (ns) => {
  const [unit, scale] = unitOf(ns);
  return `${significant(ns / scale, 4)} ${unit}`;
};
const interval = ({ median, low, high }) => {
  if (!low) return "no interval";
  const [, scale] = unitOf(median);
  const places = (significant(median / scale, 4).split(".")[1] || "").length;
  return `${fixed(low / scale, places)} – ${fixed(high / scale, places)}`;
};
const factor = (ratio) => {
  const step = ratio >= 1e3 ? 10 ** (Math.floor(Math.log10(ratio)) - 2) : 0;
  return significant(step ? Math.round(ratio / step) * step : ratio, 3);
};
const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const mark = (marked) => (marked ? h("span", { class: "mark" }, "†") : "");

// The cells of the first file.
const works = data.works.map(([c, g, digest], at) => ({ at, case: data.cases[c], guest: data.guests[g], digest }));
const executors = data.executors.map(([e, s, leaks], at) => {
  const [engine, strategy] = [data.engines[e], data.strategies[s]];
  return { at, engine, strategy, leaks, name: `${engine}_${strategy}` };
});
const keyOf = (executor, work, threads) => [work.case, work.guest, executor.name, threads].join(" ");
const column = data.cells;
const [marked, modes] = [new Set(column.marked), new Set(column.modes)];
const cells = column.executor.map((at, i) => {
  const [executor, work, threads] = [executors[at], works[column.work[i]], column.threads[i]];
  return {
    executor, work, threads, key: keyOf(executor, work, threads),
    median: column.median[i], low: column.low[i], high: column.high[i], marked: marked.has(i), modes: modes.has(i),
    calls: column.calls[i], samples: column.samples[i],
  };
});
const byKey = new Map(cells.map((cell) => [cell.key, cell]));
const unique = (list) => [...new Set(list)];
const allThreads = unique([...column.threads, ...data.refusals.map((r) => r[4]).filter((n) => n > 0)]).sort((a, b) => a - b);
// What a refusal may name; "" is all. The last is the worst.
const placesOf = ([engine, ...names]) => names.reduce((all, name) => all.flatMap((own) => [`${own}\n${name}`, `${own}\n`]), [engine]);
const refusals = new Map(data.refusals.map((own) => [
  [data.engines, data.strategies, data.guests, data.cases].map((list, at) => list[own[at]]).concat(own[4] < 0 ? "" : own[4]).join("\n"), own]));
const refusalOf = ({ engine, strategy }, work, threads) => placesOf([engine, strategy, work.guest, work.case, threads])
  .map((place) => refusals.get(place)).filter(Boolean).sort((a, b) => b[5] - a[5])[0];

// The state of the view. It is kept in the address, except for what is the default.
const first = works[data.start.work] || { case: "", guest: "" };
const START = {
  case: first.case, guest: first.guest, threads: String(data.start.threads), engines: null, strategies: null, q: "",
  clean: false, refused: false, sort: "median", desc: false, base: (executors[data.start.baseline] || { name: "" }).name,
};
const state = { ...START };
let second = null;
let shown = PAGE;
let view = [];
let current = null;
// The largest ratio of the view, either way, as a logarithm.
let largest = 0;
const open = new Set();

const address = () => {
  const parts = new URLSearchParams();
  for (const [name, start] of Object.entries(START)) {
    const value = state[name];
    if (value instanceof Set) parts.set(name, [...value].join(","));
    else if (value !== start) parts.set(name, typeof value === "boolean" ? Number(value) : value || "*");
  }
  return `#${parts}`;
};
const keep = (isStep) => {
  if (address() === (location.hash || "#")) return;
  history[isStep ? "pushState" : "replaceState"](null, "", address());
};
const restore = () => {
  const parts = new URLSearchParams(location.hash.slice(1));
  Object.assign(state, START);
  const pick = (name, list) => {
    const value = parts.get(name);
    if (value === "*") state[name] = "";
    else if (value !== null && list.includes(value)) state[name] = value;
  };
  pick("case", data.cases);
  pick("guest", data.guests);
  pick("threads", allThreads.map(String));
  pick("sort", COLUMNS.map((one) => one.name));
  pick("base", executors.map((one) => one.name));
  for (const name of ["engines", "strategies"]) {
    if (parts.has(name)) state[name] = new Set(parts.get(name).split(",").filter((one) => data[name].includes(one)));
  }
  for (const name of ["clean", "refused", "desc"]) state[name] = parts.get(name) === "1";
  state.q = parts.get("q") || "";
};

// The rows of the view.
const baseOf = (cell) => byKey.get([cell.work.case, cell.work.guest, state.base, cell.threads].join(" "));
const over = (above, below) => above && below && {
  median: above.median / below.median, marked: above.marked || below.marked,
  low: above.low && below.low ? above.low / below.high : 0, high: above.low && below.low ? above.high / below.low : 0,
};
const COLUMNS = [
  { name: "executor", label: "Executor", value: (row) => row.executor.name },
  { name: "case", label: "Case", value: (row) => row.work.at, optional: () => !state.case },
  { name: "guest", label: "Guest", value: (row) => data.guests.indexOf(row.work.guest), optional: () => !state.guest },
  { name: "threads", label: "Threads", value: (row) => row.threads, optional: () => !state.threads, number: true },
  { name: "median", label: "Median", value: (row) => row.median, number: true },
  { name: "interval", label: "95 % interval", hint: "sorts by width over the median", value: (row) => (row.low ? (row.high - row.low) / row.median : undefined), number: true },
  { name: "ratio", label: "Ratio", value: (row) => row.ratio?.median, number: true },
  { name: "second", label: "Second / first", value: (row) => row.second?.median, optional: () => second, number: true },
  { name: "samples", label: "Samples", hint: "sorts by spread over the median", value: (row) => spread(row) },
  { name: "mark", label: "†", hint: "sorts by interference", value: (row) => Number(row.marked) },
];
const spread = ({ samples, median }) => {
  if (!samples) return undefined;
  const all = samples.flatMap((own) => own.slice(1).map(Math.abs)).sort((a, b) => a - b);
  return (all.at(-1) - all[0]) / median;
};
const isOfWork = (work) => (!state.case || work.case === state.case) && (!state.guest || work.guest === state.guest);
const refused = (wanted) => {
  const rows = [];
  for (const work of works.filter(isOfWork)) {
    for (const threads of state.threads ? [Number(state.threads)] : allThreads) {
      for (const executor of executors) {
        const key = keyOf(executor, work, threads);
        if (byKey.has(key) || !wanted({ executor, work, threads })) continue;
        const refusal = refusalOf(executor, work, threads);
        if (refusal) rows.push({ executor, work, threads, key, status: data.statuses[refusal[5]], reason: data.texts[refusal[6]] });
      }
    }
  }
  return rows;
};
const choose = () => {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = ({ executor, work, threads }) =>
    isOfWork(work) && (!state.threads || threads === Number(state.threads))
    && (!state.engines || state.engines.has(executor.engine))
    && (!state.strategies || state.strategies.has(executor.strategy))
    && words.every((word) => `${executor.name} ${work.case} ${work.guest}`.toLowerCase().includes(word));
  const timed = cells.filter((cell) => wanted(cell) && !(state.clean && cell.marked));
  const rows = timed.map((cell) => ({ ...cell, ratio: over(cell, baseOf(cell)), second: second && over(second.cells.get(cell.key), cell) }));
  const { value } = COLUMNS.find((one) => one.name === state.sort);
  const way = state.desc ? -1 : 1;
  const compare = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === y) return 0;
    // What has no value stands below in both directions.
    if (x == null || y == null) return x == null ? 1 : -1;
    return x < y ? -way : way;
  };
  rows.sort(compare);
  // Refusals are too many for arguments of push.
  view = state.refused ? rows.concat(refused(wanted).sort(compare)) : rows;
};

// The table.
const strip = ({ samples, median }, height = 6) => {
  const x = (value) => 4 + 112 * Math.min(1, Math.max(0, (Math.log(value / median) / Math.log(1.25) + 1) / 2));
  const [dots, off] = [[], []];
  samples.forEach((own, line) => own.slice(1).forEach((value) => {
    (value < 0 ? off : dots).push([x(Math.abs(value)).toFixed(1), line * height + 4]);
  }));
  const tall = samples.length * height + 2;
  const words = `${count(dots.length + off.length, "sample")} of ${samples.length} processes, ${off.length} with interference`;
  return svg("svg", { width: 120, height: tall, viewBox: `0 0 120 ${tall}`, role: "img", "aria-label": words },
    svg("path", { class: "mid", d: `M60 0V${tall}` }),
    svg("path", { class: "dot", "stroke-width": 4, "stroke-linecap": "round", d: dots.map(([a, b]) => `M${a} ${b}h0`).join("") }),
    ...off.map(([cx, cy]) => svg("circle", { class: "off", cx, cy, r: 2 })));
};
const bar = (ratio) => {
  const node = h("i", { class: ratio < 1 ? "fast" : "" });
  node.style.width = `${(90 * Math.abs(Math.log(ratio))) / (largest || 1)}%`;
  return node;
};
// A name that may be broken at each underscore.
const name = (text) => text.split(/(?<=_)/).flatMap((part, at) => (at ? [h("wbr"), part] : [part]));
const isShown = (column) => !column.optional || column.optional();
const estimate = (ratio) => (ratio ? [factor(ratio.median), mark(ratio.marked)] : ["–"]);
const line = (row) => {
  const { executor, key } = row;
  const isBase = executor.name === state.base;
  const isOpen = open.has(key);
  const tab = key === current ? 0 : -1;
  const head = h("div", {},
    row.reason ? null : h("button", { type: "button", class: "open", tabindex: tab, "aria-expanded": String(isOpen), "aria-label": `Details of ${executor.name}` }, isOpen ? "▾" : "▸"),
    h("button", { type: "button", class: "pick", tabindex: tab, "aria-pressed": String(isBase), title: "Make this executor the baseline" }, ...name(executor.name)));
  const tr = h("tr", { class: `cell${isBase ? " base" : ""}`, "data-key": key });
  tr.append(h("th", { scope: "row" }, head, executor.leaks ? h("div", { class: "leak" }, `leaks ${executor.leaks}`) : null));
  const values = {
    case: [row.work.case], guest: [row.work.guest], threads: [row.threads],
    median: () => [time(row.median), row.modes ? h("span", { class: "mark", title: "Two modes" }, "‡") : null],
    ratio: () => [row.ratio ? bar(row.ratio.median) : null, h("span", {}, ...estimate(row.ratio))],
    interval: () => [interval(row)],
    second: () => [...estimate(row.second), ...(row.second?.low ? [` [${significant(row.second.low, 3)} – ${significant(row.second.high, 3)}]`] : [])],
    samples: () => [strip(row)],
    mark: () => (row.marked ? [h("span", { class: "mark", title: "Interference: too few clean samples" }, "†")] : []),
  };
  for (const column of COLUMNS.slice(1).filter(isShown)) {
    if (row.reason && column.name === "median") break;
    const value = values[column.name];
    tr.append(h("td", { class: `${column.number ? "number " : ""}${column.name}` }, ...(value instanceof Array ? value : value()).filter((one) => one != null)));
  }
  if (row.reason) tr.append(h("td", { class: "reason", colspan: COLUMNS.slice(4).filter(isShown).length }, `${row.status}: ${row.reason}`));
  return isOpen && !row.reason ? [tr, details(row)] : [tr];
};
const terms = (pairs) => h("dl", {}, ...pairs.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
const details = (row) => {
  const { run } = data;
  const setup = data.setups.find(([at, guest]) => at === row.executor.at && data.guests[guest] === row.work.guest);
  const pairs = setup ? data.settings[setup[3]] : [];
  const settings = setup ? [["strategy", setup[2] < 0 ? "by the runtime itself" : data.texts[setup[2]]]] : [];
  for (let i = 0; i < pairs.length; i += 2) settings.push([data.texts[pairs[i]], data.texts[pairs[i + 1]]]);
  const all = row.samples.flatMap((own) => own.slice(1));
  const other = second?.cells.get(row.key);
  const rows = row.samples.map((own) => h("tr", {}, h("th", { scope: "row" }, `Process ${own[0]}`),
    ...own.slice(1).map((value) => h("td", { class: "number" }, time(Math.abs(value)), value < 0 ? h("span", { class: "mark", title: "interference" }, "†") : ""))));
  const cell = h("td", { colspan: COLUMNS.filter(isShown).length }, h("div", {},
    terms([
      ["Cell", `${row.work.case} on ${row.work.guest}, ${count(row.threads, "thread")}`],
      ["Run", `${run.id}, started ${run.started}`], ["Commit, binary", `${run.commit}, ${run.binary}`],
      ["Median [95 % interval]", `${time(row.median)}${row.marked ? "†" : ""}${row.modes ? "‡" : ""} [${interval(row)}]`],
      ["Timed", `${count(row.calls, "call")} in ${count(all.length, "sample")} of ${row.samples.length} processes`],
      ["Samples with interference", String(all.filter((value) => value < 0).length)],
      ...(other ? [["Second file", `${time(other.median)}${other.marked ? "†" : ""} [${interval(other)}]`]] : []),
    ]),
    h("div", { class: "scroll" }, h("table", {}, h("caption", {}, "Time per call of each sample, four digits"), h("tbody", {}, ...rows))),
    settings.length ? terms(settings) : "The run does not say what was in force."));
  return h("tr", { class: "detail" }, cell);
};
const sorted = (column) => (column.name !== state.sort ? "none" : state.desc ? "descending" : "ascending");
const drawHead = () => {
  const old = document.activeElement?.dataset.sort;
  $("head").replaceChildren(...COLUMNS.filter(isShown).map((column) => h("th", { scope: "col", class: `${column.number ? "number " : ""}${column.name}`, "aria-sort": sorted(column) },
    h("button", { type: "button", "data-sort": column.name, title: column.hint }, column.label))));
  if (old) $("head").querySelector(`[data-sort="${old}"]`)?.focus();
};
const rowOf = (key) => [...$("body").rows].find((row) => row.dataset.key === key);
const draw = () => {
  const focused = document.activeElement?.closest?.("#body tr.cell");
  const part = focused && document.activeElement.className;
  const rows = view.slice(0, shown);
  largest = view.reduce((most, { ratio }) => (ratio ? Math.max(most, Math.abs(Math.log(ratio.median))) : most), 0);
  if (!rows.some((row) => row.key === current)) current = rows.length ? rows[0].key : null;
  drawHead();
  $("body").replaceChildren(...rows.flatMap(line));
  if (!rows.length) $("body").append(h("tr", {}, h("td", { colspan: COLUMNS.filter(isShown).length }, "No cell matches. Reset the filters, or show refusals.")));
  tell();
  if (focused) (rowOf(focused.dataset.key) || rowOf(current))?.querySelector(`.${part}`)?.focus();
};

const tell = () => {
  const left = view.length - shown;
  $("more").hidden = left <= 0;
  $("more").textContent = `Show ${Math.min(PAGE, left)} more of ${left.toLocaleString("en")}`;
  const refusals = view.filter((row) => row.reason).length;
  const parts = [`${(view.length - refusals).toLocaleString("en")} of ${count(cells.length, "cell")}`];
  if (refusals) parts.push(count(refusals, "refusal"));
  if (left > 0) parts.push(`${shown} shown`);
  $("count").textContent = `${parts.join(", ")}. Baseline: ${state.base}.`;
};

// The filters.
const options = (id, values, all, label = String) => {
  $(id).replaceChildren(h("option", { value: "" }, all), ...values.map((value) => h("option", { value }, label(value))));
};
const boxes = (id, title, values) => {
  const box = (value) => h("label", {}, h("input", { type: "checkbox", value }), value);
  const group = h("div", { role: "group", "aria-label": title },
    h("p", { class: "buttons" }, h("button", { type: "button", "data-all": "1" }, "All"), h("button", { type: "button", "data-all": "" }, "None")),
    ...values.map(box));
  $(id).append(group);
  const read = () => {
    const on = [...group.querySelectorAll("input:checked")].map((one) => one.value);
    state[id] = on.length === values.length ? null : new Set(on);
    changed();
  };
  group.addEventListener("change", read);
  group.addEventListener("click", ({ target }) => {
    if (target.dataset.all === undefined) return;
    for (const one of group.querySelectorAll("input")) one.checked = Boolean(target.dataset.all);
    read();
  });
};
const showFilters = () => {
  // Cases that the chosen guest has.
  const own = works.filter((work) => !state.guest || work.guest === state.guest);
  options("case", unique(own.map((work) => work.case)), "All cases");
  for (const id of ["case", "guest", "threads", "q"]) $(id).value = state[id];
  for (const id of ["clean", "refused"]) $(id).checked = state[id];
  for (const [id, title] of [["engines", "Engines"], ["strategies", "Strategies"]]) {
    for (const one of $(id).querySelectorAll("input")) one.checked = !state[id] || state[id].has(one.value);
    $(id).querySelector("summary").textContent = `${title}: ${state[id] ? `${state[id].size} of ${data[id].length}` : "all"}`;
  }
};
const update = () => {
  showFilters();
  choose();
  draw();
};
const changed = (isStep = true) => {
  shown = PAGE;
  keep(isStep);
  update();
};

