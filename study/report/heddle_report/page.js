// SPDX-License-Identifier: Apache-2.0
// Draws the charts of the page, sorts and saves its tables. The element #data holds the charts and
// tables; charts.py describes its fields.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;

function cssColour(name) {
  return getComputedStyle(root).getPropertyValue(name).trim();
}

// Names come from experiments; Plotly takes "<" for the beginning of a tag.
function literal(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\n/g, "<br>");
}

// Returns the title in two lines if it is longer than a panel is high.
function folded(title) {
  const words = title.split(" ");
  const half = words.findIndex((_, i) => 2 * words.slice(0, i + 1).join(" ").length >= title.length) + 1;
  return title.length <= 24 ? title : `${words.slice(0, half).join(" ")}\n${words.slice(half).join(" ")}`.trim();
}

function styleOf(number) {
  const style = data.styles[number % data.styles.length];
  return {...style, colour: root.dataset.theme === "dark" ? style.dark : style.light};
}

function translucent(hex, alpha) {
  const channel = (at) => parseInt(hex.slice(at, at + 2), 16);
  return `rgba(${channel(1)}, ${channel(3)}, ${channel(5)}, ${alpha})`;
}

// Returns true if panels beside each other have the same y-axis; the leftmost shows its title.
function hasOneScale(chart) {
  return chart.panels.every((panel, i) => i % chart.columns === 0 || panel.y_title === chart.panels[i - 1].y_title);
}

// Returns the position of each panel of a grid, in shares of the plot.
function domains(chart, rows) {
  const gapX = chart.columns > 1 ? (chart.kind === "heat" ? 0.16 : hasOneScale(chart) ? 0.05 : 0.085) : 0;
  const gapY = rows > 1 ? 56 / (rows * 200) : 0;
  const width = (1 - gapX * (chart.columns - 1)) / chart.columns;
  const height = (1 - gapY * (rows - 1)) / rows;
  return (i) => {
    const column = i % chart.columns, row = Math.floor(i / chart.columns);
    const left = column * (width + gapX), top = 1 - row * (height + gapY);
    return {x: [left, left + width], y: [Math.max(0, top - height), top]};
  };
}

// Returns ticks at round numbers; the fewer decades there are, the more ticks each decade has.
function logTicks(values, isNarrow = false) {
  const positive = values.filter((value) => value !== null && value > 0);
  if (!positive.length) return {};
  const low = Math.min(...positive) * 0.95, high = Math.max(...positive) * 1.05;
  const decades = Math.log10(high / low);
  const steps = decades > (isNarrow ? 2 : 3) ? [1] : isNarrow && decades > 1 ? [1, 3] : decades > 1 ? [1, 2, 5] : decades > 0.5 ? [1, 1.5, 2, 3, 5, 7] :
    decades > 0.25 ? [1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8] :
    [1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.25, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9];
  const tickvals = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    tickvals.push(...steps.map((step) => Number((step * 10 ** power).toPrecision(3))));
  }
  const inside = tickvals.filter((value) => value >= low && value <= high);
  return {tickvals: inside, ticktext: inside.map((v) => (v >= 1e6 || v < 1e-3 ? v.toExponential() : String(v)))};
}

// All that is drawn of a line.
function rangeOf(line) {
  return line.y.flatMap((y, i) => (y === null ? [] : line.ci[i] == null ? [y] : [y, y + line.ci[i], Math.max(0, y - line.ci[i])]));
}

function isOfNames(chart) {
  return ["bars", "lines", "heat"].includes(chart.kind) && !chart.x.length && chart.x_names.length > 0;
}

function xTicks(chart, panel) {
  if (chart.kind === "steps") return logTicks(panel.lines.flatMap((line) => line.x), chart.columns > 3);
  if (chart.kind === "dots") {
    return {tickvals: chart.x_names.map((_, i) => i), ticktext: chart.x_names.map(literal), range: [-0.5, chart.x_names.length - 0.5]};
  }
  if (chart.kind !== "lines" || isOfNames(chart)) return {};
  const every = Math.ceil(chart.x.length / 8);
  const chosen = chart.x.map((_, i) => i).filter((i) => i % every === 0);
  return {tickvals: chosen.map((i) => chart.x[i]), ticktext: chosen.map((i) => literal(chart.x_names[i]))};
}

// Half an interval, downwards: of what is never negative it is cut off at 0.
function belowOf(line) {
  const canBeNegative = line.y.some((y) => y !== null && y < 0);
  return line.y.map((y, i) => (canBeNegative || y === null || line.ci[i] == null ? line.ci[i] : Math.min(line.ci[i], y)));
}

function whiskersOf(line, colour) {
  return {type: "data", symmetric: false, array: line.ci, arrayminus: belowOf(line), visible: line.ci.length > 0, color: colour};
}

// Polygons around the means, one for each run of points that have an interval.
function bandOf(xs, line, isLog) {
  const positive = line.y.filter((y) => y !== null && y > 0);
  const floor = isLog ? Math.min(...positive) / 10 : -Infinity;
  const below = belowOf(line);
  const x = [], y = [];
  let run = [];
  const close = () => {
    if (run.length > 1) {
      const upper = run.map((i) => line.y[i] + line.ci[i]);
      const lower = run.map((i) => Math.max(floor, line.y[i] - below[i]));
      x.push(...run.map((i) => xs[i]), ...run.map((i) => xs[i]).reverse(), null);
      y.push(...upper, ...lower.reverse(), null);
    }
    run = [];
  };
  line.y.forEach((mean, i) => (mean === null || line.ci[i] == null ? close() : run.push(i)));
  close();
  return {x, y};
}

function lineTraces(chart, line, shared) {
  const style = styleOf(line.style);
  const xs = isOfNames(chart) ? chart.x_names.map(literal) : line.x.length ? line.x : chart.x;
  const traces = [];
  if (line.ci.length) {
    traces.push({...shared, ...bandOf(xs, line, chart.y_log), type: "scatter", mode: "lines",
                 fill: "toself", fillcolor: translucent(style.colour, 0.16), line: {width: 0},
                 hoverinfo: "skip", showlegend: false});
  }
  const interval = line.ci.length ? " ± %{customdata}" : "";
  traces.push({...shared, type: "scatter", x: xs, y: line.y, customdata: line.ci,
               mode: chart.kind === "lines" ? "lines+markers" : "lines",
               line: {color: style.colour, dash: style.dash, width: chart.kind === "lines" ? 2 : 1.7,
                      shape: chart.kind === "steps" ? "hv" : "linear"},
               marker: {symbol: style.marker, size: 8, color: style.colour},
               hovertemplate: `%{y:.4g}${interval}<extra>%{fullData.name}</extra>`});
  return traces;
}

function barTrace(chart, line, shared) {
  const style = styleOf(line.style);
  return {...shared, type: "bar", x: chart.x_names.map(literal), y: line.y, offsetgroup: String(line.style),
          marker: {color: style.colour, pattern: {shape: style.hatch, bgcolor: style.colour, fgcolor: cssColour("--ground"), solidity: 0.2}},
          error_y: whiskersOf(line, cssColour("--ink")),
          hovertemplate: "%{y:.4g}<extra>%{fullData.name}</extra>"};
}

// A bar needs a zero, which a logarithmic axis lacks. So this draws points, side by side at their class.
function dotTrace(chart, line, shared, count) {
  const style = styleOf(line.style);
  const aside = 0.7 * ((line.style % count + 0.5) / count - 0.5);
  return {...shared, type: "scatter", mode: "markers", x: line.y.map((_, i) => i + aside), y: line.y,
          customdata: chart.x_names.map(literal),
          marker: {symbol: style.marker, size: 9, color: style.colour},
          error_y: whiskersOf(line, style.colour),
          hovertemplate: "%{customdata}: %{y:.4g}<extra>%{fullData.name}</extra>"};
}

function heatTrace(chart, panel, shared) {
  const columns = panel.x.length ? panel.x : chart.x_names.map(literal);
  return {...shared, type: "heatmap", x: columns, y: panel.rows.map(literal), z: panel.heat,
          coloraxis: "coloraxis", hovertemplate: "%{y}, %{x}: %{z:.1%}<extra></extra>"};
}

function tracesOf(chart) {
  const inLegend = new Set();
  return chart.panels.flatMap((panel, i) => {
    const axes = {xaxis: `x${i + 1}`, yaxis: `y${i + 1}`};
    if (chart.kind === "heat") return [heatTrace(chart, panel, axes)];
    return panel.lines.flatMap((line) => {
      const shared = {...axes, name: literal(line.name), legendgroup: String(line.style),
                      showlegend: !inLegend.has(line.style)};
      inLegend.add(line.style);
      if (chart.kind === "bars") return [barTrace(chart, line, shared)];
      if (chart.kind === "dots") return [dotTrace(chart, line, shared, panel.lines.length)];
      return lineTraces(chart, line, shared);
    });
  });
}

// Returns the range and the ticks of a panel's logarithmic y-axis. An interval that goes far below the
// lowest mean, or to 0, is cut off, so that the lines keep the room.
function logAxis(panel) {
  const drawn = panel.lines.flatMap(rangeOf);
  const means = panel.lines.flatMap((line) => line.y).filter((value) => value !== null && value > 0);
  if (!means.length) return {};
  const low = Math.max(Math.min(...drawn), Math.min(...means) / 2);
  const high = Math.max(...drawn);
  return {...logTicks([low, high]), range: [Math.log10(low / 1.1), Math.log10(high * 1.1)]};
}

function rowsOf(chart) {
  return Math.ceil(chart.panels.length / chart.columns);
}

// The height of all rows of panels.
function plotHeight(chart) {
  const rows = rowsOf(chart);
  if (chart.kind !== "heat") return rows * (chart.columns === 1 || rows === 1 ? 290 : 225);
  const inRow = (row) => chart.panels.slice(row * chart.columns, (row + 1) * chart.columns);
  const most = Math.max(...[...Array(rows).keys()].map((r) => Math.max(...inRow(r).map((p) => p.rows.length))));
  return rows * Math.max(120, 15 * most + 60);
}

// The height of the chart, with its legend and the titles of its x-axes.
function heightOf(chart) {
  return plotHeight(chart) + 110;
}

function layoutOf(chart) {
  const ink = cssColour("--ink"), grid = cssColour("--line");
  const place = domains(chart, rowsOf(chart));
  const lines = {gridcolor: grid, linecolor: grid, zerolinecolor: grid, automargin: true};
  const layout = {
    ...(isPrinting ? {width: 700} : {}),  // A page's, whatever the window's.
    height: heightOf(chart), margin: {l: 64, r: 20, t: 66, b: 56},
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: {color: ink, size: 12.5},
    legend: {orientation: "h", x: 0, y: 1, yanchor: "bottom", yref: "paper", tracegroupgap: 0},
    hovermode: ["heat", "dots"].includes(chart.kind) ? "closest" : "x unified", barmode: "group", annotations: [],
    modebar: {bgcolor: "rgba(0,0,0,0)", color: cssColour("--faint"), activecolor: ink},
    hoverlabel: {bgcolor: cssColour("--panel"), font: {color: ink}},
  };
  // Above the titles of the first row, whatever the height.
  layout.legend.y = 1 + 26 / plotHeight(chart);
  if (chart.kind === "heat") {
    layout.coloraxis = {cmin: 0, cmax: 1, colorscale: data.heat, reversescale: root.dataset.theme === "dark",
      colorbar: {tickformat: ".0%", thickness: 14, len: 1, title: {text: literal(chart.z_title), side: "top"}}};
  }
  chart.panels.forEach((panel, i) => {
    const {x, y} = place(i);
    const column = i % chart.columns;
    const isLast = i + chart.columns >= chart.panels.length;
    const alike = column > 0 && chart.panels[i - 1].y_title === panel.y_title;
    layout[`xaxis${i + 1}`] = {...lines, ...xTicks(chart, panel), domain: x, anchor: `y${i + 1}`,
      type: chart.x_log ? "log" : isOfNames(chart) ? "category" : "linear",
      title: {text: isLast ? literal(chart.x_title) : "", standoff: 8}, showline: true};
    layout[`yaxis${i + 1}`] = {...lines, domain: y, anchor: `x${i + 1}`, showline: true,
      type: chart.kind === "heat" ? "category" : chart.y_log ? "log" : "linear",
      title: {text: alike ? "" : literal(folded(panel.y_title)), standoff: 6},
      rangemode: ["curves", "steps"].includes(chart.kind) || chart.id === "costs" ? "tozero" : "normal"};
    if (i > 0 && chart.shares_x) layout[`xaxis${i + 1}`].matches = "x";
    if (i > 0 && chart.shares_y) layout[`yaxis${i + 1}`].matches = "y";
    if (chart.kind === "steps") layout[`yaxis${i + 1}`].range = [0, 1.03];  // Of all flows.
    if (chart.y_log) Object.assign(layout[`yaxis${i + 1}`], logAxis(panel));
    if (chart.kind === "heat") Object.assign(layout[`yaxis${i + 1}`], {autorange: "reversed", tickfont: {size: 10}, nticks: 70});
    if (chart.kind !== "heat" && !panel.lines.some((line) => line.y.some((value) => value !== null))) {
      layout[`yaxis${i + 1}`].showticklabels = false;
      layout.annotations.push({text: "no finite values", showarrow: false, xref: "paper", yref: "paper",
        x: (x[0] + x[1]) / 2, y: (y[0] + y[1]) / 2, font: {color: cssColour("--faint")}});
    }
    if (panel.title) {
      layout.annotations.push({text: `<b>${literal(panel.title)}</b>`, showarrow: false, xref: "paper", yref: "paper",
        x: (x[0] + x[1]) / 2, y: y[1], xanchor: "center", yanchor: "bottom", font: {size: 12.5}});
    }
  });
  return layout;
}

// Scales of y-axes that the reader has chosen: by the chart's id, true for a logarithmic one.
const scales = new Map();

// Returns the chart with the chosen scale. Bars need a zero, which a logarithmic axis lacks.
function scaled(chart) {
  if (!scales.has(chart.id)) return chart;
  const isLog = scales.get(chart.id);
  const kind = chart.kind === "bars" && isLog ? "dots" : chart.kind === "dots" && !isLog ? "bars" : chart.kind;
  return {...chart, y_log: isLog, kind};
}

function nameScale(chart) {
  const button = document.getElementById(`scale-${chart.id}`);
  if (button) button.textContent = chart.y_log ? "Linear y-axis" : "Logarithmic y-axis";
}

function writeCaption(chart) {
  document.getElementById(`caption-${chart.id}`).textContent = chart.caption + (data.made && ` ${data.made}.`);
}

// Prepares a chart that is drawn later: nothing on the page moves then.
function keepRoom(chart) {
  writeCaption(chart);
  if (chart.panels.length) document.getElementById(`chart-${chart.id}`).style.minHeight = `${heightOf(chart)}px`;
}

function draw(charted) {
  const chart = scaled(charted);
  nameScale(chart);
  writeCaption(chart);
  // Leaves out the buttons for Plotly's cloud, which newer versions add.
  const config = {displaylogo: false, responsive: true,
                  modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
                  toImageButtonOptions: {format: "svg", filename: chart.id}};
  const element = document.getElementById(`chart-${chart.id}`);
  if (!chart.panels.length) return null;
  return Plotly.react(element, tracesOf(chart), layoutOf(chart), config);
}

let choice = 0;
let isPrinting = false;
// If data.as_seen, only charts that have come into sight are drawn; for printing, all charts are.
const seen = new Set();

function drawAll() {
  const isWanted = (chart) => !data.as_seen || isPrinting || seen.has(chart);
  return Promise.all([...data.choices[choice].charts, ...data.runs].filter(isWanted).map(draw));
}

function setTheme(theme) {
  root.dataset.theme = theme;
  document.getElementById("theme").textContent = theme === "dark" ? "Light" : "Dark";
  return drawAll();
}

// ---- Tables

const ROWS_AT_FIRST = 50, ROWS_MORE = 1000;

function compare(a, b) {
  if (a === b) return 0;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", {numeric: true});
}

function cellText(value) {
  if (value === null) return "";
  if (typeof value !== "number") return value;
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}

function csvOf(table, rows) {
  const cell = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [table.columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);  // A busy browser may begin to save later than now.
}

function cellOf(table, value, column) {
  const cell = document.createElement("td");
  cell.textContent = cellText(value);
  if (typeof value === "number") cell.className = "number";
  if (column === table.badges || column === table.links) {
    const inner = document.createElement(column === table.badges ? "span" : "a");
    inner.textContent = cell.textContent;
    if (column === table.badges) Object.assign(inner, {className: "badge"}).dataset.verdict = value;
    else inner.href = `#${encodeURIComponent(value)}`;
    cell.replaceChildren(inner);
  }
  return cell;
}

// Returns a function that shows the table again.
function showTable(table) {
  const section = document.getElementById(`table-${table.id}`);
  const find = (selector) => section.querySelector(selector);
  const state = {column: -1, direction: 1, shown: ROWS_AT_FIRST, filter: ""};
  const headers = table.columns.map((name, i) => {
    const header = document.createElement("th");
    const button = document.createElement("button");
    button.textContent = name;
    button.addEventListener("click", () => {
      state.direction = state.column === i ? -state.direction : 1;
      state.column = i;
      show();
    });
    header.append(button);
    return header;
  });
  find("thead tr").append(...headers);

  function chosenRows() {
    const wanted = state.filter.toLowerCase();
    const passing = table.passes ? table.rows.filter(table.passes) : table.rows;
    const rows = passing.filter((row) => !wanted || row.some((v) => String(v).toLowerCase().includes(wanted)));
    if (state.column < 0) return rows;
    const at = state.column;
    // Rows without a value stay last in both directions.
    return rows.sort((a, b) => (a[at] === null) - (b[at] === null) || state.direction * compare(a[at], b[at]));
  }

  function show() {
    headers.forEach((header, i) => header.setAttribute("aria-sort",
      i !== state.column ? "none" : state.direction > 0 ? "ascending" : "descending"));
    const rows = chosenRows();
    find("tbody").replaceChildren(...rows.slice(0, state.shown).map((row) => {
      const line = document.createElement("tr");
      line.append(...row.map((value, i) => cellOf(table, value, i)));
      return line;
    }));
    const hidden = Math.max(0, rows.length - state.shown);
    find(".more").hidden = hidden === 0;
    find(".more").textContent = `${hidden} more`;
    find(".count").textContent = `${rows.length} rows`;
  }

  find(".more").addEventListener("click", () => { state.shown += ROWS_MORE; show(); });
  find(".filter").addEventListener("input", (event) => { state.filter = event.target.value; show(); });
  find(".save").addEventListener("click", () => save(`${table.id}.csv`, csvOf(table, chosenRows())));
  show();
  return show;
}

// ---- Start

const showTables = new Map(data.tables.map((table) => [table.id, showTable(table)]));

const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click",
  () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
const chooser = document.getElementById("choice");
if (chooser) {
  chooser.addEventListener("change", () => { choice = chooser.selectedIndex; drawAll(); });
}
for (const button of document.querySelectorAll(".scale")) {
  const id = button.id.slice("scale-".length);
  button.addEventListener("click", () => {
    const chart = scaled(data.choices[choice].charts.find((of) => of.id === id));
    scales.set(id, !chart.y_log);
    draw(chart);
  });
}
let themeBeforePrint;
addEventListener("beforeprint", () => {
  themeBeforePrint = root.dataset.theme;
  isPrinting = true;
  setTheme("light");
});
addEventListener("afterprint", () => {
  isPrinting = false;
  setTheme(themeBeforePrint);
});
// Tests wait for this.
setTheme(dark.matches ? "dark" : "light").then(() => { root.dataset.drawn = "true"; });
