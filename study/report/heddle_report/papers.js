// SPDX-License-Identifier: Apache-2.0
// Filters the claims of papers by verdict and words, and draws figures when they come into sight.

const filters = document.getElementById("filters");
const toggles = [...filters.querySelectorAll("[data-verdict]")];
const wanted = filters.querySelector("input");
const claims = data.tables.find((table) => table.id === "claims");

// By id of a claim: the texts of the claim, its paper and its experiment.
const textOf = new Map(claims.rows.map((row) => {
  const line = document.getElementById(row[0]);
  const heads = [line.closest("section").querySelector("h2"), line.closest("article").querySelector("h3")];
  return [row[0], [...row, ...heads.map((head) => head.textContent)].join(" ").toLowerCase()];
}));

function isOn(toggle) {
  return toggle.getAttribute("aria-pressed") === "true";
}

function turn(toggle, isOnThen) {
  toggle.setAttribute("aria-pressed", String(isOnThen));
}

function filterClaims() {
  const verdicts = toggles.filter(isOn).map((toggle) => toggle.dataset.verdict);
  const words = wanted.value.toLowerCase().split(" ");
  claims.passes = ([id, verdict]) => (!verdicts.length || verdicts.includes(verdict)) &&
    words.every((word) => textOf.get(id).includes(word));
  const passing = new Set(claims.rows.filter(claims.passes).map((row) => row[0]));
  for (const row of document.querySelectorAll(".claims > tbody > tr")) row.hidden = !passing.has(row.id);
  const isAll = passing.size === claims.rows.length;
  // Parts without claims are shown only if all claims are.
  for (const part of document.querySelectorAll("article, section.paper")) {
    part.hidden = !isAll && !part.querySelector(".claims > tbody > tr:not([hidden])");
  }
  filters.querySelector(".count").textContent = `${passing.size} of ${claims.rows.length} claims`;
  showTables.get("claims")();
}

function showOnly(verdicts) {
  for (const toggle of toggles) turn(toggle, verdicts.includes(toggle.dataset.verdict));
  wanted.value = "";
  filterClaims();
}

for (const toggle of toggles) {
  toggle.addEventListener("click", () => {
    turn(toggle, !isOn(toggle));
    filterClaims();
  });
}
wanted.addEventListener("input", filterClaims);
filters.querySelector(".reset").addEventListener("click", () => showOnly([]));
for (const count of document.querySelectorAll("[data-only]")) {
  count.addEventListener("click", () => showOnly([count.dataset.only]));
}
// The target of a link is shown whatever the filter is.
addEventListener("hashchange", () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target || target.checkVisibility()) return;
  showOnly([]);
  target.scrollIntoView();
});
filterClaims();

const chartOf = new Map(data.choices[0].charts.map((chart) => [`chart-${chart.id}`, chart]));
const sight = new IntersectionObserver((entries) => {
  for (const entry of entries.filter((one) => one.isIntersecting)) {
    sight.unobserve(entry.target);
    seen.add(chartOf.get(entry.target.id));
    draw(chartOf.get(entry.target.id));
  }
}, {rootMargin: "800px"});
for (const [id, chart] of chartOf) {
  keepRoom(chart);
  sight.observe(document.getElementById(id));
}
