"use strict";
/* The matrix of one view, and what is known of the cell that was chosen. Strings of the data reach the page as text only. */
(() => {
  const { views, pictures } = JSON.parse(document.getElementById("moos-data").textContent);
  const part = (name) => document.querySelector(`[data-part=${name}]`);
  const control = (name) => document.querySelector(`[data-control=${name}]`);
  const make = (tag, text, more) => Object.assign(document.createElement(tag), text === undefined ? {} : { textContent: text }, more);
  const ALL = "";
  let chosen = null; /* [embedding, extender] */

  const view = () => views.find((one) => one.key === control("view").value);
  const metric = () => view().metrics.find((one) => one.key === control("metric").value);
  const tuned = () => control("tuned").value === "yes";
  const show = (value) => (value === null || value === undefined ? "–" : Math.abs(value) < 1e-9 ? "0" : Math.abs(value) >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : String(Number(value.toPrecision(3))));

  function options(select, items, keep) {
    const before = select.value;
    select.replaceChildren(...items.map(([value, label]) => make("option", label, { value })));
    if (keep && items.some(([value]) => value === before)) select.value = before;
  }
  const arm = (embedding, extender) => view().arms.findIndex(([, e, x, t]) => e === embedding && x === extender && t === tuned());
  /* Over all sets: the mean where every set has a number. */
  function value(one, index, set) {
    const row = one.values[index];
    if (set !== ALL) return row[view().sets.indexOf(set)];
    return row.some((item) => item === null) ? null : row.reduce((sum, item) => sum + item, 0) / row.length;
  }
  const half = (one, index, set) => (set === ALL || !one.halves ? null : one.halves[index][view().sets.indexOf(set)]);

  function names() {
    /* A classifier without an embedding stands in a row of its own. */
    const rows = new Map(), columns = new Set();
    view().arms.forEach(([name, embedding, extender, isTuned]) => {
      if (isTuned !== tuned()) return;
      const column = embedding ? extender : "own";
      rows.set(embedding || name.replace(/, tuned$/, ""), embedding);
      columns.add(column);
    });
    const ordered = [...columns].sort((a, b) => (a === "own" ? -1 : b === "own" ? 1 : 0));
    return { rows: [...rows.keys()], columns: ordered };
  }
  function find(row, column) {
    const index = arm(row, column);
    if (index >= 0 || column !== "own") return index;
    return view().arms.findIndex(([name, e, , t]) => !e && name.replace(/, tuned$/, "") === row && t === tuned());
  }

  function draw() {
    const one = metric(), set = control("set").value, { rows, columns } = names();
    const sign = one.better === "lower" ? 1 : -1;
    const all = rows.flatMap((row) => columns.map((column) => find(row, column))).filter((i) => i >= 0).map((i) => value(one, i, set)).filter((v) => v !== null);
    const order = [...all].sort((a, b) => sign * (a - b));
    const head = make("tr");
    head.append(make("th", ""), ...columns.map((column) => { const th = make("th", undefined, { scope: "col" }); th.append(make("span", column)); return th; }));
    const lines = rows.map((row) => {
      const tr = make("tr");
      tr.append(make("th", row, { scope: "row" }));
      const found = columns.map((column) => { const i = find(row, column); return i < 0 ? null : value(one, i, set); });
      const best = Math.min(...found.filter((v) => v !== null).map((v) => sign * v));
      columns.forEach((column, at) => {
        const td = make("td"), index = find(row, column);
        if (index >= 0) {
          const v = found[at], broken = reason(index, set);
          const button = make("button", v === null ? (broken ? "✕" : "–") : show(v), { type: "button", title: view().arms[index][0] });
          button.setAttribute("aria-label", `${view().arms[index][0]}: ${v === null ? broken || "no number" : show(v)}`);
          button.setAttribute("aria-pressed", String(Boolean(chosen) && chosen[0] === row && chosen[1] === column));
          if (v !== null) {
            const better = order.length > 1 ? 1 - order.indexOf(v) / (order.length - 1) : 1;
            td.style.background = `color-mix(in srgb, var(--plus) ${Math.round(55 * better ** 2)}%, var(--paper))`;
            if (sign * v === best) button.className = "best";
          }
          button.addEventListener("click", () => { chosen = [row, column]; draw(); detail(); });
          td.append(button);
        }
        tr.append(td);
      });
      return tr;
    });
    const table = part("grid"), thead = make("thead"), tbody = make("tbody");
    thead.append(head);
    tbody.append(...lines);
    table.replaceChildren(table.querySelector("caption"), thead, tbody);
    const which = set === ALL ? `mean over ${view().sets.length} sets` : `${set}, ${view().known[view().sets.indexOf(set)]} known points`;
    part("about").textContent = `${one.label}, ${one.better} is better: ${which}, ${view().splits} split${view().splits === 1 ? "" : "s"}.` + (rows.length ? "" : " No arm of this grid is tuned.");
    location.replace(`#${new URLSearchParams({ view: view().key, set, metric: one.key, tuned: control("tuned").value, ...(chosen ? { row: chosen[0], column: chosen[1] } : {}) })}`);
  }
  function reason(index, set) {
    const name = view().arms[index][0];
    const sets = set === ALL ? view().sets : [set];
    return sets.map((label) => view().failed[`${name}|${label}`]).find(Boolean) || "";
  }

  function detail() {
    const box = part("cell");
    const index = chosen ? find(...chosen) : -1;
    if (index < 0) { box.replaceChildren(); return; }
    const set = control("set").value, name = view().arms[index][0];
    const left = make("div"), right = make("div");
    left.append(make("h2", name));
    const drawn = pictures[view().key];
    const at = set === ALL ? view().sets.find((label) => drawn && drawn[label] && drawn[label].arms[name]) : set;
    if (drawn && drawn[at] && drawn[at].arms[name]) left.append(...picture(drawn[at], name, at));
    else left.append(make("p", "No picture: coordinates are kept of two dimensions, and not of classifiers alone.", { className: "small" }));
    const broken = reason(index, set);
    if (broken) right.append(make("p", `Failed: ${broken}`, { className: "caveat" }));
    right.append(make("h3", set === ALL ? "Mean over the sets" : set));
    right.append(rowsTable(["metric", "value", "± (95 %)"], view().metrics.map((one) => [one.label, show(value(one, index, set)), show(half(one, index, set))])));
    const one = metric();
    right.append(make("h3", `${one.label} by set`));
    right.append(rowsTable(["set", "value", "± (95 %)"], view().sets.map((label) => {
      const button = make("button", label, { type: "button" });
      button.addEventListener("click", () => { control("set").value = label; draw(); detail(); });
      return [button, show(value(one, index, label)), show(half(one, index, label))];
    })));
    box.replaceChildren(left, right);
  }
  function rowsTable(head, rows) {
    const table = make("table"), thead = make("thead"), tbody = make("tbody"), top = make("tr");
    top.append(...head.map((text) => make("th", text, { scope: "col" })));
    thead.append(top);
    rows.forEach((row) => {
      const tr = make("tr");
      row.forEach((cell, i) => { const td = make("td", undefined, { className: i ? "number" : "" }); td.append(cell); tr.append(td); });
      tbody.append(tr);
    });
    table.append(thead, tbody);
    return table;
  }

  const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  function picture(from, name, label) {
    const [which, text] = from.arms[name];
    const canvas = make("canvas", undefined, { width: 528, height: 528 });
    const scene = canvas.getContext("2d"), room = 14, side = canvas.width - 2 * room;
    const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    const colors = from.colors.map(bytes), classes = Math.max(...colors[0], ...colors[1]) + 1;
    const shade = (code, alpha) => (from.labelled ? `hsl(${(360 * code) / classes} 70% ${dark ? 60 : 42}% / ${alpha})` : `hsl(${260 - (220 * code) / 255} 75% ${dark ? 60 : 45}% / ${alpha})`);
    const dots = (coordinates, codes, radius, alpha, ring) => {
      for (let i = 0; i < coordinates.length / 2; i += 1) {
        scene.beginPath();
        scene.arc(room + (side * coordinates[2 * i]) / 255, room + side * (1 - coordinates[2 * i + 1] / 255), radius, 0, 2 * Math.PI);
        scene.fillStyle = scene.strokeStyle = shade(codes[i], alpha);
        scene.lineWidth = 2;
        if (ring) scene.stroke(); else scene.fill();
      }
    };
    const known = bytes(from.known[which]), fresh = bytes(text);
    dots(known, colors[0], 5, 0.8, true);
    dots(fresh, colors[1], 5, 0.95, false);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${name} on ${label}: ${known.length / 2} known points as rings, ${fresh.length / 2} new points as dots`);
    const what = from.labelled ? "colours are classes" : "colours follow the first true parameter";
    return [canvas, make("p", `${label}, first split, some of the points: rings are known, dots new; ${what}. What lies farther out than the known points by 15 % is put on the border.`, { className: "small" })];
  }

  function changed(event) {
    const here = view();
    if (!event || event.target === control("view")) {
      options(control("set"), [[ALL, "mean of all"], ...here.sets.map((label) => [label, label])], true);
      options(control("metric"), here.metrics.map((one) => [one.key, one.label]), true);
    }
    draw();
    detail();
  }
  const asked = new URLSearchParams(location.hash.slice(1));
  if (views.some((one) => one.key === asked.get("view"))) control("view").value = asked.get("view");
  changed();
  ["set", "metric", "tuned"].forEach((name) => {
    if (asked.get(name) !== null && [...control(name).options].some((item) => item.value === asked.get(name))) control(name).value = asked.get(name);
  });
  if (asked.get("row")) chosen = [asked.get("row"), asked.get("column")];
  changed();
  document.querySelectorAll("[data-control]").forEach((one) => one.addEventListener("change", changed));
})();
