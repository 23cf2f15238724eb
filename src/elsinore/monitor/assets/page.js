"use strict";
// Shows what /events sends. Everything that comes from events or queries is set as text, never as
// HTML.

const MOST_POINTS = 900;
const CHARTS = [
  { key: "rate", title: "Events per second", color: "#1f6feb" },
  { key: "lag", title: "Lag: events that are unread", color: "#b35900" },
  { key: "delay", title: "Watermark behind the clock, seconds", color: "#8250df" },
  { key: "seconds", title: "Seconds per micro-batch", color: "#1a7f37" },
];
const points = [];
const charts = new Map();

function element(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function number(value, digits = 0) {
  if (value === null || value === undefined) return "–";
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

function bytes(value) {
  if (value === null || value === undefined) return "–";
  for (const unit of ["B", "KB", "MB"]) {
    if (value < 1000) return `${number(value, unit === "B" ? 0 : 1)} ${unit}`;
    value /= 1000;
  }
  return `${number(value, 1)} GB`;
}

function length(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  for (const [unit, size] of [["days", 86400], ["h", 3600], ["min", 60]]) {
    if (Math.abs(seconds) >= 2 * size) return `${number(seconds / size, 1)} ${unit}`;
  }
  return `${number(seconds, 1)} s`;
}

function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

function showFigures(state) {
  const now = state.now || {};
  const bursts = state.sharing.reduce((sum, one) => sum + one.bursts, 0);
  const shared = state.sharing.reduce((sum, one) => sum + one.shared, 0);
  const figures = [
    ["events/s", number(state.rate)],
    ["events", number(state.totals.events)],
    ["lag", number(now.lag)],
    ["watermark", now.watermark ?? "–", "long"],
    ["behind the clock", length(now.delay)],
    ["open windows", number(now.windows)],
    ["late", number(state.totals.late)],
    ["rejected", number(state.totals.rejected)],
    ["shared bursts", bursts ? `${number(shared)} of ${number(bursts)}` : "–", "long"],
    ["keys", number(now.keys)],
    ["state", bytes(now.state_bytes)],
    ["micro-batch", length(now.seconds)],
  ];
  document.getElementById("figures").replaceChildren(
    ...figures.map(([name, value, kind]) => {
      const box = element("div", undefined, `figure ${kind || ""}`);
      box.dataset.figure = name;
      box.append(element("div", name, "name"), element("div", value, "value"));
      return box;
    }),
  );
}

function chart(spec) {
  const box = element("div", undefined, "chart");
  box.append(element("h3", spec.title));
  document.getElementById("charts").append(box);
  const axis = { stroke: "#5d6878", grid: { stroke: "#eceff4" }, font: "12px system-ui" };
  const plot = new uPlot(
    {
      width: box.clientWidth - 30,
      height: 170,
      legend: { show: false },
      cursor: { drag: { x: false, y: false } },
      scales: { y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
      axes: [
        { ...axis, space: 90, values: (_, ticks) => ticks.map(clock) },
        { ...axis, size: 70, values: (_, ticks) => ticks.map((tick) => number(tick, 3)) },
      ],
      series: [{}, { stroke: spec.color, fill: `${spec.color}22`, width: 2, points: { show: false } }],
    },
    [[], []],
    box,
  );
  new ResizeObserver(() => plot.setSize({ width: box.clientWidth - 30, height: 170 })).observe(box);
  return plot;
}

function showCharts(added) {
  points.push(...added);
  points.splice(0, points.length - MOST_POINTS);
  const times = points.map((point) => point.time);
  for (const spec of CHARTS) {
    if (!charts.has(spec.key)) charts.set(spec.key, chart(spec));
    charts.get(spec.key).setData([times, points.map((point) => point[spec.key])]);
  }
}

function table(columns, rows, isNumber) {
  const node = element("table");
  const head = element("tr");
  columns.forEach((name, n) => head.append(element("th", name, isNumber(n) ? "number" : "")));
  node.append(head);
  for (const row of rows) {
    const line = element("tr");
    row.forEach((value, n) => {
      const cell = element("td", undefined, isNumber(n) ? "number" : "");
      cell.append(value);
      line.append(cell);
    });
    node.append(line);
  }
  return node;
}

function showSharing(sharing) {
  const place = document.getElementById("sharing");
  if (!sharing.length) {
    place.replaceChildren(element("p", "No two queries share a pattern.", "muted"));
    return;
  }
  const rows = sharing.map((one) => {
    const bar = element("meter");
    bar.max = Math.max(1, one.bursts);
    bar.value = one.shared;
    const now = one.now ? `${number(one.now.shared)} of ${number(one.now.bursts)}` : "–";
    return [one.pattern, one.queries.join(", "), number(one.shared), number(one.bursts), bar, now];
  });
  const names = ["pattern", "queries", "shared", "bursts", "share", "in the last micro-batch"];
  const card = element("div", undefined, "card");
  card.append(table(names, rows, (n) => n === 2 || n === 3));
  place.replaceChildren(card);
}

function queryCard(query) {
  const card = element("div", undefined, "card");
  card.dataset.query = query.name;
  const heading = element("div", undefined, "heading");
  heading.append(element("h3", query.name));
  heading.append(element("span", `${number(query.rows)} rows`, "muted"));
  if (query.windows !== null) {
    heading.append(element("span", `${number(query.windows)} open windows`, "muted"));
  }
  card.append(heading);
  if (query.text) card.append(element("pre", query.text));
  if (query.latest.length) {
    const numeric = query.columns.map((_, n) =>
      query.latest.every((row) => /^(-?[\d.]+(e[+-]?\d+)?|null)$/.test(row[n])),
    );
    const newest = query.latest.slice().reverse();
    card.append(table(query.columns, newest, (n) => numeric[n]));
  } else {
    card.append(element("p", "No rows yet.", "muted"));
  }
  return card;
}

function show(state) {
  document.getElementById("source").textContent = state.source;
  showFigures(state);
  showCharts(state.points);
  showSharing(state.sharing);
  document.getElementById("queries").replaceChildren(...state.queries.map(queryCard));
}

function status(text, isLive) {
  const node = document.getElementById("state");
  node.textContent = text;
  node.className = isLive ? "live" : "";
}

const stream = new EventSource("events");
stream.onopen = () => {
  points.length = 0; // a new connection begins with all points
  status("live", true);
};
stream.onmessage = (message) => show(JSON.parse(message.data));
stream.onerror = () => status("not connected: the stream has stopped", false);
