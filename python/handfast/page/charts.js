// Draws the charts with uPlot from the JSON in #curves. All charts zoom together and share hidden lines.
"use strict";
(function () {
  const data = JSON.parse(document.getElementById("curves").textContent);
  const place = document.getElementById("charts");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const HEIGHT = 220;
  const hidden = new Set();
  let plots = [];
  let zoom = [0, data.duration];
  let busy = false;

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const make = (tag, attributes, ...inside) => {
    const made = document.createElement(tag);
    Object.assign(made, attributes);
    made.append(...inside);
    return made;
  };

  // Each value is the difference to the last known one.
  const restore = (differences, unit) => {
    let last = 0;
    return differences.map((one) => (one === null ? null : (last += one) * unit));
  };
  const times = data.times.map((one) => restore(one, data.tick));

  // What to show: one flow under every scheme, or one scheme with every flow.
  const views = data.flows.map((flow) => ({
    group: "One flow, every scheme",
    label: flow,
    picks: (line, shared) => shared || line.name === flow,
    look: (line) => data.schemes[line.scheme],
    name: (line) => data.schemes[line.scheme].name,
  }));
  data.schemes.forEach((scheme, at) =>
    views.push({
      group: "One scheme, every flow",
      label: scheme.name,
      picks: (line) => line.scheme === at,
      look: (line) => {
        const number = Math.max(0, data.flows.indexOf(line.name));
        const round = Math.floor(number / data.colours.length);
        return {
          colour: data.colours[number % data.colours.length],
          dash: data.dashes[(number + round) % data.dashes.length],
        };
      },
      name: (line) => line.name,
    })
  );
  let view = views[0];

  const together = (action) => {
    if (busy) return;
    busy = true;
    action();
    busy = false;
  };
  const zoomTo = (from, to) =>
    together(() => {
      zoom = [Math.max(0, from), Math.min(data.duration, to)];
      plots.forEach((plot) => plot.setScale("x", { min: zoom[0], max: zoom[1] }));
    });

  const shade = (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    let free = -Infinity;
    for (const one of data.absences) {
      const from = plot.valToPos(one.start, "x", true);
      const to = plot.valToPos(one.end, "x", true);
      ctx.fillStyle = css("--shade");
      ctx.fillRect(from, bbox.top, Math.max(1, to - from), bbox.height);
      const left = Math.max(from, bbox.left) + 4 * devicePixelRatio;
      const right = left + ctx.measureText(one.name).width;
      if (left > free && right < bbox.left + bbox.width && to > bbox.left) {
        ctx.fillStyle = css("--soft");
        ctx.fillText(one.name, left, bbox.top + 3 * devicePixelRatio);
        free = right;
      }
    }
    ctx.restore();
  };

  const axis = (label, size) => ({
    label,
    size,
    labelSize: 18,
    gap: 4,
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    stroke: () => css("--soft"),
    grid: { stroke: () => css("--grid"), width: 1 },
    ticks: { stroke: () => css("--grid"), width: 1, size: 5 },
  });

  const series = (chart, line) => {
    const look = view.look(line);
    const name = view.name(line);
    const colour = () => (dark.matches && look.colour === "#000000" ? css("--ink") : look.colour);
    return {
      label: name,
      show: !hidden.has(name),
      stroke: colour,
      dash: look.dash.length ? look.dash : undefined,
      width: 1.6,
      points: { show: false },
      paths: chart.steps ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear(),
      value: (_, value) => (value == null ? "–" : Number(value.toPrecision(4)).toString()),
    };
  };

  const draw = (chart) => {
    const lines = chart.lines.filter((line) => view.picks(line, chart.shared));
    if (!lines.length) return;
    const inside = make("div", { className: "plot" });
    place.append(make("figure", { className: "chart" }, make("figcaption", {}, chart.title), inside));
    const tables = lines.map((line) => [times[line.x], restore(line.y, chart.step)]);
    const options = {
      width: inside.clientWidth,
      height: HEIGHT,
      scales: {
        x: { time: false, range: (_, min, max) => (min === null ? zoom : [min, max]) },
        y: { range: (_, min, max) => [0, (max || 1) * 1.05] },
      },
      axes: [axis("time, s", 32), axis(`${chart.axis}, ${chart.unit}`, 46)],
      series: [
        { label: "time, s", value: (_, value) => (value == null ? "–" : value.toFixed(2)) },
        ...lines.map((line) => series(chart, line)),
      ],
      cursor: {
        sync: { key: "charts", setSeries: false },
        drag: { x: true, y: false },
        bind: { dblclick: () => () => zoomTo(0, data.duration) },
      },
      hooks: {
        drawClear: [shade],
        setScale: [(plot, key) => key === "x" && zoomTo(plot.scales.x.min, plot.scales.x.max)],
        setSeries: [(plot, at) => at && hide(plot.series[at].label, !plot.series[at].show)],
      },
    };
    plots.push(new uPlot(options, uPlot.join(tables), inside));
  };

  const hide = (name, gone) =>
    together(() => {
      hidden[gone ? "add" : "delete"](name);
      for (const plot of plots) {
        plot.series.forEach((one, at) => at && one.label === name && plot.setSeries(at, { show: !gone }));
      }
    });

  const drawAll = () => {
    plots.forEach((plot) => plot.destroy());
    plots = [];
    place.replaceChildren();
    busy = true;
    data.charts.forEach(draw);
    busy = false;
    zoomTo(...zoom);
  };

  // Fingers and keyboards cannot drag: buttons do the same.
  const button = (text, from, to) => make("button", { type: "button", onclick: () => zoomTo(from, to) }, text);
  const controls = make("div", { className: "controls" });
  if (data.absences.length) {
    controls.append(button("whole run", 0, data.duration));
    for (const one of data.absences.slice(0, 6)) {
      const long = Math.max(3, one.end - one.start);
      controls.append(button(`${one.name} at ${one.start.toFixed(1)} s`, one.start - 0.5, one.end + long));
    }
  }
  if (data.flows.length > 1) {
    const choice = make("select", {
      onchange: () => {
        view = views[choice.value];
        hidden.clear();
        drawAll();
      },
    });
    choice.setAttribute("aria-label", "Which flows the charts show");
    views.forEach((one, at) => {
      if (choice.lastChild?.label !== one.group) choice.append(make("optgroup", { label: one.group }));
      choice.lastChild.append(make("option", { value: at }, one.label));
    });
    controls.prepend(make("label", {}, "Show ", choice));
  }
  place.before(controls);

  // For whoever wants to look in from outside: the browser's console, and tests.
  place.plots = () => plots;
  drawAll();
  new ResizeObserver(() => {
    for (const plot of plots) {
      const width = plot.root.parentNode.clientWidth;
      if (width && width !== plot.width) plot.setSize({ width, height: HEIGHT });
    }
  }).observe(place);
  dark.addEventListener("change", drawAll);
})();
