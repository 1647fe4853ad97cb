// Downloads.
// A spreadsheet computes what begins so.
const quote = (value) => {
  const text = String(value ?? "").replace(/^[=+@-]/, "'$&");
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csv = () => {
  const head = ["executor", "engine", "strategy", "case", "guest", "threads", "median_ns", "low_ns", "high_ns", "marked", "ratio", "baseline",
    ...(second ? ["second_ns", "second_low_ns", "second_high_ns", "second_marked", "second_over_first"] : []), "status", "reason"];
  const lines = view.map((row) => {
    const other = second?.cells.get(row.key);
    return [row.executor.name, row.executor.engine, row.executor.strategy, row.work.case, row.work.guest, row.threads,
      row.median, row.low || "", row.high || "", row.reason ? "" : Boolean(row.marked), row.ratio?.median, state.base,
      ...(second ? [other?.median, other?.low || "", other?.high || "", other?.marked, row.second?.median] : []),
      row.status, row.reason];
  });
  return [head, ...lines].map((line) => `${line.map(quote).join(",")}\r\n`).join("");
};
const download = () => {
  const url = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
  h("a", { href: url, download: `touchstone-${data.run.id.replace(/[^\w.-]/g, "-")}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
};

// Events.
$("filters").addEventListener("input", ({ target }) => {
  const { id } = target;
  if (!(id in START)) return;
  state[id] = target.type === "checkbox" ? target.checked : target.value;
  if (!works.some(isOfWork)) state[id === "guest" ? "case" : "guest"] = "";
  changed(id !== "q");
});
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("reset").addEventListener("click", () => {
  Object.assign(state, START);
  changed();
});
$("head").addEventListener("click", ({ target }) => {
  const column = target.closest("[data-sort]")?.dataset.sort;
  if (!column) return;
  state.desc = state.sort === column && !state.desc;
  state.sort = column;
  changed();
});
$("body").addEventListener("click", ({ target }) => {
  const row = target.closest("tr.cell");
  if (!row || String(getSelection())) return;
  const { key } = row.dataset;
  current = key;
  if (target.closest(".open")) {
    if (!open.delete(key)) open.add(key);
    draw();
  } else {
    state.base = view.find((one) => one.key === key).executor.name;
    keep(true);
    update();
  }
});
$("body").addEventListener("keydown", (event) => {
  const row = event.target.closest("tr.cell");
  const rows = [...$("body").querySelectorAll("tr.cell")];
  const at = rows.indexOf(row);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (!row || to === undefined) return;
  event.preventDefault();
  const next = rows[to];
  if (!next) return;
  for (const button of row.querySelectorAll("button")) button.tabIndex = -1;
  for (const button of next.querySelectorAll("button")) button.tabIndex = 0;
  current = next.dataset.key;
  (next.querySelector(`.${event.target.className}`) || next.querySelector(".pick")).focus();
});
$("more").addEventListener("click", () => {
  $("body").append(...view.slice(shown, shown + PAGE).flatMap(line));
  shown += PAGE;
  tell();
});
$("csv").addEventListener("click", download);
$("file").addEventListener("change", async ({ target }) => {
  await load(target.files[0]);
  target.value = "";
});
$("remove").addEventListener("click", () => {
  second = null;
  showSecond();
});
const dropping = (is) => document.body.classList.toggle("dropping", is);
for (const kind of ["dragover", "dragleave", "drop"]) {
  addEventListener(kind, (event) => {
    if (![...(event.dataTransfer?.types || [])].includes("Files")) return;
    event.preventDefault();
    dropping(kind === "dragover");
    if (kind === "drop") load(event.dataTransfer.files[0]);
  });
}
addEventListener("popstate", () => {
  shown = PAGE;
  restore();
  update();
});

// Links within the page: what stands behind # is the state of the view.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("cells").focus();
});
$("headlines")?.addEventListener("click", ({ target }) => target.closest("a") && $("matrix").scrollIntoView());

// The theme. Where nothing can be stored, it lasts as long as the page.
const theme = (name) => {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  $("theme").value = name;
};
const stored = (name) => {
  try {
    if (name === undefined) return localStorage.getItem("theme");
    localStorage.setItem("theme", name);
  } catch {
    return "";
  }
};
theme(["light", "dark"].find((name) => name === stored()) || "");
$("theme").addEventListener("change", ({ target }) => {
  theme(target.value);
  stored(target.value);
});

options("guest", data.guests, "All guests");
options("threads", allThreads.map(String), "Any number", (n) => count(Number(n), "thread"));
boxes("engines", "Engines", data.engines);
boxes("strategies", "Strategies", data.strategies);
restore();
update();
