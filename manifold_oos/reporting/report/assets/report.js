"use strict";
/* Theme, copying, and curves. Strings of the data reach the page as text only; for Plotly, which reads some tags, they are escaped. */
const moos = (() => {
  const data = JSON.parse(document.getElementById("moos-data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;

  const escape = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const palette = () => (dark.matches && !printing ? data.palette.dark : data.palette.light);
  const color = (index) => palette()[index % palette().length];
  const symbol = (index) => data.palette.symbols[index % data.palette.symbols.length];
  const glyph = (index) => data.palette.glyphs[index % data.palette.glyphs.length];
  /* The buttons are named one by one: Plotly's own list has one that uploads the figure. */
  const buttons = { flat: ["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"], solid: ["toImage", "orbitRotation", "zoom3d", "pan3d", "resetCameraDefault3d"] };
  const config = (kind) => ({ displaylogo: false, responsive: true, showSendToCloud: false, modeBarButtons: [buttons[kind]] });

  function axis(title, more) {
    const line = ink("line");
    return Object.assign({
      title: { text: escape(title), font: { size: 12 }, standoff: 8 }, gridcolor: ink("grid"), linecolor: line, zerolinecolor: line,
      tickfont: { size: 11 }, automargin: true,
    }, more);
  }
  function layout(more) {
    return Object.assign({
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "closest",
      font: { color: ink("ink"), family: "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif" },
      hoverlabel: { bgcolor: ink("raised"), bordercolor: ink("line"), font: { color: ink("ink") } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: ink("faint"), activecolor: ink("ink") },
    }, more);
  }
  function translucent(hex, alpha) {
    const value = parseInt(hex.slice(1), 16);
    return `rgba(${value >> 16},${(value >> 8) & 255},${value & 255},${alpha})`;
  }
  function toggle(button, index, name, shade, mark) {
    const swatch = document.createElement("span");
    swatch.setAttribute("aria-hidden", "true");
    swatch.style.color = shade;
    swatch.textContent = `${mark} `;
    button.replaceChildren(swatch, document.createTextNode(name));
    button.dataset.index = index;
    if (!button.hasAttribute("aria-pressed")) button.setAttribute("aria-pressed", "true");
  }
  const announce = (text) => { document.getElementById("announce").textContent = text; };

  /* Copying. */
  async function copy(button) {
    const text = data.texts[button.dataset.copy][button.dataset.format];
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "hidden";
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
      button.focus();
    }
    const label = button.dataset.format === "csv" ? "Copy CSV" : "Copy LaTeX";
    button.textContent = done ? "Copied" : "Not allowed";
    announce(done ? "Copied to the clipboard" : "The browser does not allow copying here");
    setTimeout(() => { button.textContent = label; }, 1500);
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
  });

  /* Curves: a panel for each data set, one legend for all of them. */
  function traces(chart, panel, hidden) {
    const found = [];
    const ends = panel.series.filter((s) => !s.level && !s.second).flatMap((s) => [s.x[0], s.x[s.x.length - 1]]);
    for (const series of panel.series) {
      if (hidden.has(series.arm)) continue;
      const shade = color(series.arm), name = escape(chart.arms[series.arm]);
      const x = series.level ? [ends.length ? ends.reduce((a, b) => (a < b ? a : b)) : 0, ends.length ? ends.reduce((a, b) => (a > b ? a : b)) : 1] : series.x;
      const spread = (values) => (series.level ? x.map(() => values[0]) : values);
      const mean = spread(series.mean), low = spread(series.low), high = spread(series.high), n = spread(series.n);
      const yaxis = series.second ? "y2" : "y";
      const banded = !series.second && x.length > 1 && low.every((v) => v !== null);
      if (banded) {
        const bound = { x, yaxis, mode: "lines", line: { width: 0 }, hoverinfo: "skip", type: "scatter" };
        found.push({ ...bound, y: low }, { ...bound, y: high, fill: "tonexty", fillcolor: translucent(shade, 0.14) });
      }
      const bars = !banded && low.some((v) => v !== null);
      found.push({
        x, y: mean, yaxis, name, type: "scatter", mode: series.level || series.second || x.length > 16 ? "lines" : "lines+markers",
        line: { color: shade, width: 2, dash: series.second ? "dot" : series.level ? "dash" : data.palette.dashes[Math.floor(series.arm / 7) % 4] },
        marker: { color: shade, symbol: symbol(series.arm), size: 8, line: { color: ink("paper"), width: 1 } },
        error_y: bars ? { type: "data", symmetric: false, color: shade, array: high.map((v, i) => v - mean[i]), arrayminus: low.map((v, i) => mean[i] - v) } : undefined,
        customdata: mean.map((_, i) => (low[i] === null ? `${n[i]} split` : `[${low[i].toPrecision(4)}, ${high[i].toPrecision(4)}], ${n[i]} splits`)),
        hovertemplate: `<b>${name}</b><br>${series.level ? "" : `${escape(chart.x)} %{x}<br>`}%{y:.4~g} %{customdata}<extra></extra>`,
      });
    }
    return found;
  }
  function drawChart(figure) {
    const chart = data.charts[figure.dataset.chart];
    const legend = figure.querySelector("[data-part=legend]");
    const hidden = new Set();
    [...legend.children].forEach((button, index) => {
      toggle(button, index, chart.arms[index], color(index), glyph(index));
      if (button.getAttribute("aria-pressed") === "false") hidden.add(index);
    });
    figure.querySelectorAll(".panel").forEach((div, place) => {
      const panel = chart.panels[place];
      const ticks = panel.ticks && { tickmode: "array", tickvals: panel.ticks, ticktext: panel.ticks.map(String) };
      const more = {
        title: { text: escape(panel.title), font: { size: 13 }, x: 0.02, xanchor: "left", y: 0.97 }, margin: { l: 52, r: chart.second ? 52 : 12, t: 34, b: 46 },
        xaxis: axis(chart.x, { type: panel.log ? "log" : panel.numeric ? "linear" : "category", ...ticks, zeroline: false }),
        yaxis: axis(chart.y, { zeroline: false, rangemode: panel.series.every((s) => s.second || s.mean.every((v) => v === null || v >= 0)) ? "nonnegative" : "normal" }),
      };
      if (chart.second) more.yaxis2 = axis(chart.second, { overlaying: "y", side: "right", showgrid: false });
      Plotly.react(div, traces(chart, panel, hidden), layout(more), config("flat"));
    });
    figure.dataset.drawn = "yes";
  }
  document.querySelectorAll("[data-chart] [data-part=legend]").forEach((legend) => legend.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") === "true" ? "false" : "true");
    drawChart(legend.closest("[data-chart]"));
  }));

  /* Figures are drawn when they come near the window, all of them for paper, and again when the theme changes. */
  const painters = new Map();
  const watcher = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting && !entry.target.dataset.drawn) painters.get(entry.target)();
  }), { rootMargin: "500px" });
  function lazily(element, paint) {
    painters.set(element, paint);
    watcher.observe(element);
  }
  const repaint = (everything) => painters.forEach((paint, element) => { if (everything || element.dataset.drawn) paint(); });
  document.querySelectorAll("[data-chart]").forEach((figure) => lazily(figure, () => drawChart(figure)));
  dark.addEventListener("change", () => repaint(false));
  window.matchMedia("print").addEventListener("change", (event) => {
    printing = event.matches;
    if (printing) document.querySelectorAll("details").forEach((details) => { details.open = true; });
    repaint(printing);
  });

  return { data, escape, ink, color, symbol, glyph, axis, layout, config, toggle, lazily, announce };
})();
